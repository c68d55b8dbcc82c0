// Package review is the machine of reviewed jobs: a pure fold over the facts that a job's row keeps, which tells what is
// to be done next. It asks nobody and does nothing; the daemon does what Next says, and adds what came of it as a fact.
// The same facts always give the same state, so a review goes on after a crash from its row alone.
//
// A round is one turn of a builder, one commit of what it left, and one turn of each reviewer who reads that commit. It
// ends in an approval when as many reviewers approve as the quorum asks for, else in another round while there is one.
// Nothing moves on because something is missing: a builder that was interrupted is waited for.
package review

import (
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A State is where a review stands.
type State struct {
	Review row.Review
	Agent  string // of the job
	Ref    wire.JobID

	Round      uint32
	Limit      uint32
	Base, Head string // recorded last
	Files      uint32
	turns      []wire.ReviewFact // started and not ended
	cut        *wire.ReviewFact  // the builder's or landing's turn that was interrupted and not gone on with
	built      *wire.ReviewFact  // the end of this round's builder
	last       *wire.ReviewFact  // the end of the last builder's turn
	recorded   bool              // in this round
	seats      []*seat
	findings   ledger
	skip       map[string]string // agents that cannot review, and why
	tried      []wire.TriedReviewer
	refusals   []wire.Refusal
	reviewer   string // of the last attempt
	fallback   string
	land       landing
	decision   *decision
	word       *wire.ReviewFact // of the owner, or a failure, that ends it
	finished   bool
}

// A seat is one reviewer's place in a round.
type seat struct {
	agent   string // of the attempt that runs or ran last
	used    []string
	job     wire.JobID // of the attempt's first turn
	verdict *wire.ReviewVerdict
	repair  bool   // what it said could not be read, and it is asked again
	problem string // what could not be read
	again   int    // interrupted turns of this agent
	over    bool   // it has a verdict, or will have none
	reason  string // why it has none
}

// landing is what became of the commits.
type landing struct {
	report  *wire.LandingReport
	before  bool // reported before the review
	tried   bool // the landing turn is over
	git     *bool
	words   string
	checked bool
	check   *wire.LandingCheck
	by      string
	asked   bool // the confirmation turn is over
}

type decision struct {
	outcome wire.ReviewOutcome
	reason  string
	summary string
}

// Fold makes the state of a job's review.
func Fold(j *row.Job) *State {
	s := &State{Review: *j.Review, Agent: j.Agent, Ref: j.Job.Job, skip: map[string]string{}}
	s.Limit = s.Review.Request.Rounds
	for i := range s.Review.Facts {
		folding{s}.take(&s.Review.Facts[i])
	}
	folding{s}.full()
	return s
}

// A folding is a state that takes facts in.
type folding struct{ *State }

func (s folding) take(f *wire.ReviewFact) {
	switch f.What {
	case wire.ReviewTurnStarted:
		s.started(f)
	case wire.ReviewTurnEnded:
		s.turns = slices.DeleteFunc(s.turns, func(t wire.ReviewFact) bool { return t.Job != nil && f.Job != nil && *t.Job == *f.Job })
		s.ended(f)
	case wire.ReviewRecorded:
		s.Base, s.Head, s.Files, s.recorded = f.Base, f.Head, f.Files, true
		s.seats = nil
		for range s.panel() {
			s.seats = append(s.seats, &seat{})
		}
	case wire.ReviewLandChecked:
		s.land.checked, s.land.git, s.land.words = true, f.Landed, f.Text
	case wire.ReviewExtended:
		s.extended(f)
	case wire.ReviewAccepted:
		s.word = nil
		s.decision = &decision{wire.ReviewApproved, ReasonAccepted, ""}
	case wire.ReviewEnded, wire.ReviewFailed:
		s.word = f
	case wire.ReviewFinished:
		s.finished = true
	default:
	}
	s.settle()
	s.decide()
}

// settle closes the places for which nobody is left.
func (s folding) settle() {
	for _, x := range s.seats {
		if !x.over && !x.repair && x.agent == "" && len(s.Review.Request.Reviewers) == 0 && s.next(x) == "" {
			x.over = true
			if x.reason == "" {
				x.reason = ReasonNobody
			}
		}
	}
}

// extended gives more rounds. What was decided for want of an approval is open again.
func (s folding) extended(f *wire.ReviewFact) {
	s.Limit += f.Rounds
	s.finished, s.word = false, nil
	if s.decision != nil && s.decision.outcome == wire.ReviewNoVerdict {
		for i, x := range s.seats {
			if x.verdict == nil {
				s.seats[i] = &seat{}
			}
		}
		clear(s.skip)
	}
	s.decision = nil
	if s.broken() {
		s.built = nil
	}
}

func (s folding) started(f *wire.ReviewFact) {
	s.turns = append(s.turns, *f)
	switch f.Phase {
	case wire.PhaseBuilder:
		if f.Round > s.Round {
			s.Round, s.built, s.recorded, s.seats = f.Round, nil, false, nil
			s.land = landing{}
		}
		s.cut = nil
	case wire.PhaseLanding:
		s.cut = nil
	case wire.PhaseReviewer:
		if x := s.seat(f.Seat); x != nil {
			x.agent, x.repair, x.problem = f.Agent, false, ""
			x.used = append(x.used, f.Agent)
			if f.Job != nil {
				x.job = *f.Job
			}
			s.reviewer = f.Agent
		}
	default:
	}
}

func (s *State) seat(n uint32) *seat {
	if n == 0 || int(n) > len(s.seats) {
		return nil
	}
	return s.seats[n-1]
}

func (s folding) ended(f *wire.ReviewFact) {
	if f.Again {
		return
	}
	interrupted := f.State != nil && *f.State == wire.StateInterrupted
	switch f.Phase {
	case wire.PhaseBuilder:
		if interrupted {
			s.cut = f
			return
		}
		s.built, s.last = f, f
		if f.Landing != nil {
			s.land.report, s.land.before = f.Landing, true
		}
	case wire.PhaseLanding:
		if interrupted {
			s.cut = f
			return
		}
		s.land.tried, s.last = true, f
		if f.Landing != nil {
			s.land.report, s.land.checked, s.land.git = f.Landing, false, nil
		}
	case wire.PhaseConfirmation:
		s.land.asked = true
		if f.Check != nil {
			s.land.check, s.land.by = f.Check, f.Agent
		}
	case wire.PhaseReviewer, wire.PhaseRepair:
		if x := s.seat(f.Seat); x != nil {
			s.answered(x, f, interrupted)
		}
	default:
	}
}

// answered takes what a reviewer's turn gave: a verdict, something that could not be read and is asked for once more, or
// nothing, in which case another one is tried where nobody was named.
func (s folding) answered(x *seat, f *wire.ReviewFact, interrupted bool) {
	completed := f.State != nil && *f.State == wire.StateCompleted
	switch {
	case f.Verdict != nil:
		x.verdict, x.over, x.repair = f.Verdict, true, false
		if f.Verdict.Check != nil {
			s.land.check, s.land.by = f.Verdict.Check, f.Agent
		}
		s.try(f.Agent, wire.ReviewerVerdict)
		return
	case interrupted && x.again == 0:
		x.again++
		x.agent, x.repair = "", false
		x.used = x.used[:max(0, len(x.used)-1)]
		return
	case completed && f.Phase == wire.PhaseReviewer && f.Result == wire.ReviewerFailed:
		x.repair, x.problem = true, f.Text
		return
	}
	x.repair = false
	s.try(f.Agent, f.Result)
	s.fallback = f.Agent + ": " + f.Text
	if f.Reply != "" && len(s.refusals) < 2 {
		s.refusals = append(s.refusals, wire.Refusal{Agent: f.Agent, Reply: f.Reply})
	}
	x.reason = reasonOf(f, completed)
	if f.Result == wire.ReviewerUnavailable {
		s.skip[f.Agent] = f.Text
	}
	x.agent, x.again = "", 0
	if len(s.Review.Request.Reviewers) > 0 || x.reason == ReasonReviewerCancelled || s.next(x) == "" {
		x.over = true
	}
}

func (s folding) try(agent string, r wire.ReviewerResult) {
	s.tried = append(s.tried, wire.TriedReviewer{Agent: agent, Result: r})
}

// panel are the agents that read this round: the named ones of the highest round that has begun, or as many empty places
// as the quorum has.
func (s *State) panel() []wire.ReviewSeat {
	if named := current(s.Review.Request.Reviewers, s.Round); len(named) > 0 {
		return named
	}
	return make([]wire.ReviewSeat, max(s.Review.Request.Quorum, 1))
}

// quorum is how many approvals decide a round: never more than read it.
func (s *State) quorum() uint32 {
	most := uint32(len(s.panel()))
	if n := s.Review.Request.Quorum; n > 0 {
		return min(n, most)
	}
	return most
}

// current picks the seats whose round has begun, and of them those that begin last.
func current(seats []wire.ReviewSeat, round uint32) (now []wire.ReviewSeat) {
	from := uint32(0)
	for _, x := range seats {
		if begins := max(x.From, 1); begins <= round && begins > from {
			from, now = begins, nil
		}
		if max(x.From, 1) == from {
			now = append(now, x)
		}
	}
	return now
}

// builder is who builds in a round.
func (s *State) builder(round uint32) wire.ReviewSeat {
	if now := current(s.Review.Request.Builders, round); len(now) > 0 {
		return now[len(now)-1]
	}
	return wire.ReviewSeat{Agent: s.Agent}
}

// next is the first candidate that this seat has not tried, that can review and that no other seat has or is given.
func (s *State) next(x *seat, given ...string) string {
	for _, agent := range s.Review.Candidates {
		_, skipped := s.skip[agent]
		taken := slices.ContainsFunc(s.seats, func(o *seat) bool { return o != x && slices.Contains(o.used, agent) })
		if !skipped && !taken && !slices.Contains(given, agent) && !slices.Contains(x.used, agent) {
			return agent
		}
	}
	return ""
}
