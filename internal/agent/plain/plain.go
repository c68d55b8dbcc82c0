// Package plain is the dialect of any program of the owner's that takes a prompt and writes an answer: one process per
// turn, plain text or JSON lines out. Only internal/run drives it, by agent.Dialect.
//
// Such a program has no final event, so its exit code is all that tells how its turn ended; the outcome says so. It
// remembers nothing of earlier prompts, asks nobody and is held to no mode.
package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// version is that of the checkpoint.
const version = 1

// Kind makes an agent of the owner's of the program that its settings name. Stdin says that the prompt goes there; else
// it is the last argument.
func Kind(name, command string, stdin bool) agent.Kind {
	return agent.Kind{
		Name: name, Command: command, Transport: agent.TransportCLI, Dialect: "plain", Version: version,
		New: func(s agent.Settings) agent.Dialect {
			s.OwnCommand = !stdin
			return &dialect{name: name, command: command, settings: s}
		},
	}
}

type dialect struct {
	name, command string
	settings      agent.Settings
	state         state
}

type state struct {
	agent.OneTurn
	Text  []byte `json:"text,omitempty"` // plain lines so far, which are one answer
	Error string `json:"error,omitempty"`
}

// Plan builds the command line: the owner's own, and the prompt when it goes there.
func (d *dialect) Plan(t agent.Turn) (agent.Launch, error) {
	if err := d.settings.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	argv := slices.Concat([]string{d.settings.Program(d.command)}, d.settings.Args, d.settings.ModelOptions(t, nil), d.settings.EffortOptions(t, nil))
	if d.settings.OwnCommand {
		argv = d.settings.WithPrompt(argv, t.Prompt)
	} else {
		argv = append(argv, d.settings.PromptArgs...)
	}
	note := d.name + " is a program of the owner's: it is held to no mode, and its exit code tells how its turn ended"
	if t.Number > 1 {
		note += "; it does not know the earlier prompts"
	}
	return agent.Launch{Argv: argv, Note: note}, nil
}

// Feed takes one input.
func (d *dialect) Feed(in agent.Input) []agent.Fact {
	if in.Kind == agent.InputExit && !d.state.Over {
		return d.exited(in.Exit)
	}
	facts, done := d.state.Feed(d.name, in)
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

// line reads one line of standard output: an object with a text, or plain text.
func (d *dialect) line(line []byte) []agent.Fact {
	s := &d.state
	s.Spoke = true
	var object map[string]agent.Raw
	if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")) && json.Unmarshal(line, &object) == nil {
		return d.object(object)
	}
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if room := agent.MaxReply + 1 - len(s.Text); room > 0 { // one more, so that a cut is seen
		s.Text = append(s.Text, text[:min(len(text), room)]...)
		s.Text = append(s.Text, '\n')
	}
	if strings.TrimSpace(text) == "" {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	return []agent.Fact{{Kind: agent.FactText, Text: text}}
}

// object takes the text of a JSON line; the last one is the reply.
func (d *dialect) object(object map[string]agent.Raw) []agent.Fact {
	get := func(name string) string {
		var text agent.Text
		_ = json.Unmarshal(object[name], &text) // not there: no text
		return string(text)
	}
	if said := get("error"); said != "" {
		d.state.Error = said
	}
	for _, name := range []string{"text", "reply", "result", "response", "message", "content"} {
		if text := get(name); strings.TrimSpace(text) != "" {
			return []agent.Fact{d.state.Say(text)}
		}
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// exited settles the turn by the exit code.
func (d *dialect) exited(exit agent.Exit) []agent.Fact {
	s := &d.state
	if s.Reply == "" {
		s.SetReply(strings.Trim(string(s.Text), "\n"))
	}
	if exit.Code != 0 || exit.Signal != "" || exit.OOM {
		if s.Error != "" {
			s.Remember([]byte(s.Error))
		}
		return s.End(s.Vanished(d.name, exit, s.Spoke, s.Broken))
	}
	o := agent.Outcome{State: wire.StateCompleted, Detail: "judged by its exit code 0, which is all that such a program tells"}
	if s.Reply == "" {
		o.Detail = fmt.Sprintf("%s left with exit code 0 and wrote no answer", d.name)
	}
	return s.End(o)
}
