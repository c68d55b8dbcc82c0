package opencode

import (
	"encoding/json"
	"strconv"
	"strings"

	"scv/internal/agent"
)

// event is one line of opencode; fields that are not read are left out.
type event struct {
	Type    string  `json:"type"`
	Session string  `json:"sessionID"`
	Part    part    `json:"part"`
	Error   failure `json:"error"`
}

type part struct {
	Text   agent.Text `json:"text"`
	Tool   string     `json:"tool"`
	Reason string     `json:"reason"`
	Cost   *float64   `json:"cost"`
	Tokens struct {
		Input  uint64 `json:"input"`
		Output uint64 `json:"output"`
	} `json:"tokens"`
	State struct {
		Status   string    `json:"status"`
		Title    string    `json:"title"`
		Input    agent.Raw `json:"input"`
		Error    string    `json:"error"`
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
	} `json:"state"`
}

// failure is an error of opencode.
type failure struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Status  int    `json:"statusCode"`
		Headers struct {
			Retry string `json:"retry-after"` // seconds
		} `json:"responseHeaders"` // of the service's answer
	} `json:"data"`
}

func (f *failure) said() string {
	if f.Data.Message != "" {
		return f.Data.Message
	}
	return f.Name
}

func (f *failure) class() agent.Class {
	if class := agent.ClassForStatus(f.Data.Status); class != agent.ClassNone {
		return class
	}
	if strings.Contains(f.Name, "Auth") {
		return agent.ClassAuth
	}
	if class := agent.ClassifyText(f.said()); class != agent.ClassNone {
		return class
	}
	return agent.ClassAgent
}

// line reads one line of standard output.
func (d *dialect) line(line []byte) []agent.Fact {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Type == "" {
		d.state.Remember(line)
		return nil
	}
	s := &d.state
	s.Spoke = true
	facts := s.Named(e.Session)
	switch e.Type {
	case "step_start":
		s.Stopped, s.Failed = false, nil
	case "text":
		if text := string(e.Part.Text); strings.TrimSpace(text) != "" {
			return append(facts, s.Say(text))
		}
	case "tool_use":
		return append(facts, toolFacts(&e.Part)...)
	case "step_finish":
		s.Stopped, s.Failed = e.Part.Reason == "stop", nil
		s.Used.InputTokens += e.Part.Tokens.Input
		s.Used.OutputTokens += e.Part.Tokens.Output
		if e.Part.Cost != nil {
			sum := *e.Part.Cost
			if s.Used.CostUSD != nil {
				sum += *s.Used.CostUSD
			}
			s.Used.CostUSD = &sum
		}
	case "error":
		s.Failed = &e.Error
	}
	return append(facts, agent.Fact{Kind: agent.FactActivity})
}

// toolFacts tells of a tool call, which opencode reports once it is over.
func toolFacts(p *part) []agent.Fact {
	var in struct {
		Command string `json:"command"`
		Path    string `json:"filePath"`
	}
	_ = json.Unmarshal(p.State.Input, &in) // of a tool that has other ones
	line := agent.Shorten(strings.TrimSpace(p.Tool+" "+p.State.Title), agent.MaxSubject)
	switch {
	case in.Command != "":
		line = agent.CommandLine(in.Command)
	case in.Path != "":
		line = agent.PathLine(p.Tool, in.Path)
	}
	facts := []agent.Fact{{Kind: agent.FactTool, Text: line}}
	exit := p.State.Metadata.Exit
	switch {
	case p.State.Status == "error":
		why := agent.Shorten(p.State.Error, agent.MaxSubject)
		facts = append(facts, agent.Fact{Kind: agent.FactToolFailed, Text: strings.TrimSuffix("failed: "+strings.TrimPrefix(line, "$ ")+": "+why, ": ")})
	case exit != nil && *exit != 0 && in.Command != "":
		facts = append(facts, agent.Fact{Kind: agent.FactToolFailed, Text: agent.FailedLine(strconv.Itoa(*exit), in.Command)})
	}
	return facts
}
