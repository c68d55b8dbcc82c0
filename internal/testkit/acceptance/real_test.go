//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/run/control"
	"scv/internal/testkit/realagent"
	"scv/internal/testkit/sdkpeer"
	"scv/internal/wire"
)

// liveSubjects are the live agents that every run of the tests has.
func liveSubjects() []subject {
	return slices.DeleteFunc(subjects(), func(s subject) bool { return s.over != wire.TransportLive || s.slow })
}

// eachLive runs a test with every live agent but some.
func eachLive(t *testing.T, o realagent.Options, but []string, test func(t *testing.T, m *row)) {
	for _, s := range liveSubjects() {
		if slices.Contains(but, s.kind) {
			continue
		}
		t.Run(s.kind, func(t *testing.T) {
			t.Parallel()
			m := &row{stage: s.stage(t, o)}
			m.ok("start")
			test(t, m)
		})
	}
}

// TestB17_RealAgentsWithARequestOpen: a cancel answers what is asked first and the next turn works; an agent that is
// killed takes its request along, a late answer is told so and runs nothing, and the next prompt gets a new process that
// knows what was said. All of it with the daemon killed in between as well.
func TestB17_RealAgentsWithARequestOpen(t *testing.T) {
	eachLive(t, realagent.Options{}, nil, func(t *testing.T, m *row) {
		id, a, ran := m.request(m.word())
		m.crash()
		m.ok("jobs", "cancel", string(id))
		m.crash()
		m.ended(id, wire.StateCancelled)
		m.late(a, ran)

		id, a, ran = m.request(m.word())
		handle := m.run(id)
		m.killAgent(handle)
		if j := m.reaches(id, wire.StateFailed); !strings.Contains(detail(j), "SIGKILL") {
			t.Errorf("it is said that %q", detail(j))
		}
		m.late(a, ran)
		word := m.word()
		next := m.next(id, "@@say:"+word)
		j := job(m.until("it ends", func(v *wire.Snapshot) bool { j := job(v, next); return j != nil && j.State.Final() }), next)
		// gemini keeps a conversation only once a turn of it has ended, and not always then: it is said.
		if forgot := m.kind == "gemini" && strings.Contains(detail(j), "the conversation to go on with was not found"); !forgot {
			m.replied(next, word)
		}
		if m.run(next) == handle {
			t.Error("a dead process serves the next turn")
		}
	})
}

// late answers a request that is over.
func (m *row) late(a *wire.Approval, ran func() int) {
	m.t.Helper()
	if code, _, errs := m.scv("approvals", "approve", string(a.ID)); code != 8 || !strings.Contains(errs, "went with its turn") {
		m.t.Errorf("a late answer: code %d: %s", code, errs)
	}
	if n := ran(); n != 0 {
		m.t.Errorf("%q ran %d times", a.Command, n)
	}
	if out := m.ok("approvals", "list", "-q"); out != "" {
		m.t.Errorf("still listed: %s", out)
	}
}

// killAgent kills the processes of a run's agent at once, and not its shim.
func (m *row) killAgent(handle wire.RunHandle) {
	m.t.Helper()
	shim, err := control.ReadShim(filepath.Join(m.home, "runs", string(handle)))
	m.must(err)
	m.must(syscall.Kill(-shim.Agent, syscall.SIGKILL)) // its group
}

// TestP15_RealAgentsAskAtTheSameTime: two processes ask at once, each is answered by its own id, in the other order.
func TestP15_RealAgentsAskAtTheSameTime(t *testing.T) {
	eachLive(t, realagent.Options{}, nil, func(t *testing.T, m *row) {
		one, first, ranFirst := m.request("first")
		m.asks = ""
		two, second, ranSecond := m.request("second")
		if open := strings.Count(m.ok("approvals", "list", "-q"), "\n"); open != 2 {
			t.Errorf("%d are open", open)
		}
		m.ok("approvals", "deny", string(second.ID))
		m.until("the second turn ends", func(v *wire.Snapshot) bool { return job(v, two).State.Final() })
		m.ok("approvals", "approve", string(first.ID))
		m.replied(one, "first")
		if a, b := ranFirst(), ranSecond(); a != 1 || b != 0 {
			t.Errorf("the commands ran %d and %d times, want 1 and 0", a, b)
		}
	})
}

// TestC6_RealAgentsLeaveNothingOfACancelledTurn: its command ends with it, and so does what that put into the background,
// though the agent's process lives on and serves the next turn.
func TestC6_RealAgentsLeaveNothingOfACancelledTurn(t *testing.T) {
	eachLive(t, realagent.Options{}, []string{"demo-live", sdkpeer.Name}, func(t *testing.T, m *row) { // neither runs anything for its owner
		h := m.hold()
		file := h.path("followed")
		m.must(os.WriteFile(file, nil, 0o600))
		id := m.turn("@@" + m.shell(fmt.Sprintf("tail -f %s & echo up > %s; tail -f %s", file, h.path("up"), file)) + "|say:never")
		h.runs(id)
		m.ok("jobs", "cancel", string(id))
		m.ended(id, wire.StateCancelled)
		word := m.word()
		next := m.turn("@@say:" + word)
		m.replied(next, word)
		if m.run(next) != m.run(id) {
			t.Errorf("%s served the next turn", m.run(next))
		}
		for left := m.processes("tail -f " + file); len(left) > 0; left = m.processes("tail -f " + file) {
			if m.ctx.Err() != nil {
				t.Fatalf("of the cancelled turn there still run %v", left)
			}
			<-time.After(10 * time.Millisecond)
		}
	})
}

// TestP5_RealAgentsThatFail: a model that fails and a sign-in that is missing are classes of their own, with exit codes.
func TestP5_RealAgentsThatFail(t *testing.T) {
	eachLive(t, realagent.Options{}, []string{"demo-live", sdkpeer.Name}, func(t *testing.T, m *row) { // neither has a model
		failing := "@@err:500"
		if m.kind == "gemini" { // it tries that again for minutes
			failing = "@@err:400"
		}
		id := m.begin("auto", failing)
		if j := m.reaches(id, wire.StateFailed); j.Class == nil || *j.Class != wire.ClassModel {
			t.Errorf("a model that fails is %v: %s", j.Class, detail(j))
		}
		word := m.word()
		m.replied(m.next(id, "@@say:"+word), word)
		id = m.next(id, "@@err:401")
		j := m.reaches(id, wire.StateFailed)
		if j.Class == nil || *j.Class != wire.ClassAuth {
			t.Errorf("a sign-in that the model refuses is %v: %s", j.Class, detail(j))
		}
		if code, _, errs := m.scv("jobs", "wait", string(id)); code != 4 {
			t.Errorf("waiting for it: code %d: %s", code, errs)
		}
	})
}

// TestP5_RealAgentsWithoutASignIn fail at once, say it, and name the command that helps. Without a network codex does not
// learn that it lacks one; TestP5_RealAgentsThatFail has what it says when it does.
func TestP5_RealAgentsWithoutASignIn(t *testing.T) {
	eachLive(t, realagent.Options{SignOut: true}, []string{"demo-live", sdkpeer.Name, "codex"}, func(t *testing.T, m *row) {
		id := m.begin("auto", "@@say:never")
		if j := m.reaches(id, wire.StateFailed); j.Class == nil || *j.Class != wire.ClassAuth {
			t.Errorf("a missing sign-in is %v: %s", j.Class, detail(j))
		}
		if code, _, errs := m.scv("jobs", "wait", string(id)); code != 4 {
			t.Errorf("waiting for it: code %d: %s", code, errs)
		}
	})
}
