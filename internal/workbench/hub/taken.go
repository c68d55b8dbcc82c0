package hub

import (
	"fmt"
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/state"
)

// stopped is how a turn ends that the owner had stopped. One that had to make way for him can be gone on with.
func stopped(j *job) (s wire.AgentState, detail string) {
	if j != nil && j.row.Yielded {
		return wire.StateInterrupted, "stopped for you, who took the conversation over"
	}
	return wire.StateCancelled, "stopped by the owner"
}

// A holder is a conversation as far as takeovers go.
type holder struct{ *conversation }

// open is the terminal, or shell, that is open.
func (c holder) open(shell bool) *run {
	switch {
	case shell:
		return c.shell
	case c.run != nil && c.run.row.Terminal != nil:
		return c.run
	}
	return nil
}

// held reports whether no turn may begin because of a takeover.
func (c holder) held() bool { return c.taking != nil || c.open(false) != nil }

func (c holder) take(q TakeRequest) (*Taking, error) {
	m := c.m
	t := &Taking{request: q, done: make(chan struct{})}
	switch r := c.open(q.Shell); {
	case q.Run != nil && (r == nil || r.row.Handle != *q.Run):
		return nil, wire.Refuse(wire.ReasonNotFound, "attach again: scv jobs attach ID", "The terminal of %s was closed meanwhile.", c.row.ID)
	case r != nil && r.row.Stop:
		return nil, wire.Refuse(wire.ReasonBusy, "try again in a moment", "The terminal of %s is being closed.", c.row.ID)
	case r != nil:
		t.begun(r, m.ticketOf(r.born, nil))
		return t, nil
	case c.taking != nil && !q.Shell:
		return c.taking, nil
	}
	if err := m.readOnly(); err != nil {
		return nil, err
	}
	if q.Shell {
		if m.takeovers.open >= maxTerminals {
			return nil, wire.Refuse(wire.ReasonFull, "scv agents ps", "%s.", fullOfTerminals)
		}
		c.begin(t)
		return t, nil
	}
	if err := c.refusal(q); err != nil {
		return nil, err
	}
	if j := c.current; j != nil {
		j.row.Yielded, t.Stopped = true, j.row.Job.Job
		if _, err := j.cancel(q.Principal); err != nil {
			return nil, err
		}
	}
	c.taking = t
	m.takeovers.taking = append(m.takeovers.taking, c.conversation)
	m.requeue = true
	return t, nil
}

// refusal is why a takeover cannot be; nil when it can.
func (c holder) refusal(q TakeRequest) error {
	o := c.offer()
	busy := o.State == wire.AttachBusy
	switch {
	case o.State == wire.AttachReady:
		return nil
	case busy && q.Interrupt && o.Interrupt && q.Job != nil && *q.Job != *o.Job:
		return wire.Refuse(wire.ReasonConflict, "scv jobs", "%s runs in %s now, and not %s, so nothing was stopped.", *o.Job, c.row.ID, *q.Job)
	case busy && q.Interrupt && o.Interrupt:
		return nil
	}
	reasons := map[wire.AttachState]wire.Reason{
		wire.AttachBusy: wire.ReasonBusy, wire.AttachFull: wire.ReasonFull, wire.AttachNoSession: wire.ReasonConflict,
	}
	reason, known := reasons[o.State]
	if !known {
		reason = wire.ReasonRefused
	}
	hint := "scv jobs list"
	if busy {
		hint = "wait for its end: scv jobs wait " + string(*o.Job)
		if o.Interrupt {
			hint += "   or stop it: scv jobs attach --interrupt " + string(*o.Job)
		}
	}
	return wire.Refuse(reason, hint, "%s cannot be taken over: %s.", c.row.ID, str(o.Detail))
}

const fullOfTerminals = "as many terminals are open as SCV keeps (8)"

// offer says whether the conversation can be taken over now.
func (c holder) offer() wire.AttachOffer {
	m := c.m
	no := func(s wire.AttachState, format string, args ...any) wire.AttachOffer {
		return wire.AttachOffer{State: s, Detail: text(fmt.Sprintf(format, args...))}
	}
	full := m.takeovers.open+len(m.takeovers.taking) >= maxTerminals
	j := c.current
	switch {
	case m.h.o.Terminal == nil || !m.h.o.Terminal(c.row.Agent):
		return no(wire.AttachIneligible, "%s has no terminal in which it goes on with a conversation", c.row.Agent)
	case c.held():
		return wire.AttachOffer{State: wire.AttachTakenOver}
	case j != nil:
		o := no(wire.AttachBusy, "%s runs", j.row.Job.Job)
		o.Job = &j.row.Job.Job
		switch {
		case j.row.State == wire.StateAwaitingInput:
			o.Detail = text(fmt.Sprintf("%s waits for your answer, which comes first", j.row.Job.Job))
		case j.assigned > m.committed:
			o.Detail = text(fmt.Sprintf("%s is just being started", j.row.Job.Job))
		default:
			o.Interrupt = c.proven().Vendor != "" && !full && !j.row.Reviewed && !j.row.Cancelled
		}
		return o
	case c.last != nil && c.last.row.Reviewed:
		return no(wire.AttachReviewed, "%s belongs to a review", c.last.row.Job.Job)
	case c.elsewhere():
		return no(wire.AttachNoSession, "its agent began its session on another machine")
	case c.row.Vendor == "":
		return no(wire.AttachNoSession, "its agent has not begun a session yet")
	case full:
		return no(wire.AttachFull, fullOfTerminals)
	case m.draining:
		return no(wire.AttachUnknown, "SCV is about to stop")
	}
	return wire.AttachOffer{State: wire.AttachReady}
}

// begin opens the terminal. It is launched once its row is on disk.
func (c holder) begin(t *Taking) {
	m := c.m
	agent := c.row.Agent
	if t.request.Shell {
		agent = wire.ShellAgent
	}
	r := c.newRun(agent, wire.TransportTerminal)
	r.row.Terminal = &row.Terminal{Cols: t.request.Cols, Rows: t.request.Rows, Shell: t.request.Shell}
	r.born, r.yielded = m.batch, t.Stopped
	if t.request.Shell {
		c.shell = r
	} else {
		c.run = r
	}
	m.takeovers.count(1)
	m.after(effect{run: r, launch: true})
	r.touch()
	t.begun(r, m.undoable(screen{r}.undo))
	m.commit()
}

// release lets go of a conversation that was kept free. What was stopped for it waits for the owner.
func (c holder) release(why error) {
	t := c.taking
	c.taking = nil
	c.m.takeovers.taking = deleteOne(c.m.takeovers.taking, c.conversation)
	c.m.requeue = true
	c.notTaken(t.Stopped)
	t.err = why
	close(t.done)
	c.touch()
	c.m.commit()
}

// notTaken keeps the queue from going on over a turn that was stopped for a takeover which came to nothing.
func (c holder) notTaken(id wire.JobID) {
	if id != "" && c.row.Paused == "" {
		c.pauseFor(fmt.Sprintf("%s was stopped for a takeover that did not begin; to go on with it: scv jobs resume %s", id, id))
	}
}

// newest notes a job that may be the newest of its conversation, which is the one that carries its offer.
func (c holder) newest(j *job) {
	if old := c.last; old == nil || old.row.Num < j.row.Num {
		c.last = j
		if old != nil && old.row.Attach != nil {
			old.row.Attach = nil
			c.m.mark(&old.entry, entry{job: old})
		}
	}
}

// takeovers is the model as far as takeovers go.
type takeovers struct {
	m      *model
	taking []*conversation            // kept free, in the order of asking
	open   int                        // terminals and shells
	stale  map[*conversation]struct{} // whose offers may have changed
}

func (h *takeovers) count(n int) {
	before := h.open
	h.open += n
	if max(before, h.open) >= maxTerminals {
		for _, c := range h.m.convs {
			h.stale[c] = struct{}{}
		}
	}
}

// proceed begins the takeovers whose conversation is free, and makes those free where an agent rests.
func (h *takeovers) proceed() {
	for _, c := range slices.Clone(h.taking) {
		r := c.run
		switch {
		case c.current != nil:
		case r == nil:
			t := c.taking
			c.taking = nil
			h.taking = deleteOne(h.taking, c)
			holder{c}.begin(t)
		case r.waits() && len(r.steers) == 0:
			restingRun{r}.close("is being closed, because you take the conversation over")
		}
	}
}

// offer puts into the rows what has changed of the offers. They are of the moment, and on no disk.
func (h *takeovers) offer() {
	if h.m.h.o.Terminal == nil {
		clear(h.stale)
		return
	}
	for c := range h.stale {
		now := holder{c}.offer()
		if j := c.last; j != nil && !j.row.Hidden() && !sameOffer(j.row.Attach, &now) {
			j.row.Attach = &now
			h.m.mark(&j.entry, entry{job: j})
		}
		if r := c.run; r != nil && !sameOffer(r.row.Attach, &now) {
			r.row.Attach = &now
			h.m.mark(&r.entry, entry{run: r})
		}
	}
	clear(h.stale)
}

func sameOffer(a, b *wire.AttachOffer) bool {
	same := func(x, y *wire.JobID) bool { return x == y || x != nil && y != nil && *x == *y }
	return a != nil && a.State == b.State && a.Interrupt == b.Interrupt && str(a.Detail) == str(b.Detail) && same(a.Job, b.Job)
}

// close tells those who wait that there will be no terminal.
func (h *takeovers) close() {
	for _, c := range h.taking {
		c.taking.err = wire.Refuse(wire.ReasonUnavailable, "scv start, then attach again", "The SCV daemon stopped before the terminal was open.")
		close(c.taking.done)
	}
	h.taking = nil
}

// A screen is a run whose agent has a terminal.
type screen struct{ *run }

// left ends a takeover. The next turn goes on with the same conversation, and is told that the owner worked in it.
func (r screen) left(l row.Life) {
	e := state.Complete
	switch l.Kind { //nolint:exhaustive // the ways to end
	case row.LifeNotStarted:
		e = state.Fail
		holder{r.conv}.notTaken(r.yielded)
	case row.LifeLost:
		e = state.Interrupt
	}
	if l.Kind != row.LifeNotStarted && !r.row.Terminal.Shell {
		r.conv.row.Worked = true
		r.conv.touch()
	}
	r.m.takeovers.count(-1)
	r.row.Detail = nil
	r.end(e, l.Detail, l.At)
	r.row.Detail, r.row.Attach = text(l.Detail), nil
	r.m.commit()
}

// undo takes back a takeover whose row could not be stored: nothing was started.
func (r screen) undo() {
	m := r.m
	if !r.row.Live {
		return
	}
	m.takeovers.count(-1)
	holder{r.conv}.notTaken(r.yielded)
	r.end(state.Cancel, "not opened, because the ledger could not be written", m.now())
	m.ended = deleteOne(m.ended, r.run)
	m.unlist(&r.entry)
	delete(m.runs, r.row.Handle)
}
