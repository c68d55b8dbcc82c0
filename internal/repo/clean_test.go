package repo

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"scv/internal/wire"
)

// derived is a worktree with what tools make again, and with what only looks like it.
func derived(t *testing.T) (*lab, Intent) {
	t.Helper()
	l := newLab(t)
	l.write(l.top+"/.gitignore", "node_modules/\n/target\n.venv\nout/\nlocal/\n*.o\n/dist\n")
	l.write(l.top+"/build/tracked.txt", "a folder with a name of derived ones that is tracked\n")
	l.write(l.top+"/.worktreeinclude", "local/\n")
	l.write(l.top+"/local/venv/kept.txt", "brought along\n")
	l.write(l.top+"/out/dist/tracked.txt", "ignored, and tracked all the same\n")
	l.owner(l.top, "add", "-f", "out/dist/tracked.txt")
	l.commit(l.top, "rules")
	in, _ := l.made(l.wish())
	for _, name := range []string{"web/node_modules/p/index.js", "target/debug/app", "out/tmp/node_modules/q.js", "out/cache/data"} {
		l.write(in.Path+"/"+name, "made again")
	}
	l.write(in.Path+"/out/cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
	l.write(in.Path+"/.venv/.git/HEAD", "ref: refs/heads/main\n")
	l.write(in.Path+"/out/notes.txt", "mine")
	l.write(in.Path+"/out/dist/beside.txt", "beside what is tracked")
	l.write(in.Path+"/local/dist/mine.txt", "untracked inside of ignored\n")
	l.write(in.Path+"/venv/new.txt", "untracked\n")
	l.must(os.Chmod(in.Path+"/target/debug", 0o555)) // as the module cache of Go is
	l.write(l.base+"/victim/file", "not ours\n")
	l.must(os.Symlink(l.base+"/victim", in.Path+"/dist"))
	l.must(os.Symlink(l.base+"/victim", in.Path+"/out/cache/victim"))
	return l, in
}

// P32: what tools make again is freed, and nothing else: not what is tracked or untracked, not what nobody knows, nothing
// that SCV brought along, no repository, and nothing that a link leads to.
func TestP32_T28_CleanFreesOnlyWhatToolsMakeAgain(t *testing.T) {
	l, in := derived(t)
	before := l.owner(in.Path, "status", "--porcelain", "-uall")

	want := []string{"local/dist", "out/cache", "out/tmp/node_modules", "target", "web/node_modules"}
	clean := func(at string, apply bool, busy func(string) error) []string {
		t.Helper()
		list, err := Cleaner{l.Trees}.Clean(t.Context(), at, apply, busy)
		l.must(err)
		if len(list) != 1 || list[0].Ref.Path != in.Path {
			t.Fatalf("it speaks of %+v", list)
		}
		var names []string
		for _, f := range list[0].Folders {
			names = append(names, f.Path)
			if f.Path != "out/cache" && f.Path != "local/dist" && f.Bytes != 10 {
				t.Errorf("%s has %d bytes", f.Path, f.Bytes)
			}
		}
		slices.Sort(names)
		return append(names, list[0].Kept)
	}
	if got := clean("", false, nil); !slices.Equal(got, append(slices.Clone(want), "")) {
		t.Errorf("it would remove %q", got)
	}
	if got := clean(in.Path+"/sub", true, func(string) error { return errors.New("job-1 works in it") }); !slices.Equal(got, []string{"job-1 works in it"}) {
		t.Errorf("while a job works in it: %q", got)
	}
	cat := exec.CommandContext(t.Context(), "cat")
	cat.Dir = in.Path
	stdin, err := cat.StdinPipe()
	l.must(err)
	l.must(cat.Start())
	if got := clean("", true, nil); len(got) != 1 || got[0] == "" {
		t.Errorf("while a process works in it: %q", got)
	}
	l.must(stdin.Close())
	l.must(cat.Wait())
	l.read(in.Path + "/target/debug/app")
	if got := clean("", true, nil); !slices.Equal(got, append(slices.Clone(want), "")) {
		t.Errorf("it removed %q", got)
	}
	l.freed(in, want, before)
	if got := clean("", true, nil); !slices.Equal(got, []string{""}) {
		t.Errorf("a second time it removed %q", got)
	}
	_, err = Cleaner{l.Trees}.Clean(t.Context(), l.top, true, nil)
	l.refusal(err, wire.ReasonNotFound, "is not a worktree of SCV")
	l.write(in.Path+"/.git", "gitdir: /elsewhere\n") // T28
	if got := clean("", true, nil); len(got) != 1 || got[0] == "" {
		t.Errorf("in one that changed its repository: %q", got)
	}
}

// freed fails the test unless the derived folders are gone and all else is there.
func (l *lab) freed(in Intent, want []string, before string) {
	t := l.t
	t.Helper()
	for _, name := range want {
		if _, err := os.Lstat(filepath.Join(in.Path, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	for _, name := range []string{"out/notes.txt", "local/venv/kept.txt", ".venv/.git/HEAD", "venv/new.txt", "build/tracked.txt", "out/dist/tracked.txt", "out/dist/beside.txt", "dist/file"} {
		l.read(in.Path + "/" + name)
	}
	if after := l.owner(in.Path, "status", "--porcelain", "-uall"); after != before {
		t.Errorf("git's status was\n%s\nand is\n%s", before, after)
	}
}
