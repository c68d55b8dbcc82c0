package work

import (
	"context"
	"path"
	"slices"

	"scv/internal/repo/git"
	"scv/internal/wire"
)

// A Branch is the committed work of one worktree, for a forecast.
type Branch struct {
	Repo  string // top of the checkout that it comes from
	Name  string // of the branch
	Head  string // commit
	Base  string // commit that the work is measured against
	Onto  string // what it would be merged into, as a name
	Tip   string // and as a commit
	Files []string
	Loose int // files that are not committed
	at    git.Place
}

// Branch tells the work of a worktree: the files that its commits changed since it left what it started from.
func (b *Bench) Branch(ctx context.Context, tree wire.WorktreeRef) (Branch, error) {
	held, err := b.ways.Open(tree.Path)
	if err != nil {
		return Branch{}, err
	}
	w := Branch{Repo: held.Repo, Name: held.Branch, Onto: held.BaseRef, at: git.Place{GitDir: held.At.GitDir, Common: held.At.Common}}
	if w.Head, err = b.commit(ctx, held.At, "HEAD"); err != nil {
		return w, err
	}
	if w.Onto != "" {
		w.Tip, err = b.commit(ctx, held.At, w.Onto)
	}
	if w.Onto == "" || err != nil { // detached, or the branch is gone
		w.Onto, w.Tip = held.Commit[:12], held.Commit
	}
	if w.Base, err = b.line(ctx, held.At, "merge-base", "--", w.Tip, w.Head); err != nil {
		return w, err
	}
	out, err := b.git.Run(ctx, git.Call{At: w.at, Output: listBytes, Args: []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", w.Base, w.Head}})
	if err != nil {
		return w, err
	}
	w.Files = fields(out)
	w.Loose, err = b.loose(ctx, held.At)
	return w, err
}

// Loose counts the files in a worktree that are not committed.
func (b *Bench) Loose(ctx context.Context, tree wire.WorktreeRef) (int, error) {
	held, err := b.ways.Open(tree.Path)
	if err != nil {
		return 0, err
	}
	return b.loose(ctx, held.At)
}

// Tip tells what a worktree has checked out and what it would be merged into, in one look: while both are the same, its
// Branch is.
func (b *Bench) Tip(ctx context.Context, tree wire.WorktreeRef) (string, error) {
	held, err := b.ways.Open(tree.Path)
	if err != nil {
		return "", err
	}
	args := []string{"rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD"}
	head, err := b.line(ctx, held.At, args...)
	if err != nil || held.BaseRef == "" {
		return head, err
	}
	args[len(args)-1] = held.BaseRef
	onto, err := b.line(ctx, held.At, args...)
	if git.Exited(err, 1) {
		err = nil
	}
	return head + " " + onto, err
}

// Meets reports whether two works of one repository changed a file, or a file and a directory, of the same name.
func (w Branch) Meets(other Branch) bool {
	if w.at.Common != other.at.Common || w.Head == other.Head {
		return false
	}
	small, large := w.Files, other.Files
	if len(small) > len(large) {
		small, large = large, small
	}
	isFile := make(map[string]bool, len(small)) // false: a directory
	for _, f := range small {
		isFile[f] = true
		for d := path.Dir(f); d != "."; d = path.Dir(d) {
			isFile[d] = isFile[d]
		}
	}
	return slices.ContainsFunc(large, func(f string) bool {
		if _, there := isFile[f]; there {
			return true
		}
		for d := path.Dir(f); d != "."; d = path.Dir(d) {
			if isFile[d] {
				return true
			}
		}
		return false
	})
}

// Conflicts lists the files in which a work conflicts with what it would be merged into.
func (b *Bench) Conflicts(ctx context.Context, w Branch) ([]string, error) {
	if w.Tip == w.Base {
		return nil, nil
	}
	_, files, err := b.meet(ctx, w.at, w.Tip, w.Head)
	return files, err
}

// Meet lists the files in which two works of one repository conflict with each other.
func (b *Bench) Meet(ctx context.Context, one, other Branch) ([]string, error) {
	_, files, err := b.meet(ctx, one.at, one.Head, other.Head)
	return files, err
}
