package claude

import (
	"encoding/json"
	"errors"

	"scv/internal/agent"
)

// event is one line of claude; fields that are not read are left out.
type event struct {
	Type       string    `json:"type"`
	Subtype    string    `json:"subtype"`
	Session    string    `json:"session_id"`
	Message    agent.Raw `json:"message"` // an object of assistant and user, a text of system
	Parent     *string   `json:"parent_tool_use_id"`
	Error      agent.Raw `json:"error"`
	APIError   bool      `json:"is_api_error_message"`
	APIStatus  *int      `json:"api_error_status"`
	ToolName   string    `json:"tool_name"`
	ToolID     string    `json:"tool_use_id"`
	Synthetic  bool      `json:"isSynthetic"`
	Retry      bool      `json:"refusal_retry"`
	Attempt    int       `json:"attempt"`
	MaxRetries int       `json:"max_retries"`
	Status     *int      `json:"error_status"`
	Tasks      []task    `json:"tasks"`
	result
	stream
}

// task is one that runs in the background.
type task struct {
	ID   string `json:"task_id"`
	What string `json:"description"`
}

// stream is what events hold that only the two-way stream has.
type stream struct {
	RequestID    string   `json:"request_id"`
	Request      call     `json:"request"`
	Response     answer   `json:"response"`
	Command      string   `json:"command_uuid"`
	State        string   `json:"state"`
	Cwd          string   `json:"cwd"`
	Version      string   `json:"claude_code_version"`
	Capabilities []string `json:"capabilities"`
	Event        struct {
		Delta struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"delta"`
	} `json:"event"`
	Models map[string]struct {
		Window uint64 `json:"contextWindow"`
	} `json:"modelUsage"`
	Limit struct {
		Status string `json:"status"`
		Resets int64  `json:"resetsAt"` // seconds of Unix time
	} `json:"rate_limit_info"`
}

// answer is claude's to a request of ours.
type answer struct {
	Subtype  string    `json:"subtype"`
	ID       string    `json:"request_id"`
	Response agent.Raw `json:"response"`
	Error    string    `json:"error"`
}

// tokens is what a call to the model took.
type tokens struct {
	Input       uint64 `json:"input_tokens"`
	CacheRead   uint64 `json:"cache_read_input_tokens"`
	CacheCreate uint64 `json:"cache_creation_input_tokens"`
	Output      uint64 `json:"output_tokens"`
}

func (u tokens) input() uint64 { return u.Input + u.CacheRead + u.CacheCreate }

// result is what the event of that type holds beside.
type result struct {
	IsError    bool        `json:"is_error"`
	StopReason string      `json:"stop_reason"`
	Terminal   string      `json:"terminal_reason"`
	Result     *agent.Text `json:"result"`
	Errors     []agent.Raw `json:"errors"`
	Cost       *float64    `json:"total_cost_usd"`
	Queued     int         `json:"queued_turn_count"`
	Denials    []struct {
		Name  string    `json:"tool_name"`
		ID    string    `json:"tool_use_id"`
		Input agent.Raw `json:"tool_input"`
	} `json:"permission_denials"`
	Usage tokens `json:"usage"`
}

// message is the content of an assistant or user event.
type message struct {
	Content agent.Raw `json:"content"`
}

type block struct {
	Type    string     `json:"type"`
	Text    agent.Text `json:"text"`
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Input   agent.Raw  `json:"input"`
	ToolID  string     `json:"tool_use_id"`
	IsError bool       `json:"is_error"`
}

// parse reads a line as an event. A field of another type than expected leaves the others readable.
func parse(line []byte) (event, bool) {
	var e event
	err := json.Unmarshal(line, &e)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return e, e.Type != "" && (err == nil || mistyped)
}

// line reads one line of standard output.
func (d *dialect) line(line []byte) []agent.Fact {
	e, ok := parse(line)
	if !ok {
		d.state.Remember(line)
		return nil
	}
	d.state.Spoke = true
	var facts []agent.Fact
	switch e.Type {
	case "system":
		facts = d.system(e)
	case "assistant":
		facts = d.state.assistant(e, func(text string) []agent.Fact { return []agent.Fact{d.state.Say(text)} })
	case "user":
		facts = d.state.user(&d.state.Account, e)
	case "rate_limit_event":
		d.state.limited(e)
	case "result":
		return append(d.named(e), d.result(e)...)
	}
	if len(facts) == 0 {
		facts = []agent.Fact{{Kind: agent.FactActivity}}
	}
	return facts
}

// named takes the session's id, but not from a result that says the session does not exist.
func (d *dialect) named(e event) []agent.Fact {
	if e.IsError && e.Subtype == "error_during_execution" && d.state.Session == "" {
		return nil
	}
	return d.state.Named(e.Session)
}

func (d *dialect) system(e event) []agent.Fact {
	switch e.Subtype {
	case "init":
		return d.state.Named(e.Session)
	case "permission_denied":
		return d.state.refused(&d.state.Account, e)
	case "api_retry":
		return retry(e)
	case "background_tasks_changed":
		d.state.Tasks = len(e.Tasks)
	}
	return nil
}

// result settles the turn; while background tasks run claude goes on, and gives another result when they are done.
func (d *dialect) result(e event) []agent.Fact {
	d.state.hold(&d.state.Account, e)
	if d.state.Tasks > 0 || e.Queued > 0 {
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	o := *d.state.Held
	d.state.Held = nil
	return d.state.End(o)
}
