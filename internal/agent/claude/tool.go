package claude

import (
	"encoding/json"
	"strings"

	"scv/internal/agent"
)

// toolLine returns the line on a tool call and whether the log shows it; a list of things to do is shown as no tool.
func toolLine(name string, input agent.Raw) (string, bool) {
	var in struct {
		Command     string `json:"command"`
		FilePath    string `json:"file_path"`
		Notebook    string `json:"notebook_path"`
		Pattern     string `json:"pattern"`
		Query       string `json:"query"`
		URL         string `json:"url"`
		Description string `json:"description"`
	}
	// A field of another type than expected leaves the others readable, so the error is no reason to say nothing.
	_ = json.Unmarshal(input, &in)
	short := func(s string) string { return agent.Shorten(s, agent.MaxSubject) }
	switch name {
	case "Bash":
		return agent.CommandLine(in.Command), true
	case "Read", "Write", "Edit", "MultiEdit":
		return agent.PathLine(name, in.FilePath), true
	case "NotebookEdit":
		return agent.PathLine(name, in.Notebook), true
	case "Glob", "Grep":
		return strings.TrimSpace(name + " " + short(in.Pattern)), true
	case "WebSearch", "ToolSearch":
		return "search: " + short(in.Query), true
	case "WebFetch":
		return strings.TrimSpace("fetch " + short(address(in.URL))), true
	case "Task", "Agent":
		return strings.TrimSpace(name + " " + short(in.Description)), true
	case "TodoWrite":
		return name, false
	}
	return short(name), true
}

// planStep names the step in hand of a list of things to do: the one in progress, else the first that waits.
func planStep(input agent.Raw) []agent.Fact {
	var in struct {
		Todos []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"todos"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	for _, status := range []string{"in_progress", "pending"} {
		for _, todo := range in.Todos {
			if todo.Status == status {
				return []agent.Fact{{Kind: agent.FactPlan, Text: agent.Shorten(todo.Content, agent.MaxSubject)}}
			}
		}
	}
	return nil
}

// address drops what a web address carries beside its place.
func address(url string) string {
	url, _, _ = strings.Cut(url, "#")
	url, _, _ = strings.Cut(url, "?")
	return url
}

// denial is a tool call that the result names as refused.
type denial struct{ id, text string }

// denials reads the refused calls of a result.
func denials(e event) []denial {
	var out []denial
	for _, p := range e.Denials {
		line, _ := toolLine(p.Name, p.Input)
		out = append(out, denial{p.ID, line})
	}
	return out
}
