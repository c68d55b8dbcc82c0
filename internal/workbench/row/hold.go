package row

import "scv/internal/wire"

// A Hold keeps the queued jobs of an agent back: for a sign-in, for a usage limit, or because a budget is used up. All
// that share the credential share the hold, and there is one of a class at a time.
type Hold struct {
	Agent            string      `json:"agent"` // empty: every agent of the home
	Class            wire.Class  `json:"class"` // auth, quota or budget
	Job              wire.JobRef `json:"job,omitempty"`
	SinceUnixSeconds uint64      `json:"since_unix_seconds"`
	UntilUnixSeconds uint64      `json:"until_unix_seconds,omitzero"` // when what was reached is renewed; 0 where nobody said
	Open             bool        `json:"open,omitzero"`               // one job may try; the others wait for what becomes of it
	Over             bool        `json:"over,omitzero"`
	Pause            uint8       `json:"pause,omitzero"` // it ends by itself at Until, as the how manieth in a row; 0: not without the owner
	// Of a budget: what it is and what was spent of it, in US dollars, and the question that was put to the owner.
	LimitUSD float64         `json:"limit_usd,omitzero"`
	SpentUSD float64         `json:"spent_usd,omitzero"`
	Question wire.ApprovalID `json:"question,omitempty"`
}

// ID names the hold among those of its home.
func (h *Hold) ID() string { return HoldID(h.Agent, h.Class) }

// HoldID names an agent's hold of a class.
func HoldID(agent string, class wire.Class) string { return agent + ":" + string(class) }
