package work

import (
	"context"
	"fmt"
	"strings"

	"scv/internal/repo"
	"scv/internal/repo/git"
	"scv/internal/wire"
)

// loose lists the files in a place that are not committed, without repositories inside. A conflict is refused.
func (b *Bench) loose(ctx context.Context, at git.Place) (names []string, err error) {
	out, err := b.git.Run(ctx, git.Call{
		At: at, Drivers: true, Output: listBytes,
		Args: []string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames"},
	})
	if err != nil {
		return nil, err
	}
	for _, entry := range fields(out) {
		if len(entry) < 4 || strings.HasSuffix(entry, "/") && strings.HasPrefix(entry, "??") {
			continue
		}
		if xy := entry[:2]; strings.Contains(xy, "U") || xy == "AA" || xy == "DD" {
			return nil, wire.Refuse(wire.ReasonConflict, "resolve it there first", "%s is in conflict.", some([]string{entry[3:]}))
		}
		names = append(names, entry[3:])
	}
	return names, nil
}

// add puts files into an index, or takes out of it what is gone.
func (b *Bench) add(ctx context.Context, at git.Place, names []string, env ...string) error {
	_, err := b.git.Run(ctx, git.Call{
		At: at, Drivers: true, Limit: git.LongTime, Extra: append(env, "GIT_LITERAL_PATHSPECS=1"), Stdin: []byte(strings.Join(names, "\x00")),
		Args: []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"},
	})
	return err
}

// Commit commits all that is not committed in a job's worktree, on the branch that is checked out there. Neither hooks
// nor signing of the repository run. It returns the commit and how many files it holds; none is no error.
func (b *Bench) Commit(ctx context.Context, s Spot, message string) (string, int, error) {
	if s.Tree == nil {
		return "", 0, wire.Refuse(wire.ReasonRefused, "commit it yourself", "it works in your own checkout, where SCV commits nothing.")
	}
	if m := s.Tree.Middle(); m != "" {
		return "", 0, wire.Refuse(wire.ReasonConflict, "end that first, in "+s.At.Top, "the worktree is in the middle of %s.", m)
	}
	release, err := b.ways.Turn(ctx, s.At.Common)
	if err != nil {
		return "", 0, err
	}
	defer release()
	names, err := b.loose(ctx, s.At)
	if err != nil || len(names) == 0 {
		return "", 0, repo.Refused("what is not committed cannot be told", err)
	}
	if err = b.add(ctx, s.At, names); err == nil {
		_, err = b.git.Run(ctx, git.Call{At: s.At, Drivers: true, Stdin: []byte(message), Args: []string{"commit", "--quiet", "--no-verify", "--file=-", "--cleanup=whitespace"}})
	}
	if err != nil {
		return "", 0, identity(repo.Refused("git could not commit", err))
	}
	head, err := b.commit(ctx, s.At, "HEAD")
	return head, len(names), repo.Refused("git does not tell the commit", err)
}

// identity gives the one failure that every fresh machine has its way out.
func identity(err error) error {
	if err != nil && (strings.Contains(err.Error(), "identity") || strings.Contains(err.Error(), "tell me who you are") || strings.Contains(err.Error(), "empty ident")) {
		return wire.Refuse(wire.ReasonRefused, `git config --global user.name "You"; git config --global user.email you@example.org`,
			"git does not know in whose name to commit.")
	}
	return err
}

// Message is what a commit of a job says: the given words, else its task.
func Message(given, task string, job wire.JobID) string {
	if strings.TrimSpace(given) != "" {
		return given
	}
	if task == "" {
		task = "Work of " + string(job)
	}
	return fmt.Sprintf("%s\n\nMade by an agent as %s.\n", task, job)
}
