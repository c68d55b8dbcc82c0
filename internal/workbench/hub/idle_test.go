package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// idler starts a conversation with a live agent and lets its first turn end.
func (b *bench) idler() (hub.Accepted, wire.RunHandle) {
	b.t.Helper()
	q := request("1")
	q.Agent = "live"
	first := b.startAs(q)
	h := b.launched().Run.Handle
	b.report(h, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepSession, Vendor: "v-" + string(h)}, row.Step{Kind: row.StepTurnStarted, Turn: 1}, ended(1, wire.StateCompleted, "r"))
	return first, h
}

// TestIdleRunsAreClosed: after 15 minutes without a turn, by one timer; the next prompt starts a new run that resumes.
func TestIdleRunsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newDisk(), nil)
		first, h := b.idler()
		<-time.After(10 * time.Minute)
		other, g := b.idler()
		<-time.After(4*time.Minute + 59*time.Second)
		if b.Runs().Wishes(h).Close {
			t.Fatal("closed too early")
		}
		if got := <-b.crew.woken; got != h { // blocks until the moment
			t.Fatalf("woke %s", got)
		}
		if !b.Runs().Wishes(h).Close || b.Runs().Wishes(g).Close {
			t.Fatal("not the longest idle one is closed")
		}
		next := b.send(first.Job, "2")
		has(t, detail(next.Job), "has left")
		b.leave(h)
		o := b.launched()
		if o.Run.Handle == h || b.Runs().Wishes(o.Run.Handle).Turn.Vendor != "v-"+string(h) {
			t.Fatalf("order %+v", o.Run)
		}
		for _, r := range b.Runs().List() {
			if r.Handle == h && (r.State != wire.StateCompleted || r.Live) {
				t.Errorf("the closed run is %s", r.State)
			}
		}
		again := b.send(other.Job, "2") // used in time
		b.report(g, row.Step{Kind: row.StepTurnStarted, Turn: 2})
		<-time.After(time.Hour)
		if b.Runs().Wishes(g).Close || b.state(again) != wire.StateWorking {
			t.Error("a run was closed in its turn")
		}
		b.stop()
	})
}

// TestVacatedPlaceIsWaitedFor: agents between turns in a place leave when it is wanted, and are named until they have;
// one in its turn, or elsewhere, is left alone.
func TestVacatedPlaceIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newDisk(), nil)
		first, h := b.idler()
		here := b.Runs().List()[0].Cwd
		there := func(dir string) bool { return dir == here }
		if got := b.Runs().Vacate(func(string) bool { return false }, true); len(got) > 0 {
			t.Errorf("elsewhere %v leave", got)
		}
		if got := b.Runs().Vacate(there, false); len(got) > 0 || b.Runs().Wishes(h).Close {
			t.Errorf("an idle agent leaves unasked: %v", got)
		}
		for range 2 {
			if got := b.Runs().Vacate(there, true); len(got) != 1 || got[0] != h || !b.Runs().Wishes(h).Close {
				t.Errorf("%v leave", got)
			}
		}
		b.leave(h)
		if got := b.Runs().Vacate(there, true); len(got) > 0 {
			t.Errorf("%v are still waited for", got)
		}
		b.send(first.Job, "2") // it goes on with a new process, which works now
		g := b.launched().Run.Handle
		b.report(g, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepTurnStarted, Turn: 2})
		if got := b.Runs().Vacate(there, true); len(got) > 0 || b.Runs().Wishes(g).Close {
			t.Errorf("an agent in its turn leaves: %v", got)
		}
		b.stop()
	})
}

func TestIdleRunsMakeRoomInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newDisk(), func(o *hub.Options) { o.Limits.MemoryFloor, o.Limits.Running = 512<<20, 1 })
		b.Memory(1 << 30)
		_, h := b.idler()
		<-time.After(time.Second)
		_, g := b.idler() // an idle run is no running turn
		b.Memory(100 << 20)
		waiting := b.start("x")
		has(t, detail(waiting.Job), "waits for memory")
		synctest.Wait()
		if !b.Runs().Wishes(h).Close || b.Runs().Wishes(g).Close {
			t.Fatal("not the longest idle one is closed first")
		}
		b.leave(h)
		b.Memory(100 << 20)
		synctest.Wait()
		if !b.Runs().Wishes(g).Close {
			t.Fatal("the next one is not closed")
		}
		b.leave(g)
		b.Memory(1 << 30)
		b.launched()
		b.stop()
	})
}

// TestPromptForAProcessThatLeft: a live agent that left between turns is no failure of the prompt that came meanwhile:
// its spool proves that it was never given it, so another process is.
func TestPromptForAProcessThatLeft(t *testing.T) {
	b := open(t, newDisk(), nil)
	first, h := b.idler()
	second := b.send(first.Job, "2")
	b.Runs().Life(h, row.Life{Kind: row.LifeEnded, Status: "exited", Given: 1, At: time.Now()})
	o := b.launched()
	if *o.Run.Job != second.Job.Job.Job || b.Runs().Wishes(o.Run.Handle).Turn.Prompt != "2" {
		t.Fatalf("order %+v", o.Run)
	}
	b.report(o.Run.Handle, row.Step{Kind: row.StepTurnStarted, Turn: *o.Run.Turn})
	b.leave(o.Run.Handle) // this one had it
	if s := b.state(second); s != wire.StateFailed {
		t.Errorf("state %s", s)
	}
}

// TestAStartThatWaitsSaysWhy until it has begun.
func TestAStartThatWaitsSaysWhy(t *testing.T) {
	b := open(t, newDisk(), nil)
	first, h := b.idler()
	b.Runs().Life(h, row.Life{Kind: row.LifeEnded, Status: "exited", Given: 1, At: time.Now()})
	second := b.send(first.Job, "2")
	o := b.launched()
	b.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeWaits, Detail: "starts at 10:01:00 UTC: it would be lost", At: time.Now()})
	if j := b.job(second); j.State != wire.StateStarting || detail(j) != "starts at 10:01:00 UTC: it would be lost" {
		t.Errorf("%s: %s", j.State, detail(j))
	}
	b.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeStarted, PID: 7, At: time.Now()})
	if j := b.job(second); j.State != wire.StateStarting || j.Detail != nil {
		t.Errorf("begun it is %s: %s", j.State, detail(j))
	}
}

// TestS10_OutOfDescriptors: a start that found none waits and is tried again; nothing is lost and no run is listed.
func TestS10_OutOfDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		a := b.start("x")
		o := b.launched()
		b.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeHeldUp, Detail: "there is no file descriptor left", At: time.Now()})
		if j := b.job(a); j.State != wire.StateQueued {
			t.Fatalf("%s: %s", j.State, detail(j))
		}
		has(t, detail(b.job(a)), "there is no file descriptor left")
		other := b.start("y")
		has(t, detail(other.Job), "position 2")
		if n := len(b.Snapshot().Runs); n != 0 {
			t.Fatalf("%d runs are listed", n)
		}
		at := time.Now()
		again := b.launched()
		if again.Run.Handle == o.Run.Handle || *again.Run.Job != a.Job.Job.Job || time.Since(at) != 5*time.Second {
			t.Fatalf("order %+v after %s", again.Run, time.Since(at))
		}
		synctest.Wait()
		if j := d.job(a.Job.Job.Job); j.Assigned != 2 || j.State != wire.StateStarting {
			t.Errorf("on disk %+v", j)
		}
		b.launched()
		b.stop()
	})
}
