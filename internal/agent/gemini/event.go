package gemini

import (
	"encoding/json"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// event is one line of gemini; fields that are not read are left out.
type event struct {
	Type    string     `json:"type"`
	Session string     `json:"session_id"`
	Role    string     `json:"role"`
	Content agent.Text `json:"content"`
	Tool    string     `json:"tool_name"`
	ID      string     `json:"tool_id"`
	Params  agent.Raw  `json:"parameters"`
	Status  string     `json:"status"`
	Message string     `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Input  uint64 `json:"input_tokens"`
		Output uint64 `json:"output_tokens"`
	} `json:"stats"`
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
	case "init":
		return d.state.Named(e.Session)
	case "message":
		if e.Role == "assistant" && len(d.state.Text) < agent.MaxReply+1 {
			d.state.Text += string(e.Content)
		}
	case "tool_use":
		return append(d.said(), d.tool(e))
	case "tool_result":
		return d.toolEnded(e)
	case "error":
		d.state.Error = e.Message
	case "result":
		return append(d.said(), d.ended(e)...)
	}
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// said gives the message that came in parts.
func (d *dialect) said() []agent.Fact {
	text := d.state.Text
	d.state.Text = ""
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []agent.Fact{d.state.Say(text)}
}

func (d *dialect) tool(e event) agent.Fact {
	var p struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
		Pattern string `json:"pattern"`
	}
	_ = json.Unmarshal(e.Params, &p) // of a tool that has other ones
	line := agent.Shorten(strings.TrimSpace(e.Tool+" "+p.Pattern), agent.MaxSubject)
	switch {
	case p.Command != "":
		line = agent.CommandLine(p.Command)
	case p.Path != "":
		line = agent.PathLine(e.Tool, p.Path)
	}
	if d.state.Tools == nil {
		d.state.Tools = make(map[string]string)
	}
	const most = 200 // open calls; a result without its line is told by its id
	if len(d.state.Tools) < most {
		d.state.Tools[e.ID] = line
	}
	return agent.Fact{Kind: agent.FactTool, Text: line}
}

// toolEnded tells of a tool that failed. A command that ends with another code than 0 is no failure to gemini.
func (d *dialect) toolEnded(e event) []agent.Fact {
	line, known := d.state.Tools[e.ID]
	delete(d.state.Tools, e.ID)
	if e.Status != "error" {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	if !known {
		line = "a tool"
	}
	return []agent.Fact{{Kind: agent.FactToolFailed, Text: "failed: " + strings.TrimPrefix(line, "$ ")}}
}

func (d *dialect) ended(e event) []agent.Fact {
	o := agent.Outcome{State: wire.StateCompleted, Usage: agent.Usage{InputTokens: e.Stats.Input, OutputTokens: e.Stats.Output}}
	if e.Status != "success" {
		said := e.Error.Message
		if said == "" {
			said = d.state.Error
		}
		whole := said
		code, said := service(whole)
		o.State, o.Error, o.Class = wire.StateFailed, said, agent.ClassForStatus(code)
		if o.Class == agent.ClassNone {
			o.Class = agent.ClassifyText(said)
		}
		if o.Class == agent.ClassNone {
			o.Class = agent.ClassAgent
		}
		d.state.Renewed(&o, whole)
		o.Detail = agent.Explain(o.Class, "gemini", signIn, said)
	}
	return d.state.End(o)
}

// service takes the answer of the model's service out of the text that gemini wraps around it; 0 when there is none.
func service(said string) (code int, message string) {
	var answer struct {
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	begin, end := strings.IndexByte(said, '{'), strings.LastIndexByte(said, '}')
	if begin < 0 || end < begin || json.Unmarshal([]byte(said[begin:end+1]), &answer) != nil || answer.Error.Message == "" {
		return 0, said
	}
	return answer.Error.Code, answer.Error.Message
}
