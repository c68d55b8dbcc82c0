package hub

import (
	"context"
	"fmt"
	"slices"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// patience is how long the next turn of a conversation waits for the agent's word on a prompt that was sent into the
// last one.
const patience = 30 * time.Second

// A Steering is a prompt on its way into a running turn. It is on disk from the start, under the number of the job that
// it becomes when the turn does not take it: one row that is a steer or a queued job, and never both.
type Steering struct {
	done   chan struct{}
	out    Accepted // these are set before done is closed
	ticket *Ticket
	err    error
}

// Wait returns what became of it, once that is on disk: steered when the agent took it, or has it for the next step of
// its turn, else queued, started, or the refusal. When ctx ends first it is not known yet, and the same key may ask again.
func (s *Steering) Wait(ctx context.Context) (Accepted, error) {
	select {
	case <-s.done:
	case <-ctx.Done():
		return Accepted{}, ctx.Err()
	}
	if s.err != nil {
		return Accepted{}, s.err
	}
	return s.out, s.ticket.Wait(ctx)
}

// steerable reports whether the running turn may be given a further prompt.
func (c *conversation) steerable() bool {
	return c.current != nil && c.run != nil && c.run.current == c.current && c.run.row.Steerable
}

// steerable is what a client is told: the agent takes prompts, and has a turn that nobody wants to end.
func (r *run) steerable() bool {
	j := r.current
	return r.row.Steers && r.row.Live && !r.row.Stop && j != nil && !j.row.Cancelled && !j.row.State.Final()
}

// A steer is a job that is, or was, on its way into a running turn.
type steer struct{ *job }

// send puts a prompt on its way into the running turn of its conversation.
func (j steer) send(strict bool) {
	m, r, into := j.m, j.conv.run, j.conv.current
	j.row.State = wire.StateStarting
	j.row.Steer = &row.Steer{Run: r.row.Handle, Turn: into.row.Turn, Into: into.row.Job.Job, Strict: strict}
	j.steering = &Steering{done: make(chan struct{})}
	r.steers = append(r.steers, j.job)
	m.after(effect{run: r})
}

// rejoin goes on with a steer of an earlier daemon.
func (j steer) rejoin() {
	if !j.row.Steer.Held { // else that was told already
		j.steering = &Steering{done: make(chan struct{})}
	}
	if r := j.m.runs[j.row.Steer.Run]; r != nil && r.row.Live {
		r.steers = append(r.steers, j.job)
		return
	}
	j.untaken("the process of that turn was gone when SCV started", j.row.Steer.Sent)
}

// inTurn is a run with what is on its way into its turn.
type inTurn struct{ *run }

// steered applies what the spool says of a steer.
func (r inTurn) steered(s row.Step) {
	i := slices.IndexFunc(r.steers, func(j *job) bool { return j.row.Job.Job == s.Job })
	if i < 0 {
		r.m.h.o.Log.Warn("word on a steer that is settled", "run", r.row.Handle, "job", s.Job)
		return
	}
	j := steer{r.steers[i]}
	switch x := *j.row.Steer; s.Kind { //nolint:exhaustive // the steps of steers
	case row.StepSteerSent:
		x.Sent = true
		j.row.Steer = &x
		j.touch()
	case row.StepSteerHeld:
		x.Sent, x.Held = true, true
		j.row.Steer = &x
		j.note(s.At, "agent", fmt.Sprintf("it has this, and the running turn of %s takes it at its next step", x.Into))
		j.decide()
		j.touch()
	case row.StepSteered:
		x.Sent, x.Taken = true, true
		j.row.Steer = &x
		j.note(s.At, "agent", fmt.Sprintf("the running turn of %s took it", x.Into))
		if into := r.m.jobs[x.Into]; into != nil {
			into.note(s.At, "owner", fmt.Sprintf("%s was put into its turn: %s", j.row.Job.Job, j.row.Task))
			into.touch()
		}
		j.close(wire.StateCompleted)
	default:
		j.untaken(s.Detail, false)
	}
}

// untaken says that the running turn did not take a steer, or, when unsure, that it may have and nobody can tell. It is
// refused if it had to go there, and else waits as a job; an unsure one waits for the owner, lest it is done twice.
func (j steer) untaken(why string, unsure bool) {
	m, x := j.m, *j.row.Steer
	if unsure {
		why = "whether the agent took it is not known, since " + why
	}
	x.Why = why
	j.note(m.now(), "daemon", fmt.Sprintf("not taken by the running turn of %s: %s", x.Into, why))
	if x.Strict {
		j.row.Steer = &x
		j.close(wire.StateCancelled)
		return
	}
	j.settle()
	j.row.Steer, j.row.State = nil, wire.StateQueued
	if unsure && j.conv.row.Paused == "" {
		j.conv.pauseFor(fmt.Sprintf("whether %s reached the turn of %s is not known", j.row.Job.Job, x.Into))
	}
	queuedJob(j).enqueue()
	j.touch()
}

// close ends a steer that becomes no job.
func (j steer) close(s wire.AgentState) {
	j.settle()
	j.row.State, j.row.Finished, j.prompt = s, unix(j.m.now()), ""
	j.m.open--
	j.touch()
}

// settle takes a steer from its run; whoever waits for it is told after the queues were looked at.
func (j steer) settle() {
	m := j.m
	if r := m.runs[j.row.Steer.Run]; r != nil {
		r.steers = deleteOne(r.steers, j.job)
	}
	j.row.UpdatedUnixSeconds = unix(m.now())
	m.requeue = true
	j.decide()
}

// decide lets whoever waits for a steer be told what became of it.
func (j steer) decide() {
	j.m.decided = append(j.m.decided, j.job)
	j.m.commit()
}

// announce tells those who wait what became of their prompts.
func announce(m *model) {
	for _, j := range m.decided {
		s := j.steering
		j.steering = nil
		if s == nil {
			continue
		}
		s.out, s.err = told(&j.row)
		s.ticket = m.ticket(nil)
		m.commit()
		close(s.done)
	}
	m.decided = nil
}

// told is what a client hears of a job that it asked for, also when it asks again under the same key: a steer that was
// refused has no job.
func told(j *row.Job) (Accepted, error) {
	a := Accepted{Ref: j.Ref(), Job: *j, Note: noteOf(j), Delivery: deliveryOf(j)}
	switch x := j.Steer; {
	case x == nil:
	case x.Taken:
		a.Ref, a.Delivery = "", wire.DeliverySteered
		a.Note = fmt.Sprintf("The running turn of %s (%s) took it.", x.Into, *j.Conversation)
	case x.Held && !j.State.Final():
		a.Ref, a.Delivery = "", wire.DeliverySteered
		a.Note = fmt.Sprintf("The agent has it and takes it into the running turn of %s (%s) at its next step, once the tool that runs is done.", x.Into, *j.Conversation)
	case j.State.Final():
		return Accepted{}, wire.Refuse(wire.ReasonNotSteerable, "leave --steer off: the prompt then waits for the turn's end",
			"The running turn of %s (%s) did not take it: %s.", x.Into, *j.Conversation, x.Why)
	}
	return a, nil
}

// stale are the steers of turns that are over.
func (r inTurn) stale() (all []*job) {
	for _, j := range r.steers {
		if r.current == nil || r.current.row.Turn != j.row.Steer.Turn {
			all = append(all, j)
		}
	}
	return all
}

// asksToTell reports whether a steer of a turn that is over may still be on its way to the agent, as far as the hub
// knows: only the run's own goroutine can say that it is not.
func (r inTurn) asksToTell() bool {
	return slices.ContainsFunc(r.stale(), func(j *job) bool { return !j.row.Steer.Sent })
}

// caughtUp settles the steers of turns that are over and that were never sent: all that was said is known.
func (r inTurn) caughtUp() {
	for _, j := range r.stale() {
		if !j.row.Steer.Sent {
			steer{j}.untaken("the turn was over before", false)
		}
	}
}

// giveUp settles all steers of turns that are over: no word on them can be waited for any longer.
func (r inTurn) giveUp(why string) {
	r.word.stop()
	for _, j := range r.stale() {
		steer{j}.untaken(why, j.row.Steer.Sent)
	}
}

// awaitWord waits for what the agent says of the steers that were sent into the turn that is over, for a while.
func (r inTurn) awaitWord() {
	if slices.ContainsFunc(r.stale(), func(j *job) bool { return j.row.Steer.Sent }) {
		r.word.start(patience, func() {
			r.m.h.do(func() { r.giveUp(fmt.Sprintf("the agent said nothing of it for %s after the turn", patience)) })
		})
	}
}

// A alarm is a timer that posts one command to the loop. The loop's goroutine owns it.
type alarm struct{ t *time.Timer }

func (a *alarm) start(d time.Duration, ring func()) {
	a.stop()
	a.t = time.AfterFunc(d, ring)
}

func (a *alarm) stop() {
	if a.t != nil {
		a.t.Stop()
		a.t = nil
	}
}
