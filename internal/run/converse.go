package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"scv/internal/agent"
	"scv/internal/run/control"
	"scv/internal/run/fold"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// found reports that a run's shim was reached, when it was out of reach before.
func (r *run) found(life control.Liveness) {
	r.summoned = 0
	if r.seen {
		return
	}
	r.seen, r.told = true, ""
	pid := 0
	if life.Shim != nil {
		pid = life.Shim.Agent
	}
	r.report(row.Life{Kind: row.LifeAdopted, PID: pid})
	if r.o.Run.Terminal != nil {
		r.c.Terminals.Open(r.o)
	}
}

// reach connects to the shim and makes sure that it is this run's.
func (r *run) reach(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, r.c.Timing.Dial)
	defer cancel()
	link, err := control.Dial(bounded, r.c.Home.CtlSocket(r.h))
	if err != nil {
		return err
	}
	if _, err := link.Hello(bounded, string(r.h)); err != nil {
		return errors.Join(err, link.Close())
	}
	r.link = link
	return nil
}

// A talk is a run whose shim is within reach.
type talk struct{ *run }

// converse follows a shim that was reached: fold to the end, ask what should be said, say it, wait. It returns nil
// when the connection is gone, which says nothing about the run.
func (r talk) converse(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if err := r.advance(ctx); err != nil {
			return err
		}
		again, err := r.speak(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, control.ErrNonsense) {
			r.odd = err
			return nil
		}
		if errors.Is(err, control.ErrLinkClosed) || errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if again {
			continue
		}
		r.settle()
		timer.Stop()
		if wait, ok := r.due().soonest(time.Now()); ok {
			timer.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.link.Closed():
			return nil
		case <-r.link.Nudges():
		case <-r.wake:
		case <-timer.C:
		}
	}
}

// speak asks what should be written to the agent now and writes it; true means that it was, and that all must be
// looked at again. One message is on its way at a time: the next is decided when this one is folded.
func (r talk) speak(ctx context.Context) (bool, error) {
	w := r.c.Hub.Wishes(r.h)
	if r.mustStop(w) {
		return false, r.stop(ctx)
	}
	if passed(r.clocks.look, time.Now()) {
		if err := r.look(ctx); err != nil {
			return false, err
		}
	}
	wishes, err := r.wishes(w)
	if err != nil {
		return false, err
	}
	if w.Tell {
		r.report(row.Life{Kind: row.LifeCaughtUp})
		return true, nil
	}
	message, ok := r.fold.Next(wishes, r.number+1)
	cancelling := w.Cancel != 0 && !r.fold.Ended(w.Cancel)
	switch {
	case ok:
		return r.write(ctx, message)
	case cancelling && r.clocks.cancel.IsZero(): // the agent has no words for it
		return false, r.stop(ctx)
	case w.Close && r.fold.Running() == 0 && r.clocks.closing.IsZero():
		r.clocks.closing = time.Now()
	}
	return false, nil
}

// mustStop looks at the clocks and at the one wish that needs no agent to understand it.
func (r talk) mustStop(w row.Wishes) bool {
	now, d := time.Now(), r.due()
	if passed(d.quiet, now) {
		r.sayQuiet()
	}
	if passed(d.retry, now) {
		r.clocks.retry = time.Time{}
	}
	if passed(d.ready, now) {
		r.limit = fmt.Sprintf("the agent was not ready within %s and was stopped", r.c.Timing.Ready)
	}
	return w.Stop || r.c.abandoned() || r.limit != "" || passed(d.leave, now) || passed(d.cancel, now)
}

// wishes are the hub's wishes as a dialect gets them. A turn that has ended is no wish any more, whether the hub has
// stored that or not.
func (r talk) wishes(w row.Wishes) (agent.Wishes, error) {
	out := agent.Wishes{Cancel: w.Cancel, Close: w.Close}
	for _, a := range w.Answers {
		out.Answers = append(out.Answers, agent.Answer{
			Key: "answer:" + string(a.ID), ID: a.ID, Request: a.Request, Approved: a.Approved, Reason: a.Reason,
		})
	}
	if w.Turn == nil || r.fold.Ended(w.Turn.Number) {
		return out, nil
	}
	turn, err := r.turnOf(*w.Turn)
	out.Turn = &turn
	for _, s := range w.Steers {
		if err == nil {
			var text string
			text, err = r.promptText(s.Job, s.Text, s.Private)
			out.Steers = append(out.Steers, agent.Steer{Key: row.SteerKey(s.Job), Turn: s.Turn, Text: text})
		}
	}
	return out, err
}

// write offers a message to the shim. What it refuses is not decided again before something new was folded, or for
// want of space, a second passed.
func (r talk) write(ctx context.Context, m agent.Message) (bool, error) {
	_, seq := r.fold.Read()
	if r.held == (held{m.Key, seq}) && (r.clocks.retry.IsZero() || time.Now().Before(r.clocks.retry)) {
		return false, nil
	}
	r.begins(ctx, m)
	bounded, cancel := context.WithTimeout(ctx, r.c.Timing.Ask)
	defer cancel()
	result, err := r.link.Write(bounded, r.number+1, m.Key, m.Bytes, m.EOF)
	if refused, ok := errors.AsType[*control.RefusedError](err); ok {
		r.log.Warn("the shim refused a message", "key", m.Key, "error", err)
		r.held = held{m.Key, seq}
		if refused.Class == control.RefusedDisk || refused.Class == control.RefusedFull {
			r.clocks.retry = time.Now().Add(time.Second)
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.held = held{}
	if result.Verdict != control.VerdictOK {
		r.held = held{m.Key, seq} // fold on first
	}
	return true, nil
}

// held is a message that was not taken at a place of the fold.
type held struct {
	key string
	seq uint64
}

// stop makes the shim run its ladder, once over each connection.
func (r *run) stop(ctx context.Context) error {
	if r.stopping {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, r.c.Timing.Ask)
	defer cancel()
	if err := r.link.Stop(bounded, ""); err != nil {
		return err
	}
	r.stopping = true
	return nil
}

// reason says why a turn that ended badly had to.
func (r *run) reason(turn uint32, stopped bool) (fold.Reason, bool) {
	w := r.c.Hub.Wishes(r.h)
	switch {
	case w.Stop || w.Cancel == turn:
		return fold.Reason{State: wire.StateCancelled, Detail: "stopped by the owner"}, true
	case r.limit != "":
		return fold.Reason{State: wire.StateFailed, Class: agent.ClassStart, Detail: r.limit}, true
	case stopped:
		return fold.Reason{State: wire.StateInterrupted, Detail: "the agent was told to stop from outside, as when the machine goes down"}, true
	}
	return fold.Reason{}, false
}
