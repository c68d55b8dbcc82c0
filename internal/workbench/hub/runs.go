package hub

import (
	"fmt"
	"slices"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/state"
)

// Runs are the commands on runs. Report, Life and Wishes are for the launcher.
type Runs struct{ h *Hub }

// Runs returns the commands on runs.
func (h *Hub) Runs() Runs { return Runs{h} }

// Report takes what a run's fold learnt, in the order of its spool. It returns when the state reflects it, which is
// before it is on disk; Saved says when that is. Steps at or before the run's Pos are ignored.
func (rs Runs) Report(h wire.RunHandle, steps []row.Step) {
	for _, s := range steps {
		if s.Kind == row.StepSession {
			rs.meet(h, s.Vendor)
		}
	}
	rs.h.do(func() {
		if r := rs.h.m.runs[h]; r != nil {
			r.report(steps)
		}
	})
}

// Life takes an observation of a run's process.
func (rs Runs) Life(h wire.RunHandle, l row.Life) {
	rs.h.do(func() {
		if r := rs.h.m.runs[h]; r != nil {
			r.observe(l)
		}
	})
}

// Saved returns a ticket that resolves once all that was reported of a run so far is on disk; only then may the spool
// that it came from be deleted.
func (rs Runs) Saved(h wire.RunHandle) *Ticket {
	t := &Ticket{done: closed()}
	gone := rs.h.ask(func() error {
		m := rs.h.m
		r := m.runs[h]
		if r == nil {
			return nil
		}
		if _, unsaved := m.dirty.runs[r]; unsaved {
			m.commit()
			t = m.ticket(nil)
		} else if m.inFlight() {
			t = m.ticketOf(m.batch-1, nil)
		}
		return nil
	})
	if gone != nil {
		t = &Ticket{done: closed(), err: gone}
	}
	return t
}

// Wishes returns what the owner wants of a run, as far as that is on disk.
func (rs Runs) Wishes(h wire.RunHandle) (w row.Wishes) {
	rs.h.do(func() {
		if r := rs.h.m.runs[h]; r != nil {
			w = r.wishes()
		}
	})
	return w
}

// Kill asks a run to stop at once, and with it the turn that it serves. A run that has ended is wire.ReasonConflict.
func (rs Runs) Kill(h wire.RunHandle, p row.Principal) (*Ticket, error) {
	var t *Ticket
	err := rs.h.ask(func() error {
		m := rs.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		r := m.runs[h]
		switch {
		case r == nil:
			return &wire.Error{Code: wire.CodeDelegationError, Reason: wire.ReasonNotFound, Message: fmt.Sprintf("There is no run %s.", h), Hint: "scv agents ps"}
		case !r.row.Live:
			return &wire.Error{Code: wire.CodeDelegationError, Reason: wire.ReasonConflict, Message: fmt.Sprintf("%s has ended already.", h), Hint: "scv agents ps"}
		}
		r.kill(p)
		t = m.ticketOf(r.stop, nil)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// List returns the live runs and those that ended lately, oldest first.
func (rs Runs) List() (all []row.Run) {
	rs.h.do(func() {
		for _, r := range rs.h.m.runs {
			all = append(all, r.row)
		}
	})
	slices.SortFunc(all, func(a, b row.Run) int {
		if a.StartedUnixSeconds != b.StartedUnixSeconds {
			return int(int64(a.StartedUnixSeconds) - int64(b.StartedUnixSeconds))
		}
		return slices.Compare([]byte(a.Handle), []byte(b.Handle))
	})
	return all
}

func (r *run) kill(p row.Principal) {
	m := r.m
	if r.row.Stop {
		return
	}
	r.row.Stop, r.stop = true, m.batch
	r.row.Detail = text("is being stopped")
	r.touch()
	if j := r.current; j != nil {
		if !j.row.Cancelled {
			j.row.Cancelled, j.cancelled = true, m.batch
		}
		j.row.Detail = text("is being stopped")
		j.note(m.now(), "owner", fmt.Sprintf("%s asked through %s to stop %s", orNobody(p.Who), orNobody(p.Way), r.row.Handle))
		j.touch()
		j.accept("kill", "")
		nest{m}.cancelBelow(j, p)
		asking{r}.closeAsks(row.ClosedCancelled)
		asking{r}.weigh(m.now(), "it is being stopped")
		if j.assigned > m.committed && !r.launched {
			j.withdraw("cancelled before it started")
		}
	}
	m.after(effect{run: r})
	m.commit()
}

func (m *model) stopAll(p row.Principal) (n int) {
	m.draining, m.requeue = true, true
	for _, r := range m.runs {
		if r.row.Live {
			n++
			r.kill(p)
		}
	}
	return n
}

func (r *run) wishes() (w row.Wishes) {
	m := r.m
	w.Stop = r.row.Stop && r.stop <= m.committed
	w.Close, w.Tell = r.closing, inTurn{r}.asksToTell() || m.unread.has(r.row.Handle)
	w.Answers = asking{r}.answers()
	j := r.current
	if j == nil || j.assigned > m.committed {
		return w
	}
	c := &r.conv.row
	mode := ""
	if j.row.Mode != nil {
		mode = string(*j.row.Mode)
	}
	w.Turn = &row.TurnWish{
		Job: j.row.Job.Job, Session: c.Session, Number: j.row.Turn, Prompt: j.prompt, Private: j.row.Private,
		Model: j.row.Model, Effort: j.row.Effort, Mode: mode, Cwd: c.Cwd, Vendor: r.conv.proven().Vendor, Handback: j.row.Handback,
		Depth: j.row.Depth, Above: nest{m}.above(j),
	}
	if j.row.Cancelled && j.cancelled <= m.committed {
		w.Cancel = j.row.Turn
	}
	for _, s := range r.steers {
		if x := s.row.Steer; x.Turn == j.row.Turn && s.born <= m.committed {
			w.Steers = append(w.Steers, row.SteerWish{Job: s.row.Job.Job, Turn: x.Turn, Text: s.prompt, Private: s.row.Private})
		}
	}
	return w
}

// observe takes an observation of a run's process. None of it is durable by itself but an end of a turn: after a
// restart it is observed again.
func (r *run) observe(l row.Life) {
	r.m.unread.learn(r.row.Handle, l.Kind)
	if !r.row.Live {
		return
	}
	switch l.Kind {
	case row.LifeWaits:
		restingRun{r}.delayed(l)
	case row.LifeStarted:
		r.row.PID = l.PID
		restingRun{r}.begun()
		r.seen(l, fmt.Sprintf("process %d was started as %s", l.PID, r.row.Handle))
	case row.LifeAdopted:
		if l.PID != 0 {
			r.row.PID = l.PID
		}
		r.seen(l, "its process was found alive as "+string(r.row.Handle))
	case row.LifeUnreachable:
		r.row.Detail = text(l.Detail)
		if !r.row.State.Final() {
			if r.row.State != wire.StateUnknown {
				r.before = r.row.State
			}
			r.step(state.Lose)
		}
		if j := r.current; j != nil {
			j.step(state.Lose, l.At, "process", "SCV cannot tell: "+l.Detail)
			j.say(l.Detail)
		}
	case row.LifeEnded, row.LifeLost, row.LifeNotStarted:
		if r.row.Terminal != nil {
			screen{r}.left(l)
			return
		}
		r.gone(l)
	case row.LifeHeldUp:
		restingRun{r}.heldUp(l)
		return
	case row.LifeCaughtUp:
		inTurn{r}.caughtUp()
		return
	}
	r.touch()
}

// seen brings a run that was out of sight back to the state from which its fold goes on.
func (r *run) seen(l row.Life, fact string) {
	if j := r.current; j != nil {
		j.note(l.At, "process", fact)
		j.touch()
	}
	if r.row.State != wire.StateUnknown {
		return
	}
	first, _ := asking{r}.waiting()
	asks := first != nil
	e := state.Seen
	switch {
	case r.current == nil:
		e = state.Idle
		r.m.requeue = true // what waits for it can be given to it
	case r.before == wire.StateStarting:
		e = state.Start
	case asks:
		e = state.Ask
	}
	r.row.Detail = nil
	r.step(e)
	if j := r.current; j != nil {
		j.step(e, l.At, "process", "it is in sight again")
		j.row.Detail = nil
		if j.row.Cancelled {
			j.row.Detail = text("is being cancelled")
		}
		j.touch()
		asking{r}.weigh(l.At, "the agent asks")
	}
}

// gone ends a run. A turn that it still served ends with it, now: nothing is working without a process (B21), and only
// an end that the agent itself reported completes a turn (P4).
func (r *run) gone(l row.Life) {
	wanted := r.row.Stop || r.current != nil && r.current.row.Cancelled
	e := ending{state: wire.StateInterrupted, class: classLost, detail: l.Detail}
	switch {
	case wanted:
		e.class = ""
		e.state, e.detail = stopped(r.current)
	case l.Kind == row.LifeNotStarted && l.Class != "" && l.Class != classLost:
		e.state, e.class = wire.StateFailed, l.Class
	case l.Kind == row.LifeEnded && l.Status == "exited":
		e.state, e.class = wire.StateFailed, l.Class
		if e.class == "" {
			e.class = classAgent
		}
	}
	if e.detail == "" {
		e.detail = missing(l)
	}
	asking{r}.closeAsks(row.ClosedVoid)
	j, left := r.current, r.between(l)
	switch {
	case left && j != nil && !j.row.Cancelled:
		j.again(l.At, fmt.Sprintf("%s had left before it was given the prompt", r.row.Handle))
	case j != nil:
		j.row.Untouched = l.Kind == row.LifeNotStarted
		j.end(e, l.At, "process")
		r.row.Detail = text(e.detail)
	}
	ev, _ := state.Ending(e.state)
	if left {
		ev, l.Detail = state.Complete, "its agent left between turns"
	}
	r.end(ev, l.Detail, l.At)
}

// between reports whether a live process left while it had no prompt, of itself or because it was asked to.
func (r *run) between(l row.Life) bool {
	if r.row.Stop || l.Kind != row.LifeEnded {
		return false
	}
	if r.current == nil {
		return r.row.State == wire.StateIdle
	}
	// The first prompt is not given again: what ended before it could take one would only end again.
	return l.Given > 0 && l.Given < r.current.row.Turn && r.row.Transport != wire.TransportCLI
}

func missing(l row.Life) string {
	switch l.Kind {
	case row.LifeNotStarted:
		return "its process was not started"
	case row.LifeLost:
		return "its process went away without saying how"
	case row.LifeEnded, row.LifeStarted, row.LifeAdopted, row.LifeUnreachable, row.LifeHeldUp, row.LifeWaits, row.LifeCaughtUp:
	}
	return "the agent left without saying how its turn ended"
}

// end marks a run as over and lets go of its conversation.
func (r *run) end(e state.Event, detail string, at time.Time) {
	m := r.m
	if !r.row.Live {
		return
	}
	r.row.Live, r.row.Steerable, r.row.PID, r.row.Ended = false, false, 0, unix(at)
	m.live--
	if !r.row.State.Final() {
		r.step(e)
		if r.row.Detail == nil || e != state.Complete {
			r.row.Detail = text(detail)
		}
	}
	r.current = nil
	inTurn{r}.giveUp("its process ended")
	switch c := r.conv; r {
	case c.run:
		c.run = nil
	case c.shell:
		c.shell = nil
	}
	m.ended = append(m.ended, r)
	m.requeue = true
	r.touch()
	if m.linger != nil {
		m.commit()
	}
	m.forget()
}

// teller is who told of an end: an agent that is lost tells nothing, its process is seen to be gone.
func teller(e row.End) string {
	if e.Class == classLost {
		return "process"
	}
	return "agent"
}
