package work

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"scv/internal/repo"
	"scv/internal/repo/git"
	"scv/internal/wire"
)

// A Record is a commit of all that a worktree has, which its reviewers are shown.
type Record struct {
	Base, Head string
	Files      uint32 // that differ between the two
}

// A Recorder keeps and tells what reviewers of a work are shown, and what became of it.
type Recorder struct{ *Bench }

// recordName is the ref that keeps a record. It goes with its worktree (repo.Trees.Remove).
func recordName(tree string, round uint32) string {
	return fmt.Sprintf("%s%s/%d", repo.ReviewRefs, tree, round)
}

// Record commits all that a worktree has, committed or not, without touching its branch, index or files, and keeps the
// commit under a ref of its own. Where everything is committed it is that commit. Doing it again replaces the record.
func (b Recorder) Record(ctx context.Context, s Spot, round uint32) (Record, error) {
	none := Record{}
	if s.Tree == nil {
		return none, wire.Refuse(wire.ReasonRefused, "", "it works in your own checkout, of which SCV records nothing.")
	}
	release, err := b.ways.Turn(ctx, s.At.Common)
	if err != nil {
		return none, err
	}
	defer release()
	head, err := b.whole(ctx, s)
	if err != nil {
		return none, err
	}
	if _, err = b.line(ctx, s.At, "update-ref", "-m", "scv: record for review", recordName(s.Tree.Name, round), head); err != nil {
		return none, repo.Refused("what was built cannot be recorded", err)
	}
	out, err := b.git.Run(ctx, git.Call{At: s.At, Output: listBytes, Args: []string{"diff", "--name-only", "-z", "--no-renames", s.Base, head, "--"}})
	return Record{s.Base, head, uint32(len(fields(out)))}, repo.Refused("what has changed cannot be told", err)
}

// Whole is a commit of all that a worktree has, committed or not, of which nothing is touched. It is named by no ref: who
// wants to keep it makes a branch of it.
func (b Recorder) Whole(ctx context.Context, s Spot) (string, error) {
	release, err := b.ways.Turn(ctx, s.At.Common)
	if err != nil {
		return "", err
	}
	defer release()
	return b.whole(ctx, s)
}

func (b Recorder) whole(ctx context.Context, s Spot) (string, error) {
	names, err := b.loose(ctx, s.At)
	if err != nil {
		return "", repo.Refused("what is not committed cannot be told", err)
	}
	head, err := b.commit(ctx, s.At, "HEAD")
	if err == nil && len(names) > 0 {
		head, err = b.snapshot(ctx, s.At)
	}
	return head, repo.Refused("what was built cannot be recorded", err)
}

// Recorded tells the difference of a record, also when its worktree is gone but git still has the commits.
func (b Recorder) Recorded(ctx context.Context, tree wire.WorktreeRef, r Record, how wire.DiffHow) (string, error) {
	args, err := diffArgs(how)
	if err != nil {
		return "", err
	}
	at, err := b.ways.Checkout(ctx, tree.Repo)
	if err != nil {
		return "", err
	}
	out, err := b.git.Run(ctx, git.Call{At: at, Drivers: true, Output: diffBytes, Args: append(args, r.Base, r.Head, "--")})
	if errors.Is(err, git.ErrTooMuch) {
		return "", tooMuch()
	}
	if git.Exited(err, 128) {
		return "", wire.Refuse(wire.ReasonNotFound, "", "the repository does not have commit %.12s any more: the record went with the worktree %s.", r.Head, tree.Branch)
	}
	return string(out), repo.Refused("what was reviewed cannot be told", err)
}

// Touched counts what a reviewer changed in its worktree: files that are not as its commit has them.
func (b Recorder) Touched(ctx context.Context, s Spot) (int, error) {
	names, err := b.loose(ctx, s.At)
	if err != nil {
		return 0, err
	}
	head, err := b.commit(ctx, s.At, "HEAD")
	if err == nil && head != s.Base {
		out, err := b.git.Run(ctx, git.Call{At: s.At, Output: listBytes, Args: []string{"diff", "--name-only", "-z", "--no-renames", s.Base, head, "--"}})
		return len(names) + len(fields(out)), err
	}
	return len(names), err
}

// Landed asks git whether a ref has commits that somebody reports to have landed on it, and all that was approved: merging
// the approved commit into the ref must change nothing. Known is false when git cannot tell here, and the sentence says why.
func (b Recorder) Landed(ctx context.Context, s Spot, ref string, commits []string, approved string) (yes, known bool, words string) {
	full, tip := "", ""
	for _, lead := range []string{"", "refs/heads/", "refs/remotes/", "refs/tags/"} {
		name := lead + ref
		if rest, ok := strings.CutPrefix(name, "refs/"); !ok || repo.CheckBranch(rest) != nil {
			continue
		}
		if id, err := b.commit(ctx, s.At, name); err == nil {
			full, tip = name, id
			break
		}
	}
	if tip == "" {
		return false, false, fmt.Sprintf("git knows no %.100s here, so it cannot tell", ref)
	}
	for _, c := range commits {
		id, err := b.commit(ctx, s.At, c)
		if err == nil {
			_, err = b.line(ctx, s.At, "merge-base", "--is-ancestor", id, tip)
		}
		if err != nil {
			return false, true, fmt.Sprintf("git does not find %.12s on %s", c, full)
		}
	}
	tree, err := b.line(ctx, s.At, "rev-parse", "--verify", "--end-of-options", tip+"^{tree}")
	if err != nil {
		return false, false, "git cannot tell: " + said(err)
	}
	harmless, err := b.git.Neutral(ctx, git.Call{At: s.At})
	if err != nil {
		return false, false, "git cannot tell: " + said(err)
	}
	merged, conflicts, err := b.meet(ctx, s.At, harmless, tip, approved)
	switch {
	case err != nil:
		return false, false, "git cannot tell: " + said(err)
	case len(conflicts) > 0 || merged != tree:
		return false, true, fmt.Sprintf("git finds them on %s, but not all that was approved", full)
	}
	return true, true, fmt.Sprintf("git finds them on %s, with all that was approved", full)
}
