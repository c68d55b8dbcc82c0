package hub

import (
	"cmp"
	"container/list"
	"slices"

	"scv/internal/wire"
)

// Snapshot returns everything that is listed, at one moment: unfinished jobs and the newest finished ones, live runs and
// those that ended lately. It is shared and must not be changed. It is made when it is asked for, once per generation.
func (h *Hub) Snapshot() *wire.Snapshot {
	now := unix(h.o.Now())
	s := h.snap.Load()
	if s.Generation == h.gen.Load() {
		if s.GeneratedUnixSeconds == now {
			return s
		}
		later := *s // nothing changed but the time
		later.GeneratedUnixSeconds = now
		h.snap.CompareAndSwap(s, &later)
		return &later
	}
	if h.do(func() { s = h.m.current() }) != nil {
		return h.snap.Load()
	}
	return s
}

// current returns the snapshot of now. It is for the loop, which publishes it.
func (m *model) current() *wire.Snapshot {
	s := m.h.snap.Load()
	if s.Generation != m.gen {
		s = m.snapshot()
		m.h.snap.Store(s)
	}
	return s
}

func (m *model) snapshot() *wire.Snapshot {
	s := &wire.Snapshot{GeneratedUnixSeconds: unix(m.now()), Epoch: m.h.epoch, Generation: m.gen, Storage: m.storage, Forecast: m.forecast.value}
	s.Restorable = m.restorable.rows
	s.Jobs = make([]wire.Job, 0, m.open+len(m.finished))
	s.Runs = make([]wire.Run, 0, m.live+len(m.ended))
	for e := m.changes.Back(); e != nil; e = e.Prev() {
		switch x := e.Value.(*entry); {
		case x.removed:
		case x.session != nil:
			s.Sessions = append(s.Sessions, x.session.row.Session)
		case x.job != nil:
			s.Jobs = append(s.Jobs, x.job.row.Job)
		case x.run != nil:
			s.Runs = append(s.Runs, x.run.row.Run)
		case x.approval != nil:
			s.Approvals = append(s.Approvals, x.approval.row.Shown())
		}
	}
	sortRows(s.Sessions, s.Jobs, s.Runs)
	sortApprovals(s.Approvals)
	return s
}

// sortRows puts rows in the order of the protocol: sessions by id, jobs newest first, runs last active first.
func sortRows(sessions []wire.Session, jobs []wire.Job, runs []wire.Run) {
	slices.SortFunc(sessions, func(a, b wire.Session) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(jobs, func(a, b wire.Job) int { return cmp.Compare(b.Job.Number(), a.Job.Number()) })
	slices.SortFunc(runs, func(a, b wire.Run) int {
		if c := cmp.Compare(b.LastActivityUnixSeconds, a.LastActivityUnixSeconds); c != 0 {
			return c
		}
		return cmp.Compare(b.Handle, a.Handle)
	})
}

// sortApprovals puts the oldest question first.
func sortApprovals(all []wire.Approval) {
	slices.SortFunc(all, func(a, b wire.Approval) int {
		return cmp.Or(cmp.Compare(a.SinceUnixSeconds, b.SinceUnixSeconds), cmp.Compare(a.Rev, b.Rev), cmp.Compare(a.ID, b.ID))
	})
}

// A Watcher follows changes. It is woken and then asks for what is current, so it never falls behind; one goroutine
// uses it.
type Watcher struct {
	h    *Hub
	wake chan struct{}
}

// Watch registers a watcher; Close it. Its first Next, with an empty epoch, returns everything.
func (h *Hub) Watch() *Watcher {
	w := &Watcher{h, make(chan struct{}, 1)}
	if h.do(func() { h.m.watchers[w] = struct{}{} }) != nil {
		nudge(w.wake)
	}
	return w
}

// Wake gets a signal after something changed; several changes may share one.
func (w *Watcher) Wake() <-chan struct{} { return w.wake }

// Next returns what changed after a generation of an epoch, and the generation that it now stands at. Another epoch, or
// a generation that is not remembered, gives everything (full). Nothing new is an empty delta with the same generation.
func (w *Watcher) Next(epoch string, after uint64) (delta wire.WorkbenchDelta, full bool, gen uint64) {
	gen = after
	w.h.do(func() {
		m := w.h.m
		gen = m.gen
		if full = epoch != w.h.epoch || after > m.gen || after < m.lost; full {
			delta = m.whole()
		} else {
			delta = m.since(after)
		}
	})
	return delta, full, gen
}

// Close lets go of the watcher.
func (w *Watcher) Close() {
	w.h.do(func() { delete(w.h.m.watchers, w) })
}

func (m *model) whole() wire.WorkbenchDelta {
	s := m.current()
	d := wire.WorkbenchDelta{GeneratedUnixSeconds: unix(m.now()), Sessions: s.Sessions, Jobs: s.Jobs, Runs: s.Runs, Approvals: s.Approvals, Restorable: s.Restorable, Forecast: m.forecast.value}
	if m.storage != "" {
		d.Storage = text(m.storage)
	}
	return d
}

func (m *model) since(after uint64) wire.WorkbenchDelta {
	d := wire.WorkbenchDelta{GeneratedUnixSeconds: unix(m.now())}
	for e := m.changes.Back(); e != nil && e.Value.(*entry).gen > after; e = e.Prev() {
		addChange(&d, e)
	}
	sortRows(d.Sessions, d.Jobs, d.Runs)
	sortApprovals(d.Approvals)
	if m.forecast.gen > after {
		d.Forecast = m.forecast.value
	}
	if m.restorable.gen > after {
		d.Restorable, d.Removed.Restorable = m.restorable.rows, m.restorable.goneSince(after)
	}
	if m.storageGen > after {
		d.Storage = new(m.storage)
	}
	return d
}

// addChange is called with the newest change first: a session or a question that came back is not
// told as removed.
func addChange(d *wire.WorkbenchDelta, e *list.Element) {
	x := e.Value.(*entry)
	switch {
	case x.session != nil:
		d.Sessions = append(d.Sessions, x.session.row.Session)
	case x.job != nil:
		d.Jobs = append(d.Jobs, x.job.row.Job)
	case x.run != nil:
		d.Runs = append(d.Runs, x.run.row.Run)
	case x.approval != nil:
		d.Approvals = append(d.Approvals, x.approval.row.Shown())
	case x.gone.session != "":
		back := func(s wire.Session) bool { return s.ID == x.gone.session }
		if !slices.ContainsFunc(d.Sessions, back) {
			d.Removed.Sessions = append(d.Removed.Sessions, x.gone.session)
		}
	case x.gone.job != "":
		d.Removed.Jobs = append(d.Removed.Jobs, x.gone.job)
	case x.gone.run != "":
		d.Removed.Runs = append(d.Removed.Runs, x.gone.run)
	case x.gone.approval != "":
		back := func(a wire.Approval) bool { return a.ID == x.gone.approval }
		if !slices.ContainsFunc(d.Approvals, back) {
			d.Removed.Approvals = append(d.Removed.Approvals, x.gone.approval)
		}
	}
}
