package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// TestU4_FullDisk: what cannot be recorded is refused and never runs; what runs is kept and told; it ends by itself.
func TestU4_FullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		a := b.start("runs")
		h := b.launched().Run.Handle
		d.fail(errFull)
		q := request("refused")
		q.Key = "k"
		refused, ticket, err := b.Jobs().Start(q)
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.Wait(t.Context()); reason(err) != wire.ReasonUnavailable {
			t.Fatalf("the start: %v", err)
		}
		has(t, b.Snapshot().Storage, "database or disk is full")
		if _, ok := b.Jobs().Find(refused.Job.Session, refused.Job.Job.Job); ok || len(b.Snapshot().Jobs) != 1 || len(b.Snapshot().Runs) != 1 {
			t.Error("the refused job is listed")
		}
		refusesAll(t, b, a)
		b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1}, ended(1, wire.StateCompleted, "kept"))
		if s := b.state(a); s != wire.StateCompleted {
			t.Errorf("what runs is %s", s)
		}
		if r, ok := b.Jobs().Result(a.Job.Session, "job-1"); !ok || r.Reply != "kept" {
			t.Error("the reply is gone")
		}
		<-time.After(time.Minute)
		if d.job("job-1").State == wire.StateCompleted {
			t.Fatal("stored on a full disk")
		}
		d.fail(nil)
		w := b.Watch()
		_, _, gen := w.Next("", 0)
		<-w.Wake() // by itself, within the pause between two tries
		delta, _, _ := w.Next(b.Epoch(), gen)
		if delta.Storage == nil || *delta.Storage != "" || b.Snapshot().Storage != "" {
			t.Error("it does not say that it can be written again")
		}
		w.Close()
		if d.job("job-1").State != wire.StateCompleted || d.results["job-1"].Reply != "kept" {
			t.Error("what was kept in memory is not stored")
		}
		if j := d.job("job-2"); j.State != wire.StateCancelled || !j.Dismissed || j.Key != "" {
			t.Errorf("the refused job on disk: %s, %v, %q", j.State, j.Dismissed, j.Key)
		}
		if n := len(b.crew.launched); n != 0 {
			t.Errorf("%d runs were launched", n)
		}
		again := b.startAs(q)
		if again.Repeated || again.Job.Num != 3 {
			t.Errorf("the same key again: %+v", again.Ref)
		}
		b.stop()
	})
}

// refusesAll: no change is taken while nothing can be recorded.
func refusesAll(t *testing.T, b *bench, a hub.Accepted) {
	t.Helper()
	for what, try := range map[string]func() error{
		"start": func() error { _, _, err := b.Jobs().Start(request("y")); return err },
		"send": func() error {
			_, _, err := b.Jobs().Send(hub.SendRequest{Session: a.Job.Session, Conversation: "codex-1"})
			return err
		},
		"cancel":  func() error { _, _, err := b.Jobs().Cancel(a.Ref, row.Principal{}); return err },
		"dismiss": func() error { _, _, err := b.Jobs().Dismiss(a.Ref, row.Principal{}); return err },
		"kill":    func() error { _, err := b.Runs().Kill(*a.Job.Run, row.Principal{}); return err },
	} {
		if err := try(); reason(err) != wire.ReasonUnavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestU4_WaitingForTheDiskStartsLater: a turn that was due while nothing could be written begins afterwards.
func TestU4_WaitingForTheDiskStartsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		a := b.start("1")
		second := b.send(a.Job, "2")
		h := b.launched().Run.Handle
		d.fail(errFull)
		b.report(h, ended(1, wire.StateFailed, ""))
		<-time.After(time.Second)
		b.leave(h)
		has(t, detail(b.job(second)), "until the ledger can be written")
		d.fail(nil)
		if o := b.launched(); *o.Run.Job != second.Job.Job.Job {
			t.Fatalf("launched %s", *o.Run.Job)
		}
		b.stop()
	})
}

// TestStopFailsWhatCannotBeSaved: nobody waits for ever for a commit that does not come.
func TestStopFailsWhatCannotBeSaved(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	release := d.hold()
	_, first, err := b.Jobs().Start(request("1"))
	if err != nil {
		t.Fatal(err)
	}
	<-d.entered
	_, second, err := b.Jobs().Start(request("2"))
	if err != nil {
		t.Fatal(err)
	}
	d.fail(errFull)
	release()
	b.stop()
	for _, ticket := range []*hub.Ticket{first, second} {
		if err := ticket.Wait(t.Context()); reason(err) != wire.ReasonUnavailable {
			t.Errorf("%v", err)
		}
	}
	if _, _, err := b.Jobs().Start(request("3")); reason(err) != wire.ReasonUnavailable {
		t.Errorf("after the stop: %v", err)
	}
	if b.Snapshot() == nil {
		t.Error("no snapshot after the stop")
	}
	if err := b.Runs().Saved("x").Wait(t.Context()); err == nil {
		t.Error("saved after the stop")
	}
	<-b.Idle()
	w := b.Watch()
	<-w.Wake()
	w.Close()
}
