package codex

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// event is one line of codex; fields that are not read are left out.
type event struct {
	Type    string `json:"type"`
	Thread  string `json:"thread_id"`
	Message string `json:"message"`
	Item    item   `json:"item"`
	Usage   struct {
		Input  uint64 `json:"input_tokens"`
		Output uint64 `json:"output_tokens"`
	} `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// item is a part of a turn.
type item struct {
	Type     string     `json:"type"`
	Status   string     `json:"status"`
	Text     agent.Text `json:"text"`
	Message  string     `json:"message"`
	Command  string     `json:"command"`
	ExitCode *int       `json:"exit_code"`
	Query    string     `json:"query"`
	Server   string     `json:"server"`
	Tool     string     `json:"tool"`
	Changes  []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Items []struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	} `json:"items"`
}

// line reads one line of standard output.
func (d *dialect) line(line []byte) []agent.Fact {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Type == "" {
		d.state.Remember(line)
		return nil
	}
	d.state.Spoke = true
	switch e.Type {
	case "thread.started":
		return d.state.Named(e.Thread)
	case "item.started":
		return d.started(e.Item)
	case "item.completed":
		return d.completed(e.Item)
	case "error":
		return d.complained(e.Message)
	case "turn.failed":
		return d.failed(e.Error.Message)
	case "turn.completed":
		return d.state.End(agent.Outcome{
			State: wire.StateCompleted,
			Usage: agent.Usage{InputTokens: e.Usage.Input, OutputTokens: e.Usage.Output, CumulativeTokens: true},
		})
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// complained reads an error event. It never ends a turn: codex may be about to try again, and says turn.failed if not.
func (d *dialect) complained(message string) []agent.Fact {
	again := message == d.state.Error
	d.state.Error = message
	if !strings.HasPrefix(message, "Reconnecting") {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	d.state.Retried = true
	if again { // as "waiting for network", over and over: one line says it
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	return []agent.Fact{{Kind: agent.FactRetry, Text: retried(message), Class: classOf(message)}}
}

// retried says that codex tries again, and of a network that is gone that it will do so without an end: a job that waits
// for one is ended by its owner only.
func retried(message string) string {
	line := "codex tries again: " + agent.Shorten(message, agent.MaxDetail)
	if strings.Contains(message, "waiting for network") {
		line += "; it goes on when the network is back and never gives up: cancel the job to end it"
	}
	return line
}

func (d *dialect) started(i item) []agent.Fact {
	d.state.next(i.Type)
	switch i.Type {
	case "command_execution":
		return tool(agent.CommandLine(i.Command))
	case "mcp_tool_call":
		return tool(mcpLine(i))
	case "todo_list":
		return plan(i)
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

func (d *dialect) completed(i item) []agent.Fact {
	d.state.next(i.Type)
	switch i.Type {
	case "agent_message":
		return d.said(string(i.Text))
	case "command_execution":
		if i.Status == "declined" {
			d.state.Deny(agent.CommandLine(i.Command))
			return toolFailed("refused: " + agent.Shorten(agent.Unwrap(i.Command), agent.MaxSubject))
		}
		if i.ExitCode != nil && *i.ExitCode != 0 {
			return toolFailed(agent.FailedLine(strconv.Itoa(*i.ExitCode), i.Command))
		}
	case "file_change":
		var facts []agent.Fact
		for _, change := range i.Changes {
			facts = append(facts, tool(agent.PathLine(change.Kind, change.Path))...)
		}
		if i.Status == "failed" {
			facts = append(facts, toolFailed("file change failed")...)
		}
		return facts
	case "mcp_tool_call":
		if i.Status == "failed" {
			return toolFailed(mcpLine(i) + " failed")
		}
	case "web_search":
		return tool("search: " + agent.Shorten(i.Query, agent.MaxSubject))
	case "todo_list":
		return plan(i)
	case "error":
		if !strings.Contains(i.Message, "Model metadata for") {
			return []agent.Fact{{Kind: agent.FactNote, Text: "codex: " + agent.Shorten(i.Message, agent.MaxDetail)}}
		}
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// said logs a message, unless it is one of an answer that codex had to begin anew.
func (d *dialect) said(text string) []agent.Fact {
	if d.state.repeats(text) {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	return []agent.Fact{d.state.Say(text)}
}

func tool(line string) []agent.Fact { return []agent.Fact{{Kind: agent.FactTool, Text: line}} }

func toolFailed(line string) []agent.Fact {
	return []agent.Fact{{Kind: agent.FactToolFailed, Text: line}}
}

func mcpLine(i item) string { return agent.Shorten(i.Server+"."+i.Tool, agent.MaxSubject) }

// plan names the first step that is not done.
func plan(i item) []agent.Fact {
	for _, step := range i.Items {
		if !step.Completed {
			return []agent.Fact{{Kind: agent.FactPlan, Text: agent.Shorten(step.Text, agent.MaxSubject)}}
		}
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// classOf finds the class in a message of codex, which gives no field for it in this interface.
func classOf(message string) agent.Class {
	if strings.Contains(message, "content_filter") {
		return agent.ClassRefusal
	}
	if class := agent.ClassifyText(message); class != agent.ClassNone {
		return class
	}
	return agent.ClassAgent
}

// noise reports lines on standard error that say nothing about a failure.
func noise(line []byte) bool {
	return bytes.HasPrefix(line, []byte("Reading prompt from stdin"))
}
