package acp

import (
	"encoding/json"
	"strings"

	"scv/internal/agent"
)

// hearing is the dialect as it takes in what the agent tells while it works.
type hearing struct{ *dialect }

// update is a session/update; fields that are not read are left out.
type update struct {
	Kind    string `json:"sessionUpdate"`
	Message string `json:"messageId"`
	Mode    string `json:"currentModeId"`
	Used    uint64 `json:"used"`
	Size    uint64 `json:"size"`
	Cost    *struct {
		Amount float64 `json:"amount"`
	} `json:"cost"`
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	State string `json:"state"`
	Stop  string `json:"stopReason"`
	Text  string `json:"text"`
	Meta  struct {
		Codex struct {
			Status struct {
				Type string `json:"type"`
			} `json:"threadStatus"`
		} `json:"codex"`
	} `json:"_meta"`
	offers
}

// update takes in what the agent tells while it works. What it replays of an earlier conversation is no news.
func (d hearing) update(params json.RawMessage) []agent.Fact {
	var p struct {
		SessionID string    `json:"sessionId"`
		Update    agent.Raw `json:"update"`
	}
	var head struct {
		Kind string `json:"sessionUpdate"`
	}
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p.Update, &head) != nil || head.Kind == "" {
		return d.once("update", "it sends updates that cannot be read; they are left out")
	}
	s := &d.state
	if s.Session != "" && p.SessionID != s.Session {
		return []agent.Fact{{Kind: agent.FactActivity}} // of a session that is not ours, such as a helper's
	}
	switch head.Kind {
	case "agent_message_chunk":
		return d.chunk(p.Update)
	case "tool_call", "tool_call_update":
		var c call
		if json.Unmarshal(p.Update, &c) != nil {
			return d.once("update", "it sends updates that cannot be read; they are left out")
		}
		return d.told(&c, head.Kind == "tool_call")
	}
	var u update
	if json.Unmarshal(p.Update, &u) != nil {
		return d.once("update", "it sends updates that cannot be read; they are left out")
	}
	return d.other(&u)
}

// told takes a tool call in, of the running turn or between turns.
func (d hearing) told(c *call, first bool) []agent.Fact {
	switch {
	case d.state.Active:
		return toolbox(d).toolCall(c, first)
	case d.state.Ready && first:
		var t tool
		t.merge(c)
		return d.say("[" + t.line() + "] ")
	}
	return nil
}

// chunk takes a part of a message.
func (d hearing) chunk(raw agent.Raw) []agent.Fact {
	var u struct {
		Message string `json:"messageId"`
		Content struct {
			Type string     `json:"type"`
			Text agent.Text `json:"text"`
			URI  string     `json:"uri"`
		} `json:"content"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return d.once("update", "it sends updates that cannot be read; they are left out")
	}
	part := string(u.Content.Text)
	if u.Content.Type != "text" && part == "" {
		part = "[" + agent.Shorten(strings.TrimSpace(u.Content.Type+" "+u.Content.URI), agent.MaxSubject) + "]"
	}
	for _, noise := range d.profile.Noise {
		if strings.HasPrefix(part, noise) {
			return []agent.Fact{{Kind: agent.FactActivity}}
		}
	}
	s := &d.state
	if !s.Active {
		return d.say(part)
	}
	var facts []agent.Fact
	if u.Message != "" && u.Message != s.Message {
		if s.Message != "" {
			facts = s.Flush()
		}
		s.Message, _ = agent.Bound(u.Message, 200)
	}
	facts = append(facts, s.Chunk(part)...)
	if len(facts) == 0 {
		facts = []agent.Fact{{Kind: agent.FactActivity}}
	}
	return facts
}

// maxIdle bounds in bytes what is kept of words between turns.
const maxIdle = 2 << 10

// say keeps what is said between turns for the log. Before the session is ready it is the replay of an earlier one.
func (d hearing) say(part string) []agent.Fact {
	if d.state.Ready {
		kept, _ := agent.Bound(part, maxIdle-len(d.state.Idle))
		d.state.Idle += kept
	}
	return nil
}

// other takes in what is neither words nor tools.
func (d hearing) other(u *update) []agent.Fact {
	s := &d.state
	switch u.Kind {
	case "agent_thought_chunk":
		if facts := s.Flush(); s.Active && len(facts) > 0 {
			return facts
		}
	case "plan":
		return d.plan(u)
	case "current_mode_update":
		return d.modeChanged(u.Mode)
	case "config_option_update":
		was := s.Menu.Mode.Used
		s.Menu.read(u.offers)
		if s.Ready && s.Menu.Mode.Used != was {
			return append(d.modeChanged(s.Menu.Mode.Used), d.offer())
		}
		if s.Ready {
			return []agent.Fact{d.offer()}
		}
		return nil
	case "session_info_update":
		s.Broke = u.Meta.Codex.Status.Type == "systemError" || s.Broke && u.Meta.Codex.Status.Type == ""
	case "usage_update":
		return ending(d).usage(u)
	case "state_update":
		if u.State == "idle" && u.Stop != "" && s.Active {
			return ending(d).stopped(u.Stop)
		}
	case "notice":
		return s.Stamp(agent.Fact{Kind: agent.FactNote, Text: d.kind + ": " + agent.Shorten(u.Text, agent.MaxDetail)})
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// plan tells the step in hand, when it is another one.
func (d hearing) plan(u *update) []agent.Fact {
	step := ""
	for _, e := range u.Entries {
		if e.Status == "in_progress" {
			step = e.Content
			break
		}
		if e.Status != "completed" && step == "" {
			step = e.Content
		}
	}
	step = agent.Shorten(step, agent.MaxSubject)
	if step == "" || step == d.state.Plan || !d.state.Active {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	d.state.Plan = step
	return d.state.Stamp(agent.Fact{Kind: agent.FactPlan, Text: step})
}

// modeChanged notes that the agent is in another mode than the one that it was put in. Before the next prompt it is put
// back.
func (d hearing) modeChanged(mode string) []agent.Fact {
	s := &d.state
	s.Menu.Mode.Used = mode
	set := s.Set[setMode]
	if mode == "" || set == "" || mode == set || s.Waits(keySet) || !s.Ready {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	delete(s.Set, setMode)
	return s.Stamp(agent.Fact{Kind: agent.FactNote, Text: d.kind + " went from mode " + set + " to mode " + agent.Shorten(mode, 60)})
}
