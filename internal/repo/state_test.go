package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/internal/repo/git"
	"scv/internal/testkit/need"
	"scv/internal/wire"
)

func (l *lab) kinds(intents ...Intent) []Kind {
	l.t.Helper()
	found, err := l.Reconcile(l.t.Context(), intents)
	l.must(err)
	var kinds []Kind
	for _, f := range found {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

// misfit is something that Reconcile finds.
type misfit struct {
	name string
	want []Kind
	do   func(l *lab, in *Intent) []Intent
}

func misfits() []misfit {
	return []misfit{
		{"all fits", nil, func(_ *lab, in *Intent) []Intent { return []Intent{*in} }},
		{"empty ledger", []Kind{Unlisted}, func(_ *lab, _ *Intent) []Intent { return nil }},
		{"never begun", []Kind{NeverBegun}, func(l *lab, in *Intent) []Intent {
			second, err := l.Plan(l.t.Context(), l.wish())
			l.must(err)
			return []Intent{*in, second}
		}},
		{"gone by hand", []Kind{Lost}, func(l *lab, in *Intent) []Intent {
			l.must(os.RemoveAll(in.Path))
			return []Intent{*in}
		}},
		{"moved by hand", []Kind{Lost}, func(l *lab, in *Intent) []Intent {
			l.must(os.Rename(in.Path, filepath.Join(l.base, "moved")))
			return []Intent{*in}
		}},
		{"repository gone", []Kind{Lost}, func(l *lab, in *Intent) []Intent {
			l.must(os.Rename(l.top, l.top+".away"))
			return []Intent{*in}
		}},
		{"record gone", []Kind{Unrecorded}, func(l *lab, in *Intent) []Intent {
			l.must(os.Remove(in.Path + ".json"))
			return nil
		}},
		{"record and folder gone, git remembers", []Kind{Unrecorded}, func(l *lab, in *Intent) []Intent {
			other, _ := l.made(l.wish())
			l.must(os.Remove(in.Path + ".json"))
			l.must(os.RemoveAll(in.Path))
			return []Intent{other}
		}},
		{"record broken", []Kind{Unreadable}, func(l *lab, in *Intent) []Intent {
			l.write(in.Path+".json", "{")
			return []Intent{*in}
		}},
		{"record of another release", []Kind{Unreadable}, func(l *lab, in *Intent) []Intent {
			l.write(in.Path+".json", `{"v":1,"source":"/x","branch":"b","common":"/x/.git"}`)
			return []Intent{*in}
		}},
		{"machine started anew", []Kind{HeldBefore}, func(l *lab, in *Intent) []Intent {
			l.boot = "boot-2"
			return []Intent{*in}
		}},
		{"removal cut off", []Kind{HalfRemoved}, func(l *lab, in *Intent) []Intent {
			l.must(os.Rename(in.Path, filepath.Join(filepath.Dir(in.Path), ".removing-"+in.Name)))
			return []Intent{*in}
		}},
	}
}

func TestP24_ReconcileNeverDeletes(t *testing.T) {
	for _, tc := range misfits() {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			in, _ := l.made(l.wish())
			l.write(in.Path+"/work.txt", "work\n")
			intents := tc.do(l, &in)
			before := l.files()
			if got := l.kinds(intents...); !slices.Equal(got, tc.want) {
				t.Errorf("found %v, want %v", got, tc.want)
			}
			if after := l.files(); !slices.Equal(before, after) {
				t.Errorf("files before\n%v\nafter\n%v", before, after)
			}
		})
	}
}

// files lists every file of the lab.
func (l *lab) files() []string {
	l.t.Helper()
	var all []string
	l.must(filepath.WalkDir(l.base, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return all
}

func TestP24_UnreadableInventoryIsAnError(t *testing.T) {
	l := newLab(t)
	in, _ := l.made(l.wish())
	l.must(os.Rename(filepath.Dir(filepath.Dir(in.Path)), l.home.Path()+"/away"))
	l.write(l.home.Path()+"/worktrees", "a file\n")
	if found, err := l.Reconcile(t.Context(), []Intent{in}); err == nil {
		t.Errorf("concluded %+v", found)
	}
	if _, err := l.Prune(t.Context(), true, nil); err == nil {
		t.Error("pruned")
	}
}

func TestRemovalGoesOnAfterACrash(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(l *lab, in Intent, aside string)
	}{
		{"set aside", func(l *lab, in Intent, aside string) { l.must(os.Rename(in.Path, aside)) }},
		{"forgotten by git", func(l *lab, in Intent, aside string) {
			l.must(os.Rename(in.Path, aside))
			l.must(os.RemoveAll(filepath.Join(in.Common, "worktrees", in.Name)))
		}},
		{"files gone", func(l *lab, in Intent, _ string) {
			l.must(os.RemoveAll(in.Path))
			l.must(os.RemoveAll(filepath.Join(in.Common, "worktrees", in.Name)))
		}},
		{"removed by hand", func(l *lab, in Intent, _ string) { l.must(os.RemoveAll(in.Path)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			in, _ := l.made(l.wish())
			tc.do(l, in, filepath.Join(filepath.Dir(in.Path), ".removing-"+in.Name))
			_, err := l.Remove(t.Context(), in.Path, Removal{})
			l.must(err)
			l.owner(l.top, "branch", "-D", in.Branch)
			l.nothing(in)
		})
	}
	// Work that is found in one set aside comes back to its place.
	l := newLab(t)
	in, _ := l.made(l.wish())
	l.write(in.Path+"/work.txt", "work\n")
	l.must(os.Rename(in.Path, filepath.Join(filepath.Dir(in.Path), ".removing-"+in.Name)))
	_, err := l.Remove(t.Context(), in.Path, Removal{})
	l.refusal(err, wire.ReasonRefused, "1 uncommitted change")
	if l.read(in.Path+"/work.txt") != "work\n" {
		t.Error("the work is not in its place")
	}
	// Commits that only a folder removed by hand stood on are not given up.
	l.owner(in.Path, "switch", "--quiet", "--detach")
	l.commit(in.Path, "work")
	l.must(os.RemoveAll(in.Path))
	_, err = l.Remove(t.Context(), in.Path, Removal{Force: true})
	l.refusal(err, wire.ReasonRefused, "commits that no branch names")
}

func TestT33_SymlinkedParents(t *testing.T) {
	for _, inside := range []bool{true, false} {
		l := newLab(t)
		in, _ := l.made(l.wish())
		group := filepath.Dir(in.Path)
		moved := filepath.Join(l.base, "victim")
		if inside {
			moved = filepath.Join(l.home.Path(), "worktrees", "other-00000000")
		}
		l.must(os.Rename(group, moved))
		l.must(os.Symlink(moved, group))
		before := l.files()
		_, err := l.Remove(t.Context(), in.Path, Removal{Force: true})
		if err == nil {
			t.Error("removed through a link")
		}
		if err := l.Undo(t.Context(), in); err == nil {
			t.Error("undone through a link")
		}
		if _, err := l.Create(t.Context(), in); err == nil {
			t.Error("created through a link")
		}
		if after := l.files(); !slices.Equal(before, after) {
			t.Errorf("files before\n%v\nafter\n%v", before, after)
		}
	}
	// The repository's side.
	l := newLab(t)
	in, _ := l.made(l.wish())
	l.must(os.Rename(in.Common, filepath.Join(l.base, "git")))
	l.must(os.Symlink(filepath.Join(l.base, "git"), in.Common))
	_, err := l.Remove(t.Context(), in.Path, Removal{Force: true})
	l.refusal(err, wire.ReasonRefused, "changed its repository")
}

func TestM5_SparseCheckout(t *testing.T) {
	l := newLab(t)
	l.write(l.top+"/other/file", "x\n")
	l.commit(l.top, "other")
	l.owner(l.top, "sparse-checkout", "set", "sub")
	in, _ := l.made(l.wish())
	trees, err := l.List(t.Context())
	l.must(err)
	if len(trees) != 1 || *trees[0].Dirty || trees[0].Problem != "" {
		t.Errorf("list: %+v", trees)
	}
	// A file outside the cone that is there all the same is not what git looks at.
	l.write(in.Path+"/other/file", "work\n")
	if _, err = l.Remove(t.Context(), in.Path, Removal{}); err == nil {
		t.Error("a hidden change was removed")
	}
	l.must(os.RemoveAll(in.Path + "/other"))
	_, err = l.Remove(t.Context(), in.Path, Removal{})
	l.must(err)
}

func TestM5_RepositoryOfAnotherUser(t *testing.T) {
	need.Root(t)
	l := newLab(t)
	l.must(filepath.WalkDir(l.top, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 12345, 12345))
	}))
	_, err := l.Plan(t.Context(), l.wish())
	l.refusal(err, wire.ReasonRefused, "belongs to another user")
}

func TestB3_FailedCreateLeavesNothing(t *testing.T) {
	for _, tc := range []struct {
		name, words string
		do          func(l *lab, in *Intent)
	}{
		{"filter fails", "git could not add the worktree", func(l *lab, _ *Intent) {
			l.owner(l.top, "config", "--global", "filter.bad.smudge", "false")
			l.owner(l.top, "config", "--global", "filter.bad.required", "true")
		}},
		{"broken object", "git could not add the worktree", func(l *lab, in *Intent) {
			blob := l.owner(l.top, "rev-parse", "HEAD:bad.txt")
			l.must(os.RemoveAll(filepath.Join(in.Common, "objects", blob[:2], blob[2:])))
		}},
		{"checkout moved on", "the checkout moved on meanwhile", func(l *lab, in *Intent) {
			in.WithChanges = true
			l.commit(l.top, "meanwhile")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			l.write(l.top+"/.gitattributes", "bad.txt filter=bad\n")
			l.write(l.top+"/bad.txt", "bad\n")
			l.commit(l.top, "bad")
			for range 20 {
				in, err := l.Plan(t.Context(), l.wish())
				l.must(err)
				tc.do(l, &in)
				_, err = l.Create(t.Context(), in)
				if err == nil || !strings.Contains(err.Error(), tc.words) {
					t.Errorf("got %v, want %q", err, tc.words)
				}
				l.nothing(in)
			}
		})
	}
}

func TestGitOutputIsBounded(t *testing.T) {
	l := newLab(t)
	l.write(l.top+"/big", strings.Repeat("x", 64<<10))
	l.commit(l.top, "big")
	at := git.Place{Top: l.top, GitDir: l.top + "/.git", Common: l.top + "/.git"}
	if _, err := l.git.Run(t.Context(), git.Call{At: at, Args: []string{"show", "HEAD:big"}}); err != nil {
		t.Error(err)
	}
	l.write(l.top+"/big", strings.Repeat("x", 64<<10+1))
	l.commit(l.top, "bigger")
	if _, err := l.git.Run(t.Context(), git.Call{At: at, Args: []string{"show", "HEAD:big"}}); !errors.Is(err, git.ErrTooMuch) {
		t.Errorf("too much output gave %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.git.Run(ctx, git.Call{At: at, Args: []string{"status"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call gave %v", err)
	}
}

func TestHoldAndRelease(t *testing.T) {
	l := newLab(t)
	in, _ := l.made(l.wish())
	locked := filepath.Join(in.Common, "worktrees", in.Name, "locked")
	for range 2 {
		l.must(l.Release(t.Context(), in.Path))
		if _, err := os.Stat(locked); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("still locked: %v", err)
		}
	}
	for range 2 {
		l.must(l.Hold(t.Context(), in.Path))
		if !strings.HasPrefix(l.read(locked), lockLead) {
			t.Error("not locked")
		}
	}
	l.write(locked, "mine\n")
	l.must(l.Release(t.Context(), in.Path))
	l.must(l.Hold(t.Context(), in.Path))
	if l.read(locked) != "mine\n" {
		t.Error("the owner's lock is gone")
	}
	l.refusal(l.Hold(t.Context(), l.top), wire.ReasonNotFound, "is not a worktree of SCV")
}
