package service

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"scv/internal/safe/redact"
	"scv/internal/session/provider"
)

// An Attempt is one request on its way. The client's code tells it what arrives; each of its methods that reports a
// bool says false when the answer is to be given up, and the fault is then kept. It belongs to the goroutine that runs
// the attempt.
type Attempt struct {
	emit    func(provider.Piece)
	bounds  Bounds
	key     redact.Secret
	emitted bool
	fault   *provider.Fault

	text     strings.Builder
	thinking int
	calls    []*call
	kept     []Kept
	usage    provider.Usage
	stop     provider.Stop
	ended    bool
}

type call struct {
	key, id, name string
	arguments     strings.Builder
}

// A Kept is what a service wants to see again in its place: before the call with that number of the same message, or
// before nothing when the number is that of the calls.
type Kept struct {
	Before int             `json:"before"`
	Item   json.RawMessage `json:"item"`
}

// Fail keeps the first fault of the attempt and returns it.
func (a *Attempt) Fail(f *provider.Fault) error {
	if a.fault == nil {
		a.fault = f
	}
	return a.fault
}

// Text is more of the answer.
func (a *Attempt) Text(s string) bool {
	if s == "" {
		return a.fault == nil
	}
	if a.text.Len()+len(s) > a.bounds.Text {
		return a.over("The answer's text", a.bounds.Text)
	}
	a.text.WriteString(s)
	a.pass(provider.Piece{Text: s})
	return a.fault == nil
}

// Thinking is more of a summary of what the model thinks.
func (a *Attempt) Thinking(s string) bool {
	if s == "" {
		return a.fault == nil
	}
	if a.thinking += len(s); a.thinking > a.bounds.Text {
		return a.over("The model's thinking", a.bounds.Text)
	}
	a.pass(provider.Piece{Thinking: s})
	return a.fault == nil
}

func (a *Attempt) pass(p provider.Piece) {
	a.emitted = true
	a.emit(p)
}

func (a *Attempt) over(what string, bound int) bool {
	_ = a.Fail(oversized(what, bound)) // kept
	return false
}

// Call begins a call, or adds what is new to one that was begun: key names it within the answer.
func (a *Attempt) Call(key, id, name string) bool {
	c := a.find(key)
	if c == nil {
		if len(a.calls) == a.bounds.Calls {
			_ = a.Fail(&provider.Fault{ // kept
				Class:    provider.Size,
				Sentence: fmt.Sprintf("The model asked for more than %d tools at once. Ask it to take fewer steps at a time.", a.bounds.Calls),
			})
			return false
		}
		c = &call{key: key}
		a.calls = append(a.calls, c)
	}
	if id != "" {
		c.id = id
	}
	if name != "" {
		c.name = name
	}
	return a.fault == nil
}

// Arguments is more of a call's arguments, as the model writes them.
func (a *Attempt) Arguments(key, s string) bool {
	c := a.find(key)
	if c == nil {
		if !a.Call(key, "", "") {
			return false
		}
		c = a.find(key)
	}
	if c.arguments.Len()+len(s) > a.bounds.Arguments {
		return a.over("What the model hands to a tool", a.bounds.Arguments)
	}
	c.arguments.WriteString(s)
	return a.fault == nil
}

// Whole sets a call's arguments when the service says them once more in one piece.
func (a *Attempt) Whole(key, s string) bool {
	if c := a.find(key); c != nil && s != "" {
		c.arguments.Reset()
	}
	return a.Arguments(key, s)
}

// Started is how many calls there are so far.
func (a *Attempt) Started() int { return len(a.calls) }

// Keep remembers an item that the service wants to see again, before the next call.
func (a *Attempt) Keep(item json.RawMessage) {
	a.kept = append(a.kept, Kept{Before: len(a.calls), Item: slices.Clone(item)})
}

// Usage is what the service counted; a later word of it replaces an earlier one.
func (a *Attempt) Usage(u provider.Usage) { a.usage = u }

// Counted is the newest word of the service on usage.
func (a *Attempt) Counted() provider.Usage { return a.usage }

// End is the service's word that the answer is whole. An answer without it ended early.
func (a *Attempt) End(stop provider.Stop) { a.stop, a.ended = stop, true }

func (a *Attempt) find(key string) *call {
	for _, c := range slices.Backward(a.calls) {
		if c.key == key {
			return c
		}
	}
	return nil
}

// answer is what arrived. service names who may see the kept items again.
func (a *Attempt) answer(service string) provider.Answer {
	m := provider.Message{Role: provider.Assistant, Text: a.text.String()}
	seen := map[string]bool{}
	for _, c := range a.calls {
		// Some servers give no id or the same one to each call, and a result finds its call by it.
		if c.id == "" || seen[c.id] {
			c.id = "call_" + rand.Text()
		}
		seen[c.id] = true
		m.Calls = append(m.Calls, provider.Call{ID: c.id, Name: c.name, Arguments: json.RawMessage(c.arguments.String())})
	}
	if len(a.kept) > 0 {
		// Items are JSON that was decoded before; encoding them cannot fail.
		m.Opaque, _ = json.Marshal(a.kept)
		m.Service = service
	}
	stop := a.stop
	if len(m.Calls) > 0 && stop == provider.StopEnd {
		stop = provider.StopCalls
	}
	return provider.Answer{Message: m, Stop: stop, Usage: a.usage}
}

// Items are what a message of this service kept.
func Items(m provider.Message, service string) []Kept {
	var kept []Kept
	if m.Service != service || len(m.Opaque) == 0 || json.Unmarshal(m.Opaque, &kept) != nil {
		return nil // another service's, or of a build that kept them otherwise: the conversation goes on without
	}
	return kept
}

// Object is a call's arguments as the JSON object that services insist on. What is no object is handed back inside of
// one, so that the model sees what it wrote.
func Object(arguments json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if len(arguments) == 0 {
		return json.RawMessage("{}")
	}
	if json.Unmarshal(arguments, &object) == nil && object != nil {
		return arguments
	}
	out, _ := json.Marshal(map[string]string{"unreadable_arguments": string(arguments)}) // strings always encode
	return out
}

// within returns a context that the transport finds the attempt in.
func (a *Attempt) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}
