// Package gemini is the dialect of `gemini --output-format stream-json`: one process per turn, its prompt on standard
// input, later turns by resume. It was written against gemini 0.61.0. Only internal/run drives it, by agent.Dialect; the
// live gemini is package acp with Start of this package.
//
// It asks nobody: where its mode does not allow a tool, the model is not even told of it. A resume can lose the
// conversation (agents.md section 8), so its old chats are never cleaned up by a run of SCV.
package gemini

import (
	"encoding/json"
	"path"
	"time"

	"scv/internal/agent"
)

// version is that of the checkpoint.
const version = 1

const signIn = "gemini"

// Kind returns what is known of gemini.
func Kind() agent.Kind {
	return agent.Kind{
		Name: "gemini", Command: "gemini", Transport: agent.TransportCLI, Version: version,
		Pass: []string{
			"GEMINI_API_KEY", "GEMINI_MODEL", "GEMINI_CLI_HOME", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_*",
			"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS",
		},
		SignIn:  signIn,
		Account: agent.SignIn{Login: []string{}, Logout: []string{}}, // inside it: /auth
		Private: func(dir string) agent.PrivateHome {
			return agent.PrivateHome{Env: map[string]string{"GEMINI_CLI_HOME": dir}, Dirs: []string{dir}}
		},
		Endpoint: "GOOGLE_GEMINI_BASE_URL",
		Install:  "npm install -g @google/gemini-cli",
		Terminal: terminal,
		Reopen:   Reopen,
		New:      func(s agent.Settings) agent.Dialect { return &dialect{settings: s} },
	}
}

// Reopen is the next minute. Each gemini that starts notes an empty conversation in a file named by the minute and the id,
// before it reads the one that it was told to go on with: within one minute these are one file, and what was said is lost
// (seen in 0.61.0; the same file names in its chatRecordingService).
func Reopen(known time.Time) (from time.Time, why string) {
	return known.Truncate(time.Minute).Add(time.Minute), "gemini loses a conversation that is opened again within the minute it began"
}

// Noise lists the beginnings of agent text that gemini itself puts in over ACP.
func Noise() []string { return []string{"[MODE_UPDATE]"} }

// ModelArgs is how the command line takes a model.
func ModelArgs(model string) []string { return []string{"-m", model} }

// settingsName is the file in a run's directory with the settings that beat the owner's.
const settingsName = "settings.json"

// Start is what every gemini needs beside its arguments: it trusts the directory that the owner started the job in,
// keeps its sessions, and does not look for updates. In the modes that hold it back the owner's hooks do not count; his
// list of commands that run unasked counts in none, since with one every other command is refused (agents.md 14.2).
func Start(t agent.Turn) agent.Launch {
	type object = map[string]any
	off := object{"enabled": false}
	settings := object{
		"privacy": object{"usageStatisticsEnabled": false},
		"general": object{"enableAutoUpdate": false, "sessionRetention": off},
		"tools":   object{"allowed": []string{}},
	}
	if t.Mode == agent.ModeAlways || t.Mode == agent.ModeReadOnly {
		settings["hooksConfig"] = off
	}
	data, err := json.Marshal(settings)
	if err != nil {
		panic(err) // constants of ours
	}
	return agent.Launch{
		Env: map[string]string{
			"GEMINI_CLI_TRUST_WORKSPACE":      "true",
			"GEMINI_CLI_SYSTEM_SETTINGS_PATH": path.Join(t.RunDir, settingsName),
		},
		Files: []agent.File{{Name: settingsName, Data: data}},
	}
}

type dialect struct {
	settings agent.Settings
	state    state
}

type state struct {
	agent.OneTurn
	Text  string            `json:"text,omitempty"`  // of the message in hand
	Tools map[string]string `json:"tools,omitempty"` // lines of open tool calls by id
	Error string            `json:"error,omitempty"` // the last error that was told
}

// Plan builds the command line.
func (d *dialect) Plan(t agent.Turn) (agent.Launch, error) {
	if err := d.settings.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	launch := Start(t)
	argv := append([]string{d.settings.Program("gemini")}, d.settings.Args...)
	argv = append(argv, "--output-format", "stream-json")
	mode, note := modeFlags(t.Mode)
	argv, launch.Note = append(argv, mode...), note
	argv = append(argv, d.settings.ModelOptions(t, ModelArgs)...)
	if t.Session != "" {
		argv = append(argv, "--resume", t.Session)
	}
	if d.settings.OwnCommand {
		if len(d.settings.PromptArgs) == 0 {
			argv = append(argv, "-p")
		}
		argv = d.settings.WithPrompt(argv, t.Prompt)
	}
	launch.Argv = argv
	return launch, nil
}

// modeFlags returns the options of a permission mode and a sentence on what it means where nobody can be asked.
func modeFlags(mode agent.Mode) ([]string, string) {
	switch mode {
	case agent.ModeAuto:
		return []string{"--approval-mode", "yolo"}, ""
	case agent.ModeOnRisk:
		return []string{"--approval-mode", "auto_edit"}, "gemini without ACP cannot ask: it may edit files, and runs no commands"
	default:
		return []string{"--approval-mode", "default"}, "gemini without ACP cannot ask: it may only read"
	}
}

// Feed takes one input.
func (d *dialect) Feed(in agent.Input) []agent.Fact {
	if in.Kind == agent.InputExit && d.state.Error != "" {
		d.state.Remember([]byte(d.state.Error))
	}
	facts, done := d.state.Feed("gemini", in)
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
