package review_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/review"
	"scv/internal/workbench/row"
)

const (
	base = "1111111111111111111111111111111111111111"
	head = "2222222222222222222222222222222222222222"
)

// A stage plays a review: each turn that is asked for gets a job, and what the actor answers becomes a fact.
type stage struct {
	t     *testing.T
	job   row.Job
	jobs  int
	actor func(step review.Step, s *review.State) wire.ReviewFact
	turns []string
}

func newStage(t *testing.T, q wire.ReviewRequest, candidates ...string) *stage {
	t.Helper()
	if q.Rounds == 0 {
		q.Rounds = wire.DefaultReviewRounds
	}
	g := &stage{t: t, jobs: 1, job: row.Job{Job: wire.Job{Job: "job-1", Agent: "codex"}}}
	g.job.Review = &row.Review{Request: q, Candidates: candidates, Journal: "rev-1-abcdef"}
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact { return fine(step) }
	return g
}

// fine is the answer of somebody who does what was asked and finds nothing.
func fine(step review.Step) wire.ReviewFact {
	f := wire.ReviewFact{State: new(wire.StateCompleted)}
	if step.Phase == wire.PhaseReviewer || step.Phase == wire.PhaseRepair {
		return approves()
	}
	return f
}

func approves() wire.ReviewFact {
	return wire.ReviewFact{State: new(wire.StateCompleted), Result: wire.ReviewerVerdict, Verdict: &wire.ReviewVerdict{Verdict: "approve", Summary: "good"}}
}

func asksFor(findings ...wire.ReviewFinding) wire.ReviewFact {
	for i := range findings {
		findings[i].Severity = "blocking"
	}
	return wire.ReviewFact{State: new(wire.StateCompleted), Result: wire.ReviewerVerdict, Verdict: &wire.ReviewVerdict{Verdict: "changes", Summary: "not yet", Findings: findings}}
}

func fails(s wire.AgentState, r wire.ReviewerResult, why string) wire.ReviewFact {
	return wire.ReviewFact{State: &s, Result: r, Text: why}
}

func (g *stage) add(f wire.ReviewFact) {
	g.job.Review.Facts = append(g.job.Review.Facts, f)
}

// step does all that is asked for at the moment; false when it is over or waits for the owner.
func (g *stage) step() bool {
	g.t.Helper()
	s := review.Fold(&g.job)
	steps := s.Next()
	if again := s.Next(); len(again) != len(steps) {
		g.t.Fatalf("asked twice it says %d and %d steps", len(steps), len(again))
	}
	for _, x := range steps {
		f := wire.ReviewFact{Round: x.Round, Phase: x.Phase, Seat: x.Place, Agent: x.Seat.Agent}
		switch x.Kind {
		case review.StartTurn:
			g.jobs++
			f.What, f.Job = wire.ReviewTurnStarted, new(wire.NewJobID(uint64(g.jobs)))
			g.turns = append(g.turns, fmt.Sprintf("%d %s %s", x.Round, x.Phase, x.Seat.Agent))
		case review.AwaitTurn:
			a := g.actor(review.Step{Kind: x.Kind, Round: x.Round, Phase: x.Phase, Seat: wire.ReviewSeat{Agent: x.Fact.Agent}, Place: x.Place, Job: x.Job}, s)
			a.What, a.Round, a.Phase, a.Seat, a.Agent, a.Job = wire.ReviewTurnEnded, x.Round, x.Phase, x.Place, x.Fact.Agent, &x.Job
			f = a
		case review.Record:
			f.What, f.Base, f.Head, f.Files = wire.ReviewRecorded, base, head, 2
		case review.CheckLand:
			f.What, f.Landed, f.Text = wire.ReviewLandChecked, new(true), "git has it"
		case review.Finish:
			f.What = wire.ReviewFinished
		case review.AwaitOwner:
			return false
		}
		g.add(f)
	}
	return len(steps) > 0
}

func (g *stage) play() wire.JobOutcome {
	g.t.Helper()
	for n := 0; g.step(); n++ {
		if n > 500 {
			g.t.Fatalf("it never ends: %s", strings.Join(g.turns, "; "))
		}
	}
	return review.Fold(&g.job).Outcome("job-1")
}

func (g *stage) expect(outcome wire.ReviewOutcome, reason string, turns ...string) wire.JobOutcome {
	g.t.Helper()
	o := g.play()
	got := ""
	if o.Review.Reason != nil {
		got = *o.Review.Reason
	}
	if o.Review.Outcome != outcome || got != reason {
		g.t.Errorf("it is %s (%s), want %s (%s)", o.Review.Outcome, got, outcome, reason)
	}
	if len(turns) > 0 && !slices.Equal(g.turns, turns) {
		g.t.Errorf("its turns are\n%s\nwant\n%s", strings.Join(g.turns, "\n"), strings.Join(turns, "\n"))
	}
	return o
}

func TestReview_GoesRoundUntilItIsApproved(t *testing.T) {
	g := newStage(t, wire.ReviewRequest{}, "claude", "gemini", "codex")
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		if step.Phase == wire.PhaseReviewer && step.Round == 1 {
			return asksFor(wire.ReviewFinding{Title: "It leaks", Location: "a.go:3"})
		}
		f := fine(step)
		if f.Verdict != nil {
			f.Verdict.Prior = []wire.PriorFinding{{ID: "1.1", Status: "resolved"}}
		}
		return f
	}
	o := g.expect(wire.ReviewApproved, "", "1 builder codex", "1 reviewer claude", "2 builder codex", "2 reviewer claude")
	if o.Review.OpenCount != 0 || o.Review.Round != 2 || o.Review.Reviewer != "claude" || len(o.Review.Tried) != 2 {
		t.Errorf("%+v", o.Review)
	}
}

func TestReview_EndsAtItsLimitAndGoesOnWhenItIsExtended(t *testing.T) {
	g := newStage(t, wire.ReviewRequest{Rounds: 2, Reviewers: []wire.ReviewSeat{{Agent: "claude"}}})
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		if step.Phase == wire.PhaseReviewer && step.Round < 4 {
			return asksFor(wire.ReviewFinding{Title: "It leaks"})
		}
		return fine(step)
	}
	if o := g.expect(wire.ReviewUnresolved, review.ReasonRoundLimit); o.Review.OpenCount != 1 || o.Review.Open[0].ID != "1.1" {
		t.Errorf("%+v", o.Review)
	}
	if q := review.Fold(&g.job).Asked(); !slices.Equal(q.Open, []string{"1.1"}) || q.Head != head || q.Exact {
		t.Errorf("the next reviewers would be asked %+v", q)
	}
	g.add(wire.ReviewFact{What: wire.ReviewExtended, Rounds: 2})
	if o := g.expect(wire.ReviewApproved, ""); o.Review.Round != 4 || o.Review.Rounds != 4 {
		t.Errorf("%+v", o.Review)
	}
}

func TestReview_KnowsAFindingAgainInOtherWords(t *testing.T) {
	g := newStage(t, wire.ReviewRequest{Rounds: 3, Reviewers: []wire.ReviewSeat{{Agent: "claude"}, {Agent: "gemini"}}})
	titles := map[uint32]string{1: "The file is never closed.", 2: "the FILE is never closed", 3: "The file is never closed!"}
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		if step.Phase != wire.PhaseReviewer {
			return fine(step)
		}
		f := asksFor(wire.ReviewFinding{Title: titles[step.Round], Location: fmt.Sprintf("./a.go:%d", step.Round*10)})
		f.Verdict.Prior = []wire.PriorFinding{{ID: "1.1", Status: "resolved"}}
		return f
	}
	o := g.expect(wire.ReviewUnresolved, review.ReasonRoundLimit)
	if o.Review.OpenCount != 1 || o.Review.Open[0].ID != "1.1" {
		t.Errorf("two reviewers in three rounds found one thing, and it is told as %+v", o.Review.Open)
	}
	if open := review.Fold(&g.job).Open(); !slices.Equal(open[0].By, []string{"claude", "gemini"}) {
		t.Errorf("it was found by %v", open[0].By)
	}
}

func TestM3_ReviewNeverMovesOnWhenItsBuilderWasInterrupted(t *testing.T) {
	g := newStage(t, wire.ReviewRequest{}, "claude")
	first := true
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		if step.Phase == wire.PhaseBuilder && first {
			first = false
			return fails(wire.StateInterrupted, "", "its process was killed")
		}
		return fine(step)
	}
	g.play()
	s := review.Fold(&g.job)
	if _, decided := s.Decided(); decided || len(g.turns) != 1 {
		t.Fatalf("after an interrupted builder it went on: %v", g.turns)
	}
	if line := s.Line(); !strings.Contains(line, "scv jobs resume job-2") {
		t.Errorf("it says %q", line)
	}
	g.jobs++
	g.add(wire.ReviewFact{What: wire.ReviewTurnStarted, Phase: wire.PhaseBuilder, Round: 1, Agent: "codex", Job: new(wire.JobID("job-3"))})
	g.expect(wire.ReviewApproved, "", "1 builder codex", "1 reviewer claude")
}

func TestReview_TriesTheNextReviewerWhereNobodyWasNamed(t *testing.T) {
	for name, c := range map[string]struct {
		fail  wire.ReviewFact
		turns []string
		tried wire.ReviewerResult
	}{
		"unavailable": {fails(wire.StateFailed, wire.ReviewerUnavailable, "it is not signed in"), []string{"1 reviewer claude", "1 reviewer gemini"}, wire.ReviewerUnavailable},
		"declined":    {fails(wire.StateDeclined, wire.ReviewerDeclined, "it refused"), []string{"1 reviewer claude", "1 reviewer gemini"}, wire.ReviewerDeclined},
		"failed":      {fails(wire.StateFailed, wire.ReviewerFailed, "it broke"), []string{"1 reviewer claude", "1 reviewer gemini"}, wire.ReviewerFailed},
		"timeout":     {fails(wire.StateTimeout, wire.ReviewerFailed, "too slow"), []string{"1 reviewer claude", "1 reviewer gemini"}, wire.ReviewerFailed},
		"malformed":   {fails(wire.StateCompleted, wire.ReviewerFailed, "no block"), []string{"1 reviewer claude", "1 repair claude", "1 reviewer gemini"}, wire.ReviewerFailed},
		"interrupted": {fails(wire.StateInterrupted, wire.ReviewerFailed, "killed"), []string{"1 reviewer claude", "1 reviewer claude", "1 reviewer gemini"}, wire.ReviewerFailed},
	} {
		t.Run(name, func(t *testing.T) {
			g := newStage(t, wire.ReviewRequest{}, "claude", "gemini", "codex")
			g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
				if step.Seat.Agent == "claude" {
					return c.fail
				}
				return fine(step)
			}
			o := g.expect(wire.ReviewApproved, "", append([]string{"1 builder codex"}, c.turns...)...)
			if o.Review.Tried[0] != (wire.TriedReviewer{Agent: "claude", Result: c.tried}) || o.Review.Fallback == nil || !strings.Contains(*o.Review.Fallback, "claude") {
				t.Errorf("%+v", o.Review)
			}
		})
	}
}

func TestReview_NamesWhyThereIsNoVerdict(t *testing.T) {
	for reason, fail := range map[string]wire.ReviewFact{
		review.ReasonUnavailable:       fails(wire.StateFailed, wire.ReviewerUnavailable, "no key"),
		review.ReasonDeclined:          fails(wire.StateDeclined, wire.ReviewerDeclined, "refused"),
		review.ReasonReviewerTimeout:   fails(wire.StateTimeout, wire.ReviewerFailed, "slow"),
		review.ReasonReviewerCancelled: fails(wire.StateCancelled, wire.ReviewerFailed, "cancelled"),
		review.ReasonMalformed:         fails(wire.StateCompleted, wire.ReviewerFailed, "no block"),
		review.ReasonReviewerFailed:    fails(wire.StateFailed, wire.ReviewerFailed, "broke"),
	} {
		g := newStage(t, wire.ReviewRequest{Reviewers: []wire.ReviewSeat{{Agent: "claude"}}}, "gemini")
		g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
			if step.Seat.Agent == "claude" {
				return fail
			}
			return fine(step)
		}
		g.expect(wire.ReviewNoVerdict, reason)
		if slices.Contains(g.turns, "1 reviewer gemini") {
			t.Errorf("%s: a reviewer that nobody named was asked", reason)
		}
	}
	newStage(t, wire.ReviewRequest{}).expect(wire.ReviewNoVerdict, review.ReasonNobody, "1 builder codex")
}

func TestM3_ReviewWithSeveralReviewersDecidesByQuorum(t *testing.T) {
	panel := []wire.ReviewSeat{{Agent: "claude"}, {Agent: "gemini"}, {Agent: "opencode"}}
	for quorum, want := range map[uint32]wire.ReviewOutcome{0: wire.ReviewUnresolved, 1: wire.ReviewApproved, 2: wire.ReviewApproved, 3: wire.ReviewUnresolved} {
		g := newStage(t, wire.ReviewRequest{Rounds: 1, Reviewers: panel, Quorum: quorum})
		g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
			if step.Seat.Agent == "gemini" {
				return asksFor(wire.ReviewFinding{Title: "No"})
			}
			return fine(step)
		}
		o := g.play()
		if o.Review.Outcome != want || o.Review.OpenCount != 1 {
			t.Errorf("quorum %d: %+v", quorum, o.Review)
		}
		if len(g.turns) != 4 {
			t.Errorf("quorum %d: %v", quorum, g.turns)
		}
	}
	g := newStage(t, wire.ReviewRequest{Quorum: 2}, "claude", "gemini", "codex")
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		if step.Seat.Agent == "claude" {
			return fails(wire.StateFailed, wire.ReviewerUnavailable, "no key")
		}
		return fine(step)
	}
	g.expect(wire.ReviewApproved, "", "1 builder codex", "1 reviewer claude", "1 reviewer gemini", "1 reviewer codex")
}

func TestReview_AnotherAgentTakesOverFromARoundOn(t *testing.T) {
	g := newStage(t, wire.ReviewRequest{
		Rounds: 4, Builders: []wire.ReviewSeat{{Agent: "claude", From: 3}}, Reviewers: []wire.ReviewSeat{{Agent: "gemini"}, {Agent: "opencode", From: 2}},
	})
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		if step.Phase == wire.PhaseReviewer && step.Round < 4 {
			return asksFor(wire.ReviewFinding{Title: fmt.Sprint("No ", step.Round)})
		}
		return fine(step)
	}
	g.expect(wire.ReviewApproved, "", "1 builder codex", "1 reviewer gemini", "2 builder codex", "2 reviewer opencode",
		"3 builder claude", "3 reviewer opencode", "4 builder claude", "4 reviewer opencode")
}

func TestReview_TheOwnerDecidesOverTheReviewers(t *testing.T) {
	g := newStage(t, wire.ReviewRequest{Rounds: 1, Reviewers: []wire.ReviewSeat{{Agent: "claude"}}})
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		if step.Phase == wire.PhaseReviewer {
			return asksFor(wire.ReviewFinding{Title: "No"})
		}
		return fine(step)
	}
	g.expect(wire.ReviewUnresolved, review.ReasonRoundLimit)
	g.add(wire.ReviewFact{What: wire.ReviewAccepted})
	if o := g.expect(wire.ReviewApproved, review.ReasonAccepted); o.Review.OpenCount != 1 {
		t.Errorf("what was open is hidden: %+v", o.Review)
	}
	g = newStage(t, wire.ReviewRequest{}, "claude")
	g.step()
	g.add(wire.ReviewFact{What: wire.ReviewEnded})
	g.expect(wire.ReviewStopped, review.ReasonStopped, "1 builder codex")
	for state, reason := range map[wire.AgentState]string{
		wire.StateFailed: "builder_failed", wire.StateDeclined: "builder_declined", wire.StateCancelled: "builder_cancelled", wire.StateTimeout: "builder_timeout",
	} {
		g = newStage(t, wire.ReviewRequest{}, "claude")
		g.actor = func(step review.Step, s *review.State) wire.ReviewFact { return fails(state, "", "no") }
		g.expect(wire.ReviewStopped, reason, "1 builder codex")
	}
}

// Any prefix of the facts gives the same next steps as when they were added: a review goes on after a crash at any of them.
func TestReview_GoesOnFromAnyFact(t *testing.T) {
	whole := newStage(t, wire.ReviewRequest{Land: wire.LandAfterApproval, Quorum: 2}, "claude", "gemini", "opencode", "codex")
	actor := func(step review.Step, s *review.State) wire.ReviewFact {
		switch {
		case step.Seat.Agent == "claude" && step.Phase == wire.PhaseReviewer:
			return fails(wire.StateCompleted, wire.ReviewerFailed, "no block")
		case step.Round == 1 && step.Seat.Agent == "gemini":
			return asksFor(wire.ReviewFinding{Title: "No"})
		case step.Phase == wire.PhaseLanding:
			f := fine(step)
			f.Landing = &wire.LandingReport{Status: "landed", Ref: "refs/heads/main", Commits: []string{"abcdef1"}}
			return f
		}
		return fine(step)
	}
	whole.actor = actor
	want := whole.play()
	for cut := range whole.job.Review.Facts {
		g := newStage(t, whole.job.Review.Request, whole.job.Review.Candidates...)
		g.actor, g.jobs = actor, 1
		g.job.Review.Facts = slices.Clone(whole.job.Review.Facts[:cut])
		for _, f := range g.job.Review.Facts {
			if f.What == wire.ReviewTurnStarted {
				g.jobs++
			}
		}
		if got := g.play(); got.Review.Outcome != want.Review.Outcome || got.Review.Round != want.Review.Round || got.Landing.Status != want.Landing.Status {
			t.Errorf("cut after %d facts: %+v, want %+v", cut, got, want)
		}
	}
}
