// Package opencode is the dialect of `opencode run --format json`: one process per turn, its prompt on standard input,
// later turns by session id. It was written against opencode 1.18.33. Only internal/run drives it, by agent.Dialect; the
// live opencode is package acp with Start of this package.
//
// It has no final event: a turn is done when its last step said stop and the process has left.
package opencode

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"scv/internal/agent"
	"scv/internal/wire"
)

// version is that of the checkpoint.
const version = 1

const signIn = "opencode auth login"

// Kind returns what is known of opencode.
func Kind() agent.Kind {
	return agent.Kind{
		Name: "opencode", Command: "opencode", Transport: agent.TransportCLI, Version: version,
		Pass: []string{
			"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_API_KEY", "OPENCODE_PURE", "OPENCODE_DISABLE_DEFAULT_PLUGINS",
			"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY",
		},
		SignIn:  signIn,
		Account: agent.SignIn{Login: []string{"auth", "login"}, Logout: []string{"auth", "logout"}},
		Private: func(dir string) agent.PrivateHome {
			data, state := dir+"/data", dir+"/state"
			return agent.PrivateHome{Env: map[string]string{"XDG_DATA_HOME": data, "XDG_STATE_HOME": state}, Dirs: []string{dir, data, state}}
		},
		Install:  "npm install -g opencode-ai",
		Terminal: terminal,
		Serves:   "opencode", // behind the password of start
		New:      func(s agent.Settings) agent.Dialect { return &dialect{settings: s} },
	}
}

// Start is what the live opencode needs beside its arguments.
func Start(t agent.Turn) agent.Launch { return start(t, "ask") }

// start puts the job's mode into settings of ours, since opencode has no modes of that kind. Ask is what becomes of a
// tool that the mode would put to the owner.
func start(t agent.Turn, ask string) agent.Launch {
	const allow, deny = "allow", "deny"
	var rules map[string]any
	switch t.Mode {
	case agent.ModeAuto:
		rules = map[string]any{"*": allow}
	case agent.ModeReadOnly:
		rules = map[string]any{"*": deny, "read": allow, "list": allow, "glob": allow, "grep": allow, "todowrite": allow, "todoread": allow}
	case agent.ModeAlways:
		rules = map[string]any{"*": ask, "read": allow, "list": allow, "glob": allow, "grep": allow, "todowrite": allow, "todoread": allow}
	default:
		rules = map[string]any{"edit": ask, "bash": ask, "webfetch": ask, "external_directory": ask}
		if ask == deny { // the widest that needs no question
			rules["edit"], rules["webfetch"] = allow, allow
		}
	}
	settings := map[string]any{"share": "disabled", "snapshot": false, "permission": rules}
	if t.Mode == agent.ModeAlways || t.Mode == agent.ModeReadOnly {
		settings["agent"] = map[string]any{"build": map[string]any{"permission": rules}}
	}
	data, err := json.Marshal(settings)
	if err != nil {
		panic(err) // constants of ours
	}
	env := map[string]string{
		"OPENCODE_CONFIG_CONTENT": string(data), "OPENCODE_DISABLE_AUTOUPDATE": "1",
		"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
	}
	if t.NewID != "" {
		env["OPENCODE_SERVER_PASSWORD"] = password(t.NewID)
	}
	return agent.Launch{Env: env}
}

// password keeps others on this machine, and pages in a browser, out of the server that opencode opens on a loopback port
// beside its standard streams and that answers anybody without one: it would run commands for them. It is drawn with the
// run's own id, which leaves the ledger nowhere else for this agent.
func password(drawn string) string {
	sum := sha256.Sum256([]byte("opencode's server: " + drawn))
	return hex.EncodeToString(sum[:16])
}

type dialect struct {
	settings agent.Settings
	state    state
}

type state struct {
	agent.OneTurn
	Stopped bool        `json:"stopped,omitzero"` // the last step said that nothing follows
	Failed  *failure    `json:"failed,omitempty"` // the last error, until a step follows it
	Used    agent.Usage `json:"used,omitzero"`    // summed over the steps
}

// Plan builds the command line.
func (d *dialect) Plan(t agent.Turn) (agent.Launch, error) {
	if err := d.settings.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	launch := start(t, "deny")
	switch t.Mode {
	case agent.ModeAuto:
	case agent.ModeOnRisk:
		launch.Note = "opencode run cannot ask: it may edit files in its directory, and runs no commands"
	case agent.ModeAlways, agent.ModeReadOnly:
		launch.Note = "opencode run cannot ask: it may only read"
	}
	argv := append([]string{d.settings.Program("opencode")}, d.settings.Args...)
	argv = append(argv, "run", "--format", "json")
	argv = append(argv, d.settings.ModelOptions(t, func(model string) []string { return []string{"-m", model} })...)
	if t.Session != "" {
		argv = append(argv, "-s", t.Session)
	}
	if d.settings.OwnCommand {
		argv = d.settings.WithPrompt(argv, t.Prompt)
	}
	launch.Argv = argv
	return launch, nil
}

// Feed takes one input.
func (d *dialect) Feed(in agent.Input) []agent.Fact {
	if in.Kind == agent.InputExit {
		if facts, ok := d.settled(); ok {
			return facts
		}
	}
	facts, done := d.state.Feed("opencode", in)
	if done {
		return facts
	}
	return d.state.Stamp(d.line(in.Line))
}

// settled ends the turn when the process has left, by the last thing that it said of it.
func (d *dialect) settled() ([]agent.Fact, bool) {
	s := &d.state
	o := agent.Outcome{State: wire.StateCompleted, Usage: s.Used}
	switch {
	case s.Failed != nil:
		o.State, o.Error, o.Class = wire.StateFailed, s.Failed.said(), s.Failed.class()
		s.Renewed(&o, "retry-after: "+s.Failed.Data.Headers.Retry)
		o.Detail = agent.Explain(o.Class, "opencode", signIn, o.Error)
	case !s.Stopped:
		return nil, false
	}
	return s.End(o), true
}

// Next gives the prompt.
func (d *dialect) Next(wishes agent.Wishes, _ uint64) (agent.Message, bool) {
	return d.state.Next(wishes, d.settings.StdinPrompt)
}

// Checkpoint returns the folded state.
func (d *dialect) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.state) }

// Restore replaces the folded state.
func (d *dialect) Restore(data json.RawMessage) error { return agent.Restore(&d.state, data) }
