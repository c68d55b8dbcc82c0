package trial

import (
	"encoding/json"
	"fmt"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// acp is the generic agent client protocol, as far as the trial needs it.
type acp struct{ live }

func newACP(agent.Settings) agent.Dialect { return &acp{} }

func (d *acp) Plan(agent.Turn) (agent.Launch, error) {
	return agent.Launch{Argv: []string{"fake-acp"}}, nil
}

func (d *acp) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.live) }

func (d *acp) Restore(data json.RawMessage) error {
	d.live = live{}
	return json.Unmarshal(data, &d.live)
}

func (d *acp) Next(w agent.Wishes, n uint64) (agent.Message, bool) {
	// An agent may answer a cancel only when its open requests are answered: after it, with our own words, under keys
	// of ours that no wish of the owner's has.
	if d.Active && w.Cancel == d.Turn && d.wrote(fmt.Sprintf("cancel:%d", d.Turn)) {
		for _, id := range sortedKeys(d.Open) {
			return agent.Message{Key: "answer:void-" + id, Bytes: encode(object{
				"jsonrpc": "2.0", "id": json.RawMessage(id), "result": object{"outcome": object{"outcome": "cancelled"}},
			})}, true
		}
	}
	return d.next(w, n, d)
}

func request(n uint64, method string, params any) []byte {
	return encode(object{"jsonrpc": "2.0", "id": n, "method": method, "params": params})
}

func (d *acp) handshake(w agent.Wishes, n uint64) (agent.Message, bool) {
	switch {
	case !d.wrote("hello:initialize"):
		return agent.Message{Key: "hello:initialize", Bytes: request(n, "initialize", object{"protocolVersion": 1, "clientCapabilities": object{}})}, true
	case !d.wrote("hello:session") && w.Turn != nil:
		return agent.Message{Key: "hello:session", Bytes: request(n, "session/new", object{"cwd": w.Turn.Cwd, "mcpServers": []any{}})}, true
	case d.wrote("hello:session") && !d.wrote("hello:mode"):
		return agent.Message{Key: "hello:mode", Bytes: request(n, "session/set_mode", object{"sessionId": d.Session, "modeId": "default"})}, true
	}
	return agent.Message{}, false
}

func (d *acp) prompt(t agent.Turn, n uint64) []byte {
	return request(n, "session/prompt", object{"sessionId": d.Session, "prompt": []any{object{"type": "text", "text": t.Prompt}}})
}

func (d *acp) answer(a agent.Answer) []byte {
	option := "reject"
	if a.Approved {
		option = "allow"
	}
	if kept := d.Tools["option "+option+" "+a.Request]; kept != "" {
		option = kept
	}
	return encode(object{"jsonrpc": "2.0", "id": json.RawMessage(a.Request), "result": object{
		"outcome": object{"outcome": "selected", "optionId": option},
	}})
}

func (d *acp) cancel(uint64) []byte {
	return encode(object{"jsonrpc": "2.0", "method": "session/cancel", "params": object{"sessionId": d.Session}})
}

func (d *acp) Feed(in agent.Input) []agent.Fact {
	switch in.Kind {
	case agent.InputStarted:
		d.Started = true
	case agent.InputSent:
		return append(d.flush(), d.sent(in)...)
	case agent.InputOut:
		var m wireMessage
		if json.Unmarshal(in.Line, &m) == nil {
			return d.message(m)
		}
	case agent.InputExit:
		if d.Active {
			return append(d.flush(), d.ended(agent.Outcome{State: wire.StateFailed, Class: agent.ClassAgent})...)
		}
	}
	return nil
}

// flush logs the chunks so far: this protocol never gives a message whole.
func (d *acp) flush() []agent.Fact {
	if d.Text == "" {
		return nil
	}
	fact := agent.Fact{Kind: agent.FactText, Turn: d.Turn, Text: d.Text}
	d.Reply, d.Text = d.Reply+d.Text, ""
	return []agent.Fact{fact}
}

func (d *acp) message(m wireMessage) []agent.Fact {
	if key, ok := d.answered(m); ok {
		return d.reply(key, m.Result)
	}
	switch m.Method {
	case "session/request_permission":
		return append(d.flush(), d.permission(m)...)
	case "session/update":
		return d.update(m.Params)
	}
	return nil
}

// reply takes the answer to a request of ours.
func (d *acp) reply(key string, result json.RawMessage) []agent.Fact {
	var p struct {
		SessionID  string `json:"sessionId"`
		StopReason string `json:"stopReason"`
	}
	_ = json.Unmarshal(result, &p)
	switch {
	case key == "hello:session":
		d.Session = p.SessionID
		return []agent.Fact{{Kind: agent.FactSession, Session: d.Session}}
	case key == "hello:mode":
		d.Ready = true
		return []agent.Fact{{Kind: agent.FactReady}}
	case d.Active && strings.HasPrefix(key, "turn:"):
		state := map[string]wire.AgentState{"end_turn": wire.StateCompleted, "cancelled": wire.StateCancelled, "refusal": wire.StateDeclined}[p.StopReason]
		if state == wire.StateUnknown {
			state = wire.StateFailed
		}
		return append(d.flush(), d.ended(agent.Outcome{State: state})...)
	}
	return nil
}

func (d *acp) permission(m wireMessage) []agent.Fact {
	var p struct {
		ToolCall struct {
			Title string `json:"title"`
		} `json:"toolCall"`
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	_ = json.Unmarshal(m.Params, &p)
	if d.Tools == nil {
		d.Tools = make(map[string]string)
	}
	for _, o := range p.Options {
		switch o.Kind {
		case "allow_once":
			d.Tools["option allow "+string(m.ID)] = o.ID
		case "reject_once":
			d.Tools["option reject "+string(m.ID)] = o.ID
		}
	}
	return d.asked(m.ID, "tool", p.ToolCall.Title)
}

func (d *acp) update(params json.RawMessage) []agent.Fact {
	var p struct {
		Update struct {
			Kind    string          `json:"sessionUpdate"`
			Title   string          `json:"title"`
			Content json.RawMessage `json:"content"`
		} `json:"update"`
	}
	_ = json.Unmarshal(params, &p)
	switch p.Update.Kind {
	case "agent_message_chunk":
		var content struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(p.Update.Content, &content)
		d.Text += content.Text
	case "tool_call":
		return append(d.flush(), agent.Fact{Kind: agent.FactTool, Turn: d.Turn, Text: p.Update.Title})
	}
	return nil
}
