package hub_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// view is a client that follows by deltas.
type view struct {
	epoch string
	gen   uint64
	jobs  map[wire.JobRef]wire.Job
	runs  map[wire.RunHandle]wire.Run
	sess  map[wire.SessionID]wire.Session
	asks  map[wire.ApprovalID]wire.Approval
}

// pull takes what is new, and reports whether anything was.
func (v *view) pull(w *hub.Watcher, epoch string) (full, news bool) {
	d, full, gen := w.Next(v.epoch, v.gen)
	if full {
		v.jobs, v.runs, v.sess = map[wire.JobRef]wire.Job{}, map[wire.RunHandle]wire.Run{}, map[wire.SessionID]wire.Session{}
		v.asks = map[wire.ApprovalID]wire.Approval{}
	}
	news = gen != v.gen
	v.epoch, v.gen = epoch, gen
	for _, s := range d.Sessions {
		v.sess[s.ID] = s
	}
	for _, j := range d.Jobs {
		v.jobs[j.Ref()] = j
	}
	for _, r := range d.Runs {
		v.runs[r.Handle] = r
	}
	for _, a := range d.Approvals {
		v.asks[a.ID] = a
	}
	for _, id := range d.Removed.Approvals {
		delete(v.asks, id)
	}
	for _, id := range d.Removed.Jobs {
		delete(v.jobs, id)
	}
	for _, id := range d.Removed.Runs {
		delete(v.runs, id)
	}
	for _, id := range d.Removed.Sessions {
		delete(v.sess, id)
	}
	return full, news
}

// same compares the view with the snapshot of now.
func (v *view) same(s *wire.Snapshot) string {
	want := &view{epoch: s.Epoch, gen: s.Generation, jobs: map[wire.JobRef]wire.Job{}, runs: map[wire.RunHandle]wire.Run{}, sess: map[wire.SessionID]wire.Session{}, asks: map[wire.ApprovalID]wire.Approval{}}
	for _, a := range s.Approvals {
		want.asks[a.ID] = a
	}
	for _, j := range s.Jobs {
		want.jobs[j.Ref()] = j
	}
	for _, r := range s.Runs {
		want.runs[r.Handle] = r
	}
	for _, x := range s.Sessions {
		want.sess[x.ID] = x
	}
	return cmp.Diff(want, v, cmp.AllowUnexported(view{}))
}

func TestWatch(t *testing.T) {
	d := newDisk()
	b := open(t, d, func(o *hub.Options) { o.Limits.FinishedListed = 1; o.Limits.EndedListed = 1 })
	w := b.Watch()
	defer w.Close()
	v := &view{}
	if full, _ := v.pull(w, b.Epoch()); !full {
		t.Fatal("the first is not the whole")
	}
	a := b.start("x")
	<-w.Wake()
	if full, news := v.pull(w, b.Epoch()); full || !news || len(v.jobs) != 1 || len(v.runs) != 1 || len(v.sess) != 1 {
		t.Fatalf("full %v, news %v, %d jobs", full, news, len(v.jobs))
	}
	if _, news := v.pull(w, b.Epoch()); news {
		t.Fatal("news of nothing")
	}
	finish(b, b.launched(), wire.StateCompleted)
	for range 3 {
		b.start("y")
		finish(b, b.launched(), wire.StateCompleted)
	}
	b.start("z")
	b.wait(b.Runs().Saved(b.launched().Run.Handle))
	<-w.Wake()
	v.pull(w, b.Epoch())
	if diff := v.same(b.Snapshot()); diff != "" {
		t.Fatal(diff)
	}
	if _, there := v.jobs[a.Ref]; there {
		t.Error("what left the list is still there")
	}
	if full, _ := v.pull(w, b.Epoch()); full {
		t.Error("the whole without need")
	}
	v.gen = 1 << 40
	if full, _ := v.pull(w, b.Epoch()); !full {
		t.Error("a generation of nowhere was believed")
	}
	v.epoch = "another"
	if full, _ := v.pull(w, b.Epoch()); !full {
		t.Error("another epoch was believed")
	}
}

// TestWatcherThatMissedTooMuch gets the whole, since not every removal is remembered.
func TestWatcherThatMissedTooMuch(t *testing.T) {
	b := open(t, newDisk(), nil)
	w := b.Watch()
	defer w.Close()
	slow, quick := &view{}, &view{}
	a := b.start("x")
	slow.pull(w, b.Epoch())
	o := b.launched()
	finish(b, o, wire.StateCompleted)
	for range 1200 {
		x := b.send(a.Job, "y")
		finish(b, b.launched(), wire.StateCompleted)
		if _, ticket, err := b.Jobs().Dismiss(x.Ref, row.Principal{}); err != nil {
			t.Fatal(err)
		} else {
			b.wait(ticket)
		}
		quick.pull(w, b.Epoch())
	}
	if full, _ := slow.pull(w, b.Epoch()); !full {
		t.Error("a view with rows that are gone was kept")
	}
	for _, v := range []*view{slow, quick} {
		if diff := v.same(b.Snapshot()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSnapshotIsSharedAndDoesNotChange(t *testing.T) {
	b := open(t, newDisk(), nil)
	a := b.start("x")
	h := b.launched().Run.Handle
	before := b.Snapshot()
	state := before.Jobs[0].State
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1}, row.Step{Kind: row.StepActivity, Detail: "d"})
	after := b.Snapshot()
	if before == after || before.Jobs[0].State != state || before.Jobs[0].Detail != nil {
		t.Fatal("a snapshot changed under its reader")
	}
	if after.Jobs[0].State != wire.StateWorking || after.Generation <= before.Generation || after.Epoch != b.Epoch() {
		t.Fatalf("%s, generation %d after %d", after.Jobs[0].State, after.Generation, before.Generation)
	}
	if n := testing.AllocsPerRun(100, func() { b.Snapshot() }); n > 1 {
		t.Errorf("%.1f allocations for a snapshot of the same generation", n)
	}
	if a.Job.Rev >= after.Jobs[0].Rev {
		t.Error("the rev did not rise")
	}
}

func TestRevRisesOverRestarts(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	a := b.start("x")
	h := b.launched().Run.Handle
	for range 50 { // seen, and not on disk
		b.report(h, row.Step{Kind: row.StepRetry, Detail: "1"}, row.Step{Kind: row.StepActivity, Detail: "2"})
	}
	seen := b.job(a).Rev
	crashed := d.load()
	b.stop()
	b = open(t, newDisk(), func(o *hub.Options) { o.Loaded = crashed })
	b.launched()
	b.Runs().Life(h, row.Life{Kind: row.LifeAdopted})
	if got := b.job(a).Rev; got <= seen {
		t.Errorf("rev %d after %d", got, seen)
	}
}
