//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// previous builds the program of the commit that testdata/compat/previous names.
func previous(t *testing.T) string {
	t.Helper()
	root, commit := need.Commit(t, "testdata/compat/previous")
	dir := t.TempDir()
	tree, exe := filepath.Join(dir, "tree"), filepath.Join(dir, "scv")
	for _, c := range [][]string{
		{"git", "-C", root, "archive", "--format=tar", "--prefix=tree/", "-o", filepath.Join(dir, "tree.tar"), commit},
		{"tar", "-x", "-C", dir, "-f", filepath.Join(dir, "tree.tar")},
		{"go", "build", "-C", tree, "-trimpath", "-o", exe, "./cmd/scv"}, // so that a second build finds what the first one made
	} {
		cmd := exec.CommandContext(t.Context(), c[0], c[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", strings.Join(c, " "), err, out)
		}
	}
	return exe
}

// by runs a command of another program in the lab.
func (l *lab) by(exe string, args ...string) {
	l.t.Helper()
	c := exec.CommandContext(l.ctx, exe, args...)
	c.Env, c.Dir = l.env, l.work
	if out, err := c.CombinedOutput(); err != nil {
		l.t.Fatalf("%s %s: %v: %s", exe, strings.Join(args, " "), err, out)
	}
}

// TestS5_UpgradeAndDowngradeByOne: ten runs talk, half of them by a process a turn and half by one that lives on, and the
// owner types into a terminal, while the daemon of the previous commit is replaced by this one and back, in order and by
// SIGKILL, so shims of either serve daemons of either. No line is lost or told twice, the terminal is the same, and what
// was listed is listed.
func TestS5_UpgradeAndDowngradeByOne(t *testing.T) {
	const runs, last = 10, 150
	old := previous(t)
	this := os.Getenv(programKey)
	for name, order := range map[string][]string{
		"upgrade": {old, this}, "downgrade": {this, old}, "there and back": {old, this, old, this},
	} {
		for _, way := range []string{"restart", "killed"} {
			t.Run(name+", "+way, func(t *testing.T) {
				l := newLab(t)
				l.by(order[0], "start")
				w := l.attach(80, 24, "attach", string(l.resting().Job))
				w.shows("Type a line")
				all := l.counts(runs, last, 20)
				for _, c := range all {
					l.says(c.id, said("n 1."))
				}
				w.types("begun")
				for _, exe := range order[1:] {
					if way == "killed" {
						l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
						l.by(exe, "start")
					} else {
						l.by(exe, "restart")
					}
				}
				w.over("begun")
				var wg sync.WaitGroup
				for _, c := range all {
					wg.Go(func() { l.whole(c, 1, last) })
				}
				wg.Wait()
				for _, c := range all {
					l.reaches(c.id, wire.StateCompleted)
				}
				view := l.until("nothing lives", func(v *wire.Snapshot) bool {
					return !slices.ContainsFunc(v.Runs, func(r wire.Run) bool { return r.Live })
				})
				if len(view.Jobs) != runs+1 {
					t.Errorf("%d jobs are listed", len(view.Jobs))
				}
				l.by(this, "restart") // whose end is checked by this program
			})
		}
	}
}

// over types the end of a word that was begun under another daemon, and lets the demo's terminal answer it and end.
func (d *dash) over(word string) {
	d.l.t.Helper()
	d.shows(word)
	d.l.must(d.Type("-end"))
	d.kept(word + "-end")
	d.l.must(d.Type("\r"))
	if text := d.shows("you said: " + word + "-end\n"); strings.Count(text, word) != 2 {
		d.l.t.Errorf("%s is not there twice:\n%s", word, text)
	}
	d.l.must(d.Type("/quit\r"))
	d.closed()
}

// TestB10_AnotherBuildLeavesTheHomeAlone: while a daemon of one build serves a home, one of the other is refused,
// with the lock's file or without it, and this one names number and release of the first. The first goes on: it lists what it had, and takes what comes.
func TestB10_AnotherBuildLeavesTheHomeAlone(t *testing.T) {
	old, this := previous(t), os.Getenv(programKey)
	for name, c := range map[string]struct{ first, second string }{"a newer one": {old, this}, "an older one": {this, old}} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.by(c.first, "start")
			l.by(c.first, "jobs", "start", "--agent", "demo", "--wait", "@@say:before")
			first := l.daemon()
			for _, before := range []func() error{
				func() error { return nil },
				func() error { return os.Remove(filepath.Join(l.home, "state", "server.lock")) },
			} {
				l.must(before())
				second := exec.CommandContext(l.ctx, c.second, "run")
				second.Env, second.Dir = l.env, l.work
				out, err := second.CombinedOutput()
				if err == nil {
					t.Fatalf("it was let in: %s", out)
				}
				if c.second == this && (!strings.Contains(string(out), fmt.Sprintf("process %d", first)) || !strings.Contains(string(out), "; it is of release ")) {
					t.Errorf("it says %s, want the number %d and a release", out, first)
				}
				l.by(c.first, "jobs", "start", "--agent", "demo", "--wait", "@@say:after")
			}
			view := l.until("all is listed", func(v *wire.Snapshot) bool { return len(v.Jobs) == 3 })
			for _, j := range view.Jobs {
				if j.State != wire.StateCompleted {
					t.Errorf("%s is %s", j.Job, j.State)
				}
			}
		})
	}
}
