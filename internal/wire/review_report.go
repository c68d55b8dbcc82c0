package wire

// ReviewRequest makes workbench_start start a reviewed job (ours): its agent builds in a worktree of its own, and others
// read one commit of what it left, round after round.
type ReviewRequest struct {
	// Reviewers read each round; empty: chosen by who is installed, other agents than the builder first.
	Reviewers []ReviewSeat `json:"reviewers,omitempty" need:"K"`
	// Builders take over from a round on; before the first of them the job's own agent builds.
	Builders []ReviewSeat `json:"builders,omitempty" need:"K"`
	Rounds   uint32       `json:"rounds,omitzero" need:"K"` // 1 to MaxReviewRounds; absent: DefaultReviewRounds
	// Quorum is how many approvals of one round decide; absent: those of all named reviewers, or of one.
	Quorum uint32   `json:"quorum,omitzero" need:"K"`
	Land   LandMode `json:"land,omitempty" need:"K"`  // absent: LandNone
	Focus  string   `json:"focus,omitempty" need:"K"` // what to look at above all; at most MaxReviewFocus bytes
	// TimeoutSeconds bounds each turn of a reviewer; absent: no bound.
	TimeoutSeconds uint64 `json:"timeout_seconds,omitzero" need:"K"`
}

// ReviewSeat is an agent with a part in a reviewed job (ours).
type ReviewSeat struct {
	Agent  string  `json:"agent"`
	Model  *string `json:"model,omitzero" need:"O"`
	Effort *string `json:"effort,omitzero" need:"O"`
	// From is the round from which it takes part, in place of those with a lower one; absent: the first.
	From uint32 `json:"from,omitzero" need:"K"`
}

// ReviewPhase is what a reviewed job is at; open.
type ReviewPhase string

// The phases of a reviewed job.
const (
	PhaseBuilder      ReviewPhase = "builder"
	PhaseReviewer     ReviewPhase = "reviewer"
	PhaseRepair       ReviewPhase = "repair" // a verdict that could not be read is asked for again
	PhaseLanding      ReviewPhase = "landing"
	PhaseConfirmation ReviewPhase = "confirmation"
	PhaseDone         ReviewPhase = "done"
	PhaseUnknown      ReviewPhase = unknownWord
)

func (ReviewPhase) words() words {
	return openWords("builder", "reviewer", "repair", "landing", "confirmation", "done")
}

// ReviewStatus is where a reviewed job stands, in Job.Review (ours).
type ReviewStatus struct {
	Round     uint32      `json:"round"` // 0 before the first builder's turn
	Rounds    uint32      `json:"rounds"`
	Phase     ReviewPhase `json:"phase"`
	Reviewers []string    `json:"reviewers,omitempty" need:"K"` // of this round, as far as they are chosen
	Quorum    uint32      `json:"quorum"`
	Land      LandMode    `json:"land"`
	Head      *string     `json:"head,omitzero" need:"O"` // commit that was recorded last
	Open      uint32      `json:"open"`                   // blocking findings
	Journal   string      `json:"journal"`
	// Outcome is there once it is decided.
	Outcome *ReviewOutcome `json:"outcome,omitzero" need:"O"`
}

// ReviewPart says which turn of a reviewed job a job is, in Job.Part (ours). Job.Parent names that job.
type ReviewPart struct {
	Round uint32      `json:"round"`
	Phase ReviewPhase `json:"phase"`
	Seat  uint32      `json:"seat,omitzero" need:"K"` // of a reviewer among those of its round, from 1
}

// JobReview asks what happened in a reviewed job (ours).
type JobReview struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
}

// ReviewDecision is what the owner decides about a reviewed job; closed.
type ReviewDecision string

// The decisions of an owner.
const (
	DecideAccept ReviewDecision = "accept" // what was recorded last is good as it is
	DecideStop   ReviewDecision = "stop"
	DecideExtend ReviewDecision = "extend"
)

func (ReviewDecision) words() words { return closedWords("accept", "stop", "extend") }

// ReviewDecide decides about a reviewed job over its reviewers (ours). One that has ended is extended by a new job, which
// goes on from its record.
type ReviewDecide struct {
	Session SessionID      `json:"session"`
	Job     JobID          `json:"job"`
	What    ReviewDecision `json:"what"`
	Rounds  uint32         `json:"rounds,omitzero" need:"K"` // of extend: how many more
	Key     string         `json:"key,omitempty" need:"K"`
}

// ReviewReport is the record of a reviewed job (ours).
type ReviewReport struct {
	Job     JobRef           `json:"job"`
	Status  ReviewStatus     `json:"status"`
	Outcome *JobOutcome      `json:"outcome,omitzero" need:"O"`
	Open    []ReviewFinding  `json:"open,omitempty" need:"K"` // blocking findings that are not settled
	Facts   List[ReviewFact] `json:"facts"`                   // oldest first
}

// ReviewEvent is what a fact of a review tells; open.
type ReviewEvent string

// The events of a review.
const (
	ReviewTurnStarted ReviewEvent = "turn_started"
	ReviewTurnEnded   ReviewEvent = "turn_ended"
	ReviewRecorded    ReviewEvent = "recorded" // Base and Head: what the reviewers of the round are shown
	ReviewLandChecked ReviewEvent = "landing_checked"
	ReviewExtended    ReviewEvent = "extended"
	ReviewAccepted    ReviewEvent = "accepted"
	ReviewEnded       ReviewEvent = "stopped"
	ReviewFailed      ReviewEvent = "failed" // Text: why it cannot go on
	ReviewFinished    ReviewEvent = "finished"
	ReviewEventOther  ReviewEvent = unknownWord
)

func (ReviewEvent) words() words {
	return openWords("turn_started", "turn_ended", "recorded", "landing_checked", "extended", "accepted", "stopped", "failed", "finished")
}

// ReviewFact is one line of the record of a review (ours). What an event has no use for is absent.
type ReviewFact struct {
	AtMs  uint64      `json:"at_ms"` // Unix milliseconds
	What  ReviewEvent `json:"what"`
	Round uint32      `json:"round,omitzero" need:"K"`
	Phase ReviewPhase `json:"phase,omitempty" need:"K"` // of a turn
	Seat  uint32      `json:"seat,omitzero" need:"K"`
	Agent string      `json:"agent,omitempty" need:"K"`
	Job   *JobID      `json:"job,omitzero" need:"O"`
	State *AgentState `json:"state,omitzero" need:"O"` // how the turn ended
	// Again says that nothing of the turn was run, and that the next fact is its beginning anew.
	Again bool `json:"again,omitzero" need:"K"`
	// Result is what a reviewer's turn gave.
	Result ReviewerResult `json:"result,omitempty" need:"K"`
	Text   string         `json:"text,omitempty" need:"K"` // a sentence
	// Reply is the start of what a reviewer said that gave no verdict.
	Reply   string         `json:"reply,omitempty" need:"K"`
	Base    string         `json:"base,omitempty" need:"K"`
	Head    string         `json:"head,omitempty" need:"K"`
	Files   uint32         `json:"files,omitzero" need:"K"`
	Rounds  uint32         `json:"rounds,omitzero" need:"K"` // of extended: how many more
	Landed  *bool          `json:"landed,omitzero" need:"O"` // of landing_checked: what git says; absent: it cannot tell
	Verdict *ReviewVerdict `json:"verdict,omitzero" need:"O"`
	Landing *LandingReport `json:"landing,omitzero" need:"O"`
	Check   *LandingCheck  `json:"check,omitzero" need:"O"`
}

// ReviewVerdict is a reviewer's block scv-verdict (ours).
type ReviewVerdict struct {
	Verdict  string          `json:"verdict"` // approve, changes or escalate
	Summary  string          `json:"summary"`
	Findings []ReviewFinding `json:"findings,omitempty" need:"K"`
	Prior    []PriorFinding  `json:"prior,omitempty" need:"K"`
	Evidence []string        `json:"evidence,omitempty" need:"K"`
	Approved *ApprovedRange  `json:"approved,omitzero" need:"O"`
	Check    *LandingCheck   `json:"landing_check,omitzero" need:"O"`
}

// ReviewFinding is what a reviewer found (ours). ID is given by the daemon: <round>.<n>.
type ReviewFinding struct {
	ID       string   `json:"id,omitempty" need:"K"`
	Severity string   `json:"severity"` // blocking or minor
	Title    string   `json:"title"`
	Detail   string   `json:"detail,omitempty" need:"K"`
	Location string   `json:"location,omitempty" need:"K"`
	By       []string `json:"by,omitempty" need:"K"` // agents that found it
}

// PriorFinding is what a reviewer says of a finding of an earlier round (ours).
type PriorFinding struct {
	ID     string `json:"id"`
	Status string `json:"status"` // resolved, open or withdrawn
	Note   string `json:"note,omitempty" need:"K"`
}

// ApprovedRange names the commits that an approval is about (ours): 7 to 40 lower-case hex digits each.
type ApprovedRange struct {
	Base string `json:"base"`
	Head string `json:"head"`
}

// LandingReport is a builder's block scv-landing (ours).
type LandingReport struct {
	Status  string   `json:"status"` // landed, not_landed or failed
	Ref     string   `json:"ref,omitempty" need:"K"`
	Commits []string `json:"commits,omitempty" need:"K"`
	Detail  string   `json:"detail,omitempty" need:"K"`
	URL     string   `json:"url,omitempty" need:"K"`
}

// LandingCheck is a reviewer's block scv-landing-check (ours).
type LandingCheck struct {
	Status   string   `json:"status"` // confirmed, not_found, mismatch or unverifiable
	Ref      string   `json:"ref,omitempty" need:"K"`
	Commits  []string `json:"commits,omitempty" need:"K"`
	Evidence []string `json:"evidence,omitempty" need:"K"`
	Note     string   `json:"note,omitempty" need:"K"`
}

// Action returns job_review.
func (JobReview) Action() string { return "job_review" }

// Action returns review_decide.
func (ReviewDecide) Action() string { return "review_decide" }

// ClientKey returns the key.
func (c ReviewDecide) ClientKey() string { return c.Key }
