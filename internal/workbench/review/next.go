package review

import (
	"scv/internal/wire"
)

// Kind is what is to be done.
type Kind uint8

// What Next can ask for.
const (
	StartTurn  Kind = iota + 1 // Seat, Phase, Round; After names the job whose conversation it is a turn of
	AwaitTurn                  // Job is not known to have ended
	Record                     // commit what the builder left
	CheckLand                  // ask git whether what was reported is there
	AwaitOwner                 // Job was interrupted, and only its owner says how to go on
	Finish                     // tell the outcome
)

// A Step is one thing to be done.
type Step struct {
	Kind  Kind
	Round uint32
	Phase wire.ReviewPhase
	Seat  wire.ReviewSeat // who
	Place uint32          // of a reviewer among those of its round, from 1
	After wire.JobID      // whose conversation it goes on with; empty for a new one
	Job   wire.JobID
	Fact  wire.ReviewFact // of AwaitTurn: how it started
}

// Next tells what is to be done now: several things where they may be done at once, nothing when all is over.
func (s *State) Next() []Step {
	if s.finished {
		return nil
	}
	var steps []Step
	for _, t := range s.turns {
		steps = append(steps, Step{Kind: AwaitTurn, Round: t.Round, Phase: t.Phase, Job: *t.Job, Place: t.Seat, Fact: t})
	}
	if s.word != nil {
		return orFinish(steps)
	}
	if s.cut != nil {
		return append(steps, Step{Kind: AwaitOwner, Round: s.cut.Round, Phase: s.cut.Phase, Job: *s.cut.Job, Fact: *s.cut})
	}
	if d := s.decision; d != nil {
		if len(steps) > 0 || d.outcome != wire.ReviewApproved {
			return orFinish(steps)
		}
		return []Step{planning{s}.nextLanding()}
	}
	if s.broken() {
		return orFinish(steps)
	}
	if s.recorded {
		return append(steps, planning{s}.nextReviews()...)
	}
	if len(steps) > 0 {
		return steps
	}
	if s.built != nil && len(s.seats) == 0 {
		return []Step{{Kind: Record, Round: s.Round}}
	}
	return []Step{planning{s}.nextBuild()}
}

// A planning is a state that says what is next.
type planning struct{ *State }

func orFinish(steps []Step) []Step {
	if len(steps) > 0 {
		return steps
	}
	return []Step{{Kind: Finish}}
}

// nextBuild begins a round. The builder of the last one goes on in its conversation.
func (s planning) nextBuild() Step {
	step := Step{Kind: StartTurn, Phase: wire.PhaseBuilder, Round: s.Round + 1, Seat: s.builder(s.Round + 1)}
	switch {
	case s.last == nil:
		step.After = s.Ref // the job's own conversation
	case s.builder(s.Round) == step.Seat:
		step.After = *s.last.Job
	}
	return step
}

// nextReviews are the seats that nobody has: what the builder says it landed is looked at by git before.
func (s planning) nextReviews() (steps []Step) {
	if s.land.report != nil && s.land.report.Status == landed && !s.land.checked {
		return []Step{{Kind: CheckLand, Round: s.Round}}
	}
	panel := s.panel()
	var given []string
	for i, x := range s.seats {
		step := Step{Kind: StartTurn, Phase: wire.PhaseReviewer, Round: s.Round, Place: uint32(i + 1), Seat: panel[i]}
		switch {
		case x.over:
			continue
		case x.repair:
			if s.runs(uint32(i + 1)) {
				continue
			}
			step.Phase, step.After, step.Seat.Agent = wire.PhaseRepair, x.job, x.agent
		case x.agent != "":
			continue // it is at it
		case step.Seat.Agent == "":
			if step.Seat.Agent = s.next(x, given...); step.Seat.Agent == "" {
				continue // until it is known whether the one that another place is given is to be had
			}
			given = append(given, step.Seat.Agent)
		}
		steps = append(steps, step)
	}
	return steps
}

// runs reports whether a place has a turn that is not over.
func (s planning) runs(place uint32) bool {
	for _, t := range s.turns {
		if t.Seat == place {
			return true
		}
	}
	return false
}

// nextLanding is what is left to do after an approval.
func (s planning) nextLanding() Step {
	l := &s.land
	reported := l.report != nil && l.report.Status == landed
	switch {
	case s.Review.Request.Land == wire.LandAfterApproval && !l.tried && s.last != nil:
		return Step{Kind: StartTurn, Phase: wire.PhaseLanding, Round: s.Round, Seat: s.builder(s.Round), After: *s.last.Job}
	case reported && !l.checked:
		return Step{Kind: CheckLand, Round: s.Round}
	case reported && l.tried && !l.asked && s.approver() != nil:
		x := s.approver()
		return Step{Kind: StartTurn, Phase: wire.PhaseConfirmation, Round: s.Round, Seat: wire.ReviewSeat{Agent: x.agent}, After: x.job}
	}
	return Step{Kind: Finish}
}

// approver is a reviewer of the last round who approved.
func (s planning) approver() *seat {
	for _, x := range s.seats {
		if x.verdict != nil && x.verdict.Verdict == approve {
			return x
		}
	}
	return nil
}
