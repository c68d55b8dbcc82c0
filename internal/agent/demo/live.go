package demo

import (
	"bytes"
	"encoding/json"
	"slices"

	"scv/internal/agent"
)

// liveVersion is that of the live dialect's checkpoint.
const liveVersion = 1

// LiveKind returns what is known of the demo agent whose process serves several turns: it asks, is steered and is
// cancelled as a real live agent is.
func LiveKind() agent.Kind {
	return agent.Kind{
		Name: "demo-live", Command: "scv", Transport: agent.TransportACP, Version: liveVersion,
		New:      func(s agent.Settings) agent.Dialect { return &liveDialect{settings: s} },
		Terminal: terminal,
	}
}

type liveDialect struct {
	settings agent.Settings
	state    liveState
}

type liveState struct {
	agent.Live
	Tools map[string]string `json:"tools,omitempty"` // lines of open tool calls by id
}

// Plan starts this program as the agent.
func (d *liveDialect) Plan(t agent.Turn) (agent.Launch, error) {
	return launch(d.settings, t, LiveFlag)
}

// Feed takes one input.
func (d *liveDialect) Feed(in agent.Input) []agent.Fact {
	facts, done := d.state.Feed("demo-live", in)
	switch {
	case done:
	case in.Kind == agent.InputSent:
		facts = append(facts, d.sent(in.Line)...)
	default:
		facts = append(facts, d.line(in.Line)...)
	}
	return facts
}

// Next says what should be written now.
func (d *liveDialect) Next(wishes agent.Wishes, n uint64) (agent.Message, bool) {
	return d.state.Next(wishes, n, tongue{})
}

// Checkpoint returns the folded state.
func (d *liveDialect) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.state) }

// Restore replaces the folded state.
func (d *liveDialect) Restore(data json.RawMessage) error { return agent.Restore(&d.state, data) }

// sent reads an answer of ours that came back: what it answers is closed.
func (d *liveDialect) sent(line []byte) []agent.Fact {
	var m Message
	if err := json.Unmarshal(line, &m); err != nil || m.Type != Answer {
		return nil
	}
	return d.state.Closed(m.ID, agent.ClosedAnswered)
}

// line reads one event of the player. There is no handshake: the first event shows that it takes turns.
func (d *liveDialect) line(line []byte) []agent.Fact {
	e, ok := readEvent(line)
	if !ok {
		d.state.Remember(line)
		return nil
	}
	d.state.Spoke = true
	if e.Type == Hello {
		offer := agent.Fact{Kind: agent.FactOffer, Offer: &agent.Offer{Steer: true}}
		return slices.Concat([]agent.Fact{offer}, d.state.Hello(), d.state.Named(e.Session))
	}
	if !d.state.Active && e.Type != Unsteered { // a late word of a turn that is over
		return nil
	}
	if facts, ok := d.asks(e); ok {
		return facts
	}
	return d.state.Stamp(work(&d.state.Account, &d.state.Tools, e)...)
}

// asks reads what a process with one turn never says.
func (d *liveDialect) asks(e Event) ([]agent.Fact, bool) {
	switch e.Type {
	case Ask:
		return d.state.Ask(agent.Asked{Request: e.ID}, agent.Approval{
			Name: e.Tool, Risk: agent.Risk(e.Risk), Summary: e.Text, Tool: e.Tool, Command: command(e), Paths: e.Paths,
			Options: []agent.Option{{ID: Allow, Kind: "allow_once"}, {ID: Deny, Kind: "reject_once"}},
		}), true
	case Withdrawn:
		return d.state.Closed(e.ID, agent.ClosedVoid), true
	case Steered:
		return d.state.Stamp(agent.Fact{Kind: agent.FactSteered, Key: e.Key, Text: e.Text}), true
	case Unsteered:
		return d.state.Stamp(agent.Fact{Kind: agent.FactSteerRefused, Key: e.Key, Text: e.Text}), true
	case End:
		return d.state.End(outcome(e)), true
	}
	return nil, false
}

// command is the literal command that a question is about; a change of a file has none.
func command(e Event) string {
	if len(e.Paths) > 0 {
		return ""
	}
	return e.Text
}

// A tongue makes the lines that the player reads.
type tongue struct{}

func (tongue) Handshake(agent.Wishes, uint64) (agent.Message, bool) { return agent.Message{}, false }

func (tongue) Prompt(t agent.Turn, _ uint64) []byte {
	return encode(Message{Key: t.Key, Text: t.Prompt})
}

func (tongue) Answer(a agent.Answer, q agent.Asked) []byte {
	m := Message{Type: Answer, ID: q.Request, Verdict: Deny, Text: a.Reason}
	if a.Approved {
		m.Verdict = Allow
	}
	return encode(m)
}

func (tongue) Steer(s agent.Steer, _ uint64) []byte {
	return encode(Message{Type: Steer, Key: s.Key, Text: s.Text})
}

func (tongue) Cancel(uint64) []byte { return encode(Message{Type: Cancel}) }

func (tongue) Withdraw(q agent.Asked) []byte {
	return encode(Message{Type: Answer, ID: q.Request, Verdict: Revoke})
}

func encode(m Message) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// Strings only: this cannot fail.
	_ = encoder.Encode(m)
	return out.Bytes()
}
