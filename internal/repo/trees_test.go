package repo

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"scv/internal/wire"
)

func TestCreateListRemove(t *testing.T) {
	l := newLab(t)
	w := l.wish()
	w.Cwd, w.Run = l.top+"/sub", "codex-3f9a2c"
	in, m := l.made(w)
	if in.Name != "codex-fix-flaky-retry-000001" || in.Branch != "scv/"+in.Name || m.Ref.Repo != l.top || m.Cwd != in.Path+"/sub" {
		t.Errorf("made %+v of %+v", m, in)
	}
	if again, err := l.Create(t.Context(), in); err != nil || again.Cwd != m.Cwd {
		t.Errorf("a second create answered %+v, %v", again, err)
	}
	link := filepath.Join(in.Common, "worktrees", in.Name)
	var mark marker
	l.must(json.Unmarshal([]byte(l.read(link+"/"+markerName)), &mark))
	if mark != (marker{Name: in.Name, Run: w.Run, Boot: "boot-1"}) || l.read(link+"/locked") != "scv: "+in.Name+" boot boot-1\n" {
		t.Errorf("marker %+v, lock %q", mark, l.read(link+"/locked"))
	}
	if out, err := l.raw(l.top, "worktree", "remove", in.Path); err == nil {
		t.Errorf("the owner's git removed a worktree in use: %s", out)
	}
	if out, _ := l.raw(l.top, "config", "branch."+in.Branch+".remote"); out != "" {
		t.Errorf("the branch tracks %s", out)
	}
	l.write(l.top+"/main.txt", "main moves on\n")
	l.commit(l.top, "second")
	trees, err := l.List(t.Context())
	l.must(err)
	if len(trees) != 1 {
		t.Fatalf("list: %+v", trees)
	}
	tree := trees[0]
	if *tree.Dirty || !*tree.Merged || tree.Ahead != 0 || tree.Behind != 1 || tree.Now != in.Branch || !tree.Whole || tree.Problem != "" {
		t.Errorf("clean tree: %+v", tree)
	}
	l.write(in.Path+"/made.log", "123456789")
	l.write(in.Path+"/made.txt", "1")
	l.commit(in.Path, "work")
	l.write(in.Path+"/more.txt", "1")
	trees, err = l.List(t.Context())
	l.must(err)
	if got := trees[0]; !*got.Dirty || *got.Merged || got.Ahead != 1 || got.Ignored != 9 || got.Tracked != tree.Tracked+2 || !got.LastUse.After(tree.LastUse.Add(-1)) {
		t.Errorf("tree with work: %+v", got)
	}
	_, err = l.Remove(t.Context(), in.Path+"/sub", Removal{})
	for _, words := range []string{"1 uncommitted change, such as \"more.txt\"", "1 commit not merged", "1 ignored file that SCV knows nothing about, such as \"made.log\""} {
		l.refusal(err, wire.ReasonRefused, words)
	}
	note, err := l.Remove(t.Context(), in.Path+"/sub", Removal{Force: true})
	l.must(err)
	if !strings.Contains(note, "branch -d "+in.Branch) || l.owner(l.top, "branch", "--list", in.Branch) == "" {
		t.Errorf("the branch is gone: %s", note)
	}
	l.owner(l.top, "branch", "-D", in.Branch)
	l.nothing(in)
}

// reason is something that keeps a worktree, with the words that say so.
type reason struct {
	name, words string
	do          func(l *lab, in Intent)
}

// owners are reasons that the owner may override.
func owners() []reason {
	return []reason{
		{"dirty", "1 uncommitted change", func(l *lab, in Intent) { l.write(in.Path+"/README", "changed\n") }},
		{"untracked", "such as \"x y\"", func(l *lab, in Intent) { l.write(in.Path+"/x y", "") }},
		{"env", "such as \".env\"", func(l *lab, in Intent) { l.write(in.Path+"/.env", "SECRET=1\n") }},
		{"in an ignored folder", "such as \"ignored/deep/result\"", func(l *lab, in Intent) { l.write(in.Path+"/ignored/deep/result", "1") }},
		{"unmerged", "1 commit not merged", func(l *lab, in Intent) { l.commit(in.Path, "work") }},
		{"unpushed", "1 commit not pushed to \"origin/main\"", func(l *lab, in Intent) {
			bare := filepath.Join(l.base, "bare.git")
			l.owner(l.top, "clone", "--quiet", "--bare", l.top, bare)
			l.owner(l.top, "remote", "add", "origin", bare)
			l.owner(l.top, "fetch", "--quiet", "origin")
			l.owner(in.Path, "branch", "--quiet", "--set-upstream-to=origin/main")
			l.commit(in.Path, "work")
			l.owner(l.top, "merge", "--quiet", in.Branch)
		}},
		{"assume unchanged", "told not to look at \"README\"", func(l *lab, in Intent) {
			l.owner(in.Path, "update-index", "--assume-unchanged", "README")
			l.write(in.Path+"/README", "hidden\n")
		}},
		{"skip worktree", "told not to look at \"README\"", func(l *lab, in Intent) {
			l.owner(in.Path, "update-index", "--skip-worktree", "README")
			l.write(in.Path+"/README", "hidden\n")
		}},
		{"merging", "in the middle of a merge", func(l *lab, in Intent) {
			l.owner(l.top, "commit", "--quiet", "--allow-empty", "-m", "m")
			l.owner(in.Path, "merge", "--quiet", "--no-commit", "--no-ff", "main")
		}},
		{"own repository", "is a repository of its own", func(l *lab, in Intent) {
			l.owner(in.Path, "init", "--quiet", "ignored/mine")
		}},
		{"owner's lock", "it is locked: \"mine\"", func(l *lab, in Intent) {
			l.owner(l.top, "worktree", "unlock", in.Path)
			l.owner(l.top, "worktree", "lock", "--reason", "mine", in.Path)
		}},
	}
}

// firm are reasons that nobody overrides.
func firm() []reason {
	return []reason{
		{"nameless commits", "commits that no branch names", func(l *lab, in Intent) {
			l.owner(in.Path, "switch", "--quiet", "--detach")
			l.commit(in.Path, "work")
		}},
		{"failed check", "cannot be told", func(l *lab, in Intent) {
			l.write(filepath.Join(in.Common, "worktrees", in.Name, "index"), "broken")
		}},
		{"T28 other repository", "changed its repository", func(l *lab, in Intent) {
			l.owner(l.top, "init", "--quiet", filepath.Join(l.base, "evil"))
			l.owner(filepath.Join(l.base, "evil"), "config", "core.fsmonitor", l.canary("evil"))
			l.write(in.Path+"/.git", "gitdir: "+filepath.Join(l.base, "evil", ".git")+"\n")
		}},
		{"T28 two lines", "changed its repository", func(l *lab, in Intent) {
			l.write(in.Path+"/.git", l.read(in.Path+"/.git")+"gitdir: /elsewhere\n")
		}},
		{"T28 a folder", "changed its repository", func(l *lab, in Intent) {
			l.must(os.Remove(in.Path + "/.git"))
			l.owner(in.Path, "init", "--quiet")
		}},
		{"T28 common", "changed its repository", func(l *lab, in Intent) {
			l.write(filepath.Join(in.Common, "worktrees", in.Name, "commondir"), filepath.Join(l.base, "evil")+"\n")
		}},
		{"T28 gitdir", "changed its repository", func(l *lab, in Intent) {
			l.write(filepath.Join(in.Common, "worktrees", in.Name, "gitdir"), "/elsewhere/.git\n")
		}},
		{"P25 another folder", "another directory stands in its place", func(l *lab, in Intent) {
			l.must(os.Rename(in.Path, in.Path+".moved"))
			l.must(os.CopyFS(in.Path, os.DirFS(in.Path+".moved")))
		}},
	}
}

// TestP26_EachReasonKeeps removes nothing while one reason stands, and says it.
func TestP26_EachReasonKeeps(t *testing.T) {
	for i, tc := range append(owners(), firm()...) {
		force := i < len(owners())
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			in, _ := l.made(l.wish())
			sibling, _ := l.made(l.wish())
			tc.do(l, in)
			before := l.read(in.Path + "/README")
			_, err := l.Remove(t.Context(), in.Path, Removal{})
			reason := wire.ReasonRefused
			if tc.name == "failed check" {
				reason = wire.ReasonUnavailable
			}
			l.refusal(err, reason, tc.words)
			verdicts, err := l.Prune(t.Context(), true, func(path string) error {
				if path == sibling.Path {
					return errors.New("job-1 works there")
				}
				return nil
			})
			l.must(err)
			if len(verdicts) != 2 || !strings.Contains(verdicts[0].Kept, tc.words) || !strings.Contains(verdicts[1].Kept, "job-1 works there") {
				t.Errorf("prune: %+v", verdicts)
			}
			if trees, err := l.List(t.Context()); err != nil || len(trees) != 2 {
				t.Errorf("list: %+v, %v", trees, err)
			}
			if ran := l.traces(); len(ran) > 0 {
				t.Errorf("ran %v", ran)
			}
			if l.read(in.Path+"/README") != before {
				t.Error("the worktree is not as it was")
			}
			_, err = l.Remove(t.Context(), in.Path, Removal{Force: true})
			if (err == nil) != force {
				t.Errorf("force: %v", err)
			}
			if _, err := os.Stat(in.Path); (err == nil) == force {
				t.Errorf("after force: %v", err)
			}
			if _, err := os.Stat(sibling.Path + "/README"); err != nil {
				t.Errorf("the sibling: %v", err)
			}
		})
	}
}

func TestP26_P27_LiveProcess(t *testing.T) {
	l := newLab(t)
	in, _ := l.made(l.wish())
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.Dir = in.Path + "/sub"
	stdin, err := cmd.StdinPipe()
	l.must(err)
	l.must(cmd.Start())
	_, err = l.Remove(t.Context(), in.Path, Removal{Force: true})
	l.refusal(err, wire.ReasonBusy, "(cat) works in")
	l.must(stdin.Close())
	l.must(cmd.Wait())
	_, err = l.Remove(t.Context(), in.Path, Removal{})
	l.must(err)
}

// TestRemoveLooksTwice changes the worktree between the look and the removal.
func TestRemoveLooksTwice(t *testing.T) {
	l := newLab(t)
	in, _ := l.made(l.wish())
	asked := 0
	_, err := l.Remove(t.Context(), in.Path, Removal{Busy: func(path string) error {
		if asked++; asked == 1 {
			l.write(path+"/late.txt", "work\n")
		}
		return nil
	}})
	l.refusal(err, wire.ReasonRefused, "1 uncommitted change, such as \"late.txt\"")
	if l.read(in.Path+"/late.txt") != "work\n" || asked != 2 {
		t.Error("the late file is not where it was")
	}
}

func TestP26_P31_KnownIgnoredFilesDoNotHold(t *testing.T) {
	l := newLab(t)
	l.write(l.top+"/.env", "A=1\n")
	l.write(l.top+"/ignored/keep.txt", "keep\n")
	l.must(os.Symlink("keep.txt", l.top+"/ignored/link"))
	l.write(l.top+"/other.log", "not named\n")
	l.write(l.top+"/notignored.cfg", "named, but not ignored\n")
	l.write(l.top+"/.worktreeinclude", ".env\nignored/\n*.cfg\n!never\n")
	in, m := l.made(l.wish()) // P31
	if len(m.Notes) != 0 || l.read(in.Path+"/.env") != "A=1\n" || l.read(in.Path+"/ignored/link") != "keep\n" {
		t.Errorf("included: %+v", m)
	}
	for _, name := range []string{"other.log", "notignored.cfg", ".worktreeinclude"} {
		if _, err := os.Lstat(filepath.Join(in.Path, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	l.write(in.Path+"/node_modules/p/index.js", "made again by a tool\n")
	l.write(in.Path+"/ignored/target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
	l.write(in.Path+"/ignored/target/out.bin", "made again by a tool\n")
	l.must(os.Chmod(in.Path+"/ignored/target", 0o555)) // as the module cache of Go is
	l.write(in.Path+"/.env", "A=2\n")
	_, err := l.Remove(t.Context(), in.Path, Removal{})
	l.refusal(err, wire.ReasonRefused, "1 ignored file that SCV knows nothing about, such as \".env\"")
	l.write(in.Path+"/.env", "A=1\n")
	_, err = l.Remove(t.Context(), in.Path, Removal{})
	l.must(err)
}

func TestWithChanges(t *testing.T) {
	l := newLab(t)
	l.write(l.top+"/README", "unstaged\n")
	l.must(os.Remove(l.top + "/sub/code.go"))
	l.write(l.top+"/staged.sh", "#!/bin/sh\n")
	l.must(os.Chmod(l.top+"/staged.sh", 0o755))
	l.owner(l.top, "add", "staged.sh")
	l.write(l.top+"/new dir/ü.txt", "untracked\n")
	l.must(os.Symlink("/etc/passwd", l.top+"/link"))
	l.write(l.top+"/x.log", "ignored\n")
	plainTree, _ := l.made(l.wish())
	if l.read(plainTree.Path+"/README") != "hello\n" {
		t.Error("changes came along unasked")
	}
	w := l.wish()
	w.WithChanges = true
	before := l.owner(l.top, "status", "--porcelain", "--ignored")
	in, _ := l.made(w)
	if l.owner(l.top, "status", "--porcelain", "--ignored") != before {
		t.Error("the checkout changed")
	}
	got := strings.Fields(l.owner(in.Path, "-c", "core.quotePath=false", "status", "--porcelain", "-uall"))
	want := []string{"M", "README", "D", "sub/code.go", "??", "link", "??", "\"new", "dir/ü.txt\"", "??", "staged.sh"}
	if !slices.Equal(got, want) {
		t.Errorf("the worktree has\n%q, want\n%q", got, want)
	}
	if target, err := os.Readlink(in.Path + "/link"); err != nil || target != "/etc/passwd" {
		t.Errorf("link: %q, %v", target, err)
	}
	if info, err := os.Stat(in.Path + "/staged.sh"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode: %v, %v", info, err)
	}
	l.commit(l.top, "second")
	w.Base = "HEAD~1"
	_, err := l.Plan(t.Context(), w)
	l.refusal(err, wire.ReasonInvalid, "only onto the commit they were made on")
}

func TestManyAtOnce(t *testing.T) {
	l := newLab(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			in, err := l.Plan(t.Context(), l.wish())
			if err == nil {
				_, err = l.Create(t.Context(), in)
			}
			if err == nil {
				_, err = l.List(t.Context())
			}
			if err == nil {
				_, err = l.Remove(t.Context(), in.Path, Removal{})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	trees, err := l.List(t.Context())
	if err != nil || len(trees) != 0 {
		t.Errorf("left: %+v, %v", trees, err)
	}
}
