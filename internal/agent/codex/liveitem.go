package codex

import (
	"slices"
	"strconv"
	"strings"

	"scv/internal/agent"
)

// liveItem is a part of a turn.
type liveItem struct {
	Type     string       `json:"type"`
	ID       string       `json:"id"`
	ClientID string       `json:"clientId"` // of a user's message: our key
	Status   string       `json:"status"`
	Text     agent.Text   `json:"text"`
	Command  string       `json:"command"`
	ExitCode *int         `json:"exitCode"`
	Changes  []fileChange `json:"changes"`
	Server   string       `json:"server"`
	Tool     string       `json:"tool"`
	Query    string       `json:"query"`
	Path     string       `json:"path"`
	Prompt   string       `json:"prompt"`
}

// fileChange is a change of one file. Diff is its whole text when the file comes or goes, else hunks of a unified diff.
type fileChange struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"` // add, delete, update
		Move string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

// items reads the parts of a turn.
type items struct{ *liveState }

// changing keeps the text of a file change while it may be asked about.
func (s items) changing(item string, changes []fileChange) {
	if item == "" || len(changes) == 0 {
		return
	}
	if s.Changes == nil {
		s.Changes = make(map[string][]fileChange)
	}
	s.Changes[item] = changes
}

// started reads the beginning of a part.
func (s items) started(i liveItem) []agent.Fact {
	s.next(i.Type)
	switch i.Type {
	case "userMessage":
		s.Steers = slices.DeleteFunc(s.Steers, func(x steer) bool { return x.Taken && x.Key == i.ClientID })
	case "commandExecution":
		return s.tool(agent.CommandLine(i.Command))
	case "fileChange":
		s.changing(i.ID, i.Changes)
		var facts []agent.Fact
		for _, c := range i.Changes {
			facts = append(facts, s.tool(agent.PathLine(c.Kind.Type, c.Path))...)
		}
		return facts
	case "mcpToolCall":
		return s.tool(i.called())
	case "dynamicToolCall":
		return s.tool(agent.Shorten(i.Tool, agent.MaxSubject))
	case "collabAgentToolCall":
		return s.tool(strings.TrimSpace(i.Tool + " " + agent.Shorten(i.Prompt, agent.MaxSubject)))
	case "imageView":
		return s.tool(agent.PathLine("view", i.Path))
	}
	return s.activity()
}

// completed reads the end of a part.
func (s items) completed(i liveItem) []agent.Fact {
	s.next(i.Type)
	switch i.Type {
	case "agentMessage":
		return s.said(i)
	case "commandExecution":
		if i.Status == "declined" {
			return s.declined(i.ID, agent.CommandLine(i.Command), agent.Shorten(agent.Unwrap(i.Command), agent.MaxSubject))
		}
		if i.ExitCode != nil && *i.ExitCode != 0 {
			return s.toolFailed(agent.FailedLine(strconv.Itoa(*i.ExitCode), i.Command))
		}
	case "fileChange":
		delete(s.Changes, i.ID)
		line := "file change"
		if len(i.Changes) > 0 {
			line = agent.PathLine(i.Changes[0].Kind.Type, i.Changes[0].Path)
		}
		switch i.Status {
		case "declined":
			return s.declined(i.ID, line, line)
		case "failed":
			return s.toolFailed(line + " failed")
		}
	case "mcpToolCall":
		if i.Status == "failed" {
			return s.toolFailed(i.called() + " failed")
		}
	case "webSearch":
		return s.tool("search: " + agent.Shorten(i.Query, agent.MaxSubject))
	case "contextCompaction":
		return s.Stamp(agent.Fact{Kind: agent.FactNote, Text: "codex made its context shorter"})
	}
	return s.activity()
}

func (i liveItem) called() string { return agent.Shorten(i.Server+"."+i.Tool, agent.MaxSubject) }

func (s items) tool(line string) []agent.Fact {
	return s.Stamp(agent.Fact{Kind: agent.FactTool, Text: line})
}

func (s items) toolFailed(line string) []agent.Fact {
	return s.Stamp(agent.Fact{Kind: agent.FactToolFailed, Text: line})
}

// declined says who kept a call from running: the owner, who was asked, or the mode.
func (s items) declined(item, line, subject string) []agent.Fact {
	if i := slices.Index(s.Declined, item); i >= 0 {
		s.Declined = slices.Delete(s.Declined, i, i+1)
		return s.toolFailed("denied: " + subject)
	}
	s.Deny(line)
	return s.toolFailed("refused: " + subject)
}

// spoken takes a part of a message. Of an answer that was begun anew only whole messages count: only they show what was
// said before.
func (s items) spoken(item, part string) []agent.Fact {
	if s.Retried || part == "" {
		return s.activity()
	}
	var facts []agent.Fact
	if s.Saying != item {
		facts = s.cutShort()
		s.Saying = item
	}
	s.Streamed += len(part)
	if facts = append(facts, s.Chunk(part)...); len(facts) == 0 {
		return s.activity()
	}
	return facts
}

// cutShort ends a message that came in parts and will not be finished.
func (s items) cutShort() []agent.Fact {
	s.Saying, s.Streamed = "", 0
	return s.Flush()
}

// said ends a message: what its parts did not bring is logged, and the whole of it is the reply so far.
func (s items) said(i liveItem) []agent.Fact {
	text := string(i.Text)
	same := s.Saying == i.ID && s.Streamed <= len(text) && strings.HasPrefix(text, string(s.Whole))
	streamed := s.Streamed
	repeated := s.repeats(text)
	var facts []agent.Fact
	switch {
	case same && streamed > 0:
		facts = append(s.Chunk(text[streamed:]), s.cutShort()...)
		s.SetReply(text)
	case repeated || strings.TrimSpace(text) == "":
		facts = s.cutShort()
	default:
		facts = append(s.cutShort(), s.Stamp(s.Say(text))...)
	}
	if len(facts) == 0 {
		return s.activity()
	}
	return facts
}
