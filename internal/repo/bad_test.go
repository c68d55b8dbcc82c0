package repo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/wire"
)

func TestM5_BadRepositories(t *testing.T) {
	l := newLab(t)
	plan := func(dir string) error {
		w := l.wish()
		w.Cwd = dir
		_, err := l.Plan(t.Context(), w)
		return err
	}
	empty, bare, none := l.base+"/empty", l.base+"/bare", l.base+"/none"
	for _, dir := range []string{empty, bare, none} {
		l.must(os.Mkdir(dir, 0o755))
	}
	l.owner(empty, "init", "--quiet")
	l.owner(bare, "init", "--quiet", "--bare")
	l.refusal(plan(empty), wire.ReasonRefused, "has no commit yet")
	l.refusal(plan(bare), wire.ReasonNotFound, "not inside a git checkout")
	l.refusal(plan(none), wire.ReasonNotFound, "not inside a git checkout")
	l.refusal(plan(l.base+"/missing"), wire.ReasonNotFound, "does not exist")
	l.refusal(plan("relative"), wire.ReasonInvalid, "not an absolute directory")
	l.refusal(plan(l.top+"/.git"), wire.ReasonNotFound, "not inside a git checkout")

	// Detached is fine: the commit is what counts.
	l.owner(l.top, "checkout", "--quiet", "--detach")
	in, _ := l.made(l.wish())
	if in.BaseRef != "" {
		t.Errorf("base of a detached checkout: %+v", in)
	}
	if _, err := l.Remove(t.Context(), in.Path, Removal{}); err != nil {
		t.Error(err)
	}
	// A linked worktree of the owner is a checkout too, and its own place in the home.
	linked := l.base + "/linked"
	l.owner(l.top, "worktree", "add", "--quiet", "-b", "side", linked)
	w := l.wish()
	w.Cwd = linked
	in, m := l.made(w)
	if m.Ref.Repo != linked || in.Common != l.top+"/.git" {
		t.Errorf("of a linked worktree: %+v", in)
	}
	l.owner(l.top, "worktree", "remove", linked)
	if _, err := l.Remove(t.Context(), in.Path, Removal{}); err != nil {
		t.Error(err)
	}
}

// In the middle of a rebase, with the index locked, the commit is what counts; changes with conflicts are not carried over.
func TestM5_MidRebaseAndLocked(t *testing.T) {
	l := newLab(t)
	l.owner(l.top, "branch", "other")
	l.write(l.top+"/README", "ours\n")
	l.commit(l.top, "ours")
	l.owner(l.top, "checkout", "--quiet", "other")
	l.write(l.top+"/README", "theirs\n")
	l.commit(l.top, "theirs")
	if out, err := l.raw(l.top, "rebase", "main"); err == nil {
		t.Fatalf("there is no conflict: %s", out)
	}
	l.write(l.top+"/.git/index.lock", "")
	in, _ := l.made(l.wish())
	if _, err := l.Remove(t.Context(), in.Path, Removal{}); err != nil {
		t.Error(err)
	}
	w := l.wish()
	w.WithChanges = true
	in, err := l.Plan(t.Context(), w)
	l.must(err)
	_, err = l.Create(t.Context(), in)
	l.refusal(err, wire.ReasonRefused, "the checkout has 1 file with merge conflicts")
	l.nothing(in)
	l.must(os.Remove(l.top + "/.git/index.lock"))
	l.owner(l.top, "rebase", "--abort")
}

// A repository whose parts are broken or gone is refused in git's words, and nothing is left behind.
func TestM5_BrokenRepositories(t *testing.T) {
	for name, breaks := range map[string]func(l *lab){
		"HEAD":    func(l *lab) { l.write(l.top+"/.git/HEAD", "garbage\n") },
		"the tip": func(l *lab) { l.write(l.top+"/.git/refs/heads/main", strings.Repeat("1", 40)+"\n") },
		"objects": func(l *lab) { l.must(os.Rename(l.top+"/.git/objects", l.top+"/.git/gone")) },
		"config":  func(l *lab) { l.write(l.top+"/.git/config", "[core\n") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			breaks(l)
			in, err := l.Plan(t.Context(), l.wish())
			if err == nil {
				_, err = l.Create(t.Context(), in)
			}
			if _, ok := errors.AsType[*wire.Error](err); !ok {
				t.Errorf("it is told as %v", err)
			}
			if left, _ := filepath.Glob(l.base + "/home/worktrees/*/*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
