package claude

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// talk is what both dialects keep of a turn beside its account.
type talk struct {
	Tools     map[string]string `json:"tools,omitempty"`      // lines of open tool calls by id
	Held      *agent.Outcome    `json:"held,omitempty"`       // of a result after which claude may still go on
	Failure   failure           `json:"failure,omitzero"`     // of the last message that was an error of the service
	DeniedIDs map[string]bool   `json:"denied_ids,omitempty"` // ids of tool calls counted as refused
	Again     []string          `json:"again,omitempty"`      // texts of a refused answer, which claude asks for once more
	Resets    int64             `json:"resets,omitzero"`      // when the usage limit is renewed that refuses calls; 0 for none
}

// failure is what claude says of a failed call in fields.
type failure struct {
	Word   string `json:"word,omitempty"`
	Status int    `json:"status,omitzero"`
}

// deny counts a refused call once: it is told of by an event and in the result.
func (t *talk) deny(s *agent.Account, id, line string) {
	if t.DeniedIDs[id] {
		return
	}
	if t.DeniedIDs == nil {
		t.DeniedIDs = make(map[string]bool)
	}
	t.DeniedIDs[id] = true
	s.Deny(line)
}

// assistant reads a message of the model's. What the model says is given to say; a helper's words are not the answer.
func (t *talk) assistant(e event, say func(text string) []agent.Fact) []agent.Fact {
	if e.APIError {
		t.Failure = failure{Word: text(e.Error)}
		if e.APIStatus != nil {
			t.Failure.Status = *e.APIStatus
		}
		return nil
	}
	var facts []agent.Fact
	for _, b := range blocks(e.Message) {
		switch b.Type {
		case "text":
			text := string(b.Text)
			if i := slices.Index(t.Again, text); i >= 0 {
				t.Again = slices.Delete(t.Again, i, i+1)
				continue
			}
			if strings.TrimSpace(text) == "" || e.Parent != nil {
				continue
			}
			facts = append(facts, say(text)...)
		case "tool_use":
			line, show := toolLine(b.Name, b.Input)
			if t.Tools == nil {
				t.Tools = make(map[string]string)
			}
			t.Tools[b.ID] = line
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

// user reads what claude gives the model: results of tools, and its own words.
func (t *talk) user(s *agent.Account, e event) []agent.Fact {
	if e.Synthetic && e.Retry && s.Reply != "" && len(s.Reply) <= maxAgain {
		t.Again = []string{s.Reply}
	}
	var facts []agent.Fact
	for _, b := range blocks(e.Message) {
		if b.Type != "tool_result" {
			continue
		}
		line := t.Tools[b.ToolID]
		delete(t.Tools, b.ToolID)
		if b.IsError && line != "" && !t.DeniedIDs[b.ToolID] {
			facts = append(facts, agent.Fact{Kind: agent.FactToolFailed, Text: strings.TrimPrefix(line, "$ ") + " failed"})
		}
	}
	return facts
}

// refused reads that a call was refused by the mode.
func (t *talk) refused(s *agent.Account, e event) []agent.Fact {
	line := t.Tools[e.ToolID]
	if line == "" {
		line = e.ToolName
	}
	t.deny(s, e.ToolID, line)
	return []agent.Fact{{Kind: agent.FactToolFailed, Text: "refused: " + strings.TrimPrefix(line, "$ ")}}
}

// limited notes when the usage limit is renewed that refuses calls to the model. One that only warns refuses none.
func (t *talk) limited(e event) {
	t.Resets = 0
	if e.Limit.Status == "rejected" {
		t.Resets = e.Limit.Resets
	}
}

func retry(e event) []agent.Fact {
	class := agent.ClassNetwork
	if e.Status != nil {
		class = agent.ClassForStatus(*e.Status)
	}
	return []agent.Fact{{Kind: agent.FactRetry, Class: class, Text: retryLine(e)}}
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

// hold keeps the outcome of a result: whether it is the last one of its turn is for the dialect to find. The tokens of
// an earlier result of the same turn are added.
func (t *talk) hold(s *agent.Account, e event) {
	for _, line := range denials(e) {
		t.deny(s, line.id, line.text)
	}
	o := t.outcome(s, e)
	if t.Held != nil {
		addUse(&o.Usage, t.Held.Usage)
	}
	t.Held = &o
}

// maxAgain bounds the text kept to know a repeated answer by.
const maxAgain = 64 << 10

// addUse adds the tokens of an earlier result of the same turn; the cost is a sum already.
func addUse(to *agent.Usage, earlier agent.Usage) {
	to.InputTokens += earlier.InputTokens
	to.OutputTokens += earlier.OutputTokens
}

func (t *talk) outcome(s *agent.Account, e event) agent.Outcome {
	o := agent.Outcome{Usage: agent.Usage{
		InputTokens:  e.Usage.input(),
		OutputTokens: e.Usage.Output, CostUSD: e.Cost, CumulativeCost: e.Cost != nil,
	}}
	said := ""
	if e.Result != nil {
		said = string(*e.Result)
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
		o.State, o.Class = wire.StateFailed, t.failureClass(e, said)
		if said == "" {
			said = "its result is " + e.Subtype
		}
		o.Detail, o.Error = agent.Explain(o.Class, "claude", signIn, said), said
		if o.Class == agent.ClassQuota {
			o.Resets = t.Resets
		}
	default:
		o.State = wire.StateCompleted
		if said != "" {
			s.SetReply(said)
		}
	}
	return o
}

// failureClass takes the fields first: the status of the service's answer, then claude's own word for it.
func (t *talk) failureClass(e event, said string) agent.Class {
	for _, status := range []*int{e.APIStatus, &t.Failure.Status} {
		if status != nil && *status != 0 {
			if class := agent.ClassForStatus(*status); class != agent.ClassNone {
				return class
			}
		}
	}
	switch t.Failure.Word {
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

func blocks(raw agent.Raw) []block {
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
func text(raw agent.Raw) string {
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
