package acp

import (
	"encoding/json"

	"scv/internal/agent"
)

func text(s string) []any { return []any{object{"type": "text", "text": s}} }

// Prompt begins a turn.
func (t tongue) Prompt(turn agent.Turn, n uint64) []byte {
	return agent.RequestLine(true, n, "session/prompt", object{"sessionId": t.state.Session, "prompt": text(turn.Prompt)})
}

// Steer gives a text to the running turn, where the agent takes one. It always says what should happen when no turn
// runs: else the agent would begin one that nobody owns.
func (t tongue) Steer(s agent.Steer, n uint64) []byte {
	if !t.state.Can.Steer {
		return nil
	}
	return agent.RequestLine(true, n, "_session/steering", object{
		"sessionId": t.state.Session, "prompt": text(s.Text),
		"_meta": object{"steering": object{"idleBehavior": "promptRequired"}},
	})
}

// Cancel asks for the end of the turn; the prompt's own answer tells when it has ended.
func (t tongue) Cancel(uint64) []byte {
	return agent.NoticeLine(true, "session/cancel", object{"sessionId": t.state.Session})
}

// choices are the answers to an open request that count once; empty where the agent offers none.
type choices struct {
	Allow  string `json:"allow,omitempty"`
	Reject string `json:"reject,omitempty"`
}

func (t tongue) choices(q agent.Asked) (c choices) {
	_ = json.Unmarshal(q.Data, &c) // it is ours; without it nothing is allowed
	return c
}

// Answer gives the owner's answer. A yes that could only be given for ever is not given: the request is cancelled.
func (t tongue) Answer(a agent.Answer, q agent.Asked) []byte {
	c := t.choices(q)
	chosen := c.Reject
	if a.Approved {
		chosen = c.Allow
	}
	if chosen == "" {
		return t.Withdraw(q)
	}
	return outcome(q.Request, object{"outcome": "selected", "optionId": chosen})
}

// Withdraw answers a request whose turn is being cancelled: some agents answer no cancel before.
func (t tongue) Withdraw(q agent.Asked) []byte {
	return outcome(q.Request, object{"outcome": "cancelled"})
}

func outcome(request string, result object) []byte {
	return agent.ResultLine(true, json.RawMessage(request), object{"outcome": result})
}

// answered closes a request whose answer came back through the spool.
func (d *dialect) answered(key string, m agent.RPC) []agent.Fact {
	var r struct {
		Outcome struct {
			Option string `json:"optionId"`
		} `json:"outcome"`
	}
	_ = json.Unmarshal(m.Result, &r) // a refusal of a request has none
	for _, q := range d.state.Open {
		if q.Request == string(m.ID) && isAnswer(key) {
			c := tongue{d}.choices(q)
			d.state.Refused = d.state.Refused || r.Outcome.Option == "" || r.Outcome.Option != c.Allow
			return d.state.Closed(q.Request, agent.ClosedAnswered)
		}
	}
	return nil
}

func isAnswer(key string) bool { return len(key) > 7 && key[:7] == "answer:" }

// steered reads what became of a steer.
func (d *dialect) steered(key string, m agent.RPC) []agent.Fact {
	turn, ok := d.state.Steers[key]
	delete(d.state.Steers, key)
	if !ok {
		return nil
	}
	refused := func(why string) []agent.Fact {
		return []agent.Fact{{Kind: agent.FactSteerRefused, Turn: turn, Key: key, Text: why}}
	}
	if m.Error != nil {
		return refused(d.kind + " refused it: " + agent.Shorten(m.Error.Message, agent.MaxDetail))
	}
	var r struct {
		Outcome  string `json:"outcome"`
		Accepted *bool  `json:"accepted"`
		Reason   string `json:"reason"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return refused(d.kind + " gave no answer that can be read")
	}
	switch {
	case r.Outcome == "injected" || r.Outcome == "" && (r.Accepted == nil || *r.Accepted):
		return []agent.Fact{{Kind: agent.FactSteered, Turn: turn, Key: key}}
	case r.Outcome == "promptRequired":
		return refused("its turn was over when it arrived")
	case r.Outcome == "startedNewTurn":
		d.state.Owe("steer-"+key, agent.NoticeLine(true, "session/cancel", object{"sessionId": d.state.Session}))
		return refused(d.kind + " began a turn of its own with it, which is being cancelled")
	}
	why := d.kind + " could not give it to its turn"
	if r.Reason != "" {
		why += ": " + agent.Shorten(r.Reason, agent.MaxDetail)
	}
	return refused(why)
}

// unsteered tells that steers without an answer will get none.
func (d *dialect) unsteered() []agent.Fact {
	var facts []agent.Fact
	for _, key := range sortedKeys(d.state.Steers) {
		facts = append(facts, agent.Fact{
			Kind: agent.FactSteerRefused, Turn: d.state.Steers[key], Key: key, Text: d.kind + " ended before it took it",
		})
	}
	d.state.Steers = nil
	return facts
}
