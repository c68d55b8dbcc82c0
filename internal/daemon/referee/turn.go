package referee

import (
	"context"
	"errors"
	"slices"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/review"
	"scv/internal/workbench/row"
)

// refusalRunes bounds what is kept of the reply of a reviewer that gave no verdict.
const refusalRunes = 500

// start begins a turn. A reviewer whose agent is held, for a sign-in or a limit, is not waited for.
func (g *game) start(ctx context.Context, j row.Job, s *review.State, step review.Step) error {
	q := hub.ReviewTurn{
		Of: g.ref, Seen: len(j.Review.Facts), Seat: step.Seat,
		Fact: wire.ReviewFact{What: wire.ReviewTurnStarted, Round: step.Round, Phase: step.Phase, Seat: step.Place, Agent: step.Seat.Agent},
	}
	reads := step.Phase == wire.PhaseReviewer
	if why := g.held(step.Seat.Agent); reads && why != "" {
		return g.tell(ctx, j, wire.ReviewFact{
			What: wire.ReviewTurnEnded, Round: step.Round, Phase: step.Phase, Seat: step.Place, Agent: step.Seat.Agent, Result: wire.ReviewerUnavailable, Text: why,
		})
	}
	original, masked, err := g.prompt(ctx, j)
	if err != nil {
		return err
	}
	texts := review.Texts{Prompt: masked, Branch: j.Worktree.Branch}
	if id := s.Builder(); id != "" {
		b, err := g.find(ctx, j.Session.Ref(id))
		if err != nil {
			return err
		}
		res, err := g.result(ctx, b)
		if err != nil {
			return err
		}
		texts.Reply = res.Reply
	}
	switch {
	case reads:
		q.Mode = string(wire.ModeReadOnly)
		q.Tree, err = g.tree(ctx, j, s, step)
	case step.After != "":
		var before row.Job
		if before, err = g.find(ctx, j.Session.Ref(step.After)); err == nil {
			q.Conversation = *before.Conversation
		}
	}
	if err != nil {
		return err
	}
	q.Prompt = row.Prompt{Text: s.Prompt(step, texts)}
	if original != masked && step.Phase == wire.PhaseBuilder {
		texts.Prompt = original
		q.Prompt.Original = s.Prompt(step, texts)
	}
	q.Task = plain.Truncate(string(step.Phase)+": "+j.Task, wire.MaxTaskRunes)
	_, t, err := g.Hub.Reviews().Turn(q)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

func (g *game) held(agent string) string {
	for _, h := range g.Hub.Holds().List() {
		if h.Agent == agent && h.Class != wire.ClassBudget {
			return plain.Line(h.Text)
		}
	}
	return ""
}

// tree plans the worktree of a reviewer.
func (g *game) tree(ctx context.Context, j row.Job, s *review.State, step review.Step) (*row.Tree, error) {
	thread, err := g.Hub.Jobs().Thread(j.Session, *j.Conversation)
	if err != nil {
		return nil, err
	}
	tree, err := g.Ground.ReviewTree(ctx, thread.Plan, step.Seat.Agent, j.Job.Job, s.Head)
	if err != nil {
		return nil, stuck{err}
	}
	return tree, nil
}

// await looks whether a turn has ended, and takes down how.
func (g *game) await(ctx context.Context, j row.Job, s *review.State, step review.Step) (bool, error) {
	turn, err := g.find(ctx, j.Session.Ref(step.Job))
	if errors.Is(err, errGone) { // it was dismissed, which only an ended one can be
		turn = row.Job{Job: wire.Job{Job: step.Job, State: wire.StateCancelled, Detail: new("it was dismissed")}}
	} else if err != nil {
		return false, err
	}
	if !turn.State.Final() {
		return false, g.timed(j, turn, step)
	}
	if _, decided := s.Decided(); turn.State == wire.StateInterrupted && turn.Untouched && !decided {
		return true, g.again(ctx, j, turn, step)
	}
	res, err := g.result(ctx, turn)
	if err != nil {
		return false, err
	}
	f := wire.ReviewFact{What: wire.ReviewTurnEnded, Round: step.Round, Phase: step.Phase, Seat: step.Place, Agent: step.Fact.Agent, Job: &step.Job, State: &turn.State}
	if turn.Detail != nil {
		f.Text = plain.Line(*turn.Detail)
	}
	switch step.Phase {
	case wire.PhaseReviewer, wire.PhaseRepair:
		g.read(ctx, j, s, turn, res, &f)
	case wire.PhaseConfirmation:
		var said error
		if f.Check, said = review.ParseCheck(res.Reply); said != nil {
			f.Check, f.Text = nil, plain.Line(said.Error())
		}
		if turn.State != wire.StateCompleted { // it must be whole to count
			f.Check = nil
		}
	default:
		var said error
		if f.Landing, said = review.ParseLanding(res.Reply); said != nil {
			f.Landing, f.Text = nil, plain.Line(said.Error())
		}
	}
	review.Change(&f, g.Mask().Text)
	review.Bound(&f, j.Review.Facts)
	return true, g.tell(ctx, j, f)
}

// again begins a turn anew of which nothing was run, because the daemon died while it was being started.
func (g *game) again(ctx context.Context, j, turn row.Job, step review.Step) error {
	next := turn.ResumedAs
	if next == nil {
		original, masked, err := g.prompt(ctx, turn)
		if err != nil {
			return err
		}
		q := hub.FollowRequest{How: hub.Resuming, Principal: turn.Principal, Of: turn, Same: true, Prompt: row.Prompt{Text: masked}, Task: turn.Task}
		if original != masked {
			q.Prompt.Original = original
		}
		made, t, err := g.Hub.Jobs().Follow(q)
		if err != nil {
			return err
		}
		if err := t.Wait(ctx); err != nil {
			return err
		}
		next = &made.Ref
	}
	_, id, _ := next.Split()
	begun := wire.ReviewFact{What: wire.ReviewTurnStarted, Round: step.Round, Phase: step.Phase, Seat: step.Place, Agent: step.Fact.Agent, Job: &id}
	ended := begun
	ended.What, ended.Job, ended.State, ended.Again, ended.Text = wire.ReviewTurnEnded, &step.Job, &turn.State, true, "nothing of it was run, so it begins anew"
	return g.tell(ctx, j, ended, begun)
}

// read takes a verdict from a reviewer's reply. An approval counts only of a turn that completed.
func (g *game) read(ctx context.Context, j row.Job, s *review.State, turn row.Job, res row.Result, f *wire.ReviewFact) {
	v, err := review.ParseVerdict(res.Reply, s.Asked())
	completed := turn.State == wire.StateCompleted
	if err == nil && (completed || v.Verdict != "approve") {
		f.Verdict, f.Result, f.Text = v, wire.ReviewerVerdict, g.Ground.Touched(ctx, turn)
		return
	}
	f.Result = wire.ReviewerFailed
	if r := []rune(plain.Line(res.Reply)); len(r) > 0 {
		f.Reply = string(r[:min(len(r), refusalRunes)])
	}
	unavailable := []wire.Class{wire.ClassAuth, wire.ClassQuota, wire.ClassModel, wire.ClassNetwork, "missing", wire.ClassStart}
	switch {
	case completed:
		f.Text = plain.Line(err.Error())
	case turn.State == wire.StateDeclined:
		f.Result = wire.ReviewerDeclined
	case turn.State == wire.StateFailed && turn.Class != nil && slices.Contains(unavailable, *turn.Class):
		f.Result = wire.ReviewerUnavailable
	case turn.State == wire.StateCancelled && g.late(j, turn):
		f.State, f.Text = new(wire.StateTimeout), "its time was up"
	}
}

// timed ends a reviewer's turn whose time is up, and else sees that it is looked at then.
func (g *game) timed(j, turn row.Job, step review.Step) error {
	limit := time.Duration(j.Review.Request.TimeoutSeconds) * time.Second
	if limit == 0 || step.Phase == wire.PhaseBuilder || step.Phase == wire.PhaseLanding || turn.Cancelled {
		return nil
	}
	left := time.Unix(int64(turn.CreatedUnixSeconds), 0).Add(limit).Sub(g.Now())
	if left > 0 {
		if g.rings != nil {
			g.rings.Stop()
		}
		g.rings = time.NewTimer(left)
		return nil
	}
	_, _, err := g.Hub.Jobs().Cancel(turn.Ref(), row.Principal{Who: "daemon", Way: "review"})
	return err
}

// late reports whether a cancelled turn had used up its time.
func (g *game) late(j, turn row.Job) bool {
	limit := j.Review.Request.TimeoutSeconds
	return limit > 0 && turn.Finished >= turn.CreatedUnixSeconds+limit
}

// sweep lets go of the reviewers of rounds that are over, or of all: their processes, and then their worktrees when
// nothing was left in them. It reports that nothing is left to be waited for.
func (g *game) sweep(ctx context.Context, s *review.State, all bool) (clean bool) {
	clean = true
	for _, f := range s.Review.Facts {
		if f.What != wire.ReviewTurnEnded || f.Phase != wire.PhaseReviewer || f.Job == nil || g.swept[*f.Job] || !all && f.Round >= s.Round {
			continue
		}
		session, _, _ := g.ref.Split()
		turn, err := g.find(ctx, session.Ref(*f.Job))
		if err != nil || turn.Worktree == nil {
			g.swept[*f.Job] = true
			continue
		}
		if g.alive(turn) {
			clean = false
			continue
		}
		g.swept[*f.Job] = true
		if err := g.Ground.Sweep(ctx, turn); err != nil {
			g.Log.Info("the worktree of a reviewer is kept", "job", turn.Job.Job, "why", err)
		}
	}
	return clean
}

// alive reports whether a process still serves the conversation of a reviewer, and asks it to leave.
func (g *game) alive(turn row.Job) bool {
	alive := false
	for _, r := range g.Hub.Snapshot().Runs {
		if !r.Live || r.State == wire.StateUnknown || r.Conversation == nil || turn.Conversation == nil || *r.Conversation != *turn.Conversation {
			continue
		}
		alive = true
		if !g.killed[r.Handle] {
			g.killed[r.Handle] = true
			if _, err := g.Hub.Runs().Kill(r.Handle, row.Principal{Who: "daemon", Way: "review"}); err != nil {
				g.Log.Info("the process of a reviewer stays", "run", r.Handle, "error", err)
			}
		}
	}
	return alive
}
