//go:build linux

package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/failpoint"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

// talk is a prompt of an agent that says n messages, ms apart.
func talk(tag string, n, ms int) string {
	return transports()[0].prompt(tag, n, ms, 60, ending{})
}

// TestS7_ShimKilledAtEachFailpoint: a shim dies at each place that it passes. Only its run is harmed: that is
// interrupted, unless its end was on disk or nothing had been started, no process of it is left, and a run beside it
// goes on to its end.
func TestS7_ShimKilledAtEachFailpoint(t *testing.T) {
	k := newLab(t).loop()
	k.start("", "")
	beside := k.job("codex", talk("beside", 400, 5))
	k.reaches(beside, wire.StateWorking)
	states := map[string]int{}
	for _, place := range failpoint.OfShim() {
		for _, nth := range []int{1, 2} {
			k.d.kill()
			k.start("", k.traced(fmt.Sprintf("%s;%s=kill@%d", small, place, nth)))
			k.ready()
			tag := fmt.Sprintf("%s %d", place, nth)
			prompt := talk(tag, 40, 5)
			// What is waited for below is bounded by 5 s and the grace of the machine: the run is found dead by the
			// end of its socket, and a look at its lock.
			ref := k.job("codex", prompt)
			if strings.HasPrefix(place, string(failpoint.SpoolSync)) { // a shim flushes while no daemon does
				k.until(tag+" runs", func(v *wire.Snapshot) bool { j := jobOf(v, ref); return j.Run != nil && len(k.events(*j.Run)) > 3 })
				k.d.kill()
				<-time.After(late)
				k.restart()
			}
			begin := time.Now()
			view := k.until(tag+" has ended", func(v *wire.Snapshot) bool { j := jobOf(v, ref); return j != nil && j.State.Final() })
			j := jobOf(view, ref)
			died := k.killedAt()[place] >= nth
			states[fmt.Sprintf("%v %s", died, j.State)]++
			began := k.diary()["begin "+tag]
			switch {
			case j.State == wire.StateInterrupted && died:
			case j.State == wire.StateFailed && died && began == 0: // it never became ready, which is said
			case j.State == wire.StateCompleted && gapless(numbers(k.events(*j.Run)), 40): // it died behind its own end, or not
			default:
				t.Errorf("killed at %s (%v): %s after %v, %q, began %d", tag, died, j.State, time.Since(begin), deref(j.Detail), began)
			}
			if j.Run != nil {
				k.leftOf(*j.Run)
			}
		}
	}
	killed := k.killedAt()
	if left := missed(failpoint.OfShim(), killed); len(left) > 0 {
		t.Errorf("no shim was killed at %q", left)
	}
	j := k.reaches(beside, wire.StateCompleted)
	if got := numbers(k.events(*j.Run)); !gapless(got, 400) {
		t.Errorf("the run beside has %d messages", len(got))
	}
	k.t.Logf("| shim killed | %d | at %d places | died and state: %v |", total(killed), len(killed), states)
}

// leftOf fails the test when a process of a run lives on.
func (l *lab) leftOf(run wire.RunHandle) {
	l.t.Helper()
	for pid, line := range census.Processes(l.base) {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if strings.Contains(string(environ), "SCV_RUN="+string(run)+"\x00") && !census.Leaves(pid) {
			l.t.Errorf("%s has ended, and %d %s lives", run, pid, line)
		}
	}
}

// shimOf is the shim's process number, from the run's record.
func (l *lab) shimOf(run wire.RunHandle) int {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.home, "runs", string(run), "shim.json"))
	l.must(err)
	var record struct {
		PID int `json:"shim_pid"`
	}
	l.must(json.Unmarshal(data, &record))
	return record.PID
}

// TestS7_P4_M2_M3_DaemonAndShimKilled in the middle of a tool call: the job is interrupted, never completed, its log is closed
// with what was said, and waiting for it fails. Nothing of it runs on, not what left its group and its parent either.
func TestS7_P4_M2_M3_DaemonAndShimKilled(t *testing.T) {
	l := newLab(t)
	l.restart()
	ref := l.job("codex", "half\n@@say:n 1. half|fork:600|tool:ls|hang")
	view := l.until("it has said something", func(v *wire.Snapshot) bool {
		j := jobOf(v, ref)
		return j != nil && j.Run != nil && len(numbers(l.events(*j.Run))) == 1
	})
	run := *jobOf(view, ref).Run
	l.d.kill()
	l.must(syscall.Kill(l.shimOf(run), syscall.SIGKILL))
	l.restart()
	j := l.reaches(ref, wire.StateInterrupted)
	if reply := l.reply(j); reply != "" {
		t.Errorf("its reply is %q", reply)
	}
	if code, _, _ := l.cli("jobs", "wait", string(j.Job)); code == 0 {
		t.Error("waiting for it succeeds")
	}
	events := l.events(run)
	if last := events[len(events)-1]; last.Kind != wire.EventRunEnded || len(numbers(events)) != 1 {
		t.Errorf("the log ends with %+v", last)
	}
	l.leftOf(run)
}

// TestS2_ExitWhileNoDaemonLives: an agent leaves with code 7, or by SIGSEGV, or done, while its daemon is dead.
func TestS2_ExitWhileNoDaemonLives(t *testing.T) {
	l := newLab(t)
	for _, c := range []ending{
		{"|exit:7", wire.StateFailed, "exit code 7"},
		{"|segv", wire.StateFailed, "SIGSEGV"},
		{"", wire.StateCompleted, ""},
	} {
		l.restart()
		tag := strings.Map(letters, c.state.String()+c.step)
		ref := l.job("codex", tag+"\n@@say:n 1.|sleep:200|diary:end "+tag+"|sleep:50"+c.step)
		run := *l.reaches(ref, wire.StateWorking).Run
		l.d.kill()
		if shim := l.shimOf(run); !census.Leaves(shim) {
			t.Fatalf("the shim %d lives on", shim)
		}
		if l.diary()["end "+tag] != 1 {
			t.Fatal("the agent was not seen to the end")
		}
		l.restart()
		if j := l.reaches(ref, c.state); !strings.Contains(deref(j.Detail), c.detail) {
			t.Errorf("%s: %q", tag, deref(j.Detail))
		}
	}
}

// letters keeps what means nothing in a script.
func letters(r rune) rune {
	if strings.ContainsRune("|:", r) {
		return -1
	}
	return r
}

// TestR8_KillByNameLeavesShims: who ends every scv by its name ends daemons and commands, and no shim.
func TestR8_KillByNameLeavesShims(t *testing.T) {
	l := newLab(t)
	l.restart()
	ref := l.job("codex", talk("goes on", 100, 10))
	run := *l.reaches(ref, wire.StateWorking).Run
	shim := l.shimOf(run)
	for pid := range census.Processes(l.base) { // as pkill scv would choose, by a part of the name
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if strings.Contains(string(name), "scv") {
			if pid == shim {
				t.Errorf("a shim is called %q", name)
			}
			l.must(syscall.Kill(pid, syscall.SIGTERM))
		}
	}
	<-l.d.gone
	l.start("", "")
	if j := l.reaches(ref, wire.StateCompleted); *j.Run != run || !gapless(numbers(l.events(run)), 100) {
		t.Errorf("it has run %s, %d messages", *j.Run, len(numbers(l.events(run))))
	}
}
