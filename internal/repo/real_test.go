package repo

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"

	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// clean fails the test unless the one worktree is listed without a problem and without changes, and can be removed.
func (l *lab) clean(in Intent) {
	l.t.Helper()
	trees, err := l.List(l.t.Context())
	l.must(err)
	if len(trees) != 1 || trees[0].Path != in.Path || trees[0].Problem != "" || trees[0].Dirty == nil || *trees[0].Dirty {
		l.t.Errorf("listed as %+v", trees)
	}
	_, err = l.Remove(l.t.Context(), in.Path, Removal{})
	l.must(err)
	l.owner(l.top, "branch", "-D", in.Branch)
	l.nothing(in)
}

// The owner's own git-lfs fills the files of a worktree, and finds nothing changed in them.
func TestT26_GitLFS(t *testing.T) {
	need.Program(t, "git-lfs")
	l := newLab(t)
	l.owner(l.top, "lfs", "install", "--skip-repo")
	l.owner(l.top, "lfs", "track", "*.bin")
	l.write(l.top+"/data.bin", "a large file\n")
	l.commit(l.top, "with a large file")
	if pointer := l.owner(l.top, "cat-file", "blob", "HEAD:data.bin"); !bytes.HasPrefix([]byte(pointer), []byte("version https://git-lfs")) {
		t.Fatalf("git-lfs is not at work here: %q", pointer)
	}
	w := l.wish()
	l.write(l.top+"/data.bin", "a larger file\n")
	w.WithChanges = true
	in, made := l.made(w)
	if got := l.read(in.Path + "/data.bin"); got != "a larger file\n" || len(made.Notes) != 0 {
		t.Errorf("with the owner's changes it has %q, notes %q", got, made.Notes)
	}
	_, err := l.Remove(t.Context(), in.Path, Removal{Force: true})
	l.must(err)
	in, _ = l.made(l.wish())
	if got := l.read(in.Path + "/data.bin"); got != "a large file\n" {
		t.Errorf("it has %q", got)
	}
	l.clean(in)
}

// In a partial clone a worktree is made of what is there. What is missing is not fetched: that is said, and nothing is left.
func TestB3_PartialClone(t *testing.T) {
	l := newLab(t)
	server := l.top
	l.owner(server, "config", "uploadpack.allowFilter", "true")
	l.write(server+"/README", "newer\n")
	l.commit(server, "second")
	l.top = l.base + "/partial"
	l.owner(l.base, "clone", "--quiet", "--no-local", "--filter=blob:none", "file://"+server, l.top)
	in, _ := l.made(l.wish())
	if got := l.read(in.Path + "/README"); got != "newer\n" {
		t.Errorf("it has %q", got)
	}
	l.clean(in)
	w := l.wish()
	w.Base = "HEAD~1"
	in, err := l.Plan(t.Context(), w)
	l.must(err)
	_, err = l.Create(t.Context(), in)
	l.refusal(err, wire.ReasonUnavailable, "git could not add the worktree")
	l.nothing(in)
}

// A bare clone whose checkouts are worktrees of their own is a checkout like others.
func TestM5_CheckoutsOfABareClone(t *testing.T) {
	l := newLab(t)
	bare := l.base + "/bare.git"
	l.owner(l.base, "clone", "--quiet", "--bare", l.top, bare)
	l.top = l.base + "/desk"
	l.owner(bare, "worktree", "add", "--quiet", l.top, "main")
	in, _ := l.made(l.wish())
	if in.Common != bare || in.Repo != l.top || in.BaseRef != "refs/heads/main" {
		t.Errorf("planned as %+v", in)
	}
	l.clean(in)
}

// A repository of 50,000 files: all of it is there, counted, and seen to be unchanged.
func TestFiftyThousandFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 100,000 files")
	}
	l := newLab(t)
	var s bytes.Buffer
	s.WriteString("blob\nmark :1\ndata 5\nline\n\ncommit refs/heads/wide\ncommitter A <a@example.org> 1800000000 +0000\ndata 4\nwide\n")
	for i := range 50_000 {
		fmt.Fprintf(&s, "M 100644 :1 d%03d/e%02d/f%05d\n", i%200, i%7, i)
	}
	s.WriteString("\n")
	load := exec.CommandContext(t.Context(), "git", "fast-import", "--quiet")
	load.Dir, load.Env, load.Stdin = l.top, l.env, &s
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v: %s", err, out)
	}
	w := l.wish()
	w.Base = "wide"
	in, _ := l.made(w)
	trees, err := l.List(t.Context())
	l.must(err)
	if len(trees) != 1 || !trees[0].Whole || trees[0].Tracked != 50_000*5 {
		t.Errorf("listed as %+v", trees)
	}
	l.clean(in)
}
