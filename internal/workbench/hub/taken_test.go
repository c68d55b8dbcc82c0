package hub_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// withTerminals lets all agents but cursor be taken over.
func withTerminals(o *hub.Options) { o.Terminal = func(agent string) bool { return agent != "cursor" } }

func taking(a hub.Accepted) hub.TakeRequest {
	return hub.TakeRequest{Session: a.Job.Session, Conversation: *a.Job.Conversation, Cols: 80, Rows: 24, Principal: owner()}
}

// taken waits for a takeover and returns the order that was launched for it.
func (b *bench) taken(q hub.TakeRequest) row.Order {
	b.t.Helper()
	t, err := b.Runs().Terminals().Take(q)
	if err != nil {
		b.t.Fatal(err)
	}
	h, err := t.Wait(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	o := b.launched()
	if o.Run.Handle != h || o.Run.Transport != wire.TransportTerminal || o.Run.Terminal == nil || o.Run.Terminal.Cols != 80 {
		b.t.Fatalf("%s was taken, and this launched: %+v", h, o.Run)
	}
	b.Runs().Life(h, row.Life{Kind: row.LifeStarted, At: time.Now(), PID: 7})
	b.report(h, row.Step{Kind: row.StepReady})
	return o
}

func (b *bench) offer(a hub.Accepted) wire.AttachOffer {
	b.t.Helper()
	if o := b.job(a).Attach; o != nil {
		return *o
	}
	return wire.AttachOffer{}
}

func (b *bench) hasEnded(h wire.RunHandle, exit string) {
	b.Runs().Life(h, row.Life{Kind: row.LifeEnded, At: time.Now(), Status: "exited", Detail: exit})
}

// TestP12_V18_PromptsWaitWhileTheTerminalIsTaken, and afterwards the next turn goes on with the same session and is told
// that the owner worked in it. TestP42: one writer.
func TestP12_V18_PromptsWaitWhileTheTerminalIsTaken(t *testing.T) {
	b := open(t, newDisk(), withTerminals)
	first, live := b.idler()
	if o := b.offer(first); o.State != wire.AttachReady {
		t.Errorf("offer %+v", o)
	}
	wanted, err := b.Runs().Terminals().Take(taking(first))
	if err != nil {
		t.Fatal(err)
	}
	if !b.Runs().Wishes(live).Close {
		t.Fatal("the live agent is not closed first")
	}
	waiting := b.send(first.Job, "2")
	has(t, detail(waiting.Job), "until you are done in the terminal")
	select {
	case o := <-b.crew.launched:
		t.Fatalf("%s was launched while the agent lives", o.Run.Handle)
	default:
	}
	b.leave(live)
	h, err := wanted.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := b.launched()
	if o.Run.Handle != h || o.Conversation.Vendor != "v-"+string(live) {
		t.Fatalf("%+v", o)
	}
	b.report(h, row.Step{Kind: row.StepReady})
	second, err := b.Runs().Terminals().Take(taking(first))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Wait(t.Context()); got != h || err != nil {
		t.Errorf("a second attach got %s, %v", got, err)
	}
	if _, _, err := b.Jobs().Send(hub.SendRequest{Session: first.Job.Session, Conversation: *first.Job.Conversation, Prompt: row.Prompt{Text: "x"}, Mode: wire.SendSteer}); reason(err) != wire.ReasonNotSteerable {
		t.Errorf("a prompt was steered into a taken terminal: %v", err)
	}
	if o := b.offer(waiting); o.State != wire.AttachTakenOver {
		t.Errorf("offer %+v", o)
	}
	if b.state(waiting) != wire.StateQueued {
		t.Fatalf("it is %s", b.state(waiting))
	}
	b.hasEnded(h, "exit 0")
	next := b.launched()
	w := b.Runs().Wishes(next.Run.Handle)
	if w.Turn == nil || !w.Turn.Handback || w.Turn.Vendor != "v-"+string(live) || w.Turn.Job != waiting.Job.Job.Job {
		t.Fatalf("after the takeover: %+v", w.Turn)
	}
	b.report(next.Run.Handle, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepTurnStarted, Turn: 2}, ended(2, wire.StateCompleted, "r"))
	b.send(first.Job, "3")
	if w = b.Runs().Wishes(next.Run.Handle); w.Turn == nil || w.Turn.Handback {
		t.Errorf("it is told twice: %+v", w.Turn)
	}
}

// TestP42_NothingIsStoppedForATakeoverThatCannotBe.
func TestP42_NothingIsStoppedForATakeoverThatCannotBe(t *testing.T) {
	b := open(t, newDisk(), withTerminals)
	a, h := b.working("1")
	q := taking(a)
	q.Interrupt = true
	if _, err := b.Runs().Terminals().Take(q); reason(err) != wire.ReasonBusy {
		t.Errorf("without a session: %v", err)
	}
	b.report(h, row.Step{Kind: row.StepSession, Vendor: "v"})
	if o := b.offer(a); o.State != wire.AttachBusy || !o.Interrupt || o.Job == nil || *o.Job != a.Job.Job.Job {
		t.Errorf("offer %+v", o)
	}
	q.Interrupt = false
	if _, err := b.Runs().Terminals().Take(q); reason(err) != wire.ReasonBusy {
		t.Errorf("without interrupt: %v", err)
	}
	q.Interrupt, q.Job = true, new(wire.JobID("job-99"))
	if _, err := b.Runs().Terminals().Take(q); reason(err) != wire.ReasonConflict {
		t.Errorf("of another job: %v", err)
	}
	b.report(h, asks("1", "rm x"))
	q.Job = nil
	if _, err := b.Runs().Terminals().Take(q); reason(err) != wire.ReasonBusy {
		t.Errorf("while it asks: %v", err)
	}
	if b.Runs().Wishes(h).Cancel != 0 {
		t.Error("it was stopped all the same")
	}
	other := request("1")
	other.Agent = "cursor"
	c := b.startAs(other)
	b.launched()
	if _, err := b.Runs().Terminals().Take(taking(c)); reason(err) != wire.ReasonRefused || b.offer(c).State != wire.AttachIneligible {
		t.Errorf("an agent without a terminal: %v", err)
	}
}

// TestP42_AnInterruptedTurnCanBeGoneOnWith: it is not lost, whether the takeover begins or not.
func TestP42_AnInterruptedTurnCanBeGoneOnWith(t *testing.T) {
	for name, begins := range map[string]bool{"begun": true, "not begun": false} {
		t.Run(name, func(t *testing.T) {
			b := open(t, newDisk(), withTerminals)
			a, h := b.working("1")
			b.report(h, row.Step{Kind: row.StepSession, Vendor: "v"})
			queued := b.send(a.Job, "2")
			q := taking(a)
			q.Interrupt, q.Job = true, &a.Job.Job.Job
			wanted, err := b.Runs().Terminals().Take(q)
			if err != nil || wanted.Stopped != a.Job.Job.Job {
				t.Fatalf("%+v, %v", wanted, err)
			}
			b.send(a.Job, "3") // makes sure that the wish is on disk
			if b.Runs().Wishes(h).Cancel != 1 {
				t.Fatal("the turn is not asked to end")
			}
			b.report(h, ended(1, wire.StateCancelled, ""))
			b.leave(h)
			run, err := wanted.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.launched()
			if j := b.job(a); j.State != wire.StateInterrupted || !j.Resumable {
				t.Errorf("it is %s, to be resumed: %v", j.State, j.Resumable)
			}
			if !begins {
				b.Runs().Life(run, row.Life{Kind: row.LifeNotStarted, At: time.Now(), Detail: "codex was not found"})
				has(t, detail(b.job(queued)), "did not begin")
				return
			}
			b.report(run, row.Step{Kind: row.StepReady})
			b.hasEnded(run, "exit 0")
			if w := b.Runs().Wishes(b.launched().Run.Handle); w.Turn == nil || w.Turn.Job != queued.Job.Job.Job {
				t.Errorf("what waited does not go on: %+v", w.Turn)
			}
		})
	}
}

// TestATakeoverThatNobodyWaitsForLetsGo: what was stopped for it waits for the owner.
func TestATakeoverThatNobodyWaitsForLetsGo(t *testing.T) {
	b := open(t, newDisk(), withTerminals)
	a, h := b.working("1")
	b.report(h, row.Step{Kind: row.StepSession, Vendor: "v"})
	queued := b.send(a.Job, "2")
	q := taking(a)
	q.Interrupt = true
	wanted, err := b.Runs().Terminals().Take(q)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextDone(t)
	defer cancel()
	if _, err := wanted.Wait(ctx); err != context.Canceled {
		t.Fatal(err)
	}
	b.Runs().Terminals().Abandon(wanted)
	if _, err := wanted.Wait(t.Context()); reason(err) != wire.ReasonBusy {
		t.Errorf("%v", err)
	}
	b.report(h, ended(1, wire.StateCancelled, ""))
	has(t, detail(b.job(queued)), "did not begin")
}

// TestAShellStandsBesideTheTurn and holds nothing up.
func TestAShellStandsBesideTheTurn(t *testing.T) {
	b := open(t, newDisk(), withTerminals)
	a, h := b.working("1")
	q := taking(a)
	q.Shell = true
	o := b.taken(q)
	if o.Run.Agent != wire.ShellAgent || !o.Run.Terminal.Shell {
		t.Errorf("%+v", o.Run)
	}
	if !b.Runs().Terminals().Known(o.Run.Handle) || b.Runs().Terminals().Known(h) {
		t.Error("which runs have a terminal is not known")
	}
	b.report(h, ended(1, wire.StateCompleted, "r"))
	next := b.send(a.Job, "2")
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 2})
	if b.state(next) != wire.StateWorking {
		t.Errorf("the next turn is %s", b.state(next))
	}
	if _, _, err := b.Runs().Terminals().End(a.Job.Session, *a.Job.Conversation, false, owner()); reason(err) != wire.ReasonNotFound {
		t.Errorf("a terminal that is not open was closed: %v", err)
	}
	_, ticket, err := b.Runs().Terminals().End(a.Job.Session, *a.Job.Conversation, true, owner())
	b.changed("", ticket, err)
	if !b.Runs().Wishes(o.Run.Handle).Stop {
		t.Error("the shell is not closed")
	}
	if _, err := b.Runs().Terminals().Take(q); reason(err) != wire.ReasonBusy {
		t.Errorf("one that is being closed was taken: %v", err)
	}
}

// TestATerminalSurvivesTheDaemon: the next hub looks for it and holds the conversation meanwhile.
func TestATerminalSurvivesTheDaemon(t *testing.T) {
	d := newDisk()
	b := open(t, d, withTerminals)
	a, h := b.idler()
	b.leave(h)
	o := b.taken(taking(a))
	b.stop()
	b = open(t, d, withTerminals)
	adopted := b.launched()
	if adopted.Run.Handle != o.Run.Handle || !adopted.Adopt {
		t.Fatalf("%+v", adopted.Run)
	}
	next := b.send(a.Job, "2")
	b.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeAdopted, At: time.Now(), PID: 7})
	q := taking(a)
	q.Run = &o.Run.Handle
	again, err := b.Runs().Terminals().Take(q)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Wait(t.Context()); err != nil || got != o.Run.Handle {
		t.Errorf("%s, %v", got, err)
	}
	b.hasEnded(o.Run.Handle, "exit 0")
	b.launched()
	if b.state(next) == wire.StateQueued {
		t.Error("the queue does not go on")
	}
	if _, err := b.Runs().Terminals().Take(q); reason(err) != wire.ReasonNotFound {
		t.Errorf("a terminal that was closed was opened anew: %v", err)
	}
}

// TestOnlyEightTerminals are open at once, and an ended one makes room.
func TestOnlyEightTerminals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newDisk(), withTerminals)
		var last row.Order
		for range 8 {
			a, h := b.idler()
			b.leave(h)
			last = b.taken(taking(a))
		}
		a, h := b.idler()
		b.leave(h)
		synctest.Wait()
		if o := b.offer(a); o.State != wire.AttachFull {
			t.Errorf("offer %+v", o)
		}
		if _, err := b.Runs().Terminals().Take(taking(a)); reason(err) != wire.ReasonFull {
			t.Errorf("a ninth terminal: %v", err)
		}
		b.hasEnded(last.Run.Handle, "exit 0")
		if o := b.offer(a); o.State != wire.AttachReady {
			t.Errorf("offer %+v", o)
		}
		b.taken(taking(a))
		b.stop()
	})
}

// TestATakeoverThatIsNotStoredWasNever.
func TestATakeoverThatIsNotStoredWasNever(t *testing.T) {
	b := open(t, newDisk(), withTerminals)
	a, h := b.idler()
	b.leave(h)
	b.send(a.Job, "2")
	next := b.launched().Run.Handle
	b.report(next, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepTurnStarted, Turn: 2}, ended(2, wire.StateCompleted, ""))
	b.wait(b.Runs().Saved(next))
	b.disk.fail(errFull)
	q := taking(a)
	q.Shell = true
	wanted, err := b.Runs().Terminals().Take(q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wanted.Wait(t.Context()); reason(err) != wire.ReasonUnavailable {
		t.Errorf("%v", err)
	}
	for _, r := range b.Runs().List() {
		if r.Terminal != nil {
			t.Errorf("it is there: %+v", r)
		}
	}
	if b.Snapshot().Storage == "" {
		t.Error("nobody is told")
	}
}
