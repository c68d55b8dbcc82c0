package hub

import (
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Sessions are the commands on sessions of the model loop. The loop owns them; the hub lists them, and hosts the jobs
// that their models start.
type Sessions struct{ h *Hub }

// Sessions returns the commands on sessions of the model loop.
func (h *Hub) Sessions() Sessions { return Sessions{h} }

// Show lists a session, or says what it does now.
func (ss Sessions) Show(w wire.Session) {
	ss.h.do(func() {
		m := ss.h.m
		s := m.sessions[w.ID]
		if s == nil {
			s = m.addSession(row.Session{Session: wire.Session{ID: w.ID}, CreatedUnixSeconds: unix(m.now())})
		}
		s.shown = w.State
		r := &s.row.Session
		r.Label, r.Workspace, r.Name, r.Kept, r.Detail, r.Live = w.Label, w.Workspace, w.Name, w.Kept, w.Detail, true
		r.State = s.state()
		s.seen()
	})
}

// Hide takes a session that has ended off the list. One whose jobs are still listed stays with them.
func (ss Sessions) Hide(id wire.SessionID) {
	ss.h.do(func() {
		m := ss.h.m
		s := m.sessions[id]
		if s == nil || s.shown == wire.StateUnknown {
			return
		}
		s.shown, s.row.Kept = wire.StateUnknown, false
		if s.convs > 0 {
			s.row.Live, s.row.Detail = false, nil
			s.row.State = s.state()
			s.touch()
			return
		}
		m.unlist(&s.entry)
		delete(m.sessions, id)
	})
}

// Restorable says which sessions of processes that are gone can be taken over. The list is not changed afterwards.
func (ss Sessions) Restorable(all []wire.RestorableSession) {
	ss.h.do(func() {
		m := ss.h.m
		if slices.Equal(m.restorable.rows, all) {
			return
		}
		m.gen++
		m.restorable.set(all, m.gen)
	})
}

type restorable struct {
	rows []wire.RestorableSession
	gen  uint64                    // of the last change
	gone map[wire.SessionID]uint64 // generation in which one was taken off
}

func (r *restorable) set(all []wire.RestorableSession, gen uint64) {
	if r.gone == nil {
		r.gone = map[wire.SessionID]uint64{}
	}
	for _, old := range r.rows {
		r.gone[old.ID] = gen
	}
	for _, now := range all {
		delete(r.gone, now.ID)
	}
	r.rows, r.gen = all, gen
}

func (r *restorable) goneSince(after uint64) (ids []wire.SessionID) {
	for id, gen := range r.gone {
		if gen > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// seen tells watchers of a change that needs no place on the disk: the loop keeps its sessions itself.
func (s *session) seen() {
	m := s.m
	m.rev++
	s.row.Rev = m.rev
	m.mark(&s.entry, entry{session: s})
}

// hostOf is the session that a start is for: the one of its model, or the workspace's own.
func hostOf(m *model, q StartRequest) *session {
	if q.Session != "" {
		s := m.sessions[q.Session]
		if s == nil {
			s = m.addSession(row.Session{Session: wire.Session{ID: q.Session, Label: sessionLabel, Workspace: q.Workspace}, CreatedUnixSeconds: unix(m.now())})
		}
		s.touch() // its row is wanted by the rows of its jobs
		return s
	}
	id := wire.WorkbenchSessionID(q.Workspace)
	s := m.sessions[id]
	if s == nil {
		s = m.addSession(row.Session{Session: wire.Session{ID: id, Label: sessionLabel, Workspace: q.Workspace}, CreatedUnixSeconds: unix(m.now())})
		s.touch()
	}
	return s
}

// sessionOf is the session that the job of a start gets.
func (q StartRequest) sessionOf() wire.SessionID {
	if q.Session != "" {
		return q.Session
	}
	return wire.WorkbenchSessionID(q.Workspace)
}
