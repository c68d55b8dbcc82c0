package claude

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// event is one line of claude; fields that are not read are left out.
type event struct {
	Type       string          `json:"type"`
	Subtype    string          `json:"subtype"`
	Session    string          `json:"session_id"`
	Message    json.RawMessage `json:"message"` // an object of assistant and user, a text of system
	Parent     *string         `json:"parent_tool_use_id"`
	Error      json.RawMessage `json:"error"`
	APIError   bool            `json:"is_api_error_message"`
	APIStatus  *int            `json:"api_error_status"`
	ToolName   string          `json:"tool_name"`
	ToolID     string          `json:"tool_use_id"`
	Synthetic  bool            `json:"isSynthetic"`
	Retry      bool            `json:"refusal_retry"`
	Attempt    int             `json:"attempt"`
	MaxRetries int             `json:"max_retries"`
	Status     *int            `json:"error_status"`
	Tasks      []struct{}      `json:"tasks"`
	result
}

// result is what the event of that type holds beside.
type result struct {
	IsError    bool              `json:"is_error"`
	StopReason string            `json:"stop_reason"`
	Terminal   string            `json:"terminal_reason"`
	Result     *string           `json:"result"`
	Errors     []json.RawMessage `json:"errors"`
	Cost       *float64          `json:"total_cost_usd"`
	Queued     int               `json:"queued_turn_count"`
	Denials    []struct {
		Name  string          `json:"tool_name"`
		ID    string          `json:"tool_use_id"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
	Usage struct {
		Input       uint64 `json:"input_tokens"`
		CacheRead   uint64 `json:"cache_read_input_tokens"`
		CacheCreate uint64 `json:"cache_creation_input_tokens"`
		Output      uint64 `json:"output_tokens"`
	} `json:"usage"`
}

// message is the content of an assistant or user event.
type message struct {
	Content json.RawMessage `json:"content"`
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	ToolID  string          `json:"tool_use_id"`
	IsError bool            `json:"is_error"`
}

// line reads one line of standard output.
func (d *dialect) line(line []byte) []agent.Fact {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Type == "" {
		d.state.Remember(line)
		return nil
	}
	d.state.Spoke = true
	var facts []agent.Fact
	switch e.Type {
	case "system":
		facts = d.system(e)
	case "assistant":
		facts = d.assistant(e)
	case "user":
		facts = d.user(e)
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
		line := d.state.Tools[e.ToolID]
		if line == "" {
			line = e.ToolName
		}
		d.deny(e.ToolID, line)
		return []agent.Fact{{Kind: agent.FactToolFailed, Text: "refused: " + strings.TrimPrefix(line, "$ ")}}
	case "api_retry":
		class := agent.ClassNetwork
		if e.Status != nil {
			class = agent.ClassForStatus(*e.Status)
		}
		return []agent.Fact{{Kind: agent.FactRetry, Class: class, Text: retryLine(e)}}
	case "background_tasks_changed":
		d.state.Tasks = len(e.Tasks)
	}
	return nil
}

func retryLine(e event) string {
	line := "claude tries again (" + strconv.Itoa(e.Attempt)
	if e.MaxRetries > 0 {
		line += " of " + strconv.Itoa(e.MaxRetries)
	}
	line += ")"
	if e.Status != nil {
		line += ": the service answered " + strconv.Itoa(*e.Status)
	}
	if word := text(e.Error); word != "" {
		line += ", " + agent.Shorten(word, agent.MaxSubject)
	}
	return line
}

// deny counts a refused call once: it is told of by an event and in the result.
func (d *dialect) deny(id, line string) {
	if d.state.DeniedIDs[id] {
		return
	}
	if d.state.DeniedIDs == nil {
		d.state.DeniedIDs = make(map[string]bool)
	}
	d.state.DeniedIDs[id] = true
	d.state.Deny(line)
}

func (d *dialect) assistant(e event) []agent.Fact {
	if e.APIError {
		d.state.Failure = failure{Word: text(e.Error)}
		if e.APIStatus != nil {
			d.state.Failure.Status = *e.APIStatus
		}
		return nil
	}
	var facts []agent.Fact
	for _, b := range blocks(e.Message) {
		switch b.Type {
		case "text":
			if i := slices.Index(d.state.Again, b.Text); i >= 0 {
				d.state.Again = slices.Delete(d.state.Again, i, i+1)
				continue
			}
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			if e.Parent != nil {
				continue // a helper's words are not the answer
			}
			facts = append(facts, d.state.Say(b.Text))
		case "tool_use":
			line, show := toolLine(b.Name, b.Input)
			if d.state.Tools == nil {
				d.state.Tools = make(map[string]string)
			}
			d.state.Tools[b.ID] = line
			if b.Name == "TodoWrite" {
				facts = append(facts, planStep(b.Input)...)
			}
			if show {
				facts = append(facts, agent.Fact{Kind: agent.FactTool, Text: line})
			}
		}
	}
	return facts
}

func (d *dialect) user(e event) []agent.Fact {
	if e.Synthetic && e.Retry && d.state.Reply != "" && len(d.state.Reply) <= maxAgain {
		d.state.Again = []string{d.state.Reply}
	}
	var facts []agent.Fact
	for _, b := range blocks(e.Message) {
		if b.Type != "tool_result" {
			continue
		}
		line := d.state.Tools[b.ToolID]
		delete(d.state.Tools, b.ToolID)
		if b.IsError && line != "" && !d.state.DeniedIDs[b.ToolID] {
			facts = append(facts, agent.Fact{Kind: agent.FactToolFailed, Text: strings.TrimPrefix(line, "$ ") + " failed"})
		}
	}
	return facts
}

// maxAgain bounds the text kept to know a repeated answer by.
const maxAgain = 64 << 10

// result settles the turn; while background tasks run claude goes on, and gives another result when they are done.
func (d *dialect) result(e event) []agent.Fact {
	for _, line := range d.denials(e) {
		d.deny(line.id, line.text)
	}
	o := d.outcome(e)
	if d.state.Tasks > 0 || e.Queued > 0 {
		if held := d.state.Held; held != nil {
			addUse(&o.Usage, held.Usage)
		}
		d.state.Held = &o
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	if held := d.state.Held; held != nil {
		addUse(&o.Usage, held.Usage)
		d.state.Held = nil
	}
	return d.state.End(o)
}

// addUse adds the tokens of an earlier result of the same turn; the cost is a sum already.
func addUse(to *agent.Usage, earlier agent.Usage) {
	to.InputTokens += earlier.InputTokens
	to.OutputTokens += earlier.OutputTokens
}

func (d *dialect) outcome(e event) agent.Outcome {
	o := agent.Outcome{Usage: agent.Usage{
		InputTokens:  e.Usage.Input + e.Usage.CacheRead + e.Usage.CacheCreate,
		OutputTokens: e.Usage.Output, CostUSD: e.Cost, CumulativeCost: e.Cost != nil,
	}}
	said := ""
	if e.Result != nil {
		said = *e.Result
	}
	for _, item := range e.Errors {
		if word := text(item); !strings.HasPrefix(word, "[ede_diagnostic]") { // claude's note to its makers
			said = strings.TrimPrefix(said+"; "+word, "; ")
		}
	}
	switch {
	case e.StopReason == "refusal":
		o.State, o.Class, o.Detail, o.Error = wire.StateDeclined, agent.ClassRefusal, "the model refused the request", said
	case e.Subtype == "error_max_turns":
		o.State, o.Class, o.Detail, o.Error = wire.StateFailed, agent.ClassLimit, "the agent's limit of steps (max turns) was reached", said
	case e.Subtype == "error_max_budget_usd":
		o.State, o.Class, o.Detail, o.Error = wire.StateFailed, agent.ClassLimit, "the agent's limit of cost was reached", said
	case strings.HasPrefix(e.Terminal, "aborted"):
		o.State, o.Detail, o.Error = wire.StateInterrupted, "the agent was interrupted ("+e.Terminal+")", said
	case e.IsError || e.Subtype != "success":
		o.State, o.Class = wire.StateFailed, d.failureClass(e, said)
		if said == "" {
			said = "its result is " + e.Subtype
		}
		o.Detail, o.Error = agent.Explain(o.Class, "claude", signIn, said), said
	default:
		o.State = wire.StateCompleted
		if said != "" {
			d.state.SetReply(said)
		}
	}
	return o
}

// failureClass takes the fields first: the status of the service's answer, then claude's own word for it.
func (d *dialect) failureClass(e event, said string) agent.Class {
	for _, status := range []*int{e.APIStatus, &d.state.Failure.Status} {
		if status != nil && *status != 0 {
			if class := agent.ClassForStatus(*status); class != agent.ClassNone {
				return class
			}
		}
	}
	switch d.state.Failure.Word {
	case "authentication_failed", "oauth_org_not_allowed":
		return agent.ClassAuth
	case "billing_error", "rate_limit":
		return agent.ClassQuota
	case "server_error", "invalid_request", "model_not_found", "overloaded":
		return agent.ClassModel
	case "max_output_tokens":
		return agent.ClassLimit
	}
	if class := agent.ClassifyText(said); class != agent.ClassNone {
		return class
	}
	return agent.ClassAgent
}

func blocks(raw json.RawMessage) []block {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	var list []block
	if json.Unmarshal(m.Content, &list) != nil {
		return nil
	}
	return list
}

// text returns a JSON value as words: a string as it is, an object by its message.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	}
	if json.Unmarshal(raw, &o) == nil {
		if o.Message != "" {
			return o.Message
		}
		return o.Type
	}
	return ""
}
