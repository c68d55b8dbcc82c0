//go:build linux

package acceptance

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
)

// A kept is what a home lists, without what a rebuilt ledger counts anew.
type kept struct {
	jobs    []wire.Job
	results map[wire.JobID]string
}

// kept reads all jobs and results by the daemon, once the live run was found again.
func (l *lab) kept(live wire.JobID) kept {
	l.t.Helper()
	view := l.until("the run is found", func(v *wire.Snapshot) bool { j := job(v, live); return j != nil && j.State == wire.StateWorking })
	k := kept{jobs: view.Jobs, results: map[wire.JobID]string{}}
	for i := range k.jobs {
		j := &k.jobs[i]
		j.Rev, j.Attach = 0, nil // an offer is of the moment
		if !j.State.Final() {
			j.Detail, j.UpdatedUnixSeconds = nil, 0
			continue
		}
		_, out, errs := l.scv("jobs", "result", string(j.Job))
		k.results[j.Job] = out + errs
	}
	return k
}

// TestS15_LostLedgerIsBuiltAnew: deleted, emptied, cut short or scribbled over, with the newest copy, an older one or
// none: the daemon starts, says what happened, lists the same jobs with the same results, and a run goes on.
func TestS15_LostLedgerIsBuiltAnew(t *testing.T) {
	l := newLab(t)
	live, open := l.lived()
	want := l.kept(live)
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	state, saved := filepath.Join(l.home, "state"), filepath.Join(l.base, "saved")
	l.must(os.Mkdir(saved, 0o700))
	l.run("sh", "-c", "cp -a "+state+"/ledger* "+state+"/accepted.jsonl "+saved) // not ctl: a copied socket reaches nobody
	for name, harm := range map[string]func(path string) error{
		"deleted":         os.Remove,
		"emptied":         func(path string) error { return os.Truncate(path, 0) },
		"cut in half":     halve,
		"no database":     func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("scribble"), 4096), 0o600) },
		"its pages wiped": func(path string) error { return wipe(path, 4096) },
		"its head wiped":  func(path string) error { return wipe(path, 0) },
	} {
		for with, gone := range map[string][]string{"copy": nil, "older copy": {"ledger.copy"}, "no copy": {"ledger.copy", "ledger.copy.1"}} {
			t.Run(name+", "+with, func(t *testing.T) {
				l := l.part(t)
				t.Cleanup(func() {
					_ = syscall.Kill(l.daemon(), syscall.SIGKILL) // none when the start failed
					l.must(exec.Command("sh", "-c", "rm -rf "+state+"/ledger* "+state+"/accepted.jsonl "+state+"/broken* && cp -a "+saved+"/. "+state).Run())
				})
				for _, file := range append(gone, "ledger.db-wal", "ledger.db-shm") {
					_ = os.Remove(filepath.Join(state, file)) // may be missing
				}
				l.must(harm(filepath.Join(state, "ledger.db")))
				l.ok("start")
				if diff := cmp.Diff(want, l.kept(live), cmp.AllowUnexported(kept{})); diff != "" {
					t.Errorf("- before, + after:\n%s", diff)
				}
				if out := l.ok("status"); !strings.Contains(out, "the ledger was lost and built anew") {
					t.Errorf("status: %s", out)
				}
				l.until("what never ran is paused", func(v *wire.Snapshot) bool {
					return slices.ContainsFunc(v.Jobs, func(j wire.Job) bool {
						return j.State == wire.StateQueued && strings.HasPrefix(detail(&j), "is paused: the ledger was lost")
					})
				})
				if code, _, _ := l.scv("jobs", "result", "job-4"); code != 3 {
					t.Errorf("the dismissed job: code %d", code)
				}
			})
		}
	}
	l.ok("start")
	open()
	l.reaches(live, wire.StateCompleted)
	open()
}

// TestR3_CleanedSocketsComeBack: somebody cleaned the folder of the shims' sockets, and the daemon was killed. The next one
// finds the live runs again, one with pipes and one that is kept between its turns, and each goes on to its end.
func TestR3_CleanedSocketsComeBack(t *testing.T) {
	l := newLab(t)
	open := l.gate()
	l.agent("codex", "while read -r line; do :; done\n"+codexBegins+"\n"+codexSays("begun")+"\nread -r go <$here/gate\n"+codexSays("done")+"\n"+codexEnds)
	piped, kept := l.start("--agent", "codex", "x"), l.start("--agent", "demo-live", "@@say:up|ask:touch x|say:done")
	l.says(piped, said("begun"))
	l.reaches(kept, wire.StateAwaitingInput)
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	ctl := filepath.Join(l.home, "state", "ctl")
	if sockets, err := os.ReadDir(ctl); err != nil || len(sockets) != 2 {
		t.Fatalf("%v %v", sockets, err)
	}
	l.must(os.RemoveAll(ctl))
	l.ok("start")
	l.reaches(piped, wire.StateWorking)
	l.reaches(kept, wire.StateAwaitingInput)
	open()
	l.reaches(piped, wire.StateCompleted)
	view := l.until("it asks", func(v *wire.Snapshot) bool { return len(v.Approvals) == 1 })
	l.ok("approvals", "approve", string(view.Approvals[0].ID))
	l.reaches(kept, wire.StateCompleted)
}

// TestR3_FolderAmongTheSockets: what lies where a socket was is not removed when it is a folder; scv why says what it is
// and what to do, and then the run goes on.
func TestR3_FolderAmongTheSockets(t *testing.T) {
	l := newLab(t)
	open := l.gate()
	l.agent("codex", "while read -r line; do :; done\n"+codexBegins+"\n"+codexSays("begun")+"\nread -r go <$here/gate\n"+codexSays("done")+"\n"+codexEnds)
	id := l.start("--agent", "codex", "x")
	l.says(id, said("begun"))
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	sockets, err := filepath.Glob(filepath.Join(l.home, "state", "ctl", "*"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("%v %v", sockets, err)
	}
	l.must(errors.Join(os.Remove(sockets[0]), os.Mkdir(sockets[0], 0o700)))
	l.ok("start")
	j := job(l.until("it says that something lies there", func(v *wire.Snapshot) bool { // before, it is looked for
		j := job(v, id)
		return j != nil && j.State == wire.StateUnknown && strings.Contains(detail(j), "folder")
	}), id)
	for _, out := range []string{detail(j), l.ok("why", string(id))} {
		if !strings.Contains(out, "folder") || !strings.Contains(out, "move it away") {
			t.Errorf("it says %q", out)
		}
	}
	l.must(os.Remove(sockets[0]))
	l.reaches(id, wire.StateWorking)
	open()
	l.reaches(id, wire.StateCompleted)
}

// rested waits until no run of an agent lives.
func (l *lab) rested(agent string) {
	l.t.Helper()
	l.until("its runs have ended", func(v *wire.Snapshot) bool {
		for _, r := range v.Runs {
			if r.Live && r.Agent == agent {
				return false
			}
		}
		return true
	})
}

func (l *lab) run(name string, args ...string) {
	l.t.Helper()
	if out, err := exec.CommandContext(l.ctx, name, args...).CombinedOutput(); err != nil {
		l.t.Fatalf("%s: %v: %s", name, err, out)
	}
}

func halve(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()/2)
}

// wipe writes zeros over the file from a place on.
func wipe(path string, from int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(make([]byte, info.Size()-from), from)
	return err
}

// lived gives a home jobs of every kind, and one that waits at the gate.
func (l *lab) lived() (live wire.JobID, open func()) {
	l.t.Helper()
	open = l.gate()
	l.agent("codex", "while read -r line; do :; done\n"+codexBegins+"\n"+codexSays("begun")+"\nread -r go <$here/gate\n"+codexSays("done")+"\n"+codexEnds)
	l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:first|say:two\nlines")
	l.scv("jobs", "start", "--agent", "demo", "--wait", "@@fail:broken")
	l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:"+strings.Repeat("long ", 20_000))
	l.ok("stop")
	l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:dismissed")
	l.ok("jobs", "dismiss", "job-4")
	hangs := l.start("--agent", "demo", "@@say:up|hang")
	l.reaches(hangs, wire.StateWorking)
	l.ok("jobs", "cancel", string(hangs))
	l.reaches(hangs, wire.StateCancelled)
	l.ok("stop")
	live = l.start("--agent", "codex", "x")
	l.says(live, said("begun"))
	l.scv("jobs", "send", "--queue", string(live), "later")
	l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:last")
	l.rested("demo")
	return live, open
}
