// Package demo is the dialect of the built-in scripted agent: the program itself, started with a reserved first
// argument, plays it (package player). It needs no agent, key or network and drives `scv demo` and the tests. Only
// internal/run drives it, by agent.Dialect.
package demo

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// version is that of the checkpoint.
const version = 1

// Kind returns what is known of the demo agent. Its command is this program, which the owner of the process names by
// Settings.Command.
func Kind() agent.Kind {
	return agent.Kind{
		Name: "demo", Command: "scv", Transport: agent.TransportCLI, Version: version,
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
	Tools map[string]string `json:"tools,omitempty"` // lines of open tool calls by id
}

// Plan starts this program as the agent. The reserved argument comes first, since it is what main looks for.
func (d *dialect) Plan(t agent.Turn) (agent.Launch, error) { return launch(d.settings, t) }

func launch(s agent.Settings, t agent.Turn, flags ...string) (agent.Launch, error) {
	if err := s.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	argv := slices.Concat([]string{s.Program("scv"), Argument}, s.Args, flags)
	if t.Session != "" {
		argv = append(argv, "--resume", t.Session)
	} else if t.NewID != "" {
		argv = append(argv, "--session", t.NewID)
	}
	return agent.Launch{Argv: append(argv, "--turn", strconv.FormatUint(uint64(t.Number), 10))}, nil
}

// Feed takes one input.
func (d *dialect) Feed(in agent.Input) []agent.Fact {
	facts, done := d.state.Feed("demo", in)
	if done {
		return facts
	}
	return d.state.Stamp(d.line(in.Line))
}

// Next gives the prompt as one JSON line.
func (d *dialect) Next(wishes agent.Wishes, _ uint64) (agent.Message, bool) {
	return d.state.Next(wishes, func(t agent.Turn) []byte { return encode(Message{Key: t.Key, Text: t.Prompt}) })
}

// Checkpoint returns the folded state.
func (d *dialect) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.state) }

// Restore replaces the folded state.
func (d *dialect) Restore(data json.RawMessage) error { return agent.Restore(&d.state, data) }

// line reads one event of the player.
func (d *dialect) line(line []byte) []agent.Fact {
	e, ok := readEvent(line)
	if !ok {
		d.state.Remember(line)
		return nil
	}
	d.state.Spoke = true
	switch e.Type {
	case Hello:
		return d.state.Named(e.Session)
	case End:
		return d.state.End(outcome(e))
	}
	return work(&d.state.Account, &d.state.Tools, e)
}

// work reads what both kinds of process say during a turn.
func work(account *agent.Account, tools *map[string]string, e Event) []agent.Fact {
	switch e.Type {
	case Text:
		return []agent.Fact{account.Say(e.Text)}
	case Plan:
		return []agent.Fact{{Kind: agent.FactPlan, Text: agent.Shorten(e.Text, agent.MaxSubject)}}
	case Tool:
		if *tools == nil {
			*tools = make(map[string]string)
		}
		(*tools)[e.ID] = e.Text
		return []agent.Fact{{Kind: agent.FactTool, Text: agent.CommandLine(e.Text)}}
	case ToolEnd:
		command := (*tools)[e.ID]
		delete(*tools, e.ID)
		if e.Exit != 0 {
			return []agent.Fact{{Kind: agent.FactToolFailed, Text: agent.FailedLine(strconv.Itoa(e.Exit), command)}}
		}
	case Retry:
		return []agent.Fact{{Kind: agent.FactRetry, Class: agent.Class(e.Class), Text: "demo tries again: " + agent.Shorten(e.Text, agent.MaxDetail)}}
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// outcome is how a turn ended as the player tells it.
func outcome(e Event) agent.Outcome {
	o := agent.Outcome{
		State: wire.StateFailed, Class: agent.Class(e.Class), Detail: e.Text, Error: e.Text,
		Usage: agent.Usage{InputTokens: e.InputTokens, OutputTokens: e.OutputTokens},
	}
	switch e.Status {
	case Completed:
		o.State = wire.StateCompleted
	case Declined:
		o.State, o.Class = wire.StateDeclined, agent.ClassRefusal
	case Cancelled:
		o.State, o.Class = wire.StateCancelled, agent.ClassNone
	default:
		if o.Class == agent.ClassNone {
			o.Class = agent.ClassAgent
		}
		if strings.TrimSpace(o.Detail) == "" {
			o.Detail = "the demo agent failed"
		}
	}
	return o
}
