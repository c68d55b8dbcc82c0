package hub

import (
	"errors"
	"fmt"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// errArchive says that what was asked for is not in memory.
var errArchive = errors.New("not in memory")

func notFound(ref wire.JobRef) *wire.Error {
	return wire.Refuse(wire.ReasonNotFound, "scv jobs list", "There is no job %s.", ref)
}

func over(j *row.Job) *wire.Error {
	return wire.Refuse(wire.ReasonConflict, "scv jobs result "+string(j.Job.Job), "%s has ended already: it is %s.", j.Job.Job, j.State)
}

// recallJob fetches a job that is not in memory; one that was dismissed is not found.
func (h *Hub) recallJob(ref wire.JobRef, session wire.SessionID, id wire.JobID) (row.Job, error) {
	a, ok := h.o.Journal.(Archive)
	if !ok {
		return row.Job{}, notFound(ref)
	}
	j, found, err := a.Job(h.ctx, session, id)
	if err != nil {
		return row.Job{}, fmt.Errorf("look for %s in the ledger: %w", ref, err)
	}
	if !found || j.Hidden() {
		return row.Job{}, notFound(ref)
	}
	return j, nil
}

func noConversation(session wire.SessionID, id wire.ConversationID) *wire.Error {
	return wire.Refuse(wire.ReasonNotFound, "scv jobs list", "There is no conversation %s in session %s.", id, session)
}

// bring makes sure that a conversation is in memory.
func (h *Hub) bring(session wire.SessionID, id wire.ConversationID) error {
	found := false
	if err := h.ask(func() error { found = h.m.conversation(session, id) != nil; return nil }); err != nil || found {
		return err
	}
	return h.recallConversation(session, id)
}

// recallConversation brings a conversation back into memory: nothing is forgotten because it was idle (U21).
func (h *Hub) recallConversation(session wire.SessionID, id wire.ConversationID) error {
	unknown := noConversation(session, id)
	a, ok := h.o.Journal.(Archive)
	if !ok {
		return unknown
	}
	c, found, err := a.Conversation(h.ctx, session, id)
	if err != nil {
		return fmt.Errorf("look for %s in the ledger: %w", id, err)
	}
	if !found {
		return unknown
	}
	s, found, err := a.Session(h.ctx, session)
	if err != nil {
		return fmt.Errorf("look for the session of %s in the ledger: %w", id, err)
	}
	return h.ask(func() error {
		if found {
			h.m.addSession(s)
		}
		h.m.addConversation(c)
		return nil
	})
}

// meet brings the conversation into memory that has the name which an agent now gives to that of a run, so that it is
// seen to be taken (acceptance P23). It waits for the ledger, in the goroutine of whoever reports the run.
func (rs Runs) meet(run wire.RunHandle, vendor string) {
	h := rs.h
	a, ok := h.o.Journal.(Archive)
	if !ok || vendor == "" {
		return
	}
	var c row.Conversation
	gone := h.do(func() {
		if r := h.m.runs[run]; r != nil && r.conv.row.Vendor != vendor {
			c = r.conv.row
		}
	})
	if gone != nil || c.ID == "" {
		return
	}
	other, found, err := a.Namesake(h.ctx, c.Agent, vendor, c.ID)
	if err == nil && found {
		err = h.bring(other.Session, other.ID)
	}
	if err != nil {
		h.o.Log.Warn("it is not known whether another conversation has the name that an agent gave", "conversation", c.ID, "error", err)
	}
}

// guest is a job that may be of the archive, in memory for one change; then it is on no list.
func (m *model) guest(old row.Job) *job {
	if j := m.jobs[old.Job.Job]; j != nil {
		return j
	}
	var c *conversation
	if old.Conversation != nil {
		c = m.convs[*old.Conversation]
	}
	if c == nil {
		c = &conversation{m: m, session: &session{m: m}}
	}
	c.jobs++
	j := &job{m: m, row: old, conv: c}
	m.jobs[old.Job.Job] = j
	return j
}

func (m *model) addSession(s row.Session) *session {
	if old := m.sessions[s.ID]; old != nil {
		return old
	}
	n := &session{m: m, row: s}
	n.row.Live, n.row.State = true, wire.StateIdle
	m.sessions[s.ID] = n
	m.rev = max(m.rev, s.Rev)
	m.mark(&n.entry, entry{session: n})
	return n
}

func (m *model) addConversation(c row.Conversation) *conversation {
	if old := m.convs[c.ID]; old != nil {
		return old
	}
	s := m.sessions[c.Session]
	if s == nil {
		s = m.addSession(row.Session{Session: wire.Session{ID: c.Session, Label: sessionLabel, Workspace: c.Cwd}, CreatedUnixSeconds: unix(m.now())})
		s.touch()
	}
	n := &conversation{m: m, row: c, session: s}
	s.convs++
	m.convs[c.ID] = n
	m.rev = max(m.rev, c.Rev)
	return n
}

// Retire takes finished jobs and ended runs out of memory and off the lists, because they leave the ledger for their
// age. While something is being written it does nothing and returns false.
func (js Jobs) Retire(jobs []wire.JobID, runs []wire.RunHandle) (done bool) {
	gone := js.h.do(func() {
		m := js.h.m
		if m.inFlight() {
			return
		}
		done = true
		for _, id := range jobs {
			if j := m.jobs[id]; j != nil && j.row.State.Final() {
				if _, unsaved := m.dirty.jobs[j]; !unsaved {
					m.finished = deleteOne(m.finished, j)
					m.unlist(&j.entry)
					j.drop()
				}
			}
		}
		for _, handle := range runs {
			if r := m.runs[handle]; r != nil && !r.row.Live {
				if _, unsaved := m.dirty.runs[r]; !unsaved {
					m.ended = deleteOne(m.ended, r)
					m.unlist(&r.entry)
					delete(m.runs, handle)
					r.conv.drop()
				}
			}
		}
	})
	return done && gone == nil
}
