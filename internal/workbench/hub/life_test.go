package hub_test

import (
	"fmt"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// TestB21_P4_NoWorkingWithoutAProcess: a process that goes in mid-turn ends its job at once, and never as completed (P4).
func TestB21_P4_NoWorkingWithoutAProcess(t *testing.T) {
	for _, c := range []struct {
		life   row.Life
		state  wire.AgentState
		class  string
		detail string
	}{
		{row.Life{Kind: row.LifeEnded, Status: "exited"}, wire.StateFailed, "agent", "without saying how its turn ended"},
		{row.Life{Kind: row.LifeEnded, Status: "exited", Class: "network", Detail: "no route"}, wire.StateFailed, "network", "no route"},
		{row.Life{Kind: row.LifeEnded, Status: "killed"}, wire.StateInterrupted, "lost", "without saying"},
		{row.Life{Kind: row.LifeEnded, Status: "lost"}, wire.StateInterrupted, "lost", "without saying"},
		{row.Life{Kind: row.LifeLost, Detail: "its shim is gone"}, wire.StateInterrupted, "lost", "its shim is gone"},
		{row.Life{Kind: row.LifeNotStarted, Class: "missing", Detail: "codex was not found"}, wire.StateFailed, "missing", "codex was not found"},
		{row.Life{Kind: row.LifeNotStarted, Class: "lost", Detail: "the start was cut off"}, wire.StateInterrupted, "lost", "cut off"},
		{row.Life{Kind: row.LifeNotStarted}, wire.StateInterrupted, "lost", "was not started"},
	} {
		for _, turn := range []bool{true, false} {
			t.Run(fmt.Sprint(c.life.Kind, c.life.Status, c.life.Class, turn), func(t *testing.T) {
				d := newDisk()
				b := open(t, d, nil)
				a := b.start("x")
				h := b.launched().Run.Handle
				if turn {
					b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1}, row.Step{Kind: row.StepActivity, Detail: "a tool"})
				}
				c.life.At = time.Now()
				b.Runs().Life(h, c.life)
				j := b.job(a)
				if j.State != c.state || j.Class == nil || string(*j.Class) != c.class {
					t.Fatalf("%s, %v", j.State, j.Class)
				}
				has(t, detail(j), c.detail)
				b.wait(b.Runs().Saved(h))
				if r := b.Runs().List()[0]; r.Live || r.State != c.state {
					t.Fatalf("run is %s, live %v", r.State, r.Live)
				}
				if got := d.job("job-1"); got.State != c.state || got.Finished == 0 {
					t.Fatalf("on disk it is %s", got.State)
				}
				if r := d.results["job-1"]; r.Reply != "" {
					t.Error("a reply that nobody gave")
				}
			})
		}
	}
}

func TestKill(t *testing.T) {
	b := open(t, newDisk(), nil)
	a := b.start("x")
	h := b.launched().Run.Handle
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	for range 2 {
		ticket, err := b.Runs().Kill(h, row.Principal{})
		if err != nil {
			t.Fatal(err)
		}
		b.wait(ticket)
	}
	if got := <-b.crew.woken; got != h || !b.Runs().Wishes(h).Stop {
		t.Fatalf("woke %s", got)
	}
	b.Runs().Life(h, row.Life{Kind: row.LifeEnded, Status: "killed", At: time.Now()})
	if s := b.state(a); s != wire.StateCancelled {
		t.Fatalf("state %s", s)
	}
	if _, err := b.Runs().Kill(h, row.Principal{}); reason(err) != wire.ReasonConflict {
		t.Fatalf("kill of what has ended: %v", err)
	}
	if _, err := b.Runs().Kill("codex-ffffff", row.Principal{}); reason(err) != wire.ReasonNotFound {
		t.Fatalf("kill of nothing: %v", err)
	}
}

// TestUnreachableIsUnknownAndKept: what cannot be asked is not dead, and nothing of it goes on meanwhile.
func TestUnreachableIsUnknownAndKept(t *testing.T) {
	b := open(t, newDisk(), nil)
	a := b.start("x")
	h := b.launched().Run.Handle
	second := b.send(a.Job, "y")
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	b.Runs().Life(h, row.Life{Kind: row.LifeUnreachable, Detail: "its shim does not answer", At: time.Now()})
	if j := b.job(a); j.State != wire.StateUnknown || detail(j) != "its shim does not answer" {
		t.Fatalf("%s: %s", j.State, detail(j))
	}
	if s := b.state(second); s != wire.StateQueued {
		t.Fatalf("the next turn is %s", s)
	}
	b.report(h, row.Step{Kind: row.StepActivity, Detail: "back"})
	if j := b.job(a); j.State != wire.StateWorking || detail(j) != "back" {
		t.Fatalf("%s: %s", j.State, detail(j))
	}
	b.Runs().Life(h, row.Life{Kind: row.LifeUnreachable, Detail: "again", At: time.Now()})
	b.Runs().Life(h, row.Life{Kind: row.LifeAdopted, At: time.Now()})
	if j := b.job(a); j.State != wire.StateWorking {
		t.Fatalf("%s", j.State)
	}
}

// TestP7_ListAfterARestart: nine runs without any client; after a restart all nine are listed, unknown until they are
// found, and then as they are.
func TestP7_ListAfterARestart(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	var all []hub.Accepted
	for range 9 {
		a := b.start("x")
		h := b.launched().Run.Handle
		b.Runs().Life(h, row.Life{Kind: row.LifeStarted, PID: 1, At: time.Now()})
		b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1})
		all = append(all, a)
	}
	queued := b.send(all[0].Job, "later")
	b.stop()
	b = open(t, d, nil)
	if s := b.Snapshot(); len(s.Jobs) != 10 || len(s.Runs) != 9 || len(s.Sessions) != 1 {
		t.Fatalf("%d jobs, %d runs, %d sessions", len(s.Jobs), len(s.Runs), len(s.Sessions))
	}
	for _, a := range all {
		j := b.job(a)
		if j.State != wire.StateUnknown {
			t.Errorf("%s is %s before it was found", a.Ref, j.State)
		}
		has(t, detail(j), "looks for its process")
	}
	for range 9 {
		o := b.launched()
		if !o.Adopt {
			t.Fatal("a run was started again")
		}
		b.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeAdopted, PID: 9, At: time.Now()})
	}
	for _, a := range all {
		if j := b.job(a); j.State != wire.StateWorking || j.Detail != nil {
			t.Errorf("%s is %s (%s)", a.Ref, j.State, detail(j))
		}
		if w := b.Runs().Wishes(*a.Job.Run); w.Turn == nil || w.Turn.Prompt != "x" {
			t.Errorf("the wish of %s is gone", a.Ref)
		}
	}
	if s := b.state(queued); s != wire.StateQueued {
		t.Errorf("the queued job is %s", s)
	}
}

// TestP6_RunsAreTheirHandle: two jobs of one agent, over a restart, are never taken for each other.
func TestP6_RunsAreTheirHandle(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	first := b.start("same")
	second := b.start("same")
	h1, h2 := b.launched().Run.Handle, b.launched().Run.Handle
	b.stop()
	b = open(t, d, nil)
	third := b.start("same")
	b.report(h2, row.Step{Kind: row.StepTurnEnded, Turn: 1, End: &row.End{State: wire.StateCompleted}})
	if b.state(second) != wire.StateCompleted || b.state(first) == wire.StateCompleted || b.state(third) != wire.StateStarting {
		t.Fatalf("%s %s %s", b.state(first), b.state(second), b.state(third))
	}
	if h1 == h2 || *third.Job.Run == h1 || *third.Job.Run == h2 {
		t.Fatal("a handle was used twice")
	}
}

// TestStepsAreAppliedOnce: after a crash the fold reports again from what is on disk, and nothing counts twice.
func TestStepsAreAppliedOnce(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	a := b.start("x")
	h := b.launched().Run.Handle
	cost := 0.5
	steps := []row.Step{
		{Kind: row.StepReady, Pos: row.Pos{Frame: 1}},
		{Kind: row.StepTurnStarted, Turn: 1, Pos: row.Pos{Frame: 2}},
		{Kind: row.StepActivity, Detail: "tool", Pos: row.Pos{Frame: 3, Index: 1}},
		{Kind: row.StepTurnEnded, Turn: 1, Pos: row.Pos{Frame: 3, Index: 2}, End: &row.End{State: wire.StateCompleted, Reply: "r", CostUSD: &cost, CumulativeCost: true}},
	}
	for n := range len(steps) + 1 {
		b.Runs().Report(h, steps[:n])
	}
	b.wait(b.Runs().Saved(h))
	b.stop()
	evidence := len(d.job("job-1").Evidence)
	b = open(t, d, nil)
	b.Runs().Report(h, steps)
	b.wait(b.Runs().Saved(h))
	j := b.job(a)
	if *j.Usage.CostUSD != 0.5 || len(j.Evidence) != evidence {
		t.Fatalf("usage %v, %d pieces of evidence, had %d", *j.Usage.CostUSD, len(j.Evidence), evidence)
	}
}

func TestAnUnexpectedEventShowsAndChangesNothing(t *testing.T) {
	b := open(t, newDisk(), nil)
	a := b.start("x")
	h := b.launched().Run.Handle
	b.report(h, row.Step{Kind: row.StepTurnEnded, Turn: 7, End: &row.End{State: wire.StateCompleted}}, row.Step{Kind: row.StepTurnEnded, Turn: 1})
	if s := b.state(a); s != wire.StateStarting {
		t.Fatalf("the end of another turn made it %s", s)
	}
	b.report(h, row.Step{Kind: row.StepTurnEnded, Turn: 1, End: &row.End{State: wire.StateIdle}})
	if s := b.state(a); s != wire.StateInterrupted {
		t.Fatalf("an end without a final state made it %s", s)
	}
	b.Runs().Report("codex-000000", nil)
	b.Runs().Life("codex-000000", row.Life{Kind: row.LifeEnded})
	if w := b.Runs().Wishes("codex-000000"); w.Turn != nil || w.Stop {
		t.Fatalf("wishes of no run: %+v", w)
	}
}

// TestEvidence: how a job came to its state is kept, the first and the newest of it.
func TestEvidence(t *testing.T) {
	b := open(t, newDisk(), nil)
	a := b.start("x")
	h := b.launched().Run.Handle
	b.Runs().Life(h, row.Life{Kind: row.LifeStarted, PID: 42, At: time.Now()})
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	for range 30 {
		b.report(h, row.Step{Kind: row.StepRetry, Detail: "429", Class: "quota"}, row.Step{Kind: row.StepActivity, Detail: "on"})
	}
	b.report(h, row.Step{Kind: row.StepRetry, Detail: "429", Class: "quota"})
	j := b.job(a)
	if j.Class == nil || *j.Class != "quota" || detail(j) != "429" {
		t.Fatalf("while it tries again: %v, %s", j.Class, detail(j))
	}
	b.report(h, row.Step{Kind: row.StepTurnEnded, Turn: 1, End: &row.End{State: wire.StateFailed, Class: "quota", Error: "\nlimit reached\nmore"}})
	j = b.job(a)
	if detail(j) != "limit reached" {
		t.Errorf("detail %q", detail(j))
	}
	if len(j.Evidence) != 20 {
		t.Fatalf("%d pieces", len(j.Evidence))
	}
	has(t, j.Evidence[0].Fact, "asked for by owner through cli")
	has(t, j.Evidence[19].Fact, "failed (quota): limit reached")
	for i := 1; i < len(j.Evidence); i++ {
		if j.Evidence[i].AtMs < j.Evidence[i-1].AtMs {
			t.Error("out of order")
		}
	}
}

func TestStopAll(t *testing.T) {
	d := newDisk()
	b := open(t, d, func(o *hub.Options) { o.Limits.Running = 2 })
	b.start("1")
	b.start("2")
	queued := b.start("3")
	h1, h2 := b.launched().Run.Handle, b.launched().Run.Handle
	idle := b.Idle()
	if n := b.StopAll(row.Principal{Who: "owner", Way: "cli"}); n != 2 {
		t.Fatalf("%d runs", n)
	}
	<-b.crew.woken
	<-b.crew.woken
	if !b.Runs().Wishes(h1).Stop || !b.Runs().Wishes(h2).Stop {
		t.Fatal("not asked to stop")
	}
	b.Runs().Life(h1, row.Life{Kind: row.LifeEnded, Status: "killed"})
	select {
	case <-idle:
		t.Fatal("idle while one lives")
	default:
	}
	b.Runs().Life(h2, row.Life{Kind: row.LifeEnded, Status: "killed"})
	<-idle
	<-b.Idle()
	if s := b.state(queued); s != wire.StateQueued {
		t.Fatalf("the queued job is %s", s)
	}
	b.stop()
	b = open(t, d, nil)
	if o := b.launched(); o.Adopt || *o.Run.Job != queued.Job.Job.Job {
		t.Fatal("the queued job does not go on")
	}
}

// What waits for a live process that a new daemon does not see yet is given to it once it is seen, also when nothing else
// happens any more.
func TestP7_WaitingPromptIsGivenToARunThatIsSeenAgain(t *testing.T) {
	d := newDisk()
	one := func(o *hub.Options) { o.Limits.Running = 1 }
	b := open(t, d, one)
	live := request("rests")
	live.Agent = "live"
	first := b.startAs(live)
	rests := b.launched().Run.Handle
	b.Runs().Life(rests, row.Life{Kind: row.LifeStarted, PID: 1, At: time.Now()})
	b.report(rests, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepTurnStarted, Turn: 1}, ended(1, wire.StateCompleted, "done"))
	other := b.start("works")
	works := b.launched().Run.Handle
	b.report(works, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	waits := b.send(b.job(first), "waits for room")
	b.stop()
	b = open(t, d, one)
	b.pos = 100
	b.report(works, ended(1, wire.StateCompleted, "done"))
	b.leave(works)
	if b.state(waits) != wire.StateQueued || b.state(other) != wire.StateCompleted {
		t.Fatalf("before it is seen: %s, %s", b.state(waits), b.state(other))
	}
	b.Runs().Life(rests, row.Life{Kind: row.LifeAdopted, PID: 1, At: time.Now()})
	if w := b.Runs().Wishes(rests).Turn; b.state(waits) == wire.StateQueued && w == nil {
		t.Errorf("%s is %s: %s", waits.Ref, b.state(waits), detail(b.job(waits)))
	}
}
