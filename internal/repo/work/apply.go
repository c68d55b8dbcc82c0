package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"scv/internal/repo"
	"scv/internal/repo/git"
	"scv/internal/wire"
)

// A lander brings work home.
type lander struct{ *Bench }

// An Order says how work is brought home.
type Order struct {
	How     wire.ApplyHow
	Onto    string // a branch; empty: what the checkout has
	Message string // of a merge or squash commit, and of what is committed first
}

// A target is where work is brought: a branch, and the work tree that has it checked out, if one has.
type target struct {
	branch string
	commit string
	at     git.Place // repository; with a work tree when it is checked out
	out    bool      // it is checked out there
}

// Apply brings the work of a job's worktree home and returns a sentence. What is not committed there is committed on its
// branch first, but for ApplyFiles, which makes no commit. A conflict refuses, and then nothing was changed in the
// repository that it comes from.
func (b *Bench) Apply(ctx context.Context, s Spot, o Order) (string, error) {
	l := lander{b}
	if s.Tree == nil {
		return "", wire.Refuse(wire.ReasonRefused, "", "it works in your own checkout, so its work is at home already.")
	}
	to, err := l.target(ctx, s, o.Onto)
	if err != nil {
		return "", err
	}
	if o.How == wire.ApplyFiles {
		return l.files(ctx, s, to)
	}
	if _, _, err := b.Commit(ctx, s, o.Message); err != nil {
		return "", err
	}
	release, err := b.ways.Turn(ctx, s.At.Common)
	if err != nil {
		return "", err
	}
	defer release()
	work, err := b.commit(ctx, s.At, "HEAD")
	if err != nil {
		return "", repo.Refused("git does not tell what the worktree has", err)
	}
	if n, err := b.line(ctx, s.At, "rev-list", "--count", to.commit+".."+work, "--"); err != nil || n == "0" {
		if err == nil {
			err = allThere(to.branch)
		}
		return "", repo.Refused("git does not tell what is missing", err)
	}
	made, err := l.landing(ctx, s, to, work, o)
	if err != nil {
		return "", err
	}
	if err := l.land(ctx, to, made); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s has the work of %s as commit %.12s (%s).", to.branch, s.Tree.Branch, made, o.How), nil
}

// landing makes the commit that the target would be at.
func (b lander) landing(ctx context.Context, s Spot, to target, work string, o Order) (string, error) {
	switch o.How {
	case wire.ApplyMerge:
		if base, err := b.line(ctx, s.At, "merge-base", "--", to.commit, work); err == nil && base == to.commit {
			return work, nil
		}
		tree, err := b.merged(ctx, s.At, to.commit, work, to.branch)
		if err != nil {
			return "", err
		}
		return b.write(ctx, s.At, tree, nil, fmt.Sprintf("Merge branch '%s'\n\n%s", s.Tree.Branch, o.Message), to.commit, work)
	case wire.ApplySquash:
		tree, err := b.merged(ctx, s.At, to.commit, work, to.branch)
		if err != nil {
			return "", err
		}
		if has, err := b.has(ctx, s.At, to, tree); has || err != nil {
			return "", cmp.Or(err, allThere(to.branch))
		}
		return b.write(ctx, s.At, tree, nil, o.Message, to.commit)
	case wire.ApplyRebase:
		tip, err := b.rebased(ctx, s.At, to, work)
		if err == nil && tip == to.commit {
			err = allThere(to.branch)
		}
		return tip, err
	}
	return "", wire.Refuse(wire.ReasonInvalid, "use merge, squash, rebase or files", "there is no way home called %.20q.", string(o.How))
}

// has reports whether a target has a tree already.
func (b lander) has(ctx context.Context, at git.Place, to target, tree string) (bool, error) {
	own, err := b.line(ctx, at, "rev-parse", "--verify", "--end-of-options", to.commit+"^{tree}")
	return own == tree, repo.Refused("git does not tell what "+to.branch+" has", err)
}

func allThere(where string) error {
	return wire.Refuse(wire.ReasonConflict, "", "%s has all of it already.", where)
}

// rebased makes each commit of the work anew on top of the target, with its author, message and time.
func (b lander) rebased(ctx context.Context, at git.Place, to target, work string) (string, error) {
	list, err := b.line(ctx, at, "rev-list", "--reverse", "--topo-order", "--parents", to.commit+".."+work, "--")
	if err != nil {
		return "", repo.Refused("git does not tell the commits", err)
	}
	tip := to.commit
	for entry := range strings.SplitSeq(list, "\n") {
		ids := strings.Fields(entry)
		if len(ids) != 2 {
			return "", wire.Refuse(wire.ReasonRefused, "bring it home with --merge or --squash", "the work holds a merge (%.12s), which cannot be rebased.", entry)
		}
		if tip, err = b.replay(ctx, at, tip, ids[0], ids[1], to.branch); err != nil {
			return "", err
		}
	}
	return tip, nil
}

// replay makes one commit anew on tip. So that git takes its parent for the common ancestor, the three trees are merged
// as children of a commit without a past.
func (b lander) replay(ctx context.Context, at git.Place, tip, commit, parent, onto string) (string, error) {
	past, err := b.write(ctx, at, parent+"^{tree}", nil, "past")
	if err != nil {
		return "", err
	}
	ours, err := b.write(ctx, at, tip+"^{tree}", nil, "ours", past)
	if err != nil {
		return "", err
	}
	theirs, err := b.write(ctx, at, commit+"^{tree}", nil, "theirs", past)
	if err != nil {
		return "", err
	}
	tree, err := b.merged(ctx, at, ours, theirs, onto)
	if err != nil {
		return "", err
	}
	if same, err := b.line(ctx, at, "rev-parse", "--verify", "--end-of-options", tip+"^{tree}"); err == nil && same == tree {
		return tip, nil // the target has it already
	}
	out, err := b.git.Run(ctx, git.Call{At: at, Output: 1 << 20, Args: []string{"log", "-1", "--format=%an%n%ae%n%ad%n%B", "--date=raw", "--end-of-options", commit}})
	parts := strings.SplitN(string(out), "\n", 4)
	if err != nil || len(parts) != 4 {
		return "", repo.Refused("git does not tell about a commit", err)
	}
	author := []string{"GIT_AUTHOR_NAME=" + parts[0], "GIT_AUTHOR_EMAIL=" + parts[1], "GIT_AUTHOR_DATE=" + parts[2]}
	return b.write(ctx, at, tree, author, parts[3], tip)
}

// write makes a commit object.
func (b *Bench) write(ctx context.Context, at git.Place, tree string, author []string, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := b.git.Run(ctx, git.Call{At: at, Args: args, Extra: author, Stdin: []byte(message)})
	return strings.TrimSpace(string(out)), identity(repo.Refused("git could not make the commit", err))
}

// merged merges two commits in the object store and returns the tree; a conflict refuses with the files.
func (b lander) merged(ctx context.Context, at git.Place, ours, theirs, onto string) (string, error) {
	harmless, err := b.git.Neutral(ctx, git.Call{At: at})
	if err != nil {
		return "", repo.Refused("git could not try the merge", err)
	}
	tree, files, err := b.meet(ctx, at, harmless, ours, theirs)
	if err != nil {
		return "", err
	}
	if len(files) > 0 {
		return "", wire.Refuse(wire.ReasonConflict, "merge "+onto+" in its worktree, or send it a prompt to do so",
			"it conflicts with %s in %s. Nothing was changed.", onto, some(files))
	}
	return tree, nil
}

// meet merges two commits in the object store: the tree, and the files in conflict. Harmless are the settings that undo
// the drivers of the repository.
func (b *Bench) meet(ctx context.Context, at git.Place, harmless []string, ours, theirs string) (tree string, conflicts []string, err error) {
	at.Top = ""
	out, err := b.git.Output(ctx, git.Call{
		At: at, Extra: harmless, Output: listBytes,
		Args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories", ours, theirs},
	}, 1)
	if err != nil {
		return "", nil, repo.Refused("git could not try the merge", err)
	}
	parts := fields(out)
	if len(parts) == 0 {
		return "", nil, wire.Refuse(wire.ReasonInternal, "", "git said nothing about a merge.")
	}
	return parts[0], parts[1:], nil
}

// target finds the branch that work is brought to, and whether a work tree has it.
func (b lander) target(ctx context.Context, s Spot, onto string) (target, error) {
	to := target{branch: onto, at: s.Tree.Source}
	var err error
	if onto == "" {
		to.branch, err = b.line(ctx, to.at, "symbolic-ref", "--quiet", "--short", "HEAD")
		if err != nil {
			return to, wire.Refuse(wire.ReasonRefused, "name a branch: --onto BRANCH", "the checkout %s has no branch checked out.", s.Tree.Repo)
		}
	} else if err = repo.CheckBranch(onto); err != nil {
		return to, err
	}
	if to.commit, err = b.commit(ctx, to.at, "refs/heads/"+to.branch); err != nil {
		return to, wire.Refuse(wire.ReasonNotFound, "name a branch that is there: --onto BRANCH", "there is no branch %s.", to.branch)
	}
	out, err := b.git.Run(ctx, git.Call{At: git.Place{GitDir: s.At.Common, Common: s.At.Common}, Output: listBytes, Args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return to, repo.Refused("git does not tell what is checked out", err)
	}
	top := ""
	for _, field := range fields(out) {
		if path, ok := strings.CutPrefix(field, "worktree "); ok {
			top = path
		}
		if field != "branch refs/heads/"+to.branch {
			continue
		}
		if top == s.At.Top {
			return to, wire.Refuse(wire.ReasonInvalid, "name another branch: --onto BRANCH", "%s is the branch that it works on.", to.branch)
		}
		if to.at, err = b.ways.Checkout(ctx, top); err != nil {
			return to, err
		}
		to.out = true
	}
	return to, nil
}

// land moves the target to a commit that it is an ancestor of, with the files of the work tree that has it. Git itself
// refuses when that would overwrite somebody's changes.
func (b lander) land(ctx context.Context, to target, commit string) error {
	if !to.out {
		_, err := b.git.Run(ctx, git.Call{At: to.at, Args: []string{"update-ref", "-m", "scv: bring work home", "refs/heads/" + to.branch, commit, to.commit}})
		return repo.Refused("branch "+to.branch+" could not be moved", err)
	}
	now, err := b.line(ctx, to.at, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil || now != to.branch {
		return wire.Refuse(wire.ReasonConflict, "try again", "%s was switched to another branch meanwhile.", to.at.Top)
	}
	_, err = b.git.Run(ctx, git.Call{At: to.at, Drivers: true, Limit: git.LongTime, Args: []string{"merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-verify-signatures", "--", commit}})
	return b.kept(ctx, to, commit, err)
}

// kept tells why a work tree could not take a commit. Git brings the files there before it moves the branch: where only
// that failed, they go back.
func (b lander) kept(ctx context.Context, to target, commit string, err error) error {
	e, ok := errors.AsType[*git.Error](err)
	switch {
	case err == nil:
		return nil
	case !ok || e.Lock == "":
		return wire.Refuse(wire.ReasonConflict, "commit or stash what is changed there, then try again", "%s cannot take it: %s. Nothing was changed.", to.at.Top, said(err))
	case filepath.Base(e.Lock) != "index.lock":
		_, back := b.git.Run(ctx, git.Call{At: to.at, Drivers: true, Limit: git.LongTime, Args: []string{"read-tree", "-m", "-u", commit, to.commit}})
		if back != nil {
			return wire.Refuse(wire.ReasonBusy, "once that has ended: git -C "+to.at.Top+" merge --ff-only "+commit, "%s has the files, but %s could not be moved: %s.", to.at.Top, to.branch, e.Said)
		}
	}
	return repo.Refused(to.at.Top+" cannot take it, and nothing was changed", err)
}

// files brings the difference into the working tree of the checkout, without a commit.
func (b lander) files(ctx context.Context, s Spot, to target) (string, error) {
	if !to.out {
		return "", wire.Refuse(wire.ReasonRefused, "check it out first, or leave --onto away", "no work tree has %s checked out.", to.branch)
	}
	release, err := b.ways.Turn(ctx, s.At.Common)
	if err != nil {
		return "", err
	}
	defer release()
	work, err := b.snapshot(ctx, s.At)
	if err != nil {
		return "", err
	}
	// With what the owner has there, committed or not: his own changes may be part of the work (--with-changes).
	own, err := b.snapshot(ctx, to.at)
	if err != nil {
		return "", err
	}
	harmless, err := b.git.Neutral(ctx, git.Call{At: s.At})
	if err != nil {
		return "", repo.Refused("git could not try the merge", err)
	}
	ours, theirs, err := b.since(ctx, s, own, work)
	if err != nil {
		return "", err
	}
	tree, conflicts, err := b.meet(ctx, s.At, harmless, ours, theirs)
	switch {
	case err != nil:
		return "", err
	case len(conflicts) > 0:
		return "", wire.Refuse(wire.ReasonConflict, "commit or stash what is changed there, then try again; or send it a prompt to do it otherwise",
			"it conflicts with what is in %s in %s. Nothing was changed.", to.at.Top, some(conflicts))
	}
	patch, err := b.git.Run(ctx, git.Call{At: s.At, Output: diffBytes, Args: []string{"diff", "--binary", "--full-index", "--no-color", "--no-renames", own, tree, "--"}})
	if err != nil {
		return "", repo.Refused("git does not tell the difference", err)
	}
	if len(patch) == 0 {
		return "", allThere(to.at.Top)
	}
	if _, err := b.git.Run(ctx, git.Call{At: to.at, Drivers: true, Stdin: patch, Limit: git.LongTime, Args: []string{"apply", "--whitespace=nowarn", "-"}}); err != nil {
		return "", wire.Refuse(wire.ReasonConflict, "commit or stash what is changed there, then try again", "%s cannot take it: %s. Nothing was changed.", to.at.Top, said(err))
	}
	return fmt.Sprintf("%s has the changes of %s, not committed.", to.at.Top, s.Tree.Branch), nil
}

// since makes two commits children of what a worktree began with beside its commit, so that what it took over from the
// checkout counts as known to both; without such changes they are as they were.
func (b lander) since(ctx context.Context, s Spot, own, work string) (ours, theirs string, err error) {
	began, err := b.commit(ctx, s.At, repo.ReviewRefs+s.Tree.Name+repo.Carried)
	if git.Exited(err, 1) {
		return own, work, nil
	}
	if err == nil {
		ours, err = b.write(ctx, s.At, own+"^{tree}", git.Ourselves(), "ours", began)
	}
	if err == nil {
		theirs, err = b.write(ctx, s.At, work+"^{tree}", git.Ourselves(), "theirs", began)
	}
	return ours, theirs, repo.Refused("git does not tell what the worktree began with", err)
}

// snapshot makes a commit object of all that a worktree has, committed or not. No branch names it.
func (b *Bench) snapshot(ctx context.Context, at git.Place) (string, error) {
	x, err := b.index(ctx, at)
	if err != nil {
		return "", repo.Refused("what is not committed cannot be told", err)
	}
	defer x.remove()
	names, err := b.loose(ctx, at)
	if err == nil && len(names) > 0 {
		err = b.add(ctx, at, names, x.env[0])
	}
	if err != nil {
		return "", repo.Refused("what is not committed cannot be read", err)
	}
	// It writes the index, and looks with a filter at files that changed in the moment in which the index was written.
	out, err := b.git.Run(ctx, git.Call{At: at, Extra: x.env[:1], Drivers: true, Args: []string{"write-tree"}})
	if err != nil {
		return "", repo.Refused("what is not committed cannot be read", err)
	}
	return b.write(ctx, at, strings.TrimSpace(string(out)), git.Ourselves(), "snapshot", "HEAD")
}

func said(err error) string {
	return strings.TrimSuffix(repo.Refused("git", err).Error(), ".")
}
