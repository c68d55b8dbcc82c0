package acp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"scv/internal/agent"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// toolbox is the dialect as it follows tool calls and the requests about them.
type toolbox struct{ *dialect }

// Bounds of what is kept of open tool calls.
const (
	maxTools    = 200
	maxToolText = 2 << 10 // bytes of a title or command
	maxPaths    = 8
)

// A tool is an open tool call, as far as its lines need it.
type tool struct {
	Title   string   `json:"title,omitempty"`
	Kind    string   `json:"kind,omitempty"`
	Command string   `json:"command,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Said    bool     `json:"said,omitzero"` // its line is in the log
}

// call is a tool call as tool_call, tool_call_update and request_permission tell it: each may leave anything out.
type call struct {
	ID        string `json:"toolCallId"`
	Title     string `json:"title"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Status    string `json:"status"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Input   agent.Raw `json:"rawInput"`
	Output  agent.Raw `json:"rawOutput"`
	Content []struct {
		Type    string `json:"type"`
		Path    string `json:"path"`
		Old     string `json:"oldText"`
		New     string `json:"newText"`
		Content struct {
			Text agent.Text `json:"text"`
		} `json:"content"`
	} `json:"content"`
	Meta struct {
		Exit struct {
			Code *int `json:"exit_code"`
		} `json:"terminal_exit"`
		Claude struct {
			Tool string `json:"toolName"`
		} `json:"claudeCode"`
	} `json:"_meta"`
}

// command is the literal command of a call: one text, or words.
func (c *call) command() string {
	var in struct {
		Command agent.Raw `json:"command"`
	}
	if json.Unmarshal(c.Input, &in) != nil || len(in.Command) == 0 {
		return ""
	}
	var one string
	if json.Unmarshal(in.Command, &one) == nil {
		return one
	}
	var words []string
	if json.Unmarshal(in.Command, &words) == nil {
		return strings.Join(words, " ")
	}
	return ""
}

// paths are the files that a call names, wherever it does.
func (c *call) paths() []string {
	var out []string
	add := func(p string) {
		if p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, l := range c.Locations {
		add(l.Path)
	}
	for _, part := range c.Content {
		if part.Type == "diff" {
			add(part.Path)
		}
	}
	var in map[string]agent.Raw
	if json.Unmarshal(c.Input, &in) == nil {
		for _, name := range []string{"file_path", "filePath", "abs_path", "path", "notebook_path"} {
			var p string
			if json.Unmarshal(in[name], &p) == nil {
				add(p)
			}
		}
	}
	return out
}

// merge takes in what a call tells beyond what is known.
func (t *tool) merge(c *call) {
	bound := func(to *string, text string) {
		if text != "" {
			*to, _ = agent.Bound(text, maxToolText)
		}
	}
	bound(&t.Title, c.Title)
	bound(&t.Kind, c.Kind)
	bound(&t.Command, c.command())
	if paths := c.paths(); len(paths) > 0 {
		t.Paths = slices.Clone(paths[:min(len(paths), maxPaths)])
		for i := range t.Paths {
			t.Paths[i], _ = agent.Bound(t.Paths[i], maxToolText)
		}
	}
}

// line is what the log says of a call.
func (t *tool) line() string {
	switch {
	case t.Command != "":
		return agent.CommandLine(t.Command)
	case t.Kind == "execute":
		return agent.CommandLine(t.Title)
	case len(t.Paths) > 0 && slices.Contains([]string{"read", "edit", "delete", "move"}, t.Kind):
		return agent.PathLine(t.Kind, t.Paths[0])
	case t.Title == "":
		return agent.Shorten(t.Kind+" tool", agent.MaxSubject)
	}
	return agent.Shorten(t.Title, agent.MaxSubject)
}

// ready reports whether a call can be told: some are announced before what they will do is known.
func (t *tool) ready(c *call) bool {
	begun := c.Status == "in_progress" || c.Status == "completed" || c.Status == "failed"
	if t.Kind == "execute" {
		return begun || t.Command != ""
	}
	return begun || len(bytes.TrimSpace(c.Input)) > 2 || len(t.Paths) > 0
}

// toolCall takes in a tool call or an update of one.
func (d toolbox) toolCall(c *call, first bool) []agent.Fact {
	s := &d.state
	if c.ID == "" || slices.Contains(s.Past, c.ID) {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	t, known := s.Tools[c.ID]
	if !known && !first && c.Title == "" && len(c.Input) == 0 {
		return []agent.Fact{{Kind: agent.FactActivity}} // of a call that nobody told of
	}
	var facts []agent.Fact
	if !known {
		facts = s.Flush()
	}
	t.merge(c)
	if !t.Said && t.ready(c) {
		t.Said = true
		facts = append(facts, s.Stamp(agent.Fact{Kind: agent.FactTool, Text: t.line()})...)
	}
	facts = append(facts, d.finished(c, t)...)
	if c.Status == "completed" || c.Status == "failed" {
		delete(s.Tools, c.ID)
	} else {
		d.keep(c.ID, t)
	}
	if len(facts) == 0 {
		facts = []agent.Fact{{Kind: agent.FactActivity}}
	}
	return facts
}

// keep remembers an open call; of too many the rest is forgotten and told anew with each update.
func (d toolbox) keep(id string, t tool) {
	if d.state.Tools == nil {
		d.state.Tools = make(map[string]tool)
	}
	if _, known := d.state.Tools[id]; known || len(d.state.Tools) < maxTools && len(id) <= maxToolText {
		d.state.Tools[id] = t
	}
}

// finished tells of a call that failed.
func (d toolbox) finished(c *call, t tool) []agent.Fact {
	code := c.exitCode()
	subject := t.Command
	if subject == "" && t.Kind == "execute" {
		subject = t.Title
	}
	switch {
	case c.Status == "completed" && code != "" && code != "0" && subject != "",
		c.Status == "failed" && code != "" && subject != "":
		return d.state.Stamp(agent.Fact{Kind: agent.FactToolFailed, Text: agent.FailedLine(code, subject)})
	case c.Status == "failed":
		return d.state.Stamp(agent.Fact{Kind: agent.FactToolFailed, Text: "failed: " + strings.TrimPrefix(t.line(), "$ ")})
	}
	return nil
}

// exitCode is the exit code of a command, where the agent tells it; empty where not.
func (c *call) exitCode() string {
	if c.Meta.Exit.Code != nil {
		return strconv.Itoa(*c.Meta.Exit.Code)
	}
	var out struct {
		Code     *int `json:"exit_code"`
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
	}
	if json.Unmarshal(c.Output, &out) != nil {
		return ""
	}
	for _, code := range []*int{out.Code, out.Metadata.Exit} {
		if code != nil {
			return strconv.Itoa(*code)
		}
	}
	return ""
}
