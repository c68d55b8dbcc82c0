package codex

import (
	"encoding/json"
	"slices"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// notice is a message that codex expects no answer to; fields that are not read are left out.
type notice struct {
	Thread string `json:"threadId"`
	TurnID string `json:"turnId"`
	Turn   struct {
		ID     string    `json:"id"`
		Status string    `json:"status"`
		Error  turnError `json:"error"`
	} `json:"turn"`
	ItemID  string          `json:"itemId"`
	Item    liveItem        `json:"item"`
	Delta   string          `json:"delta"`
	Error   turnError       `json:"error"`
	Retries bool            `json:"willRetry"`
	Request json.RawMessage `json:"requestId"`
	Message string          `json:"message"`
	Summary string          `json:"summary"`
	Plan    []struct {
		Step   string `json:"step"`
		Status string `json:"status"`
	} `json:"plan"`
	Changes []fileChange `json:"changes"`
	Usage   struct {
		Total  tokens `json:"total"`
		Last   tokens `json:"last"`
		Window uint64 `json:"modelContextWindow"`
	} `json:"tokenUsage"`
	Limits limits `json:"rateLimits"`
}

type tokens struct {
	Input  uint64 `json:"inputTokens"`
	Output uint64 `json:"outputTokens"`
	Total  uint64 `json:"totalTokens"`
}

// limits is how much of an account's limits is used.
type limits struct {
	Reached   string `json:"rateLimitReachedType"`
	Spent     bool   `json:"spendControlReached"`
	Primary   window `json:"primary"`
	Secondary window `json:"secondary"`
	Own       window `json:"individualLimit"`
}

type window struct {
	Percent float64 `json:"usedPercent"`
	Resets  int64   `json:"resetsAt"` // seconds of Unix time
}

// notices reads what codex tells of its own accord.
type notices struct{ *liveState }

// notice reads a message without an id. What it does not understand in one it leaves out and remarks once: an end of a
// turn counts whatever else stands beside it.
func (s notices) notice(m agent.RPC) []agent.Fact {
	kind, _, _ := strings.Cut(m.Method, "/")
	switch {
	case kind == "item", kind == "turn", kind == "error", kind == "serverRequest", kind == "deprecationNotice", strings.HasSuffix(kind, "arning"):
	case m.Method == "account/rateLimits/updated", m.Method == "thread/tokenUsage/updated":
	default:
		return s.activity()
	}
	var n notice
	var facts []agent.Fact
	if err := json.Unmarshal(m.Params, &n); err != nil {
		facts = s.once("params:"+m.Method, "codex sent a message that is not understood whole: "+agent.Shorten(m.Method, 60))
	}
	switch kind {
	case "serverRequest":
		return append(facts, s.Closed(string(n.Request), agent.ClosedVoid)...)
	case "account":
		return append(facts, s.limited(n.Limits)...)
	case "thread":
		return append(facts, s.used(n)...)
	case "item", "turn", "error":
		return append(facts, s.event(m.Method, n)...)
	}
	return append(facts, s.warned(agent.Choose(n.Message, n.Summary))...)
}

// event reads a notice on a turn.
func (s notices) event(method string, n notice) []agent.Fact {
	if n.Thread != "" && n.Thread != s.Session {
		return s.helper(method, n)
	}
	if id := agent.Choose(n.TurnID, n.Turn.ID); !s.mine(id) {
		return s.between(method, id, n)
	}
	return s.during(method, n)
}

// mine reports whether an event is of the turn in hand. One may come before codex's answer that names the turn.
func (s *liveState) mine(id string) bool {
	if !s.Active || id == "" {
		return s.Active
	}
	if s.TurnID == "" && id != s.Past {
		s.TurnID = id
	}
	s.Begun = s.Begun || id == s.TurnID
	return id == s.TurnID
}

// during reads an event of the turn in hand.
func (s notices) during(method string, n notice) []agent.Fact {
	switch method {
	case "item/agentMessage/delta":
		return items(s).spoken(n.ItemID, n.Delta)
	case "item/started":
		return items(s).started(n.Item)
	case "item/completed":
		return items(s).completed(n.Item)
	case "item/fileChange/patchUpdated":
		items(s).changing(n.ItemID, n.Changes)
	case "turn/plan/updated":
		for _, step := range n.Plan {
			if step.Status != "completed" {
				return s.Stamp(agent.Fact{Kind: agent.FactPlan, Text: agent.Shorten(step.Step, agent.MaxSubject)})
			}
		}
	case "error":
		return s.complained(n)
	case "turn/completed":
		return s.turnEnded(n)
	}
	return s.activity()
}

// between reads an event of no turn of ours: what comes late from a turn that is over is dropped, and what codex says of
// its own accord is a remark in the log.
func (s notices) between(method, id string, n notice) []agent.Fact {
	if id == s.Past || id == s.TurnID || method != "item/completed" || n.Item.Type != "agentMessage" || n.Item.Text == "" {
		return nil
	}
	return s.Stamp(agent.Fact{Kind: agent.FactNote, Text: "codex said between turns: " + string(n.Item.Text)})
}

// helper reads an event of another thread, which an agent that codex started itself works in. Its tools show; its words
// and its end are not the turn's.
func (s notices) helper(method string, n notice) []agent.Fact {
	if !s.Active {
		return nil
	}
	switch {
	case method == "item/started" && n.Item.Type == "commandExecution":
		return s.Stamp(agent.Fact{Kind: agent.FactTool, Text: agent.CommandLine(n.Item.Command)})
	case method == "item/started" && n.Item.Type == "fileChange":
		items(s).changing(n.Item.ID, n.Item.Changes)
	case method == "item/completed":
		delete(s.Changes, n.Item.ID)
		s.Declined = slices.DeleteFunc(s.Declined, func(id string) bool { return id == n.Item.ID })
	}
	return s.activity()
}

// turnEnded settles the turn by codex's own word on it.
func (s notices) turnEnded(n notice) []agent.Fact {
	switch n.Turn.Status {
	case "completed":
		return s.over(agent.Outcome{State: wire.StateCompleted})
	case "interrupted":
		return s.over(agent.Outcome{State: wire.StateInterrupted})
	case "failed":
		return s.failed(n.Turn.Error)
	}
	return s.failed(turnError{Message: "codex ended the turn as " + agent.Shorten(n.Turn.Status, 40)})
}

// over ends the turn in hand.
func (s *liveState) over(o agent.Outcome) []agent.Fact {
	var facts []agent.Fact
	for _, x := range s.Steers {
		if x.Taken {
			facts = append(facts, s.Stamp(agent.Fact{Kind: agent.FactNote, Text: "the turn ended before codex read: " + agent.Shorten(x.Text, agent.MaxSubject)})...)
		}
	}
	s.Steers = slices.DeleteFunc(s.Steers, func(x steer) bool { return x.Taken })
	s.Changes, s.Declined = nil, nil
	o.Usage = s.Use
	return append(facts, s.End(o)...)
}

// complained reads an error notice. It never ends a turn: codex may be about to try again, and says so if not.
func (s notices) complained(n notice) []agent.Fact {
	text := n.Error.text()
	again := text == s.Complaint
	s.Complaint = text
	if !n.Retries {
		return s.activity()
	}
	s.Retried = true
	facts := items(s).cutShort()
	if again {
		return append(facts, s.activity()...)
	}
	return append(facts, s.Stamp(agent.Fact{
		Kind: agent.FactRetry, Class: n.Error.class(), Text: retried(text),
	})...)
}

// warned passes a warning on once.
func (s notices) warned(text string) []agent.Fact {
	if text == "" || strings.Contains(text, "Model metadata for") || strings.Contains(text, "bubblewrap in the meantime") {
		return s.activity()
	}
	text = agent.Shorten(text, agent.MaxDetail)
	return s.once("warning:"+text, "codex: "+text)
}

// used notes what the thread took so far; it comes once more when a thread is resumed.
func (s notices) used(n notice) []agent.Fact {
	if n.Thread != s.Session {
		return s.activity()
	}
	s.Use = agent.Usage{
		InputTokens: n.Usage.Total.Input, OutputTokens: n.Usage.Total.Output, CumulativeTokens: true,
		ContextTokens: n.Usage.Last.Total, ContextWindow: n.Usage.Window,
	}
	if !s.Active {
		return nil
	}
	return s.Stamp(agent.Fact{Kind: agent.FactUsage, Usage: new(s.Use)})
}

// limited notes when a limit that was reached ends, and says it once.
func (s notices) limited(l limits) []agent.Fact {
	s.Resets = 0
	for _, w := range []window{l.Primary, l.Secondary, l.Own} {
		if (w.Percent >= 100 || w == l.Own && l.Spent) && w.Resets > s.Resets {
			s.Resets = w.Resets
		}
	}
	if l.Reached == "" && !l.Spent {
		return s.activity()
	}
	text := "a usage limit was reached; " + agent.Renewal(s.Resets)
	if !s.Active || slices.Contains(s.Odd, text) {
		return s.activity()
	}
	if len(s.Odd) < maxOdd {
		s.Odd = append(s.Odd, text)
	}
	return s.Stamp(agent.Fact{Kind: agent.FactRetry, Class: agent.ClassQuota, Text: "codex: " + text})
}
