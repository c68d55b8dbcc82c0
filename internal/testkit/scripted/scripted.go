// Package scripted is a model service for tests that plays a script which rides in the prompt, without a network: what
// follows the last "@@" in the newest text of the user that holds one, steps divided by "|". Step i is played after i
// answers with calls:
//
//	say:T         answers T, one piece for each word
//	tool:NAME:{}  calls a tool; "&" between two calls makes both in one answer
//	bad:NAME      calls a tool with arguments that are no JSON
//	fail:CLASS    fails with that class of provider.Fault
//	part:T        says T and then fails with class network
//	gate:NAME     waits for Release(NAME), or the end of the turn, and says "open"
//	refuse        declines; long ends at the bound of the output
//	seen          says how many messages the request holds
//	pinned        says the first message's text
//
// A request without tools and without a script is a summary, and answered "notes".
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"scv/internal/session/provider"
)

// A Model is the service. It is safe for concurrent use.
type Model struct {
	// Tokens is what Count answers; 0 says that it cannot count.
	Tokens int
	// Used is what an answer reports as its input; 0 reports nothing.
	Used int

	mu       sync.Mutex
	requests []provider.Request
	gates    map[string]chan struct{}
	waiting  map[string]chan struct{}
}

// Requests are all that were sent so far.
func (m *Model) Requests() []provider.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]provider.Request(nil), m.requests...)
}

// Count implements provider.Provider.
func (m *Model) Count(context.Context, provider.Request) (int, bool, error) {
	return m.Tokens, m.Tokens > 0, nil
}

// Release lets a step gate:NAME go on, now or when it comes.
func (m *Model) Release(name string) { close(m.gate(&m.gates, name)) }

// Reached is closed once a step gate:NAME waits.
func (m *Model) Reached(name string) <-chan struct{} { return m.gate(&m.waiting, name) }

func (m *Model) gate(of *map[string]chan struct{}, name string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *of == nil {
		*of = map[string]chan struct{}{}
	}
	if (*of)[name] == nil {
		(*of)[name] = make(chan struct{})
	}
	return (*of)[name]
}

// Stream implements provider.Provider.
func (m *Model) Stream(ctx context.Context, r provider.Request, emit func(provider.Piece)) (provider.Answer, error) {
	m.mu.Lock()
	m.requests = append(m.requests, r)
	m.mu.Unlock()
	verb, arg, _ := strings.Cut(step(r), ":")
	a := provider.Answer{Stop: provider.StopEnd, Message: provider.Message{Role: provider.Assistant}}
	a.Usage = provider.Usage{Input: m.Used, Output: len(arg)}
	say := func(text string) {
		for _, word := range strings.SplitAfter(text, " ") {
			emit(provider.Piece{Text: word})
		}
		a.Message.Text += text
	}
	fail := func(class provider.Class) (provider.Answer, error) {
		return a, &provider.Fault{Class: class, Sentence: "the service says: " + string(class)}
	}
	switch verb {
	case "say":
		say(arg)
	case "tool":
		a.Stop = provider.StopCalls
		for i, one := range strings.Split(arg, "&") {
			name, args, _ := strings.Cut(one, ":")
			a.Message.Calls = append(a.Message.Calls, provider.Call{ID: fmt.Sprintf("call-%d-%d", len(r.Messages), i), Name: name, Arguments: json.RawMessage(args)})
		}
	case "bad":
		a.Stop = provider.StopCalls
		a.Message.Calls = []provider.Call{{ID: fmt.Sprintf("call-%d", len(r.Messages)), Name: arg, Arguments: json.RawMessage(`{"path":`)}}
	case "fail":
		return fail(provider.Class(arg))
	case "part":
		say(arg)
		return fail(provider.Network)
	case "gate":
		waits := m.gate(&m.waiting, arg)
		select {
		case <-waits:
		default:
			close(waits)
		}
		select {
		case <-m.gate(&m.gates, arg):
			say("open")
		case <-ctx.Done():
			return fail(provider.Cancelled)
		}
	case "refuse":
		a.Stop = provider.StopRefused
	case "long":
		say("as far as it goes")
		a.Stop = provider.StopLength
	case "seen":
		say(fmt.Sprint(len(r.Messages)))
	case "pinned":
		say(r.Messages[0].Text)
	default:
		say("unknown step " + verb)
	}
	return a, nil
}

// step finds what to do.
func step(r provider.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		at := strings.LastIndex(m.Text, "@@")
		if m.Role != provider.User || at < 0 || strings.HasPrefix(m.Text, "user: ") {
			continue
		}
		script, _, _ := strings.Cut(m.Text[at+2:], "\n")
		steps := strings.Split(script, "|")
		done := 0
		for _, later := range r.Messages[i+1:] {
			if len(later.Calls) > 0 {
				done++
			}
		}
		if done < len(steps) {
			return steps[done]
		}
		return "say:done"
	}
	if len(r.Tools) == 0 {
		return "say:notes"
	}
	return "say:ok"
}
