package row

import "scv/internal/wire"

// A Review is what a reviewed job was asked for and all that happened in it: the review goes on from this after a crash.
// Facts are only added to.
type Review struct {
	Request    wire.ReviewRequest `json:"request"`              // complete: rounds and quorum are never 0
	Candidates []string           `json:"candidates,omitempty"` // reviewers to try in their order, when the request names none
	Journal    string             `json:"journal"`              // its name, rev-<unix seconds>-<6 hex>
	Facts      []wire.ReviewFact  `json:"facts,omitempty"`
	Outcome    *wire.JobOutcome   `json:"outcome,omitempty"` // once it is decided
}
