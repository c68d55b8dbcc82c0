package trial

import (
	"encoding/json"

	"scv/internal/agent"
	"scv/internal/wire"
)

// appServer is codex app-server, as far as the trial needs it.
type appServer struct{ live }

func newAppServer(agent.Settings) agent.Dialect { return &appServer{} }

func (d *appServer) Plan(agent.Turn) (agent.Launch, error) {
	return agent.Launch{Argv: []string{"codex", "app-server"}}, nil
}

func (d *appServer) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.live) }

func (d *appServer) Restore(data json.RawMessage) error {
	d.live = live{}
	return json.Unmarshal(data, &d.live)
}

func (d *appServer) Next(w agent.Wishes, n uint64) (agent.Message, bool) { return d.next(w, n, d) }

func (d *appServer) handshake(w agent.Wishes, n uint64) (agent.Message, bool) {
	switch {
	case !d.wrote("hello:initialize"):
		return agent.Message{Key: "hello:initialize", Bytes: encode(object{
			"id": n, "method": "initialize", "params": object{"clientInfo": object{"name": "scv", "version": "0"}},
		})}, true
	case !d.wrote("hello:initialized"):
		return agent.Message{Key: "hello:initialized", Bytes: encode(object{"method": "initialized"})}, true
	case !d.wrote("hello:thread") && w.Turn != nil:
		return agent.Message{Key: "hello:thread", Bytes: encode(object{"id": n, "method": "thread/start", "params": object{
			"cwd": w.Turn.Cwd, "approvalPolicy": "untrusted", "sandbox": "workspace-write",
			"config": object{"projects": object{w.Turn.Cwd: object{"trust_level": "untrusted"}}},
		}})}, true
	}
	return agent.Message{}, false
}

func (d *appServer) prompt(t agent.Turn, n uint64) []byte {
	return encode(object{"id": n, "method": "turn/start", "params": object{
		"threadId": d.Session, "clientUserMessageId": t.Key, "input": []any{object{"type": "text", "text": t.Prompt}},
	}})
}

func (d *appServer) answer(a agent.Answer) []byte {
	decision := "decline"
	if a.Approved {
		decision = "accept"
	}
	return encode(object{"id": json.RawMessage(a.Request), "result": object{"decision": decision}})
}

func (d *appServer) cancel(n uint64) []byte {
	if d.TurnID == "" {
		return nil // not known yet: asked again after the next fold
	}
	return encode(object{"id": n, "method": "turn/interrupt", "params": object{"threadId": d.Session, "turnId": d.TurnID}})
}

func (d *appServer) Feed(in agent.Input) []agent.Fact {
	switch in.Kind {
	case agent.InputStarted:
		d.Started = true
	case agent.InputSent:
		return d.sent(in)
	case agent.InputOut:
		var m wireMessage
		if json.Unmarshal(in.Line, &m) == nil {
			return d.message(m)
		}
	case agent.InputExit:
		if d.Active {
			return d.ended(agent.Outcome{State: wire.StateFailed, Class: agent.ClassAgent})
		}
	}
	return nil
}

func (d *appServer) message(m wireMessage) []agent.Fact {
	var p struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Turn struct {
			ID     string `json:"id"`
			Status string `json:"status"`
		} `json:"turn"`
		Item struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Command  string `json:"command"`
			ExitCode *int   `json:"exitCode"`
		} `json:"item"`
		Command   string          `json:"command"`
		RequestID json.RawMessage `json:"requestId"`
	}
	if key, ok := d.answered(m); ok {
		_ = json.Unmarshal(m.Result, &p)
		switch {
		case key == "hello:thread":
			d.Session, d.Ready = p.Thread.ID, true
			return []agent.Fact{{Kind: agent.FactReady}, {Kind: agent.FactSession, Session: d.Session}}
		case p.Turn.ID != "":
			d.TurnID = p.Turn.ID
		}
		return nil
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "item/commandExecution/requestApproval":
		return d.asked(m.ID, "command", agent.CommandLine(p.Command))
	case "serverRequest/resolved":
		return d.closed(string(p.RequestID), "resolved")
	case "item/started":
		if p.Item.Type == "commandExecution" {
			return []agent.Fact{{Kind: agent.FactTool, Turn: d.Turn, Text: agent.CommandLine(p.Item.Command)}}
		}
	case "item/completed":
		if p.Item.Type == "agentMessage" {
			d.Reply = p.Item.Text
			return []agent.Fact{{Kind: agent.FactText, Turn: d.Turn, Text: p.Item.Text}}
		}
	case "turn/completed":
		state := map[string]wire.AgentState{"completed": wire.StateCompleted, "interrupted": wire.StateInterrupted}[p.Turn.Status]
		if state == wire.StateUnknown {
			state = wire.StateFailed
		}
		return d.ended(agent.Outcome{State: state})
	}
	return nil
}
