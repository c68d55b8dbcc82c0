package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

func TestMain(m *testing.M) {
	if os.Getenv(makerEnv) != "" {
		os.Exit(maker())
	}
	os.Exit(census.Main(m))
}

// lab is a home, an owner with a git configuration, and a repository with one commit, all in a folder of the test.
type lab struct {
	t    testing.TB
	base string
	top  string // the checkout
	env  []string
	home *home.Home
	*Trees
}

func newLab(t testing.TB) *lab {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return newLabIn(t, base)
}

// newLabIn makes a lab in an empty folder.
func newLabIn(t testing.TB, base string) *lab {
	t.Helper()
	l := &lab{t: t, base: base, top: filepath.Join(base, "app")}
	for _, dir := range []string{"user", "canary", "app"} {
		l.must(os.Mkdir(filepath.Join(base, dir), 0o700))
	}
	l.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "user")}
	l.write(filepath.Join(base, "user", ".gitconfig"), "[user]\n\tname = Owner\n\temail = owner@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n")
	var err error
	l.home, err = home.Open(filepath.Join(base, "home"))
	l.must(err)
	t.Cleanup(func() { _ = l.home.Close() })
	l.Trees = l.trees()
	l.owner(l.top, "init", "--quiet")
	l.write(l.top+"/README", "hello\n")
	l.write(l.top+"/sub/code.go", "package sub\n")
	l.write(l.top+"/.gitignore", "ignored/\n*.log\n.env\nnode_modules/\n")
	l.commit(l.top, "first")
	return l
}

func (l *lab) trees() *Trees {
	var n atomic.Uint32
	return New(Options{
		Home: l.home, Environ: l.env, Boot: "boot-1",
		Random: func(digits int) string { return fmt.Sprintf("%0*x", digits, n.Add(1)) },
		Now:    func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	l.must(os.MkdirAll(filepath.Dir(name), 0o755))
	l.must(os.WriteFile(name, []byte(text), 0o644))
}

func (l *lab) read(name string) string {
	l.t.Helper()
	data, err := os.ReadFile(name)
	l.must(err)
	return string(data)
}

// owner runs the owner's plain git.
func (l *lab) owner(dir string, args ...string) string {
	l.t.Helper()
	out, err := l.raw(dir, args...)
	if err != nil {
		l.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func (l *lab) raw(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(l.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(l.env), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (l *lab) commit(dir, message string) {
	l.t.Helper()
	l.owner(dir, "add", "-A")
	l.owner(dir, "commit", "--quiet", "--allow-empty", "-m", message)
}

func (l *lab) wish() Wish { return Wish{Cwd: l.top, Agent: "codex", Task: "Fix the flaky retry"} }

// made plans and makes a worktree.
func (l *lab) made(w Wish) (Intent, Made) {
	l.t.Helper()
	in, err := l.Plan(l.t.Context(), w)
	l.must(err)
	m, err := l.Create(l.t.Context(), in)
	l.must(err)
	return in, m
}

// refusal asserts that err is a sentence with this reason and these words.
func (l *lab) refusal(err error, reason wire.Reason, words string) {
	l.t.Helper()
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || e.Reason != reason || !strings.Contains(e.Message, words) {
		l.t.Errorf("got %v (%+v), want a refusal %q with %q", err, e, reason, words)
	}
}

// canary is a shell command that leaves a trace under this name.
func (l *lab) canary(name string) string {
	return "touch '" + filepath.Join(l.base, "canary", name) + "'"
}

// traces lists the canaries that ran, and forgets them.
func (l *lab) traces() []string {
	l.t.Helper()
	entries, err := os.ReadDir(filepath.Join(l.base, "canary"))
	l.must(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		l.must(os.Remove(filepath.Join(l.base, "canary", e.Name())))
	}
	return names
}

// nothing asserts that no trace of a worktree is left anywhere.
func (l *lab) nothing(in Intent) {
	l.t.Helper()
	group := filepath.Dir(in.Path)
	left, err := os.ReadDir(group)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	for _, e := range left {
		if strings.Contains(e.Name(), in.Name) {
			l.t.Errorf("%s is left in %s", e.Name(), group)
		}
	}
	if out := l.owner(l.top, "worktree", "list", "--porcelain"); strings.Contains(out, in.Name) {
		l.t.Errorf("git still lists it:\n%s", out)
	}
	if _, err := os.Lstat(filepath.Join(in.Common, "worktrees", in.Name)); !errors.Is(err, fs.ErrNotExist) {
		l.t.Errorf("git's entry is left: %v", err)
	}
	if out := l.owner(l.top, "for-each-ref", ReviewRefs); strings.Contains(out, in.Name) {
		l.t.Errorf("names are left: %s", out)
	}
	if out := l.owner(l.top, "branch", "--list", in.Branch); out != "" {
		l.t.Errorf("branch %s is left", in.Branch)
	}
}
