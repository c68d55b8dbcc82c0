//go:build linux

package acceptance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/run/control"
	"scv/internal/wire"
)

// asks is how many requests of a job wait.
func asks(v *wire.Snapshot, id wire.JobID) (n int) {
	for _, a := range v.Approvals {
		if a.Job == id {
			n++
		}
	}
	return n
}

// TestOddLiveAgents: what a live agent should not do harms nobody but its own turn: each ends as is said here, nothing of
// it is left waiting, and the process or its successor serves the next turn.
func TestOddLiveAgents(t *testing.T) {
	for _, c := range []struct {
		name, script string
		open         int // requests to wait for; all are approved then
		state        wire.AgentState
		logged       string // must be in the log
		never        string // must not be
	}{
		{name: "garbage between its words", script: `raw:{"type":|raw:not json|say:a|raw:[]|ask:x|say:z`, open: 1, state: wire.StateCompleted, logged: "\tAllowed: x\n"},
		{name: "an id used again", script: "open:a|again:b|say:on|withdraw|say:z", state: wire.StateCompleted, logged: "approval_requested\tb\n", never: "Allowed"},
		{name: "seven requests at once", script: "open:1|open:2|open:3|open:4|open:5|open:6|open:7|await|say:z", open: 7, state: wire.StateCompleted, logged: "\tAllowed: 7\n"},
		{name: "an exit with a request open", script: "open:x|exit:3", state: wire.StateFailed, logged: "approval_resolved\tvoid", never: "Allowed"},
		{name: "a flood of requests", script: strings.Repeat("open:x|", 100) + "withdraw|say:z", state: wire.StateCompleted, never: "Allowed"},
		{name: "a flood of words", script: "lines:20000|say:z", state: wire.StateCompleted, logged: "\tline 20000\n"},
		{name: "success without an end", script: "say:all done|exit:0", state: wire.StateFailed, logged: "\tall done\n"},
		{name: "a request that is taken back", script: "open:x|withdraw|say:z", state: wire.StateCompleted, never: "Allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.start("--agent", "demo-live", "@@"+c.script)
			if c.open > 0 {
				view := l.until("it asks", func(v *wire.Snapshot) bool { return asks(v, id) == c.open })
				for _, a := range view.Approvals {
					l.ok("approvals", "approve", string(a.ID))
				}
			}
			j := l.reaches(id, c.state)
			log := l.ok("jobs", "log", string(id))
			if !strings.Contains(log, c.logged) || c.never != "" && strings.Contains(log, c.never) || strings.Contains(log, "An answer came to") {
				t.Errorf("want %q and not %q; its detail is %q:\n%.2000s", c.logged, c.never, detail(j), log)
			}
			if out := l.ok("approvals", "list", "-q"); out != "" {
				t.Errorf("still waits: %s", out)
			}
			next := strings.TrimSpace(l.ok("jobs", "send", "--queue", "-q", string(id), "@@say:next"))
			l.reaches(wire.JobID(next), wire.StateCompleted)
		})
	}
}

// TestP14_T43_TwoSurfacesAnswerAtOnce: of two that answer at the same moment one is acknowledged and the other is told
// who came first; the agent is told once, and what was acknowledged.
func TestP14_T43_TwoSurfacesAnswerAtOnce(t *testing.T) {
	l := newLab(t)
	l.ok("start")
	for n := range 10 {
		command := fmt.Sprintf("command %d", n)
		id := l.start("--agent", "demo-live", "@@ask:"+command+"|say:z")
		view := l.until("it asks", func(v *wire.Snapshot) bool { return asks(v, id) == 1 })
		ask := view.Approvals[0].ID
		var both sync.WaitGroup
		var took [2]error
		for i, approved := range []bool{true, false} {
			both.Go(func() {
				conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
				if err == nil {
					_, err = conn.Call(l.ctx, wire.WorkbenchApprove{ID: ask, Approved: approved, Key: client.NewKey()})
					conn.Close()
				}
				took[i] = err
			})
		}
		both.Wait()
		if (took[0] == nil) == (took[1] == nil) {
			t.Fatalf("the answers got %v and %v", took[0], took[1])
		}
		lost, _ := errors.AsType[*wire.Error](errors.Join(took[0], took[1]))
		if lost == nil || lost.Reason != wire.ReasonConflict && lost.Reason != wire.ReasonExpired {
			t.Errorf("the second was told %v", lost)
		}
		l.reaches(id, wire.StateCompleted)
		log := l.ok("jobs", "log", string(id))
		if ran := strings.Count(log, "Allowed: "+command); (ran == 1) != (took[0] == nil) || strings.Contains(log, "An answer came to") {
			t.Errorf("approved: %v; it ran %d times:\n%s", took[0] == nil, ran, log)
		}
	}
}

// TestP20_AnAnswerAfterTheDeadline is told so, and does nothing; the agent was denied at the deadline.
func TestP20_AnAnswerAfterTheDeadline(t *testing.T) {
	l := newLab(t)
	l.config("[limits]\nmemory_floor_mb = 0\n[approvals]\nwait = \"1s\"\n")
	id := l.start("--agent", "demo-live", "@@ask:deploy|say:z")
	view := l.until("it asks", func(v *wire.Snapshot) bool { return asks(v, id) == 1 })
	l.reaches(id, wire.StateCompleted)
	if code, _, errs := l.scv("approvals", "approve", string(view.Approvals[0].ID)); code != 8 || !strings.Contains(errs, "deadline") {
		t.Errorf("code %d: %s", code, errs)
	}
	if log := l.ok("jobs", "log", string(id)); !strings.Contains(log, "Denied: deploy") {
		t.Errorf("%s", log)
	}
}

// TestU13_ACancelThatComesTooLate: an agent that finished all the same is told as it was.
func TestU13_ACancelThatComesTooLate(t *testing.T) {
	l := newLab(t)
	id := l.start("--agent", "demo-live", "@@deaf|say:busy|sleep:200|say:done")
	l.says(id, said("busy"))
	l.ok("jobs", "cancel", string(id))
	l.reaches(id, wire.StateCompleted)
	if out := l.ok("jobs", "result", string(id)); out != "done\n" {
		t.Errorf("the result is %q", out)
	}
}

// TestB5_TheDirectoryOfAConversationIsGone: its agent leaves in the middle of a turn and the directory is removed. Each
// further prompt fails at once and says so; nothing is tried again by itself.
func TestB5_TheDirectoryOfAConversationIsGone(t *testing.T) {
	l := newLab(t)
	dir := filepath.Join(l.base, "gone")
	l.must(os.Mkdir(dir, 0o700))
	cmd := l.command("jobs", "start", "-q", "--agent", "demo-live", "@@say:a|exit:0")
	cmd.Dir = dir
	out, err := cmd.Output()
	l.must(err)
	id := wire.JobID(strings.TrimSpace(string(out)))
	l.reaches(id, wire.StateFailed)
	l.rests()
	l.must(os.Remove(dir))
	for range 3 {
		_, out, errs := l.scv("jobs", "send", "--queue", "-q", string(id), "@@say:b")
		next := wire.JobID(strings.TrimSpace(out))
		if next == "" {
			if !strings.Contains(errs, dir) {
				t.Fatalf("a prompt into a directory that is gone: %s", errs)
			}
			continue
		}
		if j := l.reaches(next, wire.StateFailed); !strings.Contains(detail(j), "directory") {
			t.Errorf("it is said that %q", detail(j))
		}
	}
	view := l.until("nothing runs", func(v *wire.Snapshot) bool {
		return !slices.ContainsFunc(v.Runs, func(r wire.Run) bool { return r.Live })
	})
	if len(view.Runs) > 4 {
		t.Errorf("%d runs were made for four prompts", len(view.Runs))
	}
}

// TestB6_TheDeathOfTheProcessEndsTheTurn: whatever holds on to it, a request that is open and being answered, a process of
// the agent's that goes on, the turn ends and the next prompt works.
func TestB6_TheDeathOfTheProcessEndsTheTurn(t *testing.T) {
	l := newLab(t)
	id := l.start("--agent", "demo-live", "@@spawn:600|say:up|open:x|deaf|hang")
	l.says(id, said("up"))
	view := l.until("it asks", func(v *wire.Snapshot) bool { return asks(v, id) == 1 })
	l.ok("approvals", "approve", string(view.Approvals[0].ID))
	shim, err := control.ReadShim(filepath.Join(l.home, "runs", string(*job(view, id).Run)))
	l.must(err)
	l.must(syscall.Kill(shim.Agent, syscall.SIGKILL))
	l.until("the turn has ended", func(v *wire.Snapshot) bool { return job(v, id).State.Final() })
	next := strings.TrimSpace(l.ok("jobs", "send", "--queue", "-q", string(id), "@@say:next"))
	if next == "" {
		t.Fatal("the next prompt is no job")
	}
	l.reaches(wire.JobID(next), wire.StateCompleted)
}

// TestB7_ASlowStartIsNoFailure: an agent that takes its time for the handshake is starting, then working, then done, and
// nothing else is told.
func TestB7_ASlowStartIsNoFailure(t *testing.T) {
	l := newLab(t)
	l.agent("slow", `say() { printf '%s\n' "$1"; }
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) read -r go <$here/gate
    say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}}" ;;
  *'"method":"session/new"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"sessionId\":\"s\"}}" ;;
  *'"method":"session/prompt"'*) read -r go <$here/gate
    say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}}" ;;
  esac
done`)
	open := l.gate()
	l.config("[limits]\nmemory_floor_mb = 0\n[agents.slow]\ntransport = \"acp\"\ncommand = \"" + filepath.Join(l.bin, "slow") + "\"\n")
	id := l.start("--agent", "slow", "x")
	var states []string
	opened := 0
	l.until("it has ended", func(v *wire.Snapshot) bool {
		j := job(v, id)
		if j == nil {
			return false
		}
		if s := j.State.String(); len(states) == 0 || states[len(states)-1] != s {
			states = append(states, s)
		}
		switch {
		case opened == 0 && j.State == wire.StateStarting && j.Run != nil:
			<-time.After(300 * time.Millisecond) // whoever would take this for a failure has time to say so
			open()
			opened++
		case opened == 1 && j.State == wire.StateWorking:
			open()
			opened++
		}
		return j.State.Final()
	})
	if got := strings.Join(states, " "); got != "starting working completed" {
		t.Errorf("it was %s", got)
	}
}

// TestP18_AnOpenRequestBlocksNobody: while one is open the agent goes on, is steered and asks again, other jobs are
// answered, and an end of its run that comes at the same moment as the answer leaves neither hanging.
func TestP18_AnOpenRequestBlocksNobody(t *testing.T) {
	l := newLab(t)
	l.ok("start")
	for n := range 5 {
		id := l.start("--agent", "demo-live", fmt.Sprintf("@@open:one %d|say:goes on %d|steer|open:two %d|await|say:z", n, n, n))
		l.says(id, said(fmt.Sprintf("goes on %d", n)))
		j := l.reaches(id, wire.StateAwaitingInput)
		st, err := l.send(j, wire.SendSteer, "now", client.NewKey())
		l.must(err)
		if *st.Delivery != wire.DeliverySteered {
			t.Errorf("with a request open a prompt is %s", *st.Delivery)
		}
		view := l.until("it asks twice", func(v *wire.Snapshot) bool { return asks(v, id) == 2 })
		i := slices.IndexFunc(view.Approvals, func(a wire.Approval) bool { return a.Job == id })
		var both sync.WaitGroup
		both.Go(func() {
			code, out, errs := l.scv("approvals", "approve", string(view.Approvals[i].ID))
			if code != 0 && code != 8 {
				t.Errorf("the answer: code %d: %s%s", code, out, errs)
			}
		})
		both.Go(func() { l.ok("agents", "kill", string(*j.Run)) })
		both.Wait()
		l.reaches(id, wire.StateCancelled)
		l.until("nothing of it waits", func(v *wire.Snapshot) bool { return asks(v, id) == 0 })
	}
}
