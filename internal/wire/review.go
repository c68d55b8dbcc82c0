package wire

// JobOutcome is how a reviewed job was decided and what became of its commits.
type JobOutcome struct {
	Job     JobID          `json:"job"`
	Review  ReviewSummary  `json:"review"`
	Landing LandingSummary `json:"landing"`
}

// ReviewSummary is the decision about a reviewed job. Summary, refusals and findings are the reviewer's words.
type ReviewSummary struct {
	Outcome           ReviewOutcome   `json:"outcome"`
	Reason            *string         `json:"reason,omitzero" need:"O"`
	Round             uint32          `json:"round"` // 0 before the first builder turn
	Rounds            uint32          `json:"rounds"`
	Reviewer          string          `json:"reviewer,omitempty" need:"K"`
	Fallback          *string         `json:"fallback,omitzero" need:"O"`
	Tried             []TriedReviewer `json:"tried,omitempty" need:"K"`
	Refusals          []Refusal       `json:"refusals,omitempty" need:"K"` // at most 2
	Summary           *string         `json:"summary,omitzero" need:"O"`   // at most 300 characters
	OpenCount         uint32          `json:"open_count" need:"D"`
	Open              []OpenFinding   `json:"open,omitempty" need:"K"` // the first five
	Journal           string          `json:"journal"`
	JournalIncomplete bool            `json:"journal_incomplete,omitzero" need:"K"`
	JournalPending    bool            `json:"journal_pending,omitzero" need:"K"` // an update follows
}

// TriedReviewer is an attempt to get a review.
type TriedReviewer struct {
	Agent  string         `json:"agent"`
	Result ReviewerResult `json:"result"`
}

// Refusal is the reply of a reviewer that gave no verdict, at most 500 characters.
type Refusal struct {
	Agent string `json:"agent"`
	Reply string `json:"reply"`
}

// OpenFinding is a finding that was not settled.
type OpenFinding struct {
	ID       string  `json:"id"` // <round>.<n>
	Title    string  `json:"title"`
	Location *string `json:"location,omitzero" need:"O"`
}

// LandingSummary is what became of a reviewed job's commits.
type LandingSummary struct {
	Mode               LandMode         `json:"mode"`
	Status             LandingStatus    `json:"status"`
	Ref                *string          `json:"ref,omitzero" need:"O"`
	Commits            []string         `json:"commits,omitempty" need:"K"` // reported landed, in order
	Evidence           *LandingEvidence `json:"evidence,omitzero" need:"O"`
	CheckedBy          *string          `json:"checked_by,omitzero" need:"O"`
	LandedBeforeReview bool             `json:"landed_before_review,omitzero" need:"K"`
	Unauthorized       bool             `json:"unauthorized,omitzero" need:"K"`
	Reason             *string          `json:"reason,omitzero" need:"O"` // the daemon's words
	Detail             *string          `json:"detail,omitzero" need:"O"` // the builder's words
}

// ReviewOutcome is a reviewer's decision; open. Only ReviewApproved is an approval.
type ReviewOutcome string

// The outcomes of protocol 3.
const (
	ReviewApproved   ReviewOutcome = "approved"
	ReviewUnresolved ReviewOutcome = "unresolved"
	ReviewEscalated  ReviewOutcome = "escalated"
	ReviewNoVerdict  ReviewOutcome = "no_verdict"
	ReviewStopped    ReviewOutcome = "stopped"
	ReviewUnknown    ReviewOutcome = unknownWord
)

func (ReviewOutcome) words() words {
	return openWords("approved", "unresolved", "escalated", "no_verdict", "stopped")
}

// ReviewerResult is what an attempt to get a review gave; open.
type ReviewerResult string

// The results of protocol 3.
const (
	ReviewerVerdict     ReviewerResult = "verdict"
	ReviewerUnavailable ReviewerResult = "unavailable"
	ReviewerDeclined    ReviewerResult = "declined"
	ReviewerFailed      ReviewerResult = "failed"
	ReviewerNoSlot      ReviewerResult = "no_slot"
	ReviewerUnknown     ReviewerResult = unknownWord
)

func (ReviewerResult) words() words {
	return openWords("verdict", "unavailable", "declined", "failed", "no_slot")
}

// LandMode is when commits may land; open.
type LandMode string

// The modes of protocol 3.
const (
	LandNone          LandMode = "none"
	LandAfterApproval LandMode = "after_approval"
	LandBeforeReview  LandMode = "before_review"
	LandUnknown       LandMode = unknownWord
)

func (LandMode) words() words { return openWords("none", "after_approval", "before_review") }

// LandingStatus is whether commits landed; open, and unknown is also sent on purpose.
type LandingStatus string

// The statuses of protocol 3.
const (
	LandingNotRequested LandingStatus = "not_requested"
	LandingNotAttempted LandingStatus = "not_attempted"
	LandingLanded       LandingStatus = "landed"
	LandingNotLanded    LandingStatus = "not_landed"
	LandingFailed       LandingStatus = "failed"
	LandingUnknown      LandingStatus = unknownWord
)

func (LandingStatus) words() words {
	return openWords("not_requested", "not_attempted", "landed", "not_landed", "failed")
}

// LandingEvidence is who says that commits landed; open.
type LandingEvidence string

// The kinds of evidence of protocol 3.
const (
	EvidenceBuilderReported   LandingEvidence = "builder_reported"
	EvidenceReviewerConfirmed LandingEvidence = "reviewer_confirmed"
	EvidenceReviewerDisputed  LandingEvidence = "reviewer_disputed"
	EvidenceUnconfirmed       LandingEvidence = "unconfirmed"
	EvidenceUnknown           LandingEvidence = unknownWord
)

func (LandingEvidence) words() words {
	return openWords("builder_reported", "reviewer_confirmed", "reviewer_disputed", "unconfirmed")
}
