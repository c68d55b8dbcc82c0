package hub

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/state"
)

// Holds are the commands on what keeps an agent's queued jobs back.
type Holds struct{ h *Hub }

// Holds returns the commands on holds.
func (h *Hub) Holds() Holds { return Holds{h} }

// Try lets one queued job of an agent go, to see whether its sign-in or its limit is in order again; the others follow
// when it is. The note says what was held.
func (hs Holds) Try(agent string, p row.Principal) (note string, t *Ticket, err error) {
	err = hs.h.ask(func() error {
		m := hs.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		note = fmt.Sprintf("Nothing of %s is held.", agent)
		if m.holds.try(agent) {
			note = fmt.Sprintf("What waits for %s goes on: one job first, and the others once that one worked.", agent)
			m.h.o.Log.Info("what was held may try", "agent", agent, "who", p.Who, "way", p.Way)
		}
		t = m.ticket(nil)
		return nil
	})
	return note, t, err
}

// List tells what is held and what lets it go on: one notice for each hold, however many jobs wait for it.
func (hs Holds) List() (all []wire.HeldAgent) {
	hs.h.do(func() {
		k := &hs.h.m.holds
		for _, h := range k.sorted() {
			told := wire.HeldAgent{Agent: h.row.Agent, Class: h.row.Class, Text: k.notice(h)}
			if u := h.row.UntilUnixSeconds; u != 0 {
				told.UntilUnixSeconds = &u
			}
			all = append(all, told)
		}
	})
	return all
}

// holds are what keeps queued jobs back, by row.HoldID.
type holds struct {
	m      *model
	rows   map[string]*hold
	lifted map[string]time.Time // when the last hold of an agent ended
	spent  spending
	next   alarm // rings when the first limit is renewed
}

type hold struct {
	row   row.Hold
	probe *job // that tries
}

func (k *holds) sorted() []*hold {
	all := make([]*hold, 0, len(k.rows))
	for _, h := range k.rows {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *hold) int { return cmp.Compare(a.row.ID(), b.row.ID()) })
	return all
}

// of are the holds that a job of an agent meets, in the order in which they are told.
func (k *holds) of(agent string) (all []*hold) {
	for _, id := range []string{
		row.HoldID(agent, classAuth), row.HoldID(agent, classQuota), row.HoldID(agent, classBudget), row.HoldID("", classBudget),
	} {
		if h := k.rows[id]; h != nil {
			all = append(all, h)
		}
	}
	return all
}

// waits says why a queued job has to wait; empty when it may go.
func (k *holds) waits(j *job) string {
	if j.row.Check { // it is how one finds out
		return ""
	}
	for _, h := range k.of(j.row.Agent) {
		switch {
		case !h.row.Open:
			return k.sentence(h, j)
		case h.probe != nil:
			return fmt.Sprintf("waits for %s, which tries whether %s works again", h.probe.row.Job.Job, j.row.Agent)
		}
	}
	return ""
}

// begun notes that a job tries what others wait for.
func (k *holds) begun(j *job) {
	j.begun = k.m.now()
	for _, h := range k.of(j.row.Agent) {
		if (h.row.Open || j.row.Check) && h.probe == nil && h.row.Class != classBudget {
			h.probe = j
		}
	}
}

// ended learns from the end of a turn. Only an answer of the model proves that a credential works; what ends a try for
// another reason leaves the next job to try.
func (k *holds) ended(j *job, e ending) {
	works := e.state == wire.StateCompleted || e.state == wire.StateDeclined
	refused := e.state == wire.StateFailed && e.class == classAuth
	for _, h := range k.of(j.row.Agent) {
		tried := h.probe == j
		if tried {
			h.probe = nil
			k.m.requeue = true
		}
		if works && (tried || j.row.Check) && h.row.Class != classBudget {
			k.lift(h, fmt.Sprintf("%s worked", j.row.Job.Job))
		}
	}
	if refused {
		k.put(j, row.Hold{Class: classAuth})
	}
}

// left forgets that a job tries, which waits again.
func (k *holds) left(j *job) {
	for _, h := range k.of(j.row.Agent) {
		if h.probe == j {
			h.probe = nil
		}
	}
}

// parks reports whether a turn that ended at a usage limit waits for its renewal, and holds what else waits for its agent:
// the agent told when that will be. Without that it is a failure like others.
func (k *holds) parks(j *job, e *row.End) bool {
	if e.State != wire.StateFailed || e.Class != classQuota || e.Resets <= unix(k.m.now()) || j.row.Cancelled || j.row.Check || reads(j) {
		return false
	}
	with := row.Hold{Class: classQuota, UntilUnixSeconds: e.Resets}
	if k.brief(e.Resets) {
		with.Pause = 1
		if h := k.rows[row.HoldID(j.row.Agent, classQuota)]; h != nil {
			with.Pause = h.row.Pause + min(h.row.Pause, 1) // an owner who has to let go once is not passed over by a shorter one
		}
	}
	if with.Pause > maxPauses {
		with.Pause = 0
	}
	k.put(j, with)
	return true
}

// A service that asks for a moment's patience is no spent allowance: what was asked of it goes on by itself after the pause.
// One that goes on asking is the owner's to judge.
const (
	briefest  = 5 * time.Minute // the longest pause of that kind
	maxPauses = 5               // in a row
)

func (k *holds) brief(resets uint64) bool { return resets <= unix(k.m.now().Add(briefest)) }

// put holds an agent, for what one of its jobs ran into. A job that began before the last hold ended, or that is not the
// one which tries, tells of a credential of before.
func (k *holds) put(j *job, with row.Hold) {
	m := k.m
	with.Agent = j.row.Agent
	h := k.rows[with.ID()]
	if h != nil && h.row.Open && h.probe != nil && h.probe != j || h == nil && j.begun.Before(k.lifted[with.Agent]) {
		return
	}
	with.Job, with.SinceUnixSeconds = j.row.Ref(), unix(m.now())
	if h == nil {
		h = &hold{}
		k.rows[with.ID()] = h
		m.h.o.Log.Warn("the jobs of an agent are held", "agent", with.Agent, "class", with.Class, "job", with.Job)
	} else {
		with.Job, with.SinceUnixSeconds = h.row.Job, h.row.SinceUnixSeconds
	}
	h.row, h.probe = with, nil
	k.changed(h)
	j.note(m.now(), "daemon", fmt.Sprintf("what waits for %s is held (%s)", with.Agent, with.Class))
}

func (k *holds) changed(h *hold) {
	m := k.m
	m.dirty.holds[h.row.ID()] = h.row
	m.requeue = true
	m.commit()
	k.arm()
}

func (k *holds) open(h *hold) {
	h.row.Open = true
	k.changed(h)
}

// lift ends a hold.
func (k *holds) lift(h *hold, why string) {
	delete(k.rows, h.row.ID())
	k.lifted[h.row.Agent] = k.m.now()
	h.row.Over = true
	k.changed(h)
	k.m.h.o.Log.Info("the jobs of an agent go on", "agent", h.row.Agent, "class", h.row.Class, "why", why)
}

// try opens what a sign-in or a renewed limit lets go; false when nothing of it is held.
func (k *holds) try(agent string) (held bool) {
	for _, h := range k.of(agent) {
		if h.row.Class != classBudget {
			k.open(h)
			held = true
		}
	}
	return held
}

// arm keeps one timer, for the first moment at which something is renewed.
func (k *holds) arm() {
	now, first := k.m.now(), uint64(0)
	for _, h := range k.rows {
		waits := !h.row.Open || h.row.Class == classBudget
		if u := h.row.UntilUnixSeconds; u > unix(now) && waits && (first == 0 || u < first) {
			first = u
		}
	}
	if first == 0 {
		k.next.stop()
		return
	}
	k.next.start(time.Unix(int64(first), 0).Sub(now), func() { k.m.h.do(k.renewed) })
}

// renewed lets go what waited for a moment that has come: a limit only where the owner allowed it, and one job first.
func (k *holds) renewed() {
	now := unix(k.m.now())
	for _, h := range k.sorted() {
		switch u := h.row.UntilUnixSeconds; {
		case u == 0 || u > now:
		case h.row.Class == classBudget:
			k.lift(h, "a new day has begun")
		case h.row.Open:
		case h.row.Pause > 0 || k.m.h.o.AfterLimit(h.row.Agent):
			k.open(h)
		default:
			k.m.requeue = true // it is told in other words
		}
	}
	k.arm()
}

// sentence is why a job waits and what lets it go on.
func (k *holds) sentence(h *hold, j *job) string {
	_, first, _ := h.row.Job.Split()
	agent := h.row.Agent
	switch h.row.Class {
	case classAuth:
		return fmt.Sprintf("waits for a sign-in: %s was refused with %s. Sign in: scv agents login %s; when you did it elsewhere: scv agents status %s", agent, first, agent, agent)
	case classQuota:
		at := shortTime(h.row.UntilUnixSeconds, k.m.now())
		resume := "scv jobs queue resume " + string(j.conv.row.ID)
		if h.row.Pause > 0 {
			return fmt.Sprintf("waits until %s, since the service of %s takes no requests for so long, and then goes on by itself; to try earlier: %s", h.until(), agent, resume)
		}
		if h.row.UntilUnixSeconds <= unix(k.m.now()) {
			return fmt.Sprintf("waits for you: the usage limit of %s was to reset at %s; to go on: %s", agent, at, resume)
		}
		if k.m.h.o.AfterLimit(agent) {
			return fmt.Sprintf("waits until the usage limit of %s resets at %s, and then goes on by itself; to try earlier: %s", agent, at, resume)
		}
		return fmt.Sprintf("waits for you: the usage limit of %s resets at %s; to go on then: %s", agent, at, resume)
	}
	return budgets{k}.sentence(h)
}

// notice says the same to somebody who looks at no job.
func (k *holds) notice(h *hold) string {
	n := 0
	for _, j := range k.m.queued {
		if h.row.Agent == "" || j.row.Agent == h.row.Agent {
			n++
		}
	}
	agent, waiting := h.row.Agent, wait(n)
	switch {
	case h.row.Class == classBudget && h.row.Open:
		return fmt.Sprintf("A budget of $%.2f a day is used up, and you let turns go on today.", h.row.LimitUSD)
	case h.row.Class == classBudget:
		return fmt.Sprintf("A budget is used up; %s: each %s", waiting, budgets{k}.sentence(h))
	case h.probe != nil:
		return fmt.Sprintf("%s tries whether %s works again; %s for it.", h.probe.row.Job.Job, agent, waiting)
	case h.row.Open:
		return fmt.Sprintf("The next job of %s tries whether it works again.", agent)
	case h.row.Class == classAuth:
		return fmt.Sprintf("%s needs a sign-in; %s for it. Sign in: scv agents login %s   When you did it elsewhere: scv agents status %s", agent, waiting, agent, agent)
	}
	if h.row.Pause > 0 {
		return fmt.Sprintf("The service of %s takes no requests until %s; %s for that, and it then goes on by itself.", agent, h.until(), waiting)
	}
	return fmt.Sprintf("A usage limit of %s was reached, which resets at %s; %s for it.", agent, shortTime(h.row.UntilUnixSeconds, k.m.now()), waiting)
}

// until is when a pause is over, by the clock.
func (h *hold) until() string {
	return time.Unix(int64(h.row.UntilUnixSeconds), 0).Local().Format(time.TimeOnly)
}

// shortTime is a moment by the clock, with its day unless that is today.
func shortTime(seconds uint64, now time.Time) string {
	at := time.Unix(int64(seconds), 0).Local()
	if at.Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// park lets a job wait again whose turn ended at a usage limit: it goes on as a further turn of its conversation.
func (j *job) park(e *row.End, at time.Time) {
	m, c, r := j.m, j.conv, j.run
	j.retrying = false
	if !j.step(state.Queue, at, "agent", fmt.Sprintf("a usage limit was reached, which resets at %s: %s", shortTime(e.Resets, m.now()), e.Detail)) {
		return
	}
	if c.current == j {
		c.current = nil
	}
	if r != nil && r.current == j {
		r.current, r.row.Job = nil, nil
		r.touch()
	}
	j.run, j.row.Turn, j.row.Class = nil, 0, new(wire.Class(classQuota))
	j.touch()
	queuedJob{j}.enqueue()
	m.commit()
}
