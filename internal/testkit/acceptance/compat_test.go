//go:build linux

package acceptance

import (
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
		{"go", "build", "-C", tree, "-o", exe, "./cmd/scv"},
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

// TestS5_UpgradeAndDowngradeByOne: ten runs talk while the daemon of the previous commit is replaced by this one and
// back, in order and by SIGKILL, so shims of either serve daemons of either. No line is lost or told twice, and what was
// listed is listed.
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
				l.by(order[0], "jobs", "start", "--agent", "demo", "--wait", "@@say:before")
				all := l.counts(runs, last, 20)
				for _, c := range all {
					l.says(c.id, said("n 1."))
				}
				for _, exe := range order[1:] {
					if way == "killed" {
						l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
						l.by(exe, "start")
					} else {
						l.by(exe, "restart")
					}
				}
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
