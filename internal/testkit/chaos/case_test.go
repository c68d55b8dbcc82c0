//go:build linux

package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"scv/internal/client"
	"scv/internal/failpoint"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

// TestB8_CancelWithoutARunner: a job's shim is killed while no daemon lives, and the next daemon is asked to cancel the
// job at once, before or while it finds out. The answer is never that there is no turn while one is shown as running: the
// job ends, once, and its log as well.
func TestB8_CancelWithoutARunner(t *testing.T) {
	l := newLab(t)
	for range 5 {
		l.restart()
		ref := l.job("codex", "lost\n@@say:n 1.|hang")
		run := *l.reaches(ref, wire.StateWorking).Run
		l.until("it has said something", func(*wire.Snapshot) bool { return len(numbers(l.events(run))) == 1 })
		l.d.kill()
		l.must(syscall.Kill(l.shimOf(run), syscall.SIGKILL))
		l.start("", "")
		session, id, _ := ref.Split()
		_, err := l.insist(l.ctx, wire.WorkbenchCancel{Session: session, Job: id, Key: client.NewKey()})
		if err != nil && !refused(err, wire.ReasonConflict) { // it was found out first, and says how it ended
			t.Errorf("cancel: %v", err)
		}
		view := l.until("it has ended", func(v *wire.Snapshot) bool { j := jobOf(v, ref); return j != nil && j.State.Final() })
		j := jobOf(view, ref)
		if j.State != wire.StateInterrupted && j.State != wire.StateCancelled || err != nil && j.State != wire.StateInterrupted {
			t.Errorf("it is %s: %q, and to the cancel was said: %v", j.State, deref(j.Detail), err)
		}
		l.rests()
		l.log(run, &wish{tag: "lost"}) // each kind of end is there once at most, and the last record is the run's end
		l.d.kill()
	}
}

// TestB10_OneDaemonOfAHome: a second daemon of the same home is refused with the number of the first, also when somebody
// removed the lock's file. The first goes on.
func TestB10_OneDaemonOfAHome(t *testing.T) {
	l := newLab(t)
	l.restart()
	ref := l.job("codex", talk("goes on", 60, 10))
	first := strconv.Itoa(l.d.cmd.Process.Pid)
	for _, before := range []func() error{
		func() error { return nil },
		func() error { return os.Remove(filepath.Join(l.home, "state", "server.lock")) },
	} {
		l.must(before())
		code, out, errs := l.cli("run")
		if code == 0 || !strings.Contains(out+errs, first) {
			t.Errorf("a second daemon leaves with %d: %s%s, want the number %s", code, out, errs, first)
		}
	}
	if j := l.reaches(ref, wire.StateCompleted); !gapless(numbers(l.events(*j.Run)), 60) {
		t.Errorf("the log holds %v", numbers(l.events(*j.Run)))
	}
}

// writersOf are the runs whose processes live.
func (l *lab) writersOf() map[string]bool {
	out := map[string]bool{}
	for pid := range census.Processes(l.base) {
		environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")) // it may be gone
		for entry := range strings.SplitSeq(string(environ), "\x00") {
			if run, ok := strings.CutPrefix(entry, "SCV_RUN="); ok {
				out[run] = true
			}
		}
	}
	return out
}

// TestM1_OneWriterOfAConversation: an agent that heeds neither signals nor the end of its input goes on working while its
// daemon is killed. The next prompt of its conversation waits until it has ended; at no time do two processes work in it.
func TestM1_OneWriterOfAConversation(t *testing.T) {
	l := newLab(t)
	l.restart()
	ref := l.job("codex", "first\n@@stubborn|diary:begin first|count:60:20:10|diary:end first")
	j := l.reaches(ref, wire.StateWorking)
	st, err := l.insist(l.ctx, wire.WorkbenchSend{
		Session: j.Session, Conversation: *j.Conversation, Prompt: "second\n@@diary:begin second|say:n 1.", Mode: wire.SendQueue, Key: client.NewKey(),
	})
	l.must(err)
	for range 4 {
		l.restart()
		if runs := l.writersOf(); len(runs) > 1 {
			t.Errorf("at once there work %v", runs)
		}
	}
	l.reaches(ref, wire.StateCompleted)
	l.reaches(*st.WorkbenchJob, wire.StateCompleted)
	l.rests()
	data, err := os.ReadFile(filepath.Join(l.base, "u", "diary"))
	l.must(err)
	if got := strings.Fields(strings.ReplaceAll(string(data), " ", "-")); !slices.Equal(got, []string{"begin-first", "end-first", "begin-second"}) {
		t.Errorf("the agents noted %v", got)
	}
}

// TestB2_AStartThatWasCutOffIsMadeAgain: the daemon dies between the row of a job and the word to start its agent. However
// often the next one starts, the job is interrupted and says that nothing was run; resumed, it runs, once.
func TestB2_AStartThatWasCutOffIsMadeAgain(t *testing.T) {
	for _, place := range []string{
		failpoint.RunDir.Place(failpoint.Before), failpoint.SpecWrite.Place(failpoint.Torn), failpoint.SpecRename.Place(failpoint.Before),
		failpoint.ShimSpawn.Place(failpoint.Before), failpoint.ShimSpawn.Place(failpoint.After), failpoint.ShimGo.Place(failpoint.Before),
	} {
		t.Run(place, func(t *testing.T) {
			l := newLab(t)
			l.start(place+"=kill", "")
			asked := make(chan *wire.DaemonStatus, 1)
			go func() {
				st, err := l.insist(l.ctx, wire.WorkbenchStart{Workspace: l.work, Agent: "codex", Prompt: talk("cut", 3, 1), Key: client.NewKey()})
				if err != nil {
					t.Error(err)
				}
				asked <- st
			}()
			<-l.d.gone
			l.restart()
			l.restart()
			st := <-asked
			if st == nil {
				return
			}
			j := l.reaches(*st.WorkbenchJob, wire.StateInterrupted)
			if !strings.Contains(deref(j.Detail), "nothing was run") || !j.Resumable || len(l.diary()) != 0 {
				t.Fatalf("it says %q, resumable %v; the agents noted %v", deref(j.Detail), j.Resumable, l.diary())
			}
			l.rests() // until its run is over as well it cannot be gone on with
			st, err := l.insist(l.ctx, wire.WorkbenchResume{Session: j.Session, Job: j.Job, Key: client.NewKey()})
			l.must(err)
			l.reaches(*st.WorkbenchJob, wire.StateCompleted)
			if n := l.diary()["begin cut"]; n != 1 {
				t.Errorf("it ran %d times", n)
			}
		})
	}
}
