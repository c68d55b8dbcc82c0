//go:build linux

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/internal/run/control"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

// TestU6_RunFolderBecomesSomethingElse: a link, a pipe or a file where the folder of a finished run was. Its log is
// refused with one sentence, everything else is shown, and what was put there is not touched.
func TestU6_RunFolderBecomesSomethingElse(t *testing.T) {
	l := newLab(t)
	l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:x")
	l.rests()
	run := filepath.Join(l.home, "runs", string(*job(l.until("it is there", func(*wire.Snapshot) bool { return true }), "job-1").Run))
	l.must(os.Rename(run, filepath.Join(l.base, "aside")))
	for name, put := range map[string]func() error{
		"link": func() error { return os.Symlink(filepath.Join(l.base, "aside"), run) },
		"pipe": func() error { return syscall.Mkfifo(run, 0o600) },
		"file": func() error { return os.WriteFile(run, []byte("x"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			l.must(put())
			for _, way := range []string{"start", "stop"} { // from the daemon, and from disk
				l.ok(way)
				code, _, errs := l.scv("jobs", "log", "job-1")
				if code == 0 || !strings.Contains(errs, "is no folder any more") || strings.Contains(errs, "inside the daemon") {
					t.Errorf("%s: code %d, %q", way, code, errs)
				}
				if out := l.ok("jobs", "result", "job-1"); out != "x\n" {
					t.Errorf("%s: the result is %q", way, out)
				}
			}
			if code, out, _ := l.scv("doctor"); code != 1 || !strings.Contains(out, "is no folder") {
				t.Errorf("doctor: code %d, %s", code, out)
			}
			l.must(os.Remove(run))
		})
	}
}

// TestU6_DamagedRecordsOfADeadShim: a free lock is the proof that a shim is gone, whatever its records hold: the run is
// interrupted and nothing of it is left.
func TestU6_DamagedRecordsOfADeadShim(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"garbage in shim.json": func(dir string) error { return os.WriteFile(filepath.Join(dir, "shim.json"), []byte("garbage"), 0o600) },
		"shim.json is a pipe": func(dir string) error {
			return join(os.Remove(filepath.Join(dir, "shim.json")), syscall.Mkfifo(filepath.Join(dir, "shim.json"), 0o600))
		},
		"shim.json is a link": func(dir string) error {
			return join(os.Remove(filepath.Join(dir, "shim.json")), os.Symlink("/dev/zero", filepath.Join(dir, "shim.json")))
		},
		"spec.json is cut": func(dir string) error { return os.Truncate(filepath.Join(dir, "spec.json"), 20) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			id := l.start("--agent", "demo", "@@say:up|spawn:600|hang")
			l.says(id, said("up"))
			dir := filepath.Join(l.home, "runs", string(*l.reaches(id, wire.StateWorking).Run))
			shim, err := control.ReadShim(dir)
			l.must(err)
			l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
			l.must(syscall.Kill(shim.PID, syscall.SIGKILL))
			_, err = control.AwaitGone(l.ctx, dir)
			l.must(err)
			l.must(harm(dir))
			l.ok("start")
			l.reaches(id, wire.StateInterrupted)
			l.rests()
		})
	}
}

func join(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestS6_RemovedHomeLeavesNothing: the whole home is removed under a daemon and a run. The daemon notices, ends what
// runs, since nobody could reach it any more, and leaves; a home that was only moved stays.
func TestS6_RemovedHomeLeavesNothing(t *testing.T) {
	l := newLab(t)
	id := l.start("--agent", "demo", "@@say:up|spawn:600|hang")
	l.says(id, said("up"))
	pid := l.daemon()
	l.must(os.RemoveAll(l.home))
	if !census.Leaves(pid) {
		t.Error("the daemon goes on in a home that is gone")
	}
	for _, what := range append(census.Left(l.base), census.Left(l.home)...) {
		t.Errorf("left behind: %s", what)
	}
	l.must(os.MkdirAll(l.home, 0o700))
}
