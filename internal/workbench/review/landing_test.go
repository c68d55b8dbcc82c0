package review_test

import (
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/review"
)

func TestReview_LandsAfterAnApprovalAndHasItChecked(t *testing.T) {
	report := &wire.LandingReport{Status: "landed", Ref: "refs/heads/main", Commits: []string{"abcdef1234567"}}
	play := func(check *wire.LandingCheck, git bool) wire.LandingSummary {
		g := newStage(t, wire.ReviewRequest{Land: wire.LandAfterApproval}, "claude")
		g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
			f := fine(step)
			switch step.Phase {
			case wire.PhaseLanding:
				f.Landing = report
			case wire.PhaseConfirmation:
				f.Check = check
			}
			return f
		}
		for g.step() {
			if last := &g.job.Review.Facts[len(g.job.Review.Facts)-1]; last.What == wire.ReviewLandChecked {
				last.Landed = &git
			}
		}
		return review.Fold(&g.job).Outcome("job-1").Landing
	}
	sure := &wire.LandingCheck{Status: "confirmed", Ref: "refs/heads/main", Commits: []string{"abcdef1"}, Evidence: []string{"git log"}}
	if l := play(sure, true); l.Status != wire.LandingLanded || *l.Evidence != wire.EvidenceReviewerConfirmed || *l.CheckedBy != "claude" || l.Unauthorized || l.LandedBeforeReview {
		t.Errorf("%+v", l)
	}
	if l := play(&wire.LandingCheck{Status: "not_found"}, true); *l.Evidence != wire.EvidenceReviewerDisputed {
		t.Errorf("%+v", l)
	}
	if l := play(nil, true); *l.Evidence != wire.EvidenceUnconfirmed {
		t.Errorf("%+v", l)
	}
	if l := play(sure, false); l.Status != wire.LandingUnknown || *l.Evidence != wire.EvidenceUnconfirmed {
		t.Errorf("git says that it is not there, and it is told as %+v", l)
	}
}

func TestReview_TellsALandingThatNobodyAllowed(t *testing.T) {
	g := newStage(t, wire.ReviewRequest{}, "claude")
	g.actor = func(step review.Step, s *review.State) wire.ReviewFact {
		f := fine(step)
		if step.Phase == wire.PhaseBuilder {
			f.Landing = &wire.LandingReport{Status: "landed", Ref: "refs/heads/main", Commits: []string{"abcdef1"}}
		}
		return f
	}
	if l := g.play().Landing; l.Status != wire.LandingLanded || !l.Unauthorized || l.Mode != wire.LandNone || *l.Evidence != wire.EvidenceBuilderReported {
		t.Errorf("%+v", l)
	}
}
