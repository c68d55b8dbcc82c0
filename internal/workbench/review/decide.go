package review

import (
	"fmt"
	"slices"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Why a review came to its outcome, as ReviewSummary.Reason has it; the protocol's list is open.
const (
	ReasonAccepted          = "owner_accepted"
	ReasonStopped           = "owner_stopped"
	ReasonCancelled         = "cancelled"
	ReasonRoundLimit        = "round_limit"
	ReasonMalformed         = "malformed_verdict"
	ReasonNobody            = "no_reviewer_available"
	ReasonUnavailable       = "reviewer_unavailable"
	ReasonDeclined          = "reviewer_declined"
	ReasonReviewerTimeout   = "reviewer_timeout"
	ReasonReviewerCancelled = "reviewer_cancelled"
	ReasonReviewerFailed    = "reviewer_failed"
)

// reasonOf is why a reviewer gave no verdict.
func reasonOf(f *wire.ReviewFact, completed bool) string {
	switch {
	case f.Result == wire.ReviewerUnavailable:
		return ReasonUnavailable
	case f.Result == wire.ReviewerDeclined:
		return ReasonDeclined
	case completed:
		return ReasonMalformed
	case f.State != nil && *f.State == wire.StateTimeout:
		return ReasonReviewerTimeout
	case f.State != nil && *f.State == wire.StateCancelled:
		return ReasonReviewerCancelled
	}
	return ReasonReviewerFailed
}

// decide settles the round once every seat has spoken.
func (s folding) decide() {
	if s.decision != nil || !s.recorded || len(s.seats) == 0 || slices.ContainsFunc(s.seats, func(x *seat) bool { return !x.over }) {
		return
	}
	var voices []voice
	for _, x := range s.seats {
		if x.verdict != nil {
			voices = append(voices, voice{x.agent, x.verdict})
		}
	}
	s.recorded = false // the round is over
	s.findings.close(s.Round, voices)
	approvals, reason := 0, ReasonNobody
	var asks, lifts, approves string
	for _, v := range voices {
		switch v.verdict.Verdict {
		case approve:
			approvals++
			approves = v.verdict.Summary
		case changes:
			asks = v.verdict.Summary
		case escalate:
			lifts = v.verdict.Summary
		}
	}
	for _, x := range s.seats {
		if x.reason != "" {
			reason = x.reason
		}
	}
	switch {
	case lifts != "":
		s.decision = &decision{wire.ReviewEscalated, "", lifts}
	case approvals >= int(s.quorum()):
		s.decision = &decision{wire.ReviewApproved, "", approves}
	case asks == "":
		s.decision = &decision{wire.ReviewNoVerdict, reason, ""}
		s.recorded = true // another try may read the same commit
	case s.Round >= s.Limit:
		s.decision = &decision{wire.ReviewUnresolved, ReasonRoundLimit, asks}
	}
}

// Decided is the outcome, once there is one.
func (s *State) Decided() (wire.ReviewOutcome, bool) {
	switch {
	case s.word != nil:
		return wire.ReviewStopped, true
	case s.decision != nil:
		return s.decision.outcome, true
	case s.broken():
		return wire.ReviewStopped, true
	}
	return "", false
}

// broken reports whether the builder's turn of this round came to nothing.
func (s *State) broken() bool { return s.built != nil && *s.built.State != wire.StateCompleted }

// Finished reports whether the outcome was told.
func (s *State) Finished() bool { return s.finished }

// Open are the blocking findings that are not settled.
func (s *State) Open() []wire.ReviewFinding { return s.findings.open() }

// Asked is what the reviewers of this round are asked.
func (s *State) Asked() Asked {
	return Asked{Open: s.findings.openIDs(), Base: s.Base, Head: s.Head, Exact: s.Review.Request.Land == wire.LandAfterApproval}
}

// Reported is what the builder says of a landing; nil for nothing.
func (s *State) Reported() *wire.LandingReport { return s.land.report }

// Building reports whether a builder is at work, or what it left is not recorded yet.
func (s *State) Building() bool {
	building := slices.ContainsFunc(s.turns, func(t wire.ReviewFact) bool { return t.Phase == wire.PhaseBuilder })
	return building || s.cut != nil || s.built != nil && len(s.seats) == 0
}

// Builder is the job of the builder's last turn that ended; empty before one did.
func (s *State) Builder() wire.JobID {
	if s.last == nil || s.last.Job == nil {
		return ""
	}
	return *s.last.Job
}

// Outcome is what the protocol tells of the decision.
func (s *State) Outcome(job wire.JobID) wire.JobOutcome {
	out := wire.JobOutcome{Job: job, Review: wire.ReviewSummary{
		Outcome: wire.ReviewStopped, Round: s.Round, Rounds: s.Limit, Reviewer: s.reviewer, Tried: s.tried, Refusals: s.refusals, Journal: s.Review.Journal,
	}}
	r := &out.Review
	reason, summary := "", ""
	switch d := s.decision; {
	case s.word != nil && s.word.What == wire.ReviewEnded:
		reason = ReasonStopped
		if s.word.Text != "" {
			reason = s.word.Text
		}
	case s.word != nil:
		reason, summary = "failed", s.word.Text
	case d != nil:
		r.Outcome, reason, summary = d.outcome, d.reason, d.summary
	case s.broken():
		reason, summary = "builder_"+s.built.State.String(), s.built.Text
	}
	r.Reason, r.Summary, r.Fallback = optional(reason), optional(text(summary, 300)), optional(s.fallback)
	open := s.Open()
	r.OpenCount = uint32(len(open))
	for _, f := range open[:min(len(open), 5)] {
		r.Open = append(r.Open, wire.OpenFinding{ID: f.ID, Title: f.Title, Location: optional(f.Location)})
	}
	out.Landing = s.landing()
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// landing tells what became of the commits. What git says goes before what an agent says.
func (s *State) landing() wire.LandingSummary {
	l := wire.LandingSummary{Mode: s.Review.Request.Land, Status: wire.LandingNotRequested}
	if l.Mode == "" {
		l.Mode = wire.LandNone
	}
	r := s.land.report
	if r == nil {
		if l.Mode != wire.LandNone {
			l.Status = wire.LandingNotAttempted
		}
		if s.land.tried {
			l.Status, l.Reason = wire.LandingUnknown, optional("the builder did not say what became of the landing")
		}
		return l
	}
	l.Ref, l.Detail = optional(r.Ref), optional(r.Detail)
	switch r.Status {
	case notLanded:
		l.Status = wire.LandingNotLanded
		return l
	case landFailed:
		l.Status = wire.LandingFailed
		return l
	}
	l.Status, l.Commits = wire.LandingLanded, r.Commits
	l.LandedBeforeReview = s.land.before && l.Mode != wire.LandAfterApproval
	l.Unauthorized = s.land.before && l.Mode != wire.LandBeforeReview
	l.Reason = optional(s.land.words)
	evidence := wire.EvidenceBuilderReported
	if c := s.land.check; c != nil {
		l.CheckedBy = optional(s.land.by)
		evidence = map[string]wire.LandingEvidence{
			confirmed: wire.EvidenceReviewerConfirmed, notFound: wire.EvidenceReviewerDisputed, mismatch: wire.EvidenceReviewerDisputed,
		}[c.Status]
		if c.Status == confirmed && !sameCommits(c.Commits, r.Commits) {
			evidence = wire.EvidenceReviewerDisputed
		}
	}
	if evidence == "" || s.land.asked && s.land.check == nil {
		evidence = wire.EvidenceUnconfirmed
	}
	if git := s.land.git; git != nil && !*git {
		l.Status, evidence = wire.LandingUnknown, wire.EvidenceUnconfirmed
	}
	l.Evidence = &evidence
	return l
}

// sameCommits reports whether two lists name the same commits: one may name them shorter.
func sameCommits(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x string) bool {
		return !slices.ContainsFunc(b, func(y string) bool { return strings.HasPrefix(x, y) || strings.HasPrefix(y, x) })
	})
}

// Status is what a list shows.
func (s *State) Status() wire.ReviewStatus {
	st := wire.ReviewStatus{
		Round: s.Round, Rounds: s.Limit, Phase: s.phase(), Quorum: s.quorum(), Land: s.landing().Mode, Head: optional(s.Head),
		Open: uint32(len(s.Open())), Journal: s.Review.Journal,
	}
	for _, x := range s.seats {
		if x.agent != "" && !slices.Contains(st.Reviewers, x.agent) {
			st.Reviewers = append(st.Reviewers, x.agent)
		}
	}
	if o, ok := s.Decided(); ok && s.finished {
		st.Outcome = &o
	}
	return st
}

func (s *State) phase() wire.ReviewPhase {
	switch {
	case s.finished:
		return wire.PhaseDone
	case len(s.turns) > 0:
		return s.turns[len(s.turns)-1].Phase
	case s.recorded:
		return wire.PhaseReviewer
	}
	return wire.PhaseBuilder
}

// Line says in a few words what the review is at.
func (s *State) Line() string {
	head := fmt.Sprintf("round %d of %d: ", max(s.Round, 1), s.Limit)
	if s.cut != nil {
		return head + fmt.Sprintf("the turn of %s was interrupted; go on: scv jobs resume %s   or end it: scv jobs review stop %s", s.cut.Agent, *s.cut.Job, s.Ref)
	}
	verbs := map[wire.ReviewPhase]string{
		wire.PhaseBuilder: "builds", wire.PhaseReviewer: "reviews", wire.PhaseRepair: "is asked for its verdict again", wire.PhaseLanding: "lands",
		wire.PhaseConfirmation: "looks at the landing",
	}
	var parts []string
	for _, t := range s.turns {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", t.Agent, verbs[t.Phase], *t.Job))
	}
	switch o, ok := s.Decided(); {
	case len(parts) > 0:
		return head + strings.Join(parts, ", ")
	case ok:
		return head + string(o)
	case s.built != nil && !s.recorded:
		return head + "what was built is recorded"
	}
	return head + "goes on"
}

// Sentence is an outcome in words, for the detail of a job.
func Sentence(o *wire.JobOutcome) string {
	r := &o.Review
	text := string(r.Outcome)
	if r.Outcome == wire.ReviewNoVerdict {
		text = "no verdict"
	}
	if r.Reason != nil {
		text += fmt.Sprintf(" (%s)", *r.Reason)
	}
	text += fmt.Sprintf(" in round %d of %d", r.Round, r.Rounds)
	if r.OpenCount > 0 {
		text += "; open: " + plain.Count(r.OpenCount, "blocking finding")
	}
	return text
}
