package hub_test

import (
	"fmt"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// question is what an agent of the world asked, as the world saw it.
type question struct {
	id     wire.ApprovalID
	closed bool
	told   int   // answers that reached the agent
	answer *bool // the first that was acknowledged
}

// asking lets a live agent hear an answer, ask something, or its owner answer.
func (w *world) asking(p *process, wish row.Wishes, how int) bool {
	if p.agent != "live" || p.turn == 0 || wish.Stop || how == 7 {
		return false
	}
	for _, a := range wish.Answers {
		if q := p.question(a.ID); q != nil && !q.closed {
			w.deliver(p, q, a)
			return true
		}
	}
	open := p.open()
	switch {
	case len(open) > 0 && (how == 1 || how == 2):
		w.answer(open[w.keys%len(open)], w.keys%2 == 0)
	case (how == 5 || how == 3) && wish.Cancel == 0:
		w.keys++
		q := &question{id: wire.ApprovalID(fmt.Sprintf("ap-%d", w.keys))}
		p.questions = append(p.questions, q)
		p.say(row.Step{Kind: row.StepApprovalAsked, Turn: p.turn, Asked: &row.Asked{
			ID: q.id, Request: string(q.id), Risk: "process", Tool: "shell", Summary: "cmd " + string(q.id), Command: "cmd " + string(q.id),
		}})
		w.tell(p)
	case how == 6 && len(p.questions) > 0: // too late, or for the second time
		w.answer(p.questions[0], w.keys%2 == 0)
	default:
		return false
	}
	return true
}

func (p *process) open() (all []*question) {
	for _, q := range p.questions {
		if !q.closed {
			all = append(all, q)
		}
	}
	return all
}

func (p *process) question(id wire.ApprovalID) *question {
	for _, q := range p.questions {
		if q.id == id {
			return q
		}
	}
	return nil
}

// deliver: an answer that reaches an agent is on disk, is the one that was acknowledged, and comes once.
func (w *world) deliver(p *process, q *question, a row.Answer) {
	if d := w.d.approval(q.id); d.State != wire.ApprovalAnswered || d.Approved == nil || *d.Approved != a.Approved {
		w.fail("%s reaches its agent as %v and is %s on disk", q.id, a.Approved, d.State)
	}
	if q.answer != nil && *q.answer != a.Approved {
		w.fail("%s was acknowledged as %v and told as %v", q.id, *q.answer, a.Approved)
	}
	if q.told++; q.told > 1 {
		w.fail("%s was told %d times", q.id, q.told)
	}
	q.closed = true
	p.say(row.Step{Kind: row.StepApprovalClosed, Turn: p.turn, Closed: q.id, Status: row.ClosedAnswered})
}

func (w *world) answer(q *question, approved bool) {
	_, ticket, err := w.b.Approvals().Answer(hub.AnswerRequest{ID: q.id, Approved: approved, Principal: row.Principal{Who: "owner", Way: "cli"}})
	if err != nil {
		return
	}
	w.waits = append(w.waits, promise{ticket, func() string {
		if q.answer != nil && *q.answer != approved {
			return string(q.id) + " was acknowledged twice"
		}
		q.answer = &approved
		if d := w.d.approval(q.id); d.Approved == nil || *d.Approved != approved {
			return string(q.id) + " was acknowledged and is not on disk"
		}
		return ""
	}})
}

// closeQuestions: what a turn asked goes with it.
func (p *process) closeQuestions() {
	for _, q := range p.questions {
		if !q.closed {
			q.closed = true
			p.say(row.Step{Kind: row.StepApprovalClosed, Turn: p.turn, Closed: q.id, Status: row.ClosedVoid})
		}
	}
}

// checkQuestions: a job waits for the owner exactly while something that it asked is listed.
func (w *world) checkQuestions(s *wire.Snapshot) {
	waits := map[wire.JobID]int{}
	for _, a := range s.Approvals {
		waits[a.Job]++
	}
	for _, j := range s.Jobs {
		switch n := waits[j.Job]; {
		case j.State == wire.StateAwaitingInput && n == 0:
			w.fail("%s waits for the owner and asks nothing", j.Job)
		case n > 0 && j.State != wire.StateAwaitingInput && j.State != wire.StateUnknown:
			w.fail("%s asks %d things and is %s", j.Job, n, j.State)
		}
	}
}
