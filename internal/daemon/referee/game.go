package referee

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/review"
	"scv/internal/workbench/row"
)

// play does what is next until the review is over and swept behind, and waits for a change where nothing can be done.
func (g *game) play(ctx context.Context) {
	g.killed = map[wire.RunHandle]bool{}
	if g.Hub.Reviews().Saved(g.ref).Wait(ctx) != nil { // it was not accepted
		return
	}
	for ctx.Err() == nil {
		moved, over, err := g.move(ctx)
		switch {
		case over:
			return
		case errors.Is(err, hub.ErrMoved), moved && err == nil:
			continue
		case err != nil && ctx.Err() == nil:
			why := g.Mask().Text(plain.Line(err.Error()))
			g.Log.Warn("a review waits", "job", g.ref, "why", why)
			g.Hub.Reviews().Waits(g.ref, why)
		}
		var ring <-chan time.Time
		if g.rings != nil {
			ring = g.rings.C
		}
		select {
		case <-ctx.Done():
		case <-g.wake:
		case <-ring:
		}
	}
}

// move does all that is next once. It moved when something came of it.
func (g *game) move(ctx context.Context) (moved, over bool, err error) {
	j, err := g.find(ctx, g.ref)
	if err != nil {
		return false, errors.Is(err, errGone), err
	}
	s := review.Fold(&j)
	if j.State.Final() {
		return false, true, nil
	}
	steps := s.Next()
	asks := false
	for _, step := range steps {
		asks = asks || step.Kind == review.AwaitOwner
	}
	g.Hub.Reviews().Show(g.ref, s.Status(), s.Line(), asks)
	g.sweep(ctx, s, false)
	for _, step := range steps {
		did, err := g.do(ctx, j, s, step)
		if err != nil {
			return moved, false, err
		}
		if did { // the others are looked at anew
			return true, false, nil
		}
	}
	return false, false, nil
}

// do takes one step; false when it has to be waited for.
func (g *game) do(ctx context.Context, j row.Job, s *review.State, step review.Step) (bool, error) {
	switch step.Kind {
	case review.StartTurn:
		return true, g.failed(ctx, j, g.start(ctx, j, s, step))
	case review.AwaitTurn:
		return g.await(ctx, j, s, step)
	case review.Record:
		rec, err := g.Ground.Record(ctx, g.builder(ctx, j, s), step.Round)
		if err != nil {
			return true, g.failed(ctx, j, stuck{err})
		}
		return true, g.tell(ctx, j, wire.ReviewFact{What: wire.ReviewRecorded, Round: step.Round, Base: rec.Base, Head: rec.Head, Files: rec.Files})
	case review.CheckLand:
		f := wire.ReviewFact{What: wire.ReviewLandChecked, Round: step.Round}
		yes, known, words := g.Ground.Landed(ctx, g.builder(ctx, j, s), s.Reported(), s.Head)
		if f.Text = g.Mask().Text(plain.Line(words)); known {
			f.Landed = &yes
		}
		return true, g.tell(ctx, j, f)
	case review.AwaitOwner:
		return g.resumed(ctx, j, step)
	case review.Finish:
		if !g.sweep(ctx, s, true) {
			return false, nil
		}
		return true, g.finish(ctx, j, s)
	}
	return false, nil
}

// builder is the job of the last builder, in whose place the work is; the reviewed job itself has the same.
func (g *game) builder(ctx context.Context, j row.Job, s *review.State) row.Job {
	if id := s.Builder(); id != "" {
		if b, err := g.find(ctx, j.Session.Ref(id)); err == nil {
			return b
		}
	}
	return j
}

// tell adds a fact and waits until it is on disk.
func (g *game) tell(ctx context.Context, j row.Job, facts ...wire.ReviewFact) error {
	t, err := g.Hub.Reviews().Tell(g.ref, len(j.Review.Facts), facts...)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

// stuck is what a step was refused for good, such as by git.
type stuck struct{ error }

// Unwrap returns what it was refused with.
func (s stuck) Unwrap() error { return s.error }

// failed ends a review that is stuck, in the words of what refused it. Other refusals may pass, and are waited for.
func (g *game) failed(ctx context.Context, j row.Job, err error) error {
	why, ok := errors.AsType[stuck](err)
	if e, full := errors.AsType[*wire.Error](err); !ok || ctx.Err() != nil || full && e.Reason == wire.ReasonFull {
		return err
	}
	return g.tell(ctx, j, wire.ReviewFact{What: wire.ReviewFailed, Text: g.Mask().Text(plain.Truncate(plain.Line(why.Error()), 300))})
}

// resumed goes on with a turn that its owner resumed.
func (g *game) resumed(ctx context.Context, j row.Job, step review.Step) (bool, error) {
	old, err := g.find(ctx, j.Session.Ref(step.Job))
	if err != nil || old.ResumedAs == nil {
		return false, err
	}
	_, id, _ := old.ResumedAs.Split()
	f := wire.ReviewFact{What: wire.ReviewTurnStarted, Round: step.Round, Phase: step.Phase, Agent: step.Fact.Agent, Job: &id}
	return true, g.tell(ctx, j, f)
}

// finish tells the outcome. The job ends as its last builder's turn did, with what that said.
func (g *game) finish(ctx context.Context, j row.Job, s *review.State) error {
	e := hub.ReviewEnd{Of: g.ref, Seen: len(j.Review.Facts), Fact: wire.ReviewFact{What: wire.ReviewFinished}, State: wire.StateFailed}
	told := j
	told.Review = &row.Review{
		Request: j.Review.Request, Candidates: j.Review.Candidates, Journal: j.Review.Journal, Facts: slices.Concat(j.Review.Facts, []wire.ReviewFact{e.Fact}),
	}
	after := review.Fold(&told)
	e.Outcome, e.Status = after.Outcome(j.Job.Job), after.Status()
	e.Fact.Text = string(e.Outcome.Review.Outcome)
	e.Detail = review.Sentence(&e.Outcome)
	if id := s.Builder(); id != "" {
		b, err := g.find(ctx, j.Session.Ref(id))
		if err != nil {
			return err
		}
		if e.State, e.Facts = b.State, g.Ground.Facts(ctx, b); !b.State.Final() {
			e.State = wire.StateCancelled
		}
		if e.Result, err = g.result(ctx, b); err != nil {
			return err
		}
	}
	if j.Cancelled {
		e.State = wire.StateCancelled
	}
	t, err := g.Hub.Reviews().Finish(e)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

var errGone = errors.New("the job is gone")

// find reads a job where it is.
func (g *game) find(ctx context.Context, ref wire.JobRef) (row.Job, error) {
	session, id, _ := ref.Split()
	j, ok := g.Hub.Jobs().Find(session, id)
	var err error
	if !ok {
		j, ok, err = g.Records.Job(ctx, session, id)
	}
	if err == nil && !ok {
		err = errGone
	}
	return j, err
}

// result is what an ended job left.
func (g *game) result(ctx context.Context, j row.Job) (row.Result, error) {
	if res, ok := g.Hub.Jobs().Result(j.Session, j.Job.Job); ok {
		return res, nil
	}
	res, _, err := g.Records.Result(ctx, j.Job.Job)
	return res, err
}

// prompt is the job's prompt: as it was written, and as it may be shown.
func (g *game) prompt(ctx context.Context, j row.Job) (original, masked string, err error) {
	if masked, _, err = g.Records.Prompt(ctx, j.Job.Job); err != nil || !j.Private {
		return masked, masked, err
	}
	original, err = g.Records.Original(j.Job.Job)
	if errors.Is(err, fs.ErrNotExist) {
		return masked, masked, nil
	}
	return original, masked, err
}
