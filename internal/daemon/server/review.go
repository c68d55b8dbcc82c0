package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"scv/internal/repo/work"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/review"
	"scv/internal/workbench/row"
)

// review checks what a reviewed job asks for and completes it.
func (r intake) review(cmd wire.WorkbenchStart) (*row.Review, error) {
	q := *cmd.Review
	if q.Rounds == 0 {
		q.Rounds = wire.DefaultReviewRounds
	}
	switch {
	case q.Rounds > wire.MaxReviewRounds:
		return nil, wire.Refuse(wire.ReasonInvalid, "ask for fewer, and extend it later", "a review has at most %d rounds", wire.MaxReviewRounds)
	case len(q.Reviewers) > wire.MaxReviewSeats || len(q.Builders) > wire.MaxReviewSeats || q.Quorum > wire.MaxReviewSeats:
		return nil, wire.Refuse(wire.ReasonInvalid, "name fewer", "a review has at most %d reviewers and as many builders", wire.MaxReviewSeats)
	case q.Land == wire.LandUnknown:
		return nil, wire.Refuse(wire.ReasonInvalid, "use none, after_approval or before_review", "there is no such way to land")
	case q.TimeoutSeconds > 30*24*3600:
		return nil, wire.Refuse(wire.ReasonInvalid, "leave it out for no bound", "a reviewer's time of %d seconds is too long", q.TimeoutSeconds)
	case cmd.Check:
		return nil, wire.Refuse(wire.ReasonInvalid, "leave one of them out", "a job that checks an agent is not reviewed")
	}
	if err := r.focus(q.Focus); err != nil {
		return nil, err
	}
	first := false
	for _, x := range q.Reviewers {
		first = first || x.From <= 1
		if err := r.seat(x); err != nil {
			return nil, err
		}
	}
	for _, x := range q.Builders {
		if x.From < 2 {
			return nil, wire.Refuse(wire.ReasonInvalid, "say from which round on, 2 or later", "%s cannot take over from the first round on: that is the job's own agent's", x.Agent)
		}
		if err := r.seat(x); err != nil {
			return nil, err
		}
	}
	out := &row.Review{Request: q, Journal: r.Journal()}
	switch {
	case len(q.Reviewers) == 0:
		out.Candidates = r.Reviewers(cmd.Agent)
		if n := uint32(len(out.Candidates)); max(q.Quorum, 1) > n {
			return nil, wire.Refuse(wire.ReasonInvalid, "install another agent, or ask for fewer approvals", "%s wanted, and %s could review: %s", plain.Count(q.Quorum, "reviewer"), plain.Count(n, "agent"), strings.Join(out.Candidates, ", "))
		}
	case !first:
		return nil, wire.Refuse(wire.ReasonInvalid, "name one without a round", "nobody is named who reviews the first round")
	case int(q.Quorum) > len(q.Reviewers):
		return nil, wire.Refuse(wire.ReasonInvalid, "ask for fewer approvals, or name more reviewers", "%s wanted of %s", plain.Count(q.Quorum, "approval"), plain.Count(len(q.Reviewers), "reviewer"))
	}
	return out, nil
}

func (r intake) focus(text string) error {
	bad := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }
	if len(text) > wire.MaxReviewFocus || !utf8.ValidString(text) || strings.ContainsFunc(text, bad) {
		return wire.Refuse(wire.ReasonInvalid, "say it in fewer, plain words", "the focus of a review is text of at most %d bytes", wire.MaxReviewFocus)
	}
	return r.clean("focus of the review", text)
}

// seat checks a builder or reviewer like the agent of a job.
func (r intake) seat(x wire.ReviewSeat) error {
	if err := r.knownAgent(x.Agent); err != nil {
		return err
	}
	model, err := word("model", x.Model, maxModel, "._:/@[]-", "-@")
	if err != nil {
		return err
	}
	effort, err := word("effort", x.Effort, maxEffort, "-_", "-_")
	if err != nil {
		return err
	}
	if err := r.clean("model", model, "effort", effort); err != nil || r.Fits == nil {
		return err
	}
	return r.Fits(x.Agent, "", model, effort)
}

// A judge answers about reviewed jobs.
type judge struct{ *request }

// reviewed finds a reviewed job.
func (r judge) reviewed(session wire.SessionID, id wire.JobID) (row.Job, *review.State, error) {
	job, err := r.job(session, id)
	if err == nil && job.Review == nil {
		hint := "start one: scv jobs start --review PROMPT"
		if job.Part != nil && job.Parent != nil {
			_, of, _ := job.Parent.Split()
			hint = "look at the whole: scv jobs review " + string(of)
		}
		err = wire.Refuse(wire.ReasonConflict, hint, "%s is no reviewed job", id)
	}
	if err != nil {
		return job, nil, err
	}
	return job, review.Fold(&job), nil
}

// jobReview tells the record of a reviewed job.
func (r judge) jobReview(cmd wire.JobReview) (answer, error) {
	job, s, err := r.reviewed(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	st := r.light()
	st.Review = &wire.ReviewReport{Job: job.Ref(), Status: s.Status(), Outcome: job.Review.Outcome, Open: s.Open(), Facts: job.Review.Facts}
	return answer{status: st}, nil
}

// recorded tells what the reviewers of a round were shown.
func (r judge) recorded(cmd wire.JobDiff) (base, text string, err error) {
	job, _, err := r.reviewed(cmd.Session, cmd.Job)
	if err != nil {
		return "", "", err
	}
	for _, f := range slices.Backward(job.Review.Facts) {
		if f.What == wire.ReviewRecorded && (cmd.Round == 0 || f.Round == cmd.Round) {
			text, err = work.Recorder{Bench: r.Work}.Recorded(r.ctx, *job.Worktree, work.Record{Base: f.Base, Head: f.Head}, cmd.How)
			return f.Base, text, err
		}
	}
	return "", "", wire.Refuse(wire.ReasonNotFound, "scv jobs review "+string(cmd.Job), "nothing was recorded for the reviewers of that round")
}

// reviewDecide takes the owner's word over the reviewers.
func (r judge) reviewDecide(cmd wire.ReviewDecide) (answer, error) {
	if err := r.ownerOnly("decide about a review"); err != nil {
		return answer{}, err
	}
	for {
		job, s, err := r.reviewed(cmd.Session, cmd.Job)
		if err != nil {
			return answer{}, err
		}
		ans, err := r.decide(cmd, job, s)
		if !errors.Is(err, hub.ErrMoved) || r.ctx.Err() != nil {
			return ans, err
		}
	}
}

func (r judge) decide(cmd wire.ReviewDecide, job row.Job, s *review.State) (answer, error) {
	outcome, decided := s.Decided()
	switch {
	case cmd.What == wire.DecideExtend:
		return r.extend(cmd, job, s)
	case cmd.What == wire.DecideAccept && outcome == wire.ReviewApproved:
		return answer{}, wire.Refuse(wire.ReasonConflict, "scv jobs review "+string(cmd.Job), "%s is approved already", cmd.Job)
	case cmd.What == wire.DecideAccept && (s.Head == "" || s.Building()):
		return answer{}, wire.Refuse(wire.ReasonBusy, "wait for it: scv jobs review "+string(cmd.Job), "nothing of this round is recorded yet, so there is nothing to accept")
	case cmd.What == wire.DecideAccept && job.State.Final():
		return r.amend(job)
	case job.State.Final() || decided && s.Finished():
		return answer{}, wire.Refuse(wire.ReasonConflict, "scv jobs review "+string(cmd.Job), "%s has ended already: it is %s", cmd.Job, outcome)
	}
	what, note := wire.ReviewEnded, "%s is being stopped."
	if cmd.What == wire.DecideAccept {
		what, note = wire.ReviewAccepted, "%s is accepted as it is."
	}
	t, err := r.Hub.Reviews().Decide(job.Ref(), len(job.Review.Facts), wire.ReviewFact{What: what}, r.principal())
	if err == nil {
		err = t.Wait(r.ctx)
	}
	return r.said(fmt.Sprintf(note, cmd.Job)), err
}

// said is an answer with nothing but a sentence.
func (r judge) said(note string) answer { return groundkeeper(r).noted(note) }

// amend accepts what a review that has ended did not approve.
func (r judge) amend(job row.Job) (answer, error) {
	fact := wire.ReviewFact{What: wire.ReviewAccepted}
	after := job
	after.Review = &row.Review{
		Request: job.Review.Request, Candidates: job.Review.Candidates, Journal: job.Review.Journal, Facts: slices.Concat(job.Review.Facts, []wire.ReviewFact{fact}),
	}
	s := review.Fold(&after)
	o := s.Outcome(job.Job.Job)
	t, err := r.Hub.Reviews().Amend(job, fact, s.Status(), o, review.Sentence(&o))
	if err == nil {
		err = t.Wait(r.ctx)
	}
	return r.said(fmt.Sprintf("%s is accepted as it is. To bring it home: scv jobs apply %s", job.Job.Job, job.Job.Job)), err
}

// extend gives a review more rounds; one that has ended goes on as a new job.
func (r judge) extend(cmd wire.ReviewDecide, job row.Job, s *review.State) (answer, error) {
	outcome, _ := s.Decided()
	switch {
	case cmd.Rounds == 0 || s.Limit+cmd.Rounds > wire.MaxReviewRounds:
		return answer{}, wire.Refuse(wire.ReasonInvalid, "ask for fewer", "a review has 1 to %d rounds, and %s has %d", wire.MaxReviewRounds, cmd.Job, s.Limit)
	case outcome == wire.ReviewApproved:
		return answer{}, wire.Refuse(wire.ReasonConflict, "start another: scv jobs start --review PROMPT", "%s is approved already", cmd.Job)
	}
	fact := wire.ReviewFact{What: wire.ReviewExtended, Rounds: cmd.Rounds}
	if !job.State.Final() {
		t, err := r.Hub.Reviews().Decide(job.Ref(), len(job.Review.Facts), fact, r.principal())
		if err == nil {
			err = t.Wait(r.ctx)
		}
		return r.said(fmt.Sprintf("%s has %s now.", cmd.Job, plain.Count(s.Limit+cmd.Rounds, "round"))), err
	}
	prompt, _, err := r.Records.Prompt(r.ctx, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	if _, err := r.Work.Spot(r.ctx, job.Worktree, job.Cwd, job.Base); err != nil {
		return answer{}, err
	}
	return intake(r).accepted(r.Hub.Reviews().Continue(hub.ReviewMore{
		Of: job, Key: cmd.Key, Principal: r.principal(), Prompt: row.Prompt{Text: prompt},
		Review: row.Review{
			Request: job.Review.Request, Candidates: job.Review.Candidates, Journal: r.Journal(), Facts: slices.Concat(job.Review.Facts, []wire.ReviewFact{fact}),
		},
	}))
}
