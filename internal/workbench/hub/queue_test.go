package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// TestU12_OverTheLimitWaits: what has no room waits with the reason and its place, and starts by itself, in order.
func TestU12_OverTheLimitWaits(t *testing.T) {
	b := open(t, newDisk(), func(o *hub.Options) { o.Limits.Running = 2 })
	var all []hub.Accepted
	for i := range 5 {
		all = append(all, b.start(fmt.Sprint("p", i)))
	}
	orders := []row.Order{b.launched(), b.launched()}
	for i, a := range all[2:] {
		if a.Job.State != wire.StateQueued || a.Delivery != wire.DeliveryQueued {
			t.Fatalf("%s is %s", a.Ref, a.Job.State)
		}
		has(t, detail(a.Job), fmt.Sprintf("waits for room: 2 of 2 turns run, position %d", i+1))
		has(t, a.Note, "waits for room")
	}
	for i := 2; i < 5; i++ {
		finish(b, orders[i-2], wire.StateCompleted)
		o := b.launched()
		if *o.Run.Job != all[i].Job.Job.Job {
			t.Fatalf("%s started out of order", *o.Run.Job)
		}
		orders = append(orders, o)
		if i == 2 {
			has(t, detail(b.job(all[3])), "position 1")
		}
	}
}

// TestU24_OtherLimits: limits that are changed count at once for what waits, and for what is asked from then on.
func TestU24_OtherLimits(t *testing.T) {
	b := open(t, newDisk(), func(o *hub.Options) { o.Limits.Running, o.Limits.Unfinished = 1, 3 })
	b.start("1")
	b.launched()
	second := b.start("2")
	b.start("3")
	if _, _, err := b.Jobs().Start(request("4")); reason(err) != wire.ReasonFull {
		t.Fatalf("the fourth: %v", err)
	}
	b.Jobs().SetLimits(hub.Limits{Running: 2, Unfinished: 4, MemoryFloor: 1 << 20}, 0)
	if o := b.launched(); *o.Run.Job != second.Job.Job.Job {
		t.Fatalf("%s started instead", *o.Run.Job)
	}
	select {
	case <-b.WantsMemory():
	default:
		t.Error("nobody is asked for the memory that there is a floor for now")
	}
	fourth := b.start("4")
	has(t, detail(fourth.Job), "2 of 2 turns run, position 2")
	b.Jobs().SetLimits(hub.Limits{Running: 2, Unfinished: 4, MemoryFloor: 1 << 20}, 0)
	if _, _, err := b.Jobs().Start(request("5")); reason(err) != wire.ReasonFull {
		t.Fatalf("the fifth: %v", err)
	}
}

func TestUnfinishedLimit(t *testing.T) {
	b := open(t, newDisk(), func(o *hub.Options) { o.Limits.Running = 1; o.Limits.Unfinished = 3 })
	for range 3 {
		b.start("x")
	}
	if _, _, err := b.Jobs().Start(request("y")); reason(err) != wire.ReasonFull {
		t.Fatalf("the fourth: %v", err)
	}
	finish(b, b.launched(), wire.StateCompleted)
	b.start("y")
}

func TestConversationRunsOneTurnAtATime(t *testing.T) {
	b := open(t, newDisk(), nil)
	first := b.start("1")
	o := b.launched()
	second, third := b.send(first.Job, "2"), b.send(first.Job, "3")
	has(t, detail(second.Job), "waits for job-1 in codex-1")
	has(t, detail(third.Job), "waits for job-1 and one prompt before it in codex-1")
	if _, _, err := b.Jobs().Send(hub.SendRequest{Session: first.Job.Session, Conversation: "codex-1", Mode: wire.SendSteer}); reason(err) != wire.ReasonNotSteerable {
		t.Fatalf("steer: %v", err)
	}
	b.report(o.Run.Handle, row.Step{Kind: row.StepTurnStarted, Turn: 1}, ended(1, wire.StateFailed, ""))
	if s := b.state(second); s != wire.StateQueued {
		t.Fatalf("the next turn is %s while the process of the last one lives", s)
	}
	has(t, detail(b.job(second)), "has left")
	b.leave(o.Run.Handle)
	o2 := b.launched()
	if *o2.Run.Job != second.Job.Job.Job || *o2.Run.Turn != 2 || o2.Run.Handle == o.Run.Handle {
		t.Fatalf("order %+v", o2.Run)
	}
	finish(b, o2, wire.StateCompleted)
	if o3 := b.launched(); *o3.Run.Job != third.Job.Job.Job {
		t.Fatalf("order %+v", o3.Run)
	}
}

func TestQueuePauses(t *testing.T) {
	for _, c := range []struct {
		end    row.End
		pauses string // what the detail says; empty when the queue goes on
	}{
		{row.End{State: wire.StateCompleted}, ""},
		{row.End{State: wire.StateFailed, Class: "network"}, ""},
		{row.End{State: wire.StateCancelled}, ""},
		{row.End{State: wire.StateInterrupted}, "was interrupted"},
		{row.End{State: wire.StateFailed, Class: "quota"}, "reached a usage limit"},
		{row.End{State: wire.StateFailed, Class: "start"}, "could not be started"},
		{row.End{State: wire.StateFailed, Class: "missing"}, "could not be started"},
	} {
		t.Run(c.end.State.String()+" "+c.end.Class, func(t *testing.T) {
			d := newDisk()
			b := open(t, d, nil)
			first := b.start("1")
			o := b.launched()
			second := b.send(first.Job, "2")
			b.report(o.Run.Handle, row.Step{Kind: row.StepTurnEnded, Turn: 1, End: &c.end})
			b.leave(o.Run.Handle)
			if c.pauses == "" {
				b.launched()
				return
			}
			has(t, detail(b.job(second)), "is paused: job-1 "+c.pauses)
			b.stop()
			b = open(t, d, nil) // and stays so over a restart
			has(t, detail(b.job(second)), c.pauses)
			third := b.send(first.Job, "3")
			has(t, detail(third.Job), "is paused")
			has(t, third.Note, "scv jobs queue resume codex-1")
			b.changed(b.Conversations().GoOn(first.Job.Session, "codex-1", row.Principal{}))
			if o := b.launched(); *o.Run.Job != second.Job.Job.Job {
				t.Fatalf("%s went first", *o.Run.Job)
			}
			has(t, detail(b.job(third)), "waits for job-2")
		})
	}
}

// TestP35_MemoryFloor: below the floor a job waits; the memory is asked for every 5 s then, and never else.
func TestP35_MemoryFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newDisk(), func(o *hub.Options) { o.Limits.MemoryFloor = 512 << 20 })
		<-b.WantsMemory()
		b.Memory(100 << 20)
		a := b.start("x")
		has(t, detail(a.Job), "waits for memory: 100 MiB free, 512 MiB wanted, position 1")
		for range 3 {
			at := time.Now()
			<-b.WantsMemory()
			if d := time.Since(at); d != 5*time.Second {
				t.Fatalf("asked after %s", d)
			}
			b.Memory(200 << 20)
		}
		<-b.WantsMemory()
		b.Memory(600 << 20)
		b.launched()
		if s := b.state(a); s != wire.StateStarting {
			t.Fatalf("state %s", s)
		}
		<-b.WantsMemory() // after the start of a turn
		synctest.Wait()
		at := time.Now()
		select {
		case <-b.WantsMemory():
			t.Fatal("asked although nothing waits")
		case <-time.After(time.Hour):
		}
		if time.Since(at) != time.Hour {
			t.Fatal("the clock ran otherwise")
		}
		b.stop()
	})
}

func TestLiveTransportServesTurnAfterTurn(t *testing.T) {
	b := open(t, newDisk(), nil)
	q := request("1")
	q.Agent = "live"
	first := b.startAs(q)
	h := b.launched().Run.Handle
	b.report(h, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	second := b.send(first.Job, "2")
	b.report(h, ended(1, wire.StateCompleted, "r"))
	if got := <-b.crew.woken; got != h {
		t.Fatalf("woke %s", got)
	}
	w := b.Runs().Wishes(h)
	if w.Turn == nil || w.Turn.Number != 2 || w.Turn.Prompt != "2" {
		t.Fatalf("wishes %+v", w.Turn)
	}
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 2}, ended(2, wire.StateCompleted, "r"))
	if s := b.state(second); s != wire.StateCompleted {
		t.Fatalf("state %s", s)
	}
	r := b.Runs().List()
	if len(r) != 1 || r[0].State != wire.StateIdle || r[0].Job != nil || len(r[0].Jobs) != 2 {
		t.Fatalf("run %+v", r[0].Run)
	}
	third := b.send(first.Job, "3")
	if got := <-b.crew.woken; got != h || third.Job.State != wire.StateStarting {
		t.Fatalf("woke %s, job is %s", got, third.Job.State)
	}
	_, ticket, err := b.Jobs().Cancel(third.Ref, row.Principal{})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(ticket)
	b.report(h, ended(3, wire.StateCancelled, ""))
	b.Runs().Life(h, row.Life{Kind: row.LifeEnded, Status: "exited", At: time.Now()})
	if r := b.Runs().List(); r[0].Live || r[0].State != wire.StateCompleted {
		t.Fatalf("left between turns: live %v, %s", r[0].Live, r[0].State)
	}
	b.send(first.Job, "4")
	if o := b.launched(); o.Run.Handle == h {
		t.Fatal("a run that has ended was launched again")
	}
}

// TestC7_Differences: four resumed turns of equal size give four equal shares, also with a restart between them, and a
// sum below the last one starts anew.
func TestC7_Differences(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	first := b.start("1")
	for i, sum := range []uint64{11, 22, 33, 44, 11} {
		if i == 2 {
			b.stop()
			b = open(t, d, nil)
		}
		a := first
		if i > 0 {
			a = b.send(first.Job, fmt.Sprint(i+1))
		}
		o := b.launched()
		for o.Adopt {
			o = b.launched()
		}
		cost := float64(sum) / 8
		b.report(o.Run.Handle, row.Step{Kind: row.StepTurnEnded, Turn: uint32(i + 1), End: &row.End{
			State: wire.StateCompleted, InputTokens: sum * 100, OutputTokens: sum, CostUSD: &cost, CumulativeTokens: true, CumulativeCost: true,
		}})
		b.leave(o.Run.Handle)
		u := b.job(a).Usage
		if u == nil || *u.InputTokens != 1100 || *u.OutputTokens != 11 || *u.CostUSD != 11.0/8 {
			t.Fatalf("turn %d: %+v", i+1, u)
		}
	}
}

func TestUsagePerTurnIsTakenAsItIs(t *testing.T) {
	b := open(t, newDisk(), nil)
	a := b.start("1")
	b.report(b.launched().Run.Handle, row.Step{Kind: row.StepTurnEnded, Turn: 1, End: &row.End{State: wire.StateCompleted, InputTokens: 5, OutputTokens: 7}})
	if u := b.job(a).Usage; u == nil || *u.InputTokens != 5 || *u.OutputTokens != 7 || u.CostUSD != nil {
		t.Fatalf("usage %+v", u)
	}
}

func TestManyWaitWithoutCountingThemAllOut(t *testing.T) {
	b := open(t, newDisk(), func(o *hub.Options) { o.Limits.Running = 1 })
	w := b.Watch()
	defer w.Close()
	for range 80 {
		b.start("x")
	}
	o := b.launched()
	_, _, gen := w.Next("", 0)
	finish(b, o, wire.StateCompleted)
	b.launched()
	delta, _, _ := w.Next(b.Epoch(), gen)
	if n := len(delta.Jobs); n > 60 {
		t.Errorf("one end changed %d rows", n)
	}
	last := b.Snapshot().Jobs[0]
	if !strings.Contains(*last.Detail, "more than 50") {
		t.Errorf("detail %q", *last.Detail)
	}
}
