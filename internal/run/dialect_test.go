package run

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// A words is the dialect of the fake agent. One process per turn: the prompt goes by standard input, which is then
// closed. Live: "turn N <json>" and "cancel N" are lines, "ended N state" answers.
type words struct {
	live bool
	hook func(where string)
	S    struct {
		One     agent.OneTurn
		Ready   bool
		Turn    uint32
		Sent    map[string]bool
		Running bool
		Reply   string
	}
}

func (d *words) Plan(t agent.Turn) (agent.Launch, error) {
	if strings.HasPrefix(t.Prompt, "refuse") {
		return agent.Launch{}, wire.Refuse(wire.ReasonInvalid, "ask for something else", "This turn cannot be served.")
	}
	exe, err := os.Executable()
	argv := []string{exe, "fake-agent"}
	if d.live {
		argv = append(argv, "live")
	}
	if strings.HasPrefix(t.Prompt, "missing") {
		argv = []string{"/no/such/agent"}
	}
	l := agent.Launch{Argv: argv, Files: []agent.File{{Name: "settings.json", Data: []byte("{}")}}}
	if strings.HasPrefix(t.Prompt, "remark") {
		l.Note = "the mode could not be enforced"
	}
	return l, err
}

func (d *words) Next(w agent.Wishes, _ uint64) (agent.Message, bool) {
	d.at("next")
	if !d.live {
		return d.S.One.Next(w, func(t agent.Turn) []byte { return []byte(t.Prompt) })
	}
	switch cancel := fmt.Sprintf("cancel:%d", w.Cancel); {
	case !d.S.Ready:
	case d.S.Running && w.Cancel == d.S.Turn && !d.S.Sent[cancel]:
		return agent.Message{Key: cancel, Bytes: fmt.Appendf(nil, "cancel %d\n", w.Cancel)}, true
	case d.S.Running:
	case w.Turn != nil && !d.S.Sent[w.Turn.Key]:
		prompt, _ := json.Marshal(w.Turn.Prompt)
		return agent.Message{Key: w.Turn.Key, Bytes: fmt.Appendf(nil, "turn %d %s\n", w.Turn.Number, prompt)}, true
	case w.Close && !d.S.Sent["close"]:
		return agent.Message{Key: "close", EOF: true}, true
	}
	return agent.Message{}, false
}

func (d *words) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.S) }
func (d *words) Restore(state json.RawMessage) error  { return json.Unmarshal(state, &d.S) }
func (d *words) at(where string) {
	if d.hook != nil {
		d.hook(where)
	}
}

func (d *words) Feed(in agent.Input) []agent.Fact {
	d.at("feed")
	if d.live {
		return d.feedLive(in)
	}
	facts, done := d.S.One.Feed("fake", in)
	if done {
		return facts
	}
	d.S.One.Spoke = true
	return d.S.One.Stamp(d.word(string(in.Line), func(state wire.AgentState, class agent.Class) []agent.Fact {
		return d.S.One.End(agent.Outcome{State: state, Class: class, Reply: d.S.Reply})
	}))
}

func (d *words) feedLive(in agent.Input) []agent.Fact {
	switch in.Kind {
	case agent.InputSent:
		if d.S.Sent == nil {
			d.S.Sent = make(map[string]bool)
		}
		d.S.Sent[in.Key] = true
		if n, ok := strings.CutPrefix(in.Key, "turn:"); ok {
			_, _ = fmt.Sscan(n, &d.S.Turn)
			d.S.Running = true
			return []agent.Fact{{Kind: agent.FactTurnStarted, Turn: d.S.Turn}}
		}
	case agent.InputOut:
		if string(in.Line) == "ready" {
			d.S.Ready = true
			return []agent.Fact{{Kind: agent.FactReady}}
		}
		return d.word(string(in.Line), func(state wire.AgentState, class agent.Class) []agent.Fact {
			if !d.S.Running {
				return nil
			}
			d.S.Running = false
			return []agent.Fact{{Kind: agent.FactTurnEnded, Turn: d.S.Turn, Outcome: &agent.Outcome{State: state, Class: class, Reply: d.S.Reply}}}
		})
	}
	return nil
}

func (d *words) word(line string, end func(wire.AgentState, agent.Class) []agent.Fact) []agent.Fact {
	w, text, _ := strings.Cut(line, " ")
	switch w {
	case "id":
		return d.S.One.Named(text)
	case "say":
		d.S.Reply = text
		return []agent.Fact{{Kind: agent.FactText, Text: text}}
	case "tool":
		return []agent.Fact{{Kind: agent.FactTool, Text: text}}
	case "done":
		return end(wire.StateCompleted, agent.ClassNone)
	case "fail":
		return end(wire.StateFailed, agent.Class(text))
	case "interrupted":
		return end(wire.StateInterrupted, agent.ClassNone)
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}
