package work

import (
	"context"
	"path"
	"slices"
	"strings"

	"scv/internal/repo"
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

// Branch tells the work of a worktree: the files that its commits changed since it left what it started from. What is not
// committed is not looked at: Loose tells that.
func (b *Bench) Branch(ctx context.Context, tree wire.WorktreeRef) (Branch, error) {
	held, err := b.ways.Open(tree.Path)
	if err != nil {
		return Branch{}, err
	}
	w := Branch{Repo: held.Repo, Name: held.Branch, Onto: held.BaseRef, at: git.Place{GitDir: held.At.GitDir, Common: held.At.Common}}
	if w.Head, w.Tip, err = b.tips(ctx, held); err != nil {
		return w, err
	}
	if w.Tip == "" { // it began detached, or the branch is gone
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
	return w, nil
}

// tips are the commits of a worktree and of what it would be merged into; the second is empty where there is none.
func (b *Bench) tips(ctx context.Context, held repo.Held) (head, onto string, err error) {
	args := []string{"rev-parse", "--end-of-options", "HEAD^{commit}"}
	if held.BaseRef != "" {
		out, err := b.git.Run(ctx, git.Call{At: held.At, Args: append(args, held.BaseRef+"^{commit}")})
		if both := strings.Fields(string(out)); err == nil && len(both) == 3 {
			return both[1], both[2], nil
		}
	}
	head, err = b.commit(ctx, held.At, "HEAD")
	return head, "", err
}

// Loose counts the files in a worktree that are not committed.
func (b *Bench) Loose(ctx context.Context, tree wire.WorktreeRef) (int, error) {
	held, err := b.ways.Open(tree.Path)
	if err != nil {
		return 0, err
	}
	names, err := b.loose(ctx, held.At)
	return len(names), err
}

// Tip tells what a worktree has checked out and what it would be merged into, in one look: while both are the same, its
// Branch is.
func (b *Bench) Tip(ctx context.Context, tree wire.WorktreeRef) (string, error) {
	held, err := b.ways.Open(tree.Path)
	if err != nil {
		return "", err
	}
	head, onto, err := b.tips(ctx, held)
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
			if _, there := isFile[d]; there {
				break
			}
			isFile[d] = false
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

// A Trial tries merges for one forecast: what undoes the drivers of a repository is asked once for all of them.
type Trial struct {
	b        *Bench
	harmless map[string][]string // by repository
}

// Trial returns a Trial, which one goroutine uses.
func (b *Bench) Trial() Trial { return Trial{b, map[string][]string{}} }

func (t Trial) meet(ctx context.Context, at git.Place, ours, theirs string) ([]string, error) {
	harmless, known := t.harmless[at.Common]
	if !known {
		var err error
		if harmless, err = t.b.git.Neutral(ctx, git.Call{At: at}); err != nil {
			return nil, err
		}
		t.harmless[at.Common] = harmless
	}
	_, files, err := t.b.meet(ctx, at, harmless, ours, theirs)
	return files, err
}

// Conflicts lists the files in which a work conflicts with what it would be merged into.
func (t Trial) Conflicts(ctx context.Context, w Branch) ([]string, error) {
	if w.Tip == w.Base {
		return nil, nil
	}
	return t.meet(ctx, w.at, w.Tip, w.Head)
}

// Meet lists the files in which two works of one repository conflict with each other.
func (t Trial) Meet(ctx context.Context, one, other Branch) ([]string, error) {
	return t.meet(ctx, one.at, one.Head, other.Head)
}
