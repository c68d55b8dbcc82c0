package repo

import (
	"context"
	"syscall"

	"scv/internal/repo/git"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Room are the bounds of what worktrees may take.
type Room struct {
	Floor uint64 // bytes that must stay free where the home is; 0: not looked at
	Most  uint64 // bytes of all worktrees together; 0: no bound
}

const makeRoom = "make room: scv agents worktrees clean --all   or: scv agents worktrees prune"

// Enough refuses another worktree while less than the floor is free, or the budget is used up. Taken is what the
// worktrees have, and is asked for only when there is a budget.
func (w Ways) Enough(r Room, taken func() (uint64, error)) error {
	if r.Floor > 0 {
		var st syscall.Statfs_t
		if err := syscall.Statfs(w.t.home.Path(), &st); err != nil {
			return refused("how much space is free cannot be told", err)
		}
		if free := uint64(st.Bavail) * uint64(st.Bsize); free < r.Floor {
			return wire.Refuse(wire.ReasonFull, makeRoom, "%s are free at %s, and a worktree needs %s to stay free (worktrees.floor_mb).",
				plain.Size(free), pretty(w.t.home.Path()), plain.Size(r.Floor))
		}
	}
	if r.Most == 0 {
		return nil
	}
	used, err := taken()
	if err != nil {
		return refused("how much space the worktrees take cannot be told", err)
	}
	if used >= r.Most {
		return wire.Refuse(wire.ReasonFull, makeRoom, "the worktrees take %s, and may take %s (worktrees.max_mb).", plain.Size(used), plain.Size(r.Most))
	}
	return nil
}

// Ways lead the rooms above into repositories.
type Ways struct{ t *Trees }

// Ways returns the ways into the repositories of a home.
func (t *Trees) Ways() Ways { return Ways{t} }

// Git starts git.
func (w Ways) Git() *git.Runner { return w.t.git.Runner }

// Checkout finds the checkout that a directory lies in, of whoever made it. Refusals are *wire.Error.
func (w Ways) Checkout(ctx context.Context, cwd string) (git.Place, error) {
	return w.t.git.checkout(ctx, cwd)
}

// A Held is a worktree that SCV made, with the link to its repository proven a moment ago.
type Held struct {
	Intent
	At     git.Place // the worktree
	Source git.Place // the checkout that it comes from, which may be gone
}

// Open finds the worktree that path lies in, and proves it. Refusals are *wire.Error.
func (w Ways) Open(path string) (Held, error) {
	t := w.t
	r, err := t.find(path)
	if err != nil {
		return Held{}, err
	}
	if !r.Made {
		return Held{}, wire.Refuse(wire.ReasonBusy, "wait until its job works", "worktree %s is not complete.", r.Name)
	}
	if err := t.verify(r, r.dir()); err != nil {
		return Held{}, refused("worktree "+r.Name+" cannot be used", err)
	}
	return Held{Intent: r.Intent, At: r.at(), Source: r.source()}, nil
}

// Middle names what a worktree is in the middle of, such as a rebase; empty for nothing.
func (h Held) Middle() string { return git.Middle(h.At.GitDir) }

// Turn waits until nobody else in this process changes a repository, and returns what lets the next one go on.
func (w Ways) Turn(ctx context.Context, common string) (func(), error) {
	return w.t.turn(ctx, common)
}

// Refused turns the failure of a step into a sentence that names it; a refusal stays as it is.
func Refused(step string, err error) error { return refused(step, err) }

// CheckBranch refuses what is no plain branch name.
func CheckBranch(name string) error { return checkBranch(name) }
