package hub_test

import (
	"fmt"
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// lastGiven is the last turn that a process which has left was given; a wish beyond it goes to another one.
func (w *world) lastGiven(p *process) uint32 {
	last := max(p.done, p.turn)
	if wish := w.b.Runs().Wishes(p.handle); p.agent == "live" && last > 0 && wish.Turn != nil && wish.Turn.Number > last {
		delete(w.given, wish.Turn.Job)
	}
	return last
}

// steered lets a live agent answer a steer, or take notice of one.
func (w *world) steered(p *process, wish row.Wishes, how int) bool {
	answer := row.StepSteered
	if how%3 == 1 {
		answer = row.StepSteerRefused
	}
	switch {
	case p.heard != "":
		if answer == row.StepSteered {
			w.took[p.heard]++
		}
		p.say(row.Step{Kind: answer, Job: p.heard, Turn: max(p.turn, p.done), Detail: "no"})
		p.heard = ""
	case p.turn != 0 && wish.Cancel == 0 && len(wish.Steers) > 0 && wish.Steers[0].Turn == p.turn && !p.wasSent(wish.Steers[0].Job):
		s := wish.Steers[0]
		if j := w.d.job(s.Job); j.Num == 0 || s.Text != "prompt of "+j.Task {
			w.fail("the steer %s is not on disk", s.Job)
		}
		p.heard = s.Job
		p.say(row.Step{Kind: row.StepSteerSent, Job: s.Job})
	default:
		return false
	}
	return true
}

func (p *process) wasSent(id wire.JobID) bool {
	return slices.ContainsFunc(p.spool, func(s row.Step) bool { return s.Kind == row.StepSteerSent && s.Job == id })
}

// queueStep does one thing to what waits, or to the running turn.
func (w *world) queueStep(kind, n, m int) {
	a := w.pick(n)
	if a == nil {
		return
	}
	j := a.Job
	switch kind {
	case 0, 1, 2:
		w.keys++
		task := fmt.Sprint("task ", w.keys)
		w.take(w.b.Jobs().Send(hub.SendRequest{
			Key: fmt.Sprint("key ", w.keys), Session: j.Session, Conversation: *j.Conversation, Task: task,
			Prompt: row.Prompt{Text: "prompt of " + task}, Mode: []wire.SendMode{wire.SendAuto, wire.SendSteer}[m%2],
		}))
	case 3:
		w.keys++
		task := fmt.Sprint("task ", w.keys)
		w.change(w.b.Jobs().Edit(hub.EditRequest{Session: j.Session, Job: j.Job.Job, Prompt: row.Prompt{Text: "prompt of " + task}, Task: task}))
	case 4:
		w.moved[*j.Conversation] = true
		q := hub.MoveRequest{Session: j.Session, Job: j.Job.Job}
		if b := w.pick(m); m%3 > 0 {
			q.Before = &b.Job.Job.Job
		}
		w.change(w.b.Jobs().Move(q))
	default:
		if m%3 == 0 {
			w.change(w.b.Conversations().Pause(j.Session, *j.Conversation, row.Principal{}))
		} else {
			w.change(w.b.Conversations().GoOn(j.Session, *j.Conversation, row.Principal{}))
		}
	}
}
