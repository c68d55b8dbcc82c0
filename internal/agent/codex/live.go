package codex

import (
	"bytes"
	"encoding/json"
	"slices"

	"scv/internal/agent"
	"scv/internal/safe/plain"
)

// liveVersion is that of the live dialect's checkpoint.
const liveVersion = 1

// LiveKind returns what is known of `codex app-server`: one process for several turns, which asks and can be steered.
// It was written against codex 0.171.0 and the schema that it prints with `app-server generate-json-schema`.
//
// A thread is locked from its start or resume to the end of the process, so a takeover needs the process gone first.
func LiveKind() agent.Kind {
	kind := Kind()
	kind.Transport, kind.Dialect, kind.Version = agent.TransportACP, "codex-live", liveVersion
	kind.New = func(s agent.Settings) agent.Dialect { return &live{settings: s} }
	return kind
}

// live speaks JSON lines without the jsonrpc member. Ids of codex's requests count from 0, as ours may: the two never
// share a table.
type live struct {
	settings agent.Settings
	s        liveState
}

// liveState is the folded state.
type liveState struct {
	agent.Live
	Resumes bool   `json:"resumes,omitzero"` // the thread is an old one
	TurnID  string `json:"turn_id,omitzero"` // codex's name of the turn in hand, or of the last one; empty until it told
	Begun   bool   `json:"begun,omitzero"`   // it runs: before, codex knows no turn to interrupt or to steer
	Past    string `json:"past,omitzero"`    // of the turn before that
	Rules   policy `json:"rules,omitzero"`   // the mode in force, as it was last said to codex
	// Workspace is the owner's own workspace sandbox, which a turn that changes the mode has to repeat.
	Workspace json.RawMessage `json:"workspace,omitempty"`

	Steers   []steer                 `json:"steers,omitempty"`   // written and not seen in the turn yet
	Changes  map[string][]fileChange `json:"changes,omitempty"`  // of file changes that are not done, by item
	Declined []string                `json:"declined,omitempty"` // items that the owner denied and that are not over
	Saying   string                  `json:"saying,omitempty"`   // the message that comes in parts
	Streamed int                     `json:"streamed,omitzero"`  // bytes of it so far
	answer                           // of the model, to know what comes again

	Complaint string `json:"complaint,omitempty"` // the last error notice
	Resets    int64  `json:"resets,omitzero"`     // when a reached limit ends, in seconds of Unix time
	Use       agent.Usage
	Offer     agent.Offer
	Model     string   `json:"model,omitempty"` // in force
	Effort    string   `json:"effort,omitempty"`
	Odd       []string `json:"odd,omitempty"` // what was remarked once
}

// steer is a text for the running turn that codex was given.
type steer struct {
	Key   string `json:"key"`
	Text  string `json:"text"`
	Taken bool   `json:"taken,omitzero"` // codex said that the turn will have it
}

// policy is a permission mode in codex's words.
type policy struct {
	Approval string `json:"approval,omitempty"`
	Sandbox  string `json:"sandbox,omitempty"`
}

// policyOf returns a mode in codex's words. An approved command runs inside the sandbox all the same, unless codex asked
// to run it outside. In the read-only one it would fail, or run once more outside, as codex happens to notice the failure
// in time or not; so mode always has the workspace's.
func policyOf(mode agent.Mode) policy {
	switch mode {
	case agent.ModeAuto:
		return policy{"never", "danger-full-access"}
	case agent.ModeReadOnly:
		return policy{"never", "read-only"}
	case agent.ModeAlways:
		return policy{"untrusted", "workspace-write"}
	default:
		return policy{"on-request", "workspace-write"}
	}
}

// Plan builds the command line. The prompt never stands in it, whatever the owner's command is.
func (d *live) Plan(t agent.Turn) (agent.Launch, error) {
	checked := d.settings
	checked.OwnCommand = false
	if err := checked.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	argv := append([]string{d.settings.Program("codex")}, d.settings.Args...)
	argv = append(append(argv, d.settings.ModelOptions(t, nil)...), d.settings.EffortOptions(t, nil)...)
	argv = append(append(argv, "app-server"), quiet()...)
	launch := agent.Launch{Argv: argv}
	if t.Mode == agent.ModeAlways || t.Mode == agent.ModeReadOnly {
		launch.Note = "codex keeps the owner's own allow rules in every mode: a command that one of them names runs unasked"
	}
	return launch, nil
}

// Feed takes one input.
func (d *live) Feed(in agent.Input) []agent.Fact {
	switch in.Kind {
	case agent.InputErr:
		if bytes.Contains(in.Line, []byte("could not find bubblewrap")) { // it brings its own
			return nil
		}
		in.Line = []byte(plain.Line(string(in.Line)))
	case agent.InputExit:
		return d.s.exit(in)
	}
	facts, done := d.s.Feed("codex", in)
	if done {
		return facts
	}
	if in.Kind == agent.InputSent {
		return append(facts, d.s.sent(in)...)
	}
	return append(facts, d.s.line(in.Line)...)
}

// Next gives the message that should be written now: the reason of a denial before the denial, the end of what a cancelled
// turn left running, then what every live agent is told, then what is asked for the owner's information and may be answered at any time.
func (d *live) Next(w agent.Wishes, n uint64) (agent.Message, bool) {
	if m, ok := d.why(w, n); ok {
		return m, true
	}
	if m, ok := d.ends(n); ok {
		return m, true
	}
	if m, ok := d.s.Next(w, n, d); ok {
		return m, true
	}
	if !d.s.Ready || d.s.Gone || d.s.Broken != "" || d.s.Sent("close:") {
		return agent.Message{}, false
	}
	for _, ask := range []struct {
		step, method string
		params       any
	}{
		{"account", "account/read", struct{}{}},
		{"models", "model/list", struct{}{}},
	} {
		if key := agent.HelloKey(ask.step); !d.s.Sent(key) {
			return agent.Message{Key: key, Bytes: agent.RequestLine(false, n, ask.method, ask.params)}, true
		}
	}
	return agent.Message{}, false
}

// Checkpoint returns the folded state.
func (d *live) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.s) }

// Restore replaces the folded state.
func (d *live) Restore(data json.RawMessage) error { return agent.Restore(&d.s, data) }

// line reads one line of standard output.
func (s *liveState) line(line []byte) []agent.Fact {
	m, ok := agent.ReadRPC(line)
	if !ok {
		s.Remember(line)
		return s.once("line", "codex wrote a line that is no message: "+agent.Shorten(string(line[:min(len(line), 1000)]), agent.MaxSubject))
	}
	s.Spoke = true
	switch {
	case m.Method == "":
		return answers{s}.answered(m)
	case m.ID != nil:
		return requests{s}.request(m)
	}
	return notices{s}.notice(m)
}

// maxOdd bounds the remarks that are made once.
const maxOdd = 50

// once returns a remark the first time that its kind is given.
func (s *liveState) once(kind, text string) []agent.Fact {
	if slices.Contains(s.Odd, kind) || len(s.Odd) == maxOdd {
		return nil
	}
	s.Odd = append(s.Odd, kind)
	return s.Stamp(agent.Fact{Kind: agent.FactNote, Text: text})
}

// activity is a sign of life, if there is a turn that it could be a sign of.
func (s *liveState) activity() []agent.Fact {
	if !s.Active {
		return nil
	}
	return s.Stamp(agent.Fact{Kind: agent.FactActivity})
}
