package hub

import (
	"errors"
	"fmt"
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/state"
)

// Reviews are the commands on reviewed jobs. What is to be done in one is decided outside, from the facts in its row; the
// hub keeps them, and makes each turn of one a job below it.
type Reviews struct{ h *Hub }

// Reviews returns the commands on reviewed jobs.
func (h *Hub) Reviews() Reviews { return Reviews{h} }

// ErrMoved says that a review went on since the caller looked at it: look again.
var ErrMoved = errors.New("the review went on meanwhile")

// Open returns the reviewed jobs that have not ended.
func (rs Reviews) Open() (open []row.Job) {
	rs.h.do(func() {
		for _, j := range rs.h.m.jobs {
			if j.row.Review != nil && !j.row.State.Final() {
				open = append(open, j.row)
			}
		}
	})
	return open
}

// Saved resolves once a reviewed job is on disk; refused, it was not accepted.
func (rs Reviews) Saved(of wire.JobRef) *Ticket {
	t := &Ticket{done: closed()}
	rs.h.do(func() {
		if r, err := reviewOf(rs.h.m, of, -1); err == nil {
			t = rs.h.m.ticketOf(r.born, nil)
		}
	})
	return t
}

// Waits says what a review waits for.
func (rs Reviews) Waits(of wire.JobRef, why string) {
	rs.h.do(func() {
		if r, err := reviewOf(rs.h.m, of, -1); err == nil {
			r.say("waits: " + why)
		}
	})
}

// A ReviewTurn asks for a turn of a reviewed job. Seen is how many facts the caller knows.
type ReviewTurn struct {
	Of   wire.JobRef
	Seen int
	Fact wire.ReviewFact // that it began; its job is filled in
	// Conversation is the one that it goes on with. Without it there is a new one: in Tree, or in the job's own place.
	Conversation wire.ConversationID
	Tree         *row.Tree
	Seat         wire.ReviewSeat // of a new one
	Mode         string          // likewise; empty for the job's
	Prompt       row.Prompt
	Task         string
}

// Turn makes a job below a reviewed one, in one step with the fact that it began.
func (rs Reviews) Turn(q ReviewTurn) (made row.Job, t *Ticket, err error) {
	session, id, _ := q.Of.Split()
	if q.Conversation != "" {
		if err := rs.h.bring(session, q.Conversation); err != nil {
			return made, nil, err
		}
	}
	err = rs.h.ask(func() error {
		m := rs.h.m
		if err := m.full(); err != nil {
			return err
		}
		r, err := reviewOf(m, q.Of, q.Seen)
		if err != nil {
			return err
		}
		c := m.conversation(session, q.Conversation)
		switch {
		case c != nil:
			c.resumeIfEmpty()
		case q.Conversation != "":
			return noConversation(session, q.Conversation)
		default:
			c = r.opens(q)
		}
		part := wire.ReviewPart{Round: q.Fact.Round, Phase: q.Fact.Phase, Seat: q.Fact.Seat}
		j := c.add(newJob{
			principal: r.row.Principal, prompt: q.Prompt, task: q.Task, origin: r.row.StartedBy, what: "start",
			mark: func(x *row.Job) { x.Parent, x.Part, x.Depth = &q.Of, &part, r.row.Depth },
		})
		j.note(m.now(), "daemon", fmt.Sprintf("it is a turn of the reviewed job %s (%s, round %d)", id, part.Phase, part.Round))
		q.Fact.Job = &j.row.Job.Job
		undo := r.tell(q.Fact)
		m.settle()
		made, t = j.row, m.ticket(j)
		m.undoable(undo)
		return nil
	})
	return made, t, err
}

// Tell adds facts to a review.
func (rs Reviews) Tell(of wire.JobRef, seen int, facts ...wire.ReviewFact) (t *Ticket, err error) {
	err = rs.h.ask(func() error {
		r, err := reviewOf(rs.h.m, of, seen)
		if err != nil {
			return err
		}
		undo := r.tell(facts...)
		t = rs.h.m.undoable(undo)
		return nil
	})
	return t, err
}

// Decide adds what the owner decided and ends the turns that run for it.
func (rs Reviews) Decide(of wire.JobRef, seen int, fact wire.ReviewFact, p row.Principal) (t *Ticket, err error) {
	err = rs.h.ask(func() error {
		m := rs.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		r, err := reviewOf(m, of, seen)
		if err != nil {
			return err
		}
		r.tell(fact)
		r.note(m.now(), "owner", fmt.Sprintf("%s decided through %s: %s", orNobody(p.Who), orNobody(p.Way), fact.What))
		if fact.What != wire.ReviewExtended {
			nest{m}.cancelBelow(r.job, p)
		}
		t = m.ticket(nil)
		return nil
	})
	return t, err
}

// Show puts where a review stands into its job's row. Asks says that it waits for the owner.
func (rs Reviews) Show(of wire.JobRef, s wire.ReviewStatus, line string, asks bool) {
	rs.h.do(func() {
		r, err := reviewOf(rs.h.m, of, -1)
		if err != nil {
			return
		}
		if asks && r.row.State == wire.StateWorking {
			r.step(state.Ask, rs.h.m.now(), "daemon", line)
		}
		if !asks && r.row.State == wire.StateAwaitingInput {
			r.step(state.Answer, rs.h.m.now(), "daemon", "it goes on")
		}
		if r.row.Job.Review == nil || !sameStatus(*r.row.Job.Review, s) {
			r.row.Job.Review = &s
			r.touch()
		}
		if !r.row.Cancelled {
			r.say(line)
		}
	})
}

func sameStatus(a, b wire.ReviewStatus) bool {
	heads := a.Head == b.Head || a.Head != nil && b.Head != nil && *a.Head == *b.Head
	return heads && a.Round == b.Round && a.Rounds == b.Rounds && a.Phase == b.Phase && a.Open == b.Open && slices.Equal(a.Reviewers, b.Reviewers)
}

// A ReviewEnd is how a reviewed job ends.
type ReviewEnd struct {
	Of      wire.JobRef
	Seen    int
	Fact    wire.ReviewFact
	Status  wire.ReviewStatus
	Outcome wire.JobOutcome
	State   wire.AgentState // of the last builder's turn, or cancelled
	Detail  string
	Result  row.Result // of the last builder's turn
	Facts   *wire.JobFacts
}

// Finish ends a reviewed job.
func (rs Reviews) Finish(e ReviewEnd) (t *Ticket, err error) {
	err = rs.h.ask(func() error {
		m := rs.h.m
		r, err := reviewOf(m, e.Of, e.Seen)
		if err != nil {
			return err
		}
		r.tell(e.Fact)
		r.decided(e.Status, e.Outcome)
		r.row.Facts = e.Facts
		r.end(ending{state: e.State, detail: e.Detail, result: &e.Result}, m.now(), "daemon")
		t = m.ticket(nil)
		return nil
	})
	return t, err
}

// Amend changes the outcome of a reviewed job that has ended, by what its owner decided.
func (rs Reviews) Amend(of row.Job, fact wire.ReviewFact, s wire.ReviewStatus, o wire.JobOutcome, detail string) (t *Ticket, err error) {
	err = rs.h.ask(func() error {
		m := rs.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		r := reviewed{m.guest(of)}
		if r.row.Review == nil || len(r.row.Review.Facts) != len(of.Review.Facts) {
			return ErrMoved
		}
		r.tell(fact)
		r.decided(s, o)
		r.row.Detail = text(detail)
		r.note(m.now(), "owner", "the owner accepted it as it is")
		r.touch()
		t = m.ticket(nil)
		return nil
	})
	return t, err
}

// A ReviewMore asks for a reviewed job that goes on where one that has ended stands.
type ReviewMore struct {
	Of        row.Job
	Key       string
	Principal row.Principal
	Review    row.Review // with the facts of the old one and the extension
	Prompt    row.Prompt
}

// Continue makes a reviewed job of the record of another, in its conversation.
func (rs Reviews) Continue(q ReviewMore) (Accepted, *Ticket, error) {
	of := q.Of.Ref()
	same := func(j *row.Job) bool { return j.Resumes != nil && *j.Resumes == of && j.Review != nil }
	if err := rs.h.bring(q.Of.Session, *q.Of.Conversation); err != nil {
		return Accepted{}, nil, err
	}
	return rs.h.Jobs().accept(q.Key, same, func(m *model) (*job, error) {
		if err := m.full(); err != nil {
			return nil, err
		}
		c := m.conversation(q.Of.Session, *q.Of.Conversation)
		if c == nil {
			return nil, noConversation(q.Of.Session, *q.Of.Conversation)
		}
		j := c.add(newJob{
			key: q.Key, principal: q.Principal, prompt: q.Prompt, task: q.Of.Task, origin: wire.OriginOwner, what: "start",
			mark: func(r *row.Job) { r.Resumes, r.Review, r.Reviewed = &of, &q.Review, true },
		})
		return j, nil
	})
}

// reviewed is a job that is reviewed: no process serves it.
type reviewed struct{ *job }

// reviewOf finds a review that is not over and has as many facts as its caller knows; below 0 any number will do.
func reviewOf(m *model, ref wire.JobRef, seen int) (reviewed, error) {
	session, id, _ := ref.Split()
	j := m.job(session, id)
	switch {
	case j == nil || j.row.Review == nil:
		return reviewed{}, notFound(ref)
	case j.row.State.Final():
		return reviewed{}, over(&j.row)
	case seen >= 0 && len(j.row.Review.Facts) != seen:
		return reviewed{}, ErrMoved
	}
	return reviewed{j}, nil
}

// begin lets a review go on: it takes no room, since its turns do.
func (r reviewed) begin() {
	r.step(state.Start, r.m.now(), "daemon", "the review begins")
	r.step(state.Turn, r.m.now(), "daemon", "its turns are jobs of their own")
}

// rejoin takes a review that was loaded into the counts; whoever decides about reviews finds it among the open ones.
func (r reviewed) rejoin() {
	s := r.conv.session
	s.active++
	if r.row.State.NeedsAttention() {
		s.awaiting++
	}
	s.row.State = s.state()
	if r.row.State == wire.StateQueued { // the ledger was built anew
		s.active--
		r.begin()
	}
}

// reads reports whether a job is a reviewer's turn, which makes way for another reviewer instead of waiting.
func reads(j *job) bool {
	p := j.row.Part
	return p != nil && p.Phase != wire.PhaseBuilder && p.Phase != wire.PhaseLanding
}

// opens makes the conversation of a turn that goes on with none.
func (r reviewed) opens(q ReviewTurn) *conversation {
	m := r.m
	if q.Tree == nil {
		c := followers{m}.likeOf(r.job, q.Seat.Agent, place{})
		if q.Seat.Model != nil || q.Seat.Effort != nil {
			c.row.Model, c.row.Effort = str(q.Seat.Model), str(q.Seat.Effort)
		}
		return c
	}
	return m.newConversation(row.Conversation{
		Session: r.row.Session, Agent: q.Seat.Agent, Model: str(q.Seat.Model), Effort: str(q.Seat.Effort), Mode: q.Mode,
		Cwd: q.Tree.Cwd, Worktree: &q.Tree.Ref, Base: q.Tree.Base, Plan: q.Tree.Plan,
	})
}

// tell adds facts and returns what takes them back, as long as nothing came after them.
func (r reviewed) tell(facts ...wire.ReviewFact) (undo func()) {
	m := r.m
	for i := range facts {
		facts[i].AtMs = millis(m.now())
	}
	before := r.row.Review
	after := *before
	after.Facts = slices.Concat(before.Facts, facts)
	r.row.Review = &after
	r.touch()
	r.accept("review", "")
	m.commit()
	return func() {
		if r.row.Review == &after {
			r.row.Review = before
			r.touch()
		}
	}
}

func (r reviewed) decided(s wire.ReviewStatus, o wire.JobOutcome) {
	review := *r.row.Review
	review.Outcome = &o
	r.row.Review, r.row.Job.Review = &review, &s
}

// cancel ends a review: what runs for it is cancelled, and its outcome is told once that has ended.
func (r reviewed) cancel(p row.Principal) string {
	r.tell(wire.ReviewFact{What: wire.ReviewEnded, Text: "cancelled"})
	r.row.Detail = text("is being cancelled")
	r.accept("cancel", "")
	return fmt.Sprintf("%s is being cancelled.", r.row.Job.Job) + alsoBelow(nest{r.m}.cancelBelow(r.job, p))
}
