// Package fakemodel is a model server for tests: it speaks the four model interfaces that coding agents use and plays
// a script that rides in the prompt, so one server without state serves tests in parallel and an agent's own loop runs
// for real, offline. Tests start it with Start; it owns its listener and its log of requests, and loses neither.
//
// A script is what follows the last "@@" in the last text of the user that holds one, to the end of that line: steps
// divided by "|" (written \| inside a step). Step i is played after i tool results that follow this text:
//
//	say:T        answers the text T
//	shell:CMD    calls the shell tool that the request offers
//	tool:NAME:{} calls any tool with these arguments; SPACE/NAME is one of a named group
//	err:CODE     answers an HTTP error; err:CODE:WORD one that calls itself WORD
//	flaky:N:CODE answers the first N requests for this step with an HTTP error and then says "ok"; flaky:N:CODE:S
//	             also asks to wait S seconds
//	wrong:WORD   reports an error inside the stream
//	hang:S       sends nothing for S seconds, then says "late"
//	slow:N       says N words, one each 0.2 s
//	long:BYTES   says that many bytes
//	prose:N      says N words, each in a piece of its own
//	refuse       is the refusal of the interface
//	think:T      thinks T, in a form that wants to be handed back, and says "thought"
//	calls:N      calls the first tool of the request N times at once
//	drop         breaks the connection inside the answer
//	cut:N:STEP   plays STEP and breaks the connection after N bytes of it; end:N:STEP ends the answer there instead
//	garbage      sends an event that is no JSON
//	hist         says the scripts that the request holds, oldest first, with their count
//	verdict:T    reviews: asks for changes with the finding T until that is among the open ones, and then approves
//	landed:REF   reports that the commit which the last tool named has landed on REF
//	confirm      confirms the landing that the prompt speaks of
//
// A line %%STEPS below a script is played when the conversation goes on with a prompt that asks for a landing, or for a
// look at one, and has no script itself.
//
// A request without tools (a title, a summary) is answered "ok"; a script that is at its end says "done".
package fakemodel

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Request is one call that the server was sent.
type Request struct {
	API    string   `json:"api"` // "responses", "chat", "messages" or "gemini"
	Path   string   `json:"path"`
	Model  string   `json:"model"`
	Tools  []string `json:"tools,omitempty"`
	Step   string   `json:"step"`            // that was played
	Texts  []string `json:"texts,omitempty"` // the last user texts, at most three
	Auth   bool     `json:"auth"`            // a credential was sent
	Stream bool     `json:"stream"`
	Body   []byte   `json:"-"` // as it was sent
}

// A Server is the handler and what it was asked.
type Server struct {
	URL string // of the listener that Start opened, without a slash at its end

	mu       sync.Mutex
	changed  *sync.Cond // of requests
	log      io.Writer  // may be nil
	requests []Request
	stop     chan struct{} // closed when the server ends, so that a step that waits goes on
}

// New returns a server that writes each request as a JSON line to log, which may be nil.
func New(log io.Writer) *Server {
	s := &Server{log: log, stop: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Start serves on a free port of the loopback until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	server := New(nil)
	listener := httptest.NewServer(server)
	server.URL = listener.URL
	t.Cleanup(func() {
		close(server.stop)
		listener.CloseClientConnections()
		listener.Close()
	})
	return server
}

// Requests returns a copy of what the server was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Await waits until the server has had n requests for an agent's own turns, those with tools; the test's deadline
// bounds it.
func (s *Server) Await(t testing.TB, n int) {
	t.Helper()
	stop := context.AfterFunc(t.Context(), s.changed.Broadcast)
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		had := 0
		for _, r := range s.requests {
			if len(r.Tools) > 0 {
				had++
			}
		}
		if had >= n || t.Context().Err() != nil {
			return
		}
		s.changed.Wait()
	}
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	s.changed.Broadcast()
	if s.log != nil {
		// A log that cannot be written must not fail the agent under test; the test sees it by Requests.
		_ = json.NewEncoder(s.log).Encode(r)
	}
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p := r.URL.Path
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(p, "/models"):
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "fake", "object": "model"}}})
	case r.Method != http.MethodPost:
		http.NotFound(w, r)
	case strings.HasSuffix(p, "/count_tokens"):
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": len(body) / 4})
	case strings.HasSuffix(p, "/responses/input_tokens"):
		writeJSON(w, http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": len(body) / 4})
	case strings.HasSuffix(p, ":countTokens"):
		writeJSON(w, http.StatusOK, map[string]any{"totalTokens": len(body) / 4})
	case strings.HasSuffix(p, "/responses"):
		s.answer(w, r, body, parseResponses, newResponses)
	case strings.HasSuffix(p, "/chat/completions"):
		s.answer(w, r, body, parseChat, newChat)
	case strings.HasSuffix(p, "/messages"):
		s.answer(w, r, body, parseMessages, newMessages)
	case strings.HasSuffix(p, ":generateContent"), strings.HasSuffix(p, ":streamGenerateContent"):
		s.answer(w, r, body, parseGemini, newGemini)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte,
	parse func(*http.Request, []byte) (call, error), speak func(*stream, call) voice,
) {
	c, err := parse(r, body)
	if err != nil {
		http.Error(w, "fakemodel: "+err.Error(), http.StatusBadRequest)
		return
	}
	step := c.step()
	s.record(Request{
		API: c.api, Path: r.URL.Path, Model: c.model, Tools: c.tools, Step: step.String(), Texts: c.lastTexts(3),
		Auth:   r.Header.Get("Authorization") != "" || r.Header.Get("X-Api-Key") != "" || r.Header.Get("X-Goog-Api-Key") != "",
		Stream: c.stream, Body: body,
	})
	out := &stream{w: w, ctx: r.Context(), stop: s.stop, plain: !c.stream}
	c.before = s.before(c, step)
	defer out.recover()
	play(out, speak(out, c), c, step)
}

// before counts the earlier requests for the same step of the same script.
func (s *Server) before(c call, step step) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := -1 // this one was recorded as well
	for _, r := range s.requests {
		if r.API == c.api && r.Step == step.String() && slices.Equal(r.Texts, c.lastTexts(3)) {
			count++
		}
	}
	return count
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// The client may be gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(value)
}
