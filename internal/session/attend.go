package session

import (
	"context"
	"slices"

	"scv/internal/session/loop"
	"scv/internal/wire"
)

// join adds a client and tells it where it is: first session.started, then the queue.
func (h *Host) join(s *Session, request wire.RequestID, restored *wire.RestoredQueue, fresh bool) (Entrance, error) {
	var c *Client
	err := s.do(func() {
		s.last++
		c = newClient(s.last)
		s.clients = append(s.clients, c)
		e := s.setup.Announced
		t := s.core.Talk()
		e.RequestID, e.SessionID, e.Restored = request, s.id, restored
		e.Name, e.Pins, e.Turn, e.History = optional(t.Name), t.Pins, s.core.View(), new(t.Next)
		if restored == nil && !fresh && t.Interrupted != "" && s.core.Idle() {
			e.Restored = &wire.RestoredQueue{From: s.id, Queued: uint32(s.core.Queue()), Interrupted: &t.Interrupted}
		}
		if e.Turn != nil {
			e.Turn = h.mask().view(e.Turn)
		}
		c.put(s.encode(e))
		c.put(s.encode(s.core.Snapshot()))
	})
	if err != nil {
		return Entrance{}, err
	}
	return Entrance{s, c}, nil
}

// Leave lets go of a client. A session that is not kept ends with its last one.
func (s *Session) Leave(c *Client) {
	c.Close() // first: the session may wait for room in its mailbox
	_ = s.post(func() {
		s.clients = slices.DeleteFunc(s.clients, func(x *Client) bool { return x == c })
		if len(s.clients) == 0 && !s.keep {
			s.end(false)
		}
	})
}

// end ends the session in its own goroutine: for good, or until another process goes on with it.
func (s *Session) end(goesOn bool) {
	if s.ending {
		return
	}
	s.ending = true
	s.perform(s.core.Close(s.host.o.Now(), goesOn))
	if !goesOn {
		s.perform(s.core.Finish(s.host.o.Now()))
	}
	s.host.forget(s, goesOn)
}

func (h *Host) forget(s *Session, goesOn bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.live, s.id)
	if h.o.Bench != nil && !goesOn {
		h.o.Bench.Hide(s.id)
	}
}

// Remove ends a session that is kept, for good: its history stays readable until it is too old.
func (h *Host) Remove(ctx context.Context, id wire.SessionID) error {
	s, _, err := h.find(ctx, id)
	if err != nil {
		return err
	}
	return s.do(func() { s.end(false) })
}

// Ended tells the session whose model started it that a job is over. A session that is not live looks itself when it is
// taken up again.
func (h *Host) Ended(session wire.SessionID, r wire.JobReport) {
	h.mu.Lock()
	s := h.live[session]
	h.mu.Unlock()
	if s != nil {
		s.tell(loop.Ended{Report: r})
	}
}

// seekJobs looks what became of jobs while nobody looked.
func (s *Session) seekJobs() {
	if s.host.o.Job == nil {
		return
	}
	open := s.core.Open()
	s.work.Go(func() {
		for _, j := range open {
			if r, over := s.host.o.Job(s.ctx, s.id, j.Job); over {
				s.tell(loop.Ended{Report: r})
			}
		}
	})
}

// Close ends all sessions: turns are cancelled, and what is kept goes on in the next process. It returns when nothing of
// them is under way any more, or ctx ended.
func (h *Host) Close(ctx context.Context) {
	h.mu.Lock()
	h.closed = true
	live := make([]*Session, 0, len(h.live))
	for _, s := range h.live {
		live = append(live, s)
	}
	h.mu.Unlock()
	for _, s := range live {
		_ = s.post(func() { s.end(true) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.open.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
