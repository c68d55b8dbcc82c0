package review_test

import (
	"encoding/json"
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/review"
)

// The longest review that can be asked for, with reviewers who write as much as is read of them, has a row that can be
// written with each fact.
func TestReview_RecordIsBounded(t *testing.T) {
	seats := make([]wire.ReviewSeat, wire.MaxReviewSeats)
	for i := range seats {
		seats[i].Agent = "claude"
	}
	g := newStage(t, wire.ReviewRequest{Rounds: wire.MaxReviewRounds, Reviewers: seats})
	n := 0
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		if step.Phase != wire.PhaseReviewer {
			return fine(step)
		}
		f := asksFor()
		for range 20 {
			n++
			f.Verdict.Findings = append(f.Verdict.Findings, wire.ReviewFinding{
				Severity: "blocking", Title: strings.Repeat("t", 190) + string(wire.NewJobID(uint64(n))), Detail: strings.Repeat("d", 600), Location: strings.Repeat("l", 300),
			})
			f.Verdict.Evidence = append(f.Verdict.Evidence, strings.Repeat("e", 300))
		}
		review.Bound(&f, g.job.Review.Facts)
		return f
	}
	o := g.expect(wire.ReviewUnresolved, review.ReasonRoundLimit)
	if o.Review.OpenCount != review.MaxFindings {
		t.Errorf("%d findings are open, want the bound of %d", o.Review.OpenCount, review.MaxFindings)
	}
	row, err := json.Marshal(g.job.Review)
	if err != nil {
		t.Fatal(err)
	}
	if len(row) > 1<<20 {
		t.Errorf("its row has %d bytes", len(row))
	}
	said := false
	for _, f := range g.job.Review.Facts {
		said = said || strings.Contains(f.Text, "20 of its 20 findings were left out")
	}
	if !said {
		t.Error("nobody is told that findings were left out")
	}
	s := review.Fold(&g.job)
	if p := s.Prompt(review.Step{Phase: wire.PhaseReviewer, Round: s.Round}, review.Texts{}); len(p) > 256<<10 {
		t.Errorf("the prompt of the next reviewer has %d bytes", len(p))
	}
}

// A review that is begun anew for ever, such as by daemons that die, ends at a bound of its facts and says so.
func TestReview_EndsWhenItsRecordIsFull(t *testing.T) {
	g := newStage(t, wire.ReviewRequest{Reviewers: []wire.ReviewSeat{{Agent: "claude"}}})
	g.step()
	begun := g.job.Review.Facts[0]
	for len(g.job.Review.Facts) < review.MaxFacts {
		ended := begun
		ended.What, ended.State, ended.Again = wire.ReviewTurnEnded, new(wire.StateInterrupted), true
		g.add(ended)
		g.add(begun)
	}
	o := g.expect(wire.ReviewStopped, "failed")
	if o.Review.Summary == nil || !strings.Contains(*o.Review.Summary, "as many as a review may have") {
		t.Errorf("it says %v", o.Review.Summary)
	}
	if len(g.job.Review.Facts) > review.MaxFacts+10 {
		t.Errorf("it has %d facts", len(g.job.Review.Facts))
	}
}
