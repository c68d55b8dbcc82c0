// Package claude is the dialect of `claude -p` with stream-json on both sides: one process per turn, later turns by
// --resume. It was written against claude 2.1.332. Only internal/run drives it, by agent.Dialect.
//
// The prompt goes by standard input as one JSON line, not as plain text: given text, claude waits 3 s for it and then
// gives up, which a daemon that is killed at the wrong moment would miss. The session's id is ours from the start, so
// a turn that breaks can be resumed. Its tokens count per call; its cost is a sum over all resumed calls.
package claude

import (
	"bytes"
	"encoding/json"
	"strings"

	"scv/internal/agent"
)

// version is that of the checkpoint.
const version = 1

// signIn is the one command that signs in.
const signIn = "claude auth login"

// settingsFile is placed in the run's directory.
const settingsFile = "claude-settings.json"

// Kind returns what is known of claude.
func Kind() agent.Kind {
	return agent.Kind{
		Name: "claude", Command: "claude", Transport: agent.TransportCLI, Version: version,
		Pass: []string{
			"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN",
			"CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
			"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "API_TIMEOUT_MS", "IS_SANDBOX",
		},
		SignIn:  signIn,
		Account: agent.SignIn{Login: []string{"auth", "login"}, Status: []string{"auth", "status"}, Logout: []string{"auth", "logout"}},
		Private: func(dir string) agent.PrivateHome {
			own := dir + "/.claude"
			return agent.PrivateHome{
				Env: map[string]string{"CLAUDE_CONFIG_DIR": own}, Dirs: []string{dir, own},
				// Its terminal program else begins with a tour, in which a takeover would stand.
				Files: []agent.PrivateFile{{Path: own + "/.claude.json", Data: "{\"hasCompletedOnboarding\":true,\"theme\":\"dark\"}\n"}},
			}
		},
		Endpoint: "ANTHROPIC_BASE_URL",
		Install:  "npm install -g @anthropic-ai/claude-code",
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
	talk
	Tasks int `json:"tasks,omitzero"` // background tasks that run; each brings a further result
}

// Plan builds the command line.
func (d *dialect) Plan(t agent.Turn) (agent.Launch, error) {
	if err := d.settings.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	argv := append([]string{d.settings.Program("claude")}, d.settings.Args...)
	argv = append(argv, "-p", "--output-format", "stream-json", "--verbose")
	if t.Session != "" {
		argv = append(argv, "--resume", t.Session)
	} else if t.NewID != "" {
		argv = append(argv, "--session-id", t.NewID)
	}
	argv = append(argv, d.settings.ModelOptions(t, func(model string) []string { return []string{"--model=" + model} })...)
	argv = append(argv, d.settings.EffortOptions(t, func(effort string) []string { return []string{"--effort=" + effort} })...)
	mode := modeOf(t.Mode)
	argv = append(argv, mode.flags...)
	file, err := settings(mode)
	if err != nil {
		return agent.Launch{}, err
	}
	argv = append(argv, "--settings", t.RunDir+"/"+settingsFile)
	if d.settings.OwnCommand {
		argv = d.settings.WithPrompt(argv, t.Prompt)
	} else {
		argv = append(argv, "--input-format", "stream-json")
	}
	return agent.Launch{
		Argv:  argv,
		Env:   map[string]string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
		Files: []agent.File{{Name: settingsFile, Data: file}},
		Note:  mode.note,
	}, nil
}

// mode is what a permission mode means for claude where nobody can be asked.
type mode struct {
	flags []string
	ask   []string // tools that the owner's allow list must not let through
	note  string
}

// changing names the tools that change something.
func changing() []string { return []string{"Bash", "Edit", "Write", "NotebookEdit"} }

func modeOf(m agent.Mode) mode {
	switch m {
	case agent.ModeAuto:
		return mode{flags: []string{"--permission-mode", "bypassPermissions"}}
	case agent.ModeReadOnly:
		// One argument with "=": the option takes any number of them and would swallow what follows.
		return mode{
			flags: []string{"--permission-mode", "default", "--disallowedTools=" + strings.Join(append(changing(), "Monitor", "EnterWorktree", "mcp__*"), ",")},
		}
	case agent.ModeAlways:
		return mode{
			flags: []string{"--permission-mode", "default"}, ask: append(changing(), "mcp__*"),
			note: "claude -p cannot ask, so mode always refuses every tool that changes something",
		}
	default:
		return mode{
			flags: []string{"--permission-mode", "acceptEdits"},
			note:  "claude -p cannot ask: edits in the workspace are accepted, and what it would ask for is refused and counted",
		}
	}
}

func settings(m mode) ([]byte, error) {
	type permissions struct {
		Ask []string `json:"ask"`
	}
	file := struct {
		AutoMemory  bool         `json:"autoMemoryEnabled"`
		Permissions *permissions `json:"permissions,omitempty"`
	}{}
	if len(m.ask) > 0 {
		file.Permissions = &permissions{m.ask}
	}
	return json.Marshal(file)
}

// Feed takes one input.
func (d *dialect) Feed(in agent.Input) []agent.Fact {
	switch in.Kind {
	case agent.InputErr:
		if bytes.HasPrefix(in.Line, []byte("[claude-code:")) {
			return nil
		}
	case agent.InputExit:
		if d.state.Held != nil {
			return d.state.End(*d.state.Held)
		}
	}
	facts, done := d.state.Feed("claude", in)
	if done {
		return facts
	}
	return d.state.Stamp(d.line(in.Line))
}

// Next gives the prompt as one line of the user.
func (d *dialect) Next(wishes agent.Wishes, _ uint64) (agent.Message, bool) {
	return d.state.Next(wishes, func(t agent.Turn) []byte {
		if d.settings.OwnCommand {
			return nil
		}
		return userLine(t.Prompt, "", "")
	})
}

// Checkpoint returns the folded state.
func (d *dialect) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.state) }

// Restore replaces the folded state.
func (d *dialect) Restore(data json.RawMessage) error { return agent.Restore(&d.state, data) }
