// Package nested is the dialect of another scv: its own model loop as an agent, one live process for several turns that
// speaks version 3 of the protocol on its standard input and output. What it asks is relayed to the owner, its tool calls
// are told as they begin, and a turn can be cancelled. Only internal/run drives it, by agent.Dialect.
//
// Such a process keeps nothing: when it has left, the next prompt begins a conversation of its own, and the log says so.
// It takes no text into a running turn. Jobs it has none of its own; what its commands start with scv counts as from
// inside of its run, up to the allowed depth.
package nested

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"scv/internal/agent"
	"scv/internal/wire"
)

// version is that of the checkpoint.
const version = 1

// Name is what the agent is called.
const Name = "scv"

// Kind returns what is known of scv as an agent. Its model's key comes from the same places as a session's.
func Kind() agent.Kind {
	return agent.Kind{
		Name: Name, Command: "scv", Transport: agent.TransportSCV, Dialect: "nested", Version: version,
		Pass: []string{
			"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "SCV_CONFIG", "SCV_MODEL", "SCV_BASE_URL", "SCV_API_KEY_ENV", "SCV_API_KEY",
		},
		SignIn:  "scv config edit",
		Install: "it is this program",
		New:     func(s agent.Settings) agent.Dialect { return &dialect{settings: s} },
	}
}

type dialect struct {
	settings agent.Settings
	state    state
}

type state struct {
	agent.Live
	Greeted bool              `json:"greeted,omitzero"`
	Talk    wire.SessionID    `json:"talk,omitempty"`    // its session's id
	TurnID  wire.TurnID       `json:"turn_id,omitempty"` // its id of the turn in hand, once it told
	Tools   map[string]string `json:"tools,omitempty"`   // lines of open tool calls by id
	Args    map[string]string `json:"args,omitempty"`    // commands of open calls of bash by id
	Put     []string          `json:"put,omitempty"`     // ids of calls that the owner was asked about
}

// Plan starts the process in the turn's mode; all else goes by the protocol.
func (d *dialect) Plan(t agent.Turn) (agent.Launch, error) {
	checked := d.settings
	checked.OwnCommand = false // it takes no prompt as an argument
	if err := checked.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	if agent.Choose(t.Effort, d.settings.Effort) != "" && len(d.settings.EffortArgs) == 0 {
		return agent.Launch{}, wire.Refuse(wire.ReasonInvalid, "set reasoning_effort in the table of its provider", "a nested scv takes no effort of a job")
	}
	mode := t.Mode
	if mode == "" {
		mode = agent.ModeOnRisk
	}
	argv := slices.Concat([]string{d.settings.Program(Name)}, d.settings.Args, []string{"server", "--stdio", "--policy", string(mode)},
		d.settings.ModelOptions(t, nil), d.settings.EffortOptions(t, nil))
	launch := agent.Launch{Argv: argv}
	if t.Number > 1 {
		launch.Note = "a nested scv keeps nothing when its process has left: it does not know the earlier prompts"
	}
	return launch, nil
}

// Feed takes one input.
func (d *dialect) Feed(in agent.Input) []agent.Fact {
	facts, done := d.state.Feed(Name, in)
	switch {
	case done:
		return facts
	case in.Kind == agent.InputSent:
		return append(facts, d.sent(in)...)
	}
	return append(facts, d.line(in.Line)...)
}

// Next decides what to say now.
func (d *dialect) Next(w agent.Wishes, n uint64) (agent.Message, bool) {
	return d.state.Next(w, n, tongue{d})
}

// Checkpoint returns the folded state.
func (d *dialect) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.state) }

// Restore replaces the folded state.
func (d *dialect) Restore(data json.RawMessage) error { return agent.Restore(&d.state, data) }

// Keys of the handshake.
const (
	greetKey   = "hello:greet"
	sessionKey = "hello:session"
)

// sent folds a message of ours that came back.
func (d *dialect) sent(in agent.Input) []agent.Fact {
	s := &d.state
	m, err := wire.DecodeClientMessage(in.Line)
	if err != nil {
		return nil
	}
	switch m := m.(type) {
	case wire.Initialize, wire.SessionStart:
		s.Await(in)
	case wire.TurnStart:
		s.Await(in)
		s.TurnID, s.Tools, s.Args, s.Put = "", nil, nil, nil
	case wire.ApprovalResolve:
		return s.Closed(string(m.ApprovalID), agent.ClosedAnswered)
	}
	return nil
}

// line reads one event. What is none is kept for the sentence on a failure.
func (d *dialect) line(line []byte) []agent.Fact {
	event, err := wire.DecodeServerEvent(line)
	if err != nil {
		d.state.Remember(line)
		return nil
	}
	d.state.Spoke = true
	switch e := event.(type) {
	case wire.Initialized:
		return d.greeted(e)
	case wire.SessionStarted:
		return d.opened(e)
	case wire.ErrorEvent:
		return d.refused(e)
	case wire.TurnStarted:
		d.begun(e)
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	if !d.state.Active || turnOf(event) != d.state.TurnID {
		return nil // of its queue, or a late word of a turn that is over
	}
	return d.during(event)
}

// turnOf is the turn that an event belongs to; empty for none.
func turnOf(event wire.ServerEvent) wire.TurnID {
	switch e := event.(type) {
	case wire.AssistantDelta:
		return e.TurnID
	case wire.AssistantCompleted:
		return e.TurnID
	case wire.ToolProposed:
		return e.TurnID
	case wire.ApprovalRequested:
		return e.TurnID
	case wire.ToolStarted:
		return e.TurnID
	case wire.ToolProgress:
		return e.TurnID
	case wire.ToolCompleted:
		return e.TurnID
	case wire.ContextCompacted:
		return e.TurnID
	case wire.TurnCompleted:
		return e.TurnID
	case wire.TurnCancelled:
		return e.TurnID
	case wire.TurnFailed:
		return e.TurnID
	}
	return ""
}

func (d *dialect) greeted(e wire.Initialized) []agent.Fact {
	s := &d.state
	if key, ok := d.answered(e.RequestID); !ok || key != greetKey {
		return nil
	}
	if e.ProtocolVersion != wire.ProtocolVersion {
		detail := fmt.Sprintf("the nested scv speaks version %d of the protocol and this one %d; update one of the two", e.ProtocolVersion, wire.ProtocolVersion)
		return s.Forsake(agent.Outcome{State: wire.StateFailed, Class: agent.ClassStart, Detail: detail, Error: detail})
	}
	s.Greeted = true
	return []agent.Fact{{Kind: agent.FactOffer, Offer: &agent.Offer{Version: e.Server.Version}}}
}

func (d *dialect) opened(e wire.SessionStarted) []agent.Fact {
	if key, ok := d.answered(e.RequestID); !ok || key != sessionKey {
		return nil
	}
	d.state.Talk = e.SessionID
	return d.state.Hello()
}

func (d *dialect) begun(e wire.TurnStarted) {
	if key, ok := d.answered(e.RequestID); ok && key == fmt.Sprintf("turn:%d", d.state.Turn) {
		d.state.TurnID = e.TurnID
	}
}

// answered is the key of the request of ours that an event answers.
func (d *dialect) answered(id wire.RequestID) (string, bool) {
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return "", false
	}
	return d.state.Answered(n)
}

// refused takes an error: of the handshake, of a prompt, or of an answer that came too late, which changes nothing.
func (d *dialect) refused(e wire.ErrorEvent) []agent.Fact {
	s := &d.state
	key := ""
	if e.RequestID != nil {
		key, _ = d.answered(*e.RequestID)
	}
	o := failure(e.Code, nil, e.Message)
	switch {
	case key == greetKey || key == sessionKey:
		return s.Forsake(o)
	case key != "" && key == fmt.Sprintf("turn:%d", s.Turn) && s.Active:
		return s.End(o)
	}
	s.Remember([]byte(e.Message))
	return nil
}

// failure is the outcome of a turn that failed, or was never begun.
func failure(code wire.ErrorCode, class *wire.Class, said string) agent.Outcome {
	o := agent.Outcome{State: wire.StateFailed, Class: agent.ClassAgent, Error: said}
	switch {
	case class != nil:
		o.Class = agent.Class(*class)
	case code == wire.CodeStepLimit || code == wire.CodeContextLimit || code == wire.CodeHistoryLimit || code == wire.CodeResponseLimit || code == wire.CodeToolLimit:
		o.Class = agent.ClassLimit
	case code == wire.CodeProviderError:
		o.Class = agent.ClassModel
	}
	if o.Class == agent.ClassRefusal {
		o.State = wire.StateDeclined
	}
	o.Detail = agent.Explain(o.Class, Name, "", said)
	return o
}
