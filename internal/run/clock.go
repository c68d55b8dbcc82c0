package run

import (
	"cmp"
	"strings"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// clocks are the few moments that a run waits for. They are monotonic; none of them repeats, and silence alone ends
// nothing.
type clocks struct {
	began   time.Time // the run was first followed here, while it was not ready
	ready   bool
	running uint32    // turn
	sign    time.Time // of the last sign of life in it, or its start
	signAt  time.Time // the same by the wall, for people
	tool    string    // the tool call that was begun last, when nothing followed it
	said    bool      // that the turn is silent
	asks    int       // requests that wait for the owner: the agent is silent because of them
	ended   time.Time // the last turn ended and the process should leave
	closing time.Time // the process was asked to leave between turns
	cancel  time.Time // the agent was asked to cancel
	retry   time.Time // try again what the shim refused
	look    time.Time // see where processes of the run listen
	looks   int       // times that was done in this turn
}

func (c *clocks) step(s row.Step) {
	now := time.Now()
	switch s.Kind {
	case row.StepReady:
		c.ready = true
	case row.StepTurnStarted:
		c.running, c.cancel, c.ended, c.looks = s.Turn, time.Time{}, time.Time{}, 0
	case row.StepTurnEnded:
		if c.looks > 0 || !c.look.IsZero() { // a turn of no tool call started nothing
			c.look = now
		}
		c.running, c.tool, c.ended, c.asks = 0, "", now, 0
	case row.StepApprovalAsked:
		c.asks++
	case row.StepApprovalClosed:
		c.asks = max(c.asks-1, 0)
	}
	c.sign, c.signAt, c.said = now, s.At, false
}

// event takes a record of the log. What a tool call starts may listen a moment later, and a turn of many calls is looked
// at ever more rarely: looking takes a look at every process of the run.
func (c *clocks) event(ev wire.RunEvent, look time.Duration) {
	switch ev.Kind {
	case wire.EventTool:
		c.tool = ev.Text
		if c.look.IsZero() {
			c.look = time.Now().Add(look << min(c.looks, 6))
		}
	case wire.EventText, wire.EventToolFailed, wire.EventPlan:
		c.tool = ""
	}
}

// sent takes a message to the agent that was put into its spool at a time. A cancel waits from then on, whichever daemon
// sent it, so that daemons which die do not put off the steps after it; a clock that jumped changes the wait by that
// wait at most.
func (c *clocks) sent(key string, at time.Time, most time.Duration) {
	if strings.HasPrefix(key, "cancel:") {
		now := time.Now()
		c.cancel = now.Add(-min(max(now.Sub(at), 0), most))
	}
}

// due are the moments at which a run does something by itself; a zero time is never.
type due struct{ ready, leave, cancel, quiet, retry, look time.Time }

func (r talk) due() (d due) {
	c, t := &r.clocks, r.c.Timing
	after := func(from time.Time, wait time.Duration) time.Time {
		if from.IsZero() {
			return from
		}
		return from.Add(wait)
	}
	if r.live() && !c.ready {
		if c.began.IsZero() {
			c.began = time.Now()
		}
		d.ready = after(c.began, t.Ready)
	}
	if !r.live() && !r.fold.Exited() {
		d.leave = after(c.ended, t.Leave)
	}
	if r.live() && !r.fold.Exited() {
		d.leave = after(c.closing, t.Leave)
	}
	if c.running != 0 {
		d.cancel = after(c.cancel, t.Cancel)
		if !c.said && c.asks == 0 {
			d.quiet = after(c.sign, cmp.Or(r.set.Quiet, t.Quiet))
		}
	}
	if r.stopping {
		d.ready, d.leave, d.cancel = time.Time{}, time.Time{}, time.Time{}
	}
	d.retry, d.look = c.retry, c.look
	return d
}

// soonest returns how long to wait for the first of the moments; false when there is none.
func (d due) soonest(now time.Time) (time.Duration, bool) {
	var first time.Time
	for _, t := range []time.Time{d.ready, d.leave, d.cancel, d.quiet, d.retry, d.look} {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return max(first.Sub(now), 0), !first.IsZero()
}

func passed(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }
