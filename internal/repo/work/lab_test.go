package work

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/repo"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

// lab is a home, a repository with one commit, and worktrees of it.
type lab struct {
	t         testing.TB
	base, top string
	env       []string
	home      *home.Home
	drawn     atomic.Uint32
	trees     *repo.Trees
	*Bench
}

func newLab(t testing.TB) *lab {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, base: base, top: filepath.Join(base, "app")}
	for _, dir := range []string{"user", "canary", "app"} {
		l.must(os.Mkdir(filepath.Join(base, dir), 0o700))
	}
	l.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "user")}
	l.write(base+"/user/.gitconfig", "[user]\n\tname = Owner\n\temail = owner@example.org\n[init]\n\tdefaultBranch = main\n")
	h, err := home.Open(filepath.Join(base, "home"))
	l.must(err)
	t.Cleanup(func() { _ = h.Close() })
	l.open(h, 0)
	l.owner(l.top, "init", "-q")
	l.write(l.top+"/a", "1\n2\n3\n")
	l.write(l.top+"/b", "1\n2\n3\n")
	l.write(l.top+"/.gitignore", "*.log\n")
	l.commit(l.top, "first")
	return l
}

// open makes the bench anew, which waits so long for locks of other git processes.
func (l *lab) open(h *home.Home, locks time.Duration) {
	l.home = h
	l.trees = repo.New(repo.Options{
		Home: h, Environ: l.env, Boot: "boot-1", Random: func(digits int) string { return fmt.Sprintf("%0*x", digits, l.drawn.Add(1)) },
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, Locks: locks,
	})
	l.Bench = New(l.trees)
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

// owner runs git as the owner does, without anything of ours.
func (l *lab) owner(dir string, args ...string) string {
	l.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, l.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (l *lab) commit(dir, message string) {
	l.t.Helper()
	l.owner(dir, "add", "-A")
	l.owner(dir, "commit", "-q", "-m", message)
}

// tree makes a worktree for a task.
func (l *lab) tree(task string) (wire.WorktreeRef, Spot) {
	l.t.Helper()
	in, err := l.trees.Plan(l.t.Context(), repo.Wish{Cwd: l.top, Agent: "codex", Task: task})
	l.must(err)
	made, err := l.trees.Create(l.t.Context(), in)
	l.must(err)
	s, err := l.Spot(l.t.Context(), &made.Ref, made.Cwd, &in.Commit)
	l.must(err)
	return made.Ref, s
}

func (l *lab) refused(err error, reason wire.Reason, words string) {
	l.t.Helper()
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || e.Reason != reason || !strings.Contains(e.Message, words) {
		l.t.Errorf("got %v, want %s with %q", err, reason, words)
	}
}
