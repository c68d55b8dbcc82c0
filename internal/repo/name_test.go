package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/wire"
)

func TestT30_HostileBranchNames(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{
		"--upload-pack=touch X", "-D", "a..b", "$(id)", "x\n", "\x1b[31m", "HEAD", strings.Repeat("x", 300), "a b", "a//b", "/a", "a/",
		".a", "a/.b", "a.lock", "a.lock/b", "a.", "refs/heads/x", "@", "a@{0}", "a~1", "a:b", "a\\b", "ü", "a\x00b", "-/a",
	} {
		w := l.wish()
		w.Branch = name
		_, err := l.Plan(t.Context(), w)
		l.refusal(err, wire.ReasonInvalid, "cannot be the name of a branch")
		if name == "HEAD" {
			continue
		}
		w.Branch, w.Base = "", name
		if _, err := l.Plan(t.Context(), w); err == nil {
			t.Errorf("base %q was taken", name)
		}
	}
	if trees, err := l.List(t.Context()); err != nil || len(trees) != 0 {
		t.Errorf("left: %+v, %v", trees, err)
	}
}

func TestBranchAndBase(t *testing.T) {
	l := newLab(t)
	l.commit(l.top, "second")
	l.owner(l.top, "tag", "v1.2", "HEAD~1")
	first, second := l.owner(l.top, "rev-parse", "HEAD~1"), l.owner(l.top, "rev-parse", "HEAD")
	for _, tc := range []struct{ base, commit, ref string }{
		{"", second, "refs/heads/main"},
		{"main", second, "refs/heads/main"},
		{"v1.2", first, "refs/tags/v1.2"},
		{"HEAD~1", first, ""},
		{"main^", first, ""},
		{first, first, ""},
		{first[:8], first, ""},
		{"refs/heads/main", second, "refs/heads/main"},
	} {
		w := l.wish()
		w.Base, w.Branch = tc.base, "fix/retry-1.x"
		in, err := l.Plan(t.Context(), w)
		if err != nil || in.Commit != tc.commit || in.BaseRef != tc.ref || in.Branch != w.Branch {
			t.Errorf("base %q: %+v, %v", tc.base, in, err)
		}
	}
	w := l.wish()
	w.Branch = "main"
	_, err := l.Plan(t.Context(), w)
	l.refusal(err, wire.ReasonConflict, "branch main exists already")
	// Taken between plan and create: the branch of somebody else stays.
	in, err := l.Plan(t.Context(), l.wish())
	l.must(err)
	l.owner(l.top, "branch", in.Branch)
	_, err = l.Create(t.Context(), in)
	l.refusal(err, wire.ReasonConflict, "exists already")
	if l.owner(l.top, "branch", "--list", in.Branch) == "" {
		t.Error("the branch of somebody else is gone")
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct{ task, want string }{
		{"Fix the flaky retry", "codex-fix-flaky-retry-3f9a2c"},
		{"", "codex-3f9a2c"},
		{"修复重试", "codex-3f9a2c"},
		{"../../etc/passwd", "codex-etc-passwd-3f9a2c"},
		{"first line\nsecond", "codex-first-line-3f9a2c"},
		{strings.Repeat("x", 500), "codex-" + strings.Repeat("x", 32) + "-3f9a2c"},
		{"one two three four five six seven eight nine", "codex-one-two-three-four-five-six-3f9a2c"},
	} {
		if got := newName("codex", tc.task, "3f9a2c"); got != tc.want || !validName(got) || checkBranch(branchLead+got) != nil {
			t.Errorf("%q gives %q, want %q", tc.task, got, tc.want)
		}
	}
	if a, b := groupName("/x/app"), groupName("/y/app"); a == b || !validGroup(a) || !strings.HasPrefix(a, "app-") {
		t.Errorf("groups %s, %s", a, b)
	}
	if got := groupName("/x/..é"); !strings.HasPrefix(got, "repo-") || !validGroup(got) {
		t.Errorf("group %s", got)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("Fix the flaky retry", "/x/app", "scv/x")
	f.Fuzz(func(t *testing.T, task, top, branch string) {
		if name := newName("codex", task, "3f9a2c"); !validName(name) || checkBranch(branchLead+name) != nil {
			t.Errorf("task %q gives %q", task, name)
		}
		if group := groupName(top); !validGroup(group) || !filepath.IsLocal(group) {
			t.Errorf("checkout %q gives %q", top, group)
		}
		if checkBranch(branch) == nil && (strings.HasPrefix(branch, "-") || strings.ContainsAny(branch, " $`;&|<>\n\x00\x1b")) {
			t.Errorf("branch %q was taken", branch)
		}
	})
}

func FuzzReadStatus(f *testing.F) {
	f.Add([]byte("# branch.head main\x001 .M N... 100644 100644 100644 a b name\x00? x\x00! y/\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		s, err := readStatus(out)
		if err == nil && !s.dirty() && (strings.HasPrefix(string(out), "? ") || strings.HasPrefix(string(out), "u ")) {
			t.Errorf("%q is clean", out)
		}
	})
}

func TestT31_HostileWorktreeIDs(t *testing.T) {
	l := newLab(t)
	good, _ := l.made(l.wish())
	for _, name := range []string{
		"../../x", "/etc", "a\x00b", "x.", "CODEX-fix", strings.ToUpper(good.Name), strings.Repeat("a", 4096), "", ".", "..", "-x", "a/b", "a.json", "a-",
	} {
		in := good
		in.Name = name
		in.Path = filepath.Dir(good.Path) + "/" + name
		if _, err := l.Create(t.Context(), in); err == nil {
			t.Errorf("create took %.40q", name)
		}
		if err := l.Undo(t.Context(), in); err == nil {
			t.Errorf("undo took %.40q", name)
		}
		_, err := l.Remove(t.Context(), in.Path, Removal{Force: true})
		l.refusal(err, wire.ReasonNotFound, "is not a worktree of SCV")
	}
	for _, path := range []string{l.top, l.home.Path(), "/", "relative", filepath.Dir(good.Path), good.Path + "/../../../x", filepath.Join(l.home.Path(), "runs", "x", "y")} {
		_, err := l.Remove(t.Context(), path, Removal{Force: true})
		l.refusal(err, wire.ReasonNotFound, "is not a worktree of SCV")
	}
	elsewhere := good
	elsewhere.Path = l.base + "/elsewhere"
	if _, err := l.Create(t.Context(), elsewhere); err == nil {
		t.Error("create took a path outside the home")
	}
	if entries, err := os.ReadDir(filepath.Dir(good.Path)); err != nil || len(entries) != 2 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestT23_HostileDirectories(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{"a; touch PWNED", "$(touch PWNED)", "a\nb", "--help", "-C"} {
		dir := filepath.Join(l.top, name)
		l.write(dir+"/file", "x\n")
		l.commit(l.top, "named")
		w := l.wish()
		w.Cwd = dir
		in, m := l.made(w)
		if m.Cwd != in.Path+"/"+name {
			t.Errorf("%q: cwd %q", name, m.Cwd)
		}
		// The top of a checkout may be named so too.
		top := filepath.Join(l.base, name)
		l.must(os.Mkdir(top, 0o755))
		l.owner(top, "init", "--quiet")
		l.commit(top, "x")
		w.Cwd = top
		in, err := l.Plan(t.Context(), w)
		if strings.Contains(name, "\n") {
			l.refusal(err, wire.ReasonInvalid, "cannot be used")
			continue
		}
		l.must(err)
		if _, err := l.Create(t.Context(), in); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	trees, err := l.List(t.Context())
	l.must(err)
	if len(trees) != 9 {
		t.Errorf("%d worktrees are listed", len(trees))
	}
	for _, tree := range trees {
		if tree.Problem != "" {
			t.Errorf("%q: %s", tree.Repo, tree.Problem)
		}
	}
	for _, dir := range []string{l.base, l.top, l.home.Path()} {
		if _, err := os.Stat(filepath.Join(dir, "PWNED")); err == nil {
			t.Errorf("PWNED in %s", dir)
		}
	}
}
