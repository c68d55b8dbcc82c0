// Package acp is the dialect of the Agent Client Protocol, version 1: one live process for several turns, which asks
// before it acts and can be cancelled, and in some agents steered. It was written against gemini 0.61.0, opencode
// 1.18.33, codex-acp 2.6.0 and claude-agent-acp 0.101.0, and serves any other agent of the owner's configuration.
// Only internal/run drives it, by agent.Dialect.
//
// SCV offers an agent neither files nor terminals: what asks for them is refused. It chooses answers that count once
// and no others, never signs in by itself, and never sends a second prompt into a running turn.
package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"scv/internal/agent"
)

// version is that of the checkpoint.
const version = 1

// protocolVersion is the only one that is spoken.
const protocolVersion = 1

// A Profile is what is known of one agent beside the protocol. The zero Profile serves any agent.
type Profile struct {
	Args  []string                        // after the owner's own
	Model func(model string) []string     // how its command line takes a model; nil when only the session does
	Start func(t agent.Turn) agent.Launch // what its process needs besides: Env, Files and Note are taken
	Noise []string                        // beginnings of agent text that are no words of the model
}

// Kind completes what is known of an agent by its profile.
func Kind(k agent.Kind, p Profile) agent.Kind {
	k.Transport, k.Dialect, k.Version = agent.TransportACP, "acp", version
	k.New = func(s agent.Settings) agent.Dialect {
		return &dialect{kind: k.Name, command: k.Command, signIn: k.SignIn, settings: s, profile: p}
	}
	return k
}

type dialect struct {
	kind, command, signIn string
	settings              agent.Settings
	profile               Profile
	state                 state
}

type state struct {
	agent.Live
	Can      abilities         `json:"can,omitzero"`
	Resuming string            `json:"resuming,omitempty"` // the session that a load or resume asked for
	Menu     menu              `json:"menu,omitzero"`
	Set      map[string]string `json:"set,omitempty"`     // the last value asked for, by setting
	Tools    map[string]tool   `json:"tools,omitempty"`   // open tool calls of the turn, by id
	Past     []string          `json:"past,omitempty"`    // ids of tool calls that the last turn left open
	Plan     string            `json:"plan,omitempty"`    // the step last told
	Steers   map[string]uint32 `json:"steers,omitempty"`  // without an answer yet: key to turn
	Used     agent.Usage       `json:"used,omitzero"`     // of the turn, as far as told
	Message  string            `json:"message,omitempty"` // the agent's id of the message in hand
	Idle     string            `json:"idle,omitempty"`    // what was said between turns and is not logged yet
	Noted    []string          `json:"noted,omitempty"`   // oddities that the log tells of once
	Broke    bool              `json:"broke,omitzero"`    // the agent said that its session failed
	Refused  bool              `json:"no,omitzero"`       // the owner refused something in this turn
	SignIn   string            `json:"sign_in,omitempty"` // what the agent says of it
}

// abilities is what the agent said of itself when it was greeted.
type abilities struct {
	Name    string   `json:"name,omitempty"`
	Version string   `json:"version,omitempty"`
	Load    bool     `json:"load,omitzero"`
	Resume  bool     `json:"resume,omitzero"`
	Steer   bool     `json:"steer,omitzero"`
	Auth    []string `json:"auth,omitempty"` // names of its ways to sign in
}

// Plan builds the command line; the prompt goes by the protocol.
func (d *dialect) Plan(t agent.Turn) (agent.Launch, error) {
	checked := d.settings
	checked.OwnCommand = false // it takes no prompt as an argument
	if err := checked.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	var launch agent.Launch
	if d.profile.Start != nil {
		launch = d.profile.Start(t)
	}
	launch.Argv = slices.Concat([]string{d.settings.Program(d.command)}, d.settings.Args, d.profile.Args,
		d.settings.ModelOptions(t, d.profile.Model), d.settings.EffortOptions(t, nil))
	return launch, nil
}

// Feed takes one input.
func (d *dialect) Feed(in agent.Input) []agent.Fact {
	facts := append(d.idle(in), d.ready(in)...)
	common, done := d.state.Feed(d.kind, in)
	facts = append(facts, common...)
	switch {
	case in.Kind == agent.InputExit || in.Kind == agent.InputStartFailed:
		return append(facts, d.unsteered()...)
	case done:
		return facts
	case in.Kind == agent.InputSent:
		return append(facts, d.sent(in)...)
	}
	return append(facts, d.line(in.Line)...)
}

// Next decides what to say now.
func (d *dialect) Next(w agent.Wishes, n uint64) (agent.Message, bool) {
	if m, ok, wait := (greeting{d}).adjust(w, n); ok || wait {
		return m, ok
	}
	return d.state.Next(w, n, tongue{d})
}

// Checkpoint returns the folded state.
func (d *dialect) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.state) }

// Restore replaces the folded state.
func (d *dialect) Restore(data json.RawMessage) error { return agent.Restore(&d.state, data) }

// sent folds a message of ours that came back.
func (d *dialect) sent(in agent.Input) []agent.Fact {
	m, ok := agent.ReadRPC(in.Line)
	if !ok {
		return nil
	}
	if m.Method != "" && len(m.ID) > 0 {
		d.state.Await(in)
	}
	var p struct {
		SessionID string `json:"sessionId"`
		ModeID    string `json:"modeId"`
		ModelID   string `json:"modelId"`
		ConfigID  string `json:"configId"`
		Value     string `json:"value"`
	}
	_ = json.Unmarshal(m.Params, &p) // an answer has none
	switch m.Method {
	case "session/load", "session/resume":
		d.state.Resuming = p.SessionID
	case "session/set_mode", "session/set_model", "session/set_config_option":
		if d.state.Set == nil {
			d.state.Set = make(map[string]string)
		}
		d.state.Set[settingOf(in.Key)] = p.ModeID + p.ModelID + p.Value
	case "session/prompt":
		d.begin()
	case "_session/steering":
		if d.state.Steers == nil {
			d.state.Steers = make(map[string]uint32)
		}
		d.state.Steers[in.Key] = d.state.Turn
	case "":
		return d.answered(in.Key, m)
	}
	return nil
}

// begin forgets what belongs to the turn before.
func (d *dialect) begin() {
	s := &d.state
	s.Past = nil
	for id := range s.Tools {
		if len(s.Past) < maxTools {
			s.Past = append(s.Past, id)
		}
	}
	slices.Sort(s.Past)
	s.Tools, s.Plan, s.Message, s.Refused, s.Broke = nil, "", "", false, false
	s.Used = agent.Usage{ContextTokens: s.Used.ContextTokens, ContextWindow: s.Used.ContextWindow}
}

// line reads one line of the agent.
func (d *dialect) line(line []byte) []agent.Fact {
	m, ok := agent.ReadRPC(line)
	if !ok {
		if len(strings.TrimSpace(string(line[:min(len(line), 64)]))) == 0 {
			return nil
		}
		d.state.Remember(line)
		return d.once("garbage", "it writes lines that are no messages of the protocol; they are left out")
	}
	if m.Method == "" {
		return greeting{d}.reply(m)
	}
	d.state.Spoke = true
	switch {
	case m.Method == "session/update":
		return hearing{d}.update(m.Params)
	case m.Method == "session/request_permission" && len(m.ID) > 0:
		return toolbox{d}.permission(m)
	case len(m.ID) > 0:
		d.state.Owe(string(m.ID), agent.ErrorLine(true, m.ID, agent.RPCNoMethod, "Method not found: SCV does not offer it"))
		return d.once("asks "+m.Method, "it asked for "+agent.Shorten(m.Method, 60)+", which SCV does not offer")
	case m.Method == "$/cancel_request":
		return toolbox{d}.withdrawn(m.Params)
	case m.Method == "_auth/status_update":
		return greeting{d}.signedIn(m.Params)
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// once makes a remark for the log, once per kind.
func (d *dialect) once(kind, text string) []agent.Fact {
	const most = 20 // kinds; an agent may make up any number of methods
	if slices.Contains(d.state.Noted, kind) || len(d.state.Noted) >= most {
		return nil
	}
	kept, _ := agent.Bound(kind, 80)
	d.state.Noted = append(d.state.Noted, kept)
	return []agent.Fact{{Kind: agent.FactNote, Text: d.kind + ": " + text}}
}

// ready ends the handshake when the first prompt came back: all before it is in force by then.
func (d *dialect) ready(in agent.Input) []agent.Fact {
	if d.state.Ready || in.Kind != agent.InputSent || !strings.HasPrefix(in.Key, "turn:") {
		return nil
	}
	return append(d.state.Hello(), d.offer())
}

// idle logs what was said between turns, once it is known to be whole.
func (d *dialect) idle(in agent.Input) []agent.Fact {
	if d.state.Idle == "" || in.Kind != agent.InputSent && in.Kind != agent.InputEOF && in.Kind != agent.InputExit {
		return nil
	}
	text := d.state.Idle
	d.state.Idle = ""
	return []agent.Fact{{Kind: agent.FactNote, Text: d.kind + " said between turns: " + agent.OneLine(text)}}
}
