package work

import (
	"context"
	"errors"

	"scv/internal/repo"
	"scv/internal/repo/git"
	"scv/internal/wire"
)

// Diff tells what a place has changed since its base: committed, not committed, and files that git does not know yet;
// not what it ignores. The text is the repository's, not masked. More than 32 MiB is refused.
func (b *Bench) Diff(ctx context.Context, s Spot, how wire.DiffHow) (string, error) {
	args, err := diffArgs(how)
	if err != nil {
		return "", err
	}
	x, err := b.index(ctx, s.At)
	if err != nil {
		return "", repo.Refused("what it has changed cannot be told", err)
	}
	defer x.remove()
	out, err := b.git.Run(ctx, git.Call{At: s.At, Extra: x.env, Drivers: true, Output: diffBytes, Args: append(args, s.Base, "--")})
	if errors.Is(err, git.ErrTooMuch) {
		return "", tooMuch()
	}
	if git.Exited(err, 128) {
		if _, gone := b.commit(ctx, s.At, s.Base); gone != nil {
			return "", wire.Refuse(wire.ReasonConflict, "", "the commit %.12s that it began on is not in the repository any more.", s.Base)
		}
	}
	return string(out), repo.Refused("what it has changed cannot be told", err)
}

// diffArgs is the command that tells a difference in some way.
func diffArgs(how wire.DiffHow) ([]string, error) {
	args := []string{"diff", "--no-color", "--find-renames"}
	switch how {
	case wire.DiffStat:
		return append(args, "--stat=100"), nil
	case wire.DiffWord:
		return append(args, "--word-diff=plain"), nil
	case wire.DiffPatch:
		return args, nil
	}
	return nil, wire.Refuse(wire.ReasonInvalid, "use patch, stat or word", "there is no difference of the kind %.20q.", string(how))
}

func tooMuch() error {
	return wire.Refuse(wire.ReasonTooLarge, "look at what there is: scv jobs diff --stat", "it has changed more than the %d MiB that a difference may have.", diffBytes>>20)
}

// changed lists the files that differ from a commit, with those that git does not know.
func (b *Bench) changed(ctx context.Context, s Spot, x *index) ([]string, error) {
	out, err := b.git.Run(ctx, git.Call{At: s.At, Extra: x.env, Drivers: true, Output: listBytes, Args: []string{"diff", "--name-only", "-z", "--no-renames", s.Base, "--"}})
	return fields(out), err
}
