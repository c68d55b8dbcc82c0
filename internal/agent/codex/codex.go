// Package codex holds the two dialects of codex: `codex exec --json` (Kind), one process per turn, its prompt on standard
// input, later turns by resume; and `codex app-server` (LiveKind), one process for several turns, which asks. They were
// written against codex 0.171.0. Only internal/run drives them, by agent.Dialect.
//
// In exec every thread has an id from its first line on, before the model is called, so a turn that breaks can be resumed. Its
// figures of use are sums over the thread. It asks nobody: what its sandbox forbids fails, mostly without a trace.
package codex

import (
	"encoding/json"
	"strconv"

	"scv/internal/agent"
	"scv/internal/wire"
)

// version is that of the checkpoint.
const version = 1

// signIn is the one command that signs in.
const signIn = "codex login"

// Kind returns what is known of codex.
func Kind() agent.Kind {
	return agent.Kind{
		Name: "codex", Command: "codex", Transport: agent.TransportCLI, Version: version,
		Pass: []string{
			"CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_API_KEY", "CODEX_CA_CERTIFICATE", "OPENAI_API_KEY",
			"OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
		},
		SignIn:  signIn,
		Account: agent.SignIn{Login: []string{"login"}, Status: []string{"login", "status"}, Logout: []string{"logout"}},
		Private: func(dir string) agent.PrivateHome {
			return agent.PrivateHome{Env: map[string]string{"CODEX_HOME": dir, "CODEX_SQLITE_HOME": dir}, Dirs: []string{dir}}
		},
		Endpoint: "OPENAI_BASE_URL",
		Install:  "npm install -g @openai/codex",
		New:      func(s agent.Settings) agent.Dialect { return &dialect{settings: s} },
		Terminal: terminal,
	}
}

type dialect struct {
	settings agent.Settings
	state    state
}

type state struct {
	agent.OneTurn
	answer
	Error string `json:"error,omitempty"` // the last error event
}

// Plan builds the command line: all options before resume, and "-" for the prompt unless the owner's own command
// takes it as its last argument.
func (d *dialect) Plan(t agent.Turn) (agent.Launch, error) {
	if err := d.settings.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	argv := append([]string{d.settings.Program("codex")}, d.settings.Args...)
	argv = append(argv, "exec", "--json", "--skip-git-repo-check")
	mode, note := modeFlags(t.Mode)
	argv = append(append(argv, mode...), quiet()...)
	argv = append(argv, d.settings.ModelOptions(t, func(model string) []string { return []string{"--model=" + model} })...)
	argv = append(argv, d.settings.EffortOptions(t, func(effort string) []string {
		return []string{"-c", "model_reasoning_effort=" + strconv.Quote(effort)}
	})...)
	if t.Session != "" {
		argv = append(argv, "resume", t.Session)
	}
	if d.settings.OwnCommand {
		return agent.Launch{Argv: d.settings.WithPrompt(argv, t.Prompt), Note: note}, nil
	}
	return agent.Launch{Argv: append(argv, "-"), Note: note}, nil
}

// quiet are the settings that keep codex from doing what nobody asked it for: it calls home for nothing but its model,
// starts no daemon and sends no notices of its own.
func quiet() []string {
	var flags []string
	for _, setting := range []string{
		"check_for_update_on_startup=false", "features.plugins=false", "features.apps=false",
		"features.daemon_auto_start=false", "analytics.enabled=false", "notify=[]",
	} {
		flags = append(flags, "-c", setting)
	}
	return flags
}

// modeFlags returns the options of a permission mode and a sentence on what it means where nobody can be asked. An
// allow rule of the owner's lets a command out of the sandbox unasked, so the modes that promise that nothing changes
// leave the rules out (agents.md 14.2).
func modeFlags(mode agent.Mode) ([]string, string) {
	switch mode {
	case agent.ModeAuto:
		return []string{"--dangerously-bypass-approvals-and-sandbox"}, ""
	case agent.ModeReadOnly:
		return []string{"--ignore-rules", "-s", "read-only", "-c", `approval_policy="never"`}, ""
	case agent.ModeAlways:
		return []string{"--ignore-rules", "-s", "read-only", "-c", `approval_policy="never"`},
			"codex exec cannot ask, so mode always runs it in its read-only sandbox: what changes something is refused"
	default:
		return []string{"-s", "workspace-write", "-c", `approval_policy="never"`},
			"codex exec cannot ask: it may write in the workspace, and what its sandbox forbids is refused, mostly without a trace"
	}
}

// Feed takes one input.
func (d *dialect) Feed(in agent.Input) []agent.Fact {
	switch in.Kind {
	case agent.InputErr:
		if noise(in.Line) {
			return nil
		}
	case agent.InputExit:
		d.state.Remember([]byte(d.state.Error)) // an error event says why there is no turn event behind it
	}
	facts, done := d.state.Feed("codex", in)
	if done {
		return facts
	}
	return d.state.Stamp(d.line(in.Line))
}

// Next gives the prompt.
func (d *dialect) Next(wishes agent.Wishes, _ uint64) (agent.Message, bool) {
	return d.state.Next(wishes, d.settings.StdinPrompt)
}

// Checkpoint returns the folded state.
func (d *dialect) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.state) }

// Restore replaces the folded state.
func (d *dialect) Restore(data json.RawMessage) error { return agent.Restore(&d.state, data) }

// failed settles the turn by what codex said went wrong.
func (d *dialect) failed(message string) []agent.Fact {
	o := agent.Outcome{State: wire.StateFailed, Class: classOf(message), Error: message}
	o.Detail = agent.Explain(o.Class, "codex", signIn, message)
	if o.Class == agent.ClassRefusal {
		o.State = wire.StateDeclined
	}
	return d.state.End(o)
}
