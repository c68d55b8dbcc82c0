package acp

import (
	"bytes"
	"encoding/json"
	"strings"

	"scv/internal/agent"
)

// permission takes a request that waits for the owner. One that comes when no turn runs, or when its turn is being
// cancelled, is answered at once: nobody should decide about what nobody wants any more.
func (d toolbox) permission(m agent.RPC) []agent.Fact {
	var p struct {
		SessionID string         `json:"sessionId"`
		Call      call           `json:"toolCall"`
		Options   []agentsOption `json:"options"`
	}
	s := &d.state
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.Owe(string(m.ID), agent.ErrorLine(true, m.ID, agent.RPCFailed, "the request cannot be read: "+err.Error()))
		return d.once("permission", "it asked for a permission in a way that cannot be read; it was refused")
	}
	if !s.Active || s.Sent(agent.CancelKey(s.Turn)) {
		s.Owe(string(m.ID), outcome(string(m.ID), object{"outcome": "cancelled"}))
		if s.Active {
			return []agent.Fact{{Kind: agent.FactActivity}}
		}
		return d.once("late", "it asked for a permission while no turn ran; it was refused")
	}
	t, known := s.Tools[p.Call.ID]
	t.merge(&p.Call)
	if p.Call.ID != "" {
		d.keep(p.Call.ID, t)
	}
	var facts []agent.Fact
	if !known {
		facts = s.Flush()
	}
	a, c := p.Call.approval(t, p.Options)
	if c.Allow == "" {
		facts = append(facts, d.once("always", "it offers no yes that counts once, and SCV gives no other: such a request can only be denied")...)
	}
	data, err := json.Marshal(c)
	if err != nil {
		return facts // two texts: it cannot be
	}
	return append(facts, s.Ask(agent.Asked{Request: string(m.ID), Data: data}, a)...)
}

type agentsOption struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// approval is the request as the owner sees it: every byte of what will run or change.
func (c *call) approval(t tool, options []agentsOption) (agent.Approval, choices) {
	a := agent.Approval{Name: c.toolName(t), Tool: c.toolName(t), Command: c.command(), Paths: c.paths()}
	if len(a.Paths) == 0 {
		a.Paths = t.Paths
	}
	kind := c.Kind
	if kind == "" {
		kind = t.Kind
	}
	if kind == "execute" && a.Command == "" {
		a.Command = c.Title // gemini's title is the command
		if a.Command == "" {
			a.Command = t.Command
		}
	}
	a.Risk = agent.RiskOf(kind, a.Paths)
	a.Diff = c.diff()
	a.Summary = c.summary(&a, t)
	var once choices
	for _, o := range options {
		a.Options = append(a.Options, agent.Option{ID: o.ID, Kind: o.Kind, Name: o.Name})
		switch {
		case o.Kind == "allow_once" && once.Allow == "":
			once.Allow = o.ID
		case o.Kind == "reject_once" && once.Reject == "":
			once.Reject = o.ID
		}
	}
	return a, once
}

func (c *call) toolName(t tool) string {
	for _, name := range []string{c.Name, c.Meta.Claude.Tool, c.Kind, t.Kind} {
		if name != "" {
			return name
		}
	}
	return "tool"
}

// diff is the changes of files that a call is about.
func (c *call) diff() string {
	var out strings.Builder
	for _, part := range c.Content {
		if part.Type == "diff" {
			out.WriteString(agent.Diff(part.Path, part.Old, part.New))
		}
	}
	return out.String()
}

// summary says all of a call: the command or the title, the change, and where neither says it, the raw input.
func (c *call) summary(a *agent.Approval, t tool) string {
	title := c.Title
	if title == "" {
		title = t.Title
	}
	parts := []string{title}
	if a.Command != "" {
		parts[0] = a.Command
	}
	for _, p := range a.Paths {
		if a.Command == "" && !strings.Contains(title, p) {
			parts = append(parts, p)
		}
	}
	switch {
	case a.Diff != "":
		parts = append(parts, a.Diff)
	case a.Command == "" && len(bytes.TrimSpace(c.Input)) > 2:
		parts = append(parts, string(c.Input))
	}
	if a.Diff == "" && a.Command == "" {
		for _, part := range c.Content {
			if part.Content.Text != "" {
				parts = append(parts, string(part.Content.Text))
			}
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// withdrawn closes a request that the agent takes back.
func (d toolbox) withdrawn(params json.RawMessage) []agent.Fact {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	return d.state.Closed(string(p.ID), agent.ClosedVoid)
}
