package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// ending is the dialect as it settles a turn.
type ending struct{ *dialect }

// prompted reads the answer to a prompt, which ends its turn. An agent of the protocol's next version answers when it
// took the prompt, and tells the end by a state_update.
func (d ending) prompted(key string, m agent.RPC) []agent.Fact {
	s := &d.state
	if !s.Active || key != fmt.Sprintf("turn:%d", s.Turn) {
		return nil
	}
	if m.Error != nil {
		return s.End(d.failure(*m.Error))
	}
	var r struct {
		Stop  string `json:"stopReason"`
		Usage *struct {
			Input  uint64 `json:"inputTokens"`
			Output uint64 `json:"outputTokens"`
		} `json:"usage"`
		Meta struct {
			Quota struct {
				Tokens struct {
					Input  uint64 `json:"input_tokens"`
					Output uint64 `json:"output_tokens"`
				} `json:"token_count"`
			} `json:"quota"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		detail := d.kind + " ended its turn in a way that cannot be read: " + err.Error()
		return s.End(agent.Outcome{State: wire.StateFailed, Class: agent.ClassAgent, Detail: detail, Error: detail})
	}
	s.Used.InputTokens, s.Used.OutputTokens = r.Meta.Quota.Tokens.Input, r.Meta.Quota.Tokens.Output
	if r.Usage != nil {
		s.Used.InputTokens, s.Used.OutputTokens = r.Usage.Input, r.Usage.Output
	}
	if r.Stop == "" {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	return d.stopped(r.Stop)
}

// stopped settles the turn by the agent's reason (agents.md section 3).
func (d ending) stopped(reason string) []agent.Fact {
	s := &d.state
	o := agent.Outcome{State: wire.StateFailed, Class: agent.ClassAgent, Usage: s.Used}
	switch reason {
	case "end_turn":
		o.State, o.Class = wire.StateCompleted, agent.ClassNone
		if s.Broke {
			o.State, o.Class = wire.StateFailed, agent.ClassAgent
			o.Detail = d.kind + " ended its turn after an error of its session"
		}
	case "refusal":
		o.State, o.Class = wire.StateDeclined, agent.ClassRefusal
		o.Detail = agent.Explain(agent.ClassRefusal, d.kind, "", "")
	case "cancelled":
		o.State, o.Class, o.Detail = d.cancelled()
	case "max_tokens":
		o.Class, o.Detail = agent.ClassLimit, d.kind+" stopped at its limit of tokens"
	case "max_turn_requests":
		o.Class, o.Detail = agent.ClassLimit, d.kind+" stopped at its limit of calls in one turn"
	default:
		o.Detail = fmt.Sprintf("%s stopped for a reason that SCV does not know: %s", d.kind, agent.Shorten(reason, 80))
	}
	return s.End(o)
}

// cancelled says whose cancel ended the turn: ours, the owner's no, or the agent's own.
func (d ending) cancelled() (wire.AgentState, agent.Class, string) {
	s := &d.state
	switch {
	case s.Sent(agent.CancelKey(s.Turn)):
		return wire.StateCancelled, agent.ClassNone, "stopped by the owner"
	case s.Refused:
		return wire.StateCancelled, agent.ClassNone, "approval denied; " + d.kind + " ended its turn"
	}
	return wire.StateInterrupted, agent.ClassNone, d.kind + " cancelled its turn by itself"
}

// failure is the outcome of a request that the agent answered with an error.
func (d ending) failure(e agent.RPCError) agent.Outcome {
	said := said(e)
	o := agent.Outcome{State: wire.StateFailed, Error: said, Usage: d.state.Used}
	switch e.Code {
	case -32000:
		o.Class = agent.ClassAuth
	case -32002:
		o.Class = agent.ClassSession
	default:
		o.Class = agent.ClassForStatus(e.Code)
		if o.Class == agent.ClassNone {
			o.Class = agent.ClassifyText(said)
		}
		if o.Class == agent.ClassNone {
			o.Class = agent.ClassAgent
		}
	}
	d.state.Renewed(&o, string(e.Data))
	o.Detail = agent.Explain(o.Class, d.kind, d.signIn, said)
	if o.Class == agent.ClassAuth && len(d.state.Can.Auth) > 0 {
		o.Detail += "; its ways to sign in: " + strings.Join(d.state.Can.Auth, ", ")
	}
	return o
}

// said is what an error says to people. Some agents wrap the answer of a model's service in it, some say more beside it.
func said(e agent.RPCError) string {
	var inner struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text := e.Message
	if json.Unmarshal([]byte(text), &inner) == nil && inner.Error.Message != "" {
		text = inner.Error.Message
	}
	var more struct {
		Message string `json:"message"`
		Details string `json:"details"`
	}
	var plain string
	if json.Unmarshal(e.Data, &plain) != nil && json.Unmarshal(e.Data, &more) == nil {
		plain = strings.TrimSpace(more.Message + " " + more.Details)
	}
	if plain == "" || strings.Contains(text, plain) {
		return text
	}
	return text + ": " + plain
}

// usage takes the figures of a usage_update. The cost is a sum over the session.
func (d ending) usage(u *update) []agent.Fact {
	used := &d.state.Used
	used.ContextTokens, used.ContextWindow = u.Used, u.Size
	if u.Cost != nil {
		used.CostUSD, used.CumulativeCost = &u.Cost.Amount, true
	}
	if !d.state.Active {
		return nil
	}
	copied := *used
	return d.state.Stamp(agent.Fact{Kind: agent.FactUsage, Usage: &copied})
}
