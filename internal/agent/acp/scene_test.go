package acp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
)

// A scene is a dialect with its agent played by the test: what is written is echoed as the shim does, with the state
// through JSON each time, and the test says what the agent answers.
type scene struct {
	t      *testing.T
	d      agent.Dialect
	wishes agent.Wishes
	n      uint64
	said   []string // keys, and the method or result of each message
	lines  []string // the messages themselves
	facts  []agent.Fact
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, d: catalog.ACP("mine", "mine").New(agent.Settings{})}
	s.wishes.Turn = &agent.Turn{Number: 1, Key: "turn:1", Prompt: "do it", Cwd: "/w", Mode: agent.ModeOnRisk}
	s.feed(agent.Input{Kind: agent.InputStarted})
	return s
}

func (s *scene) feed(in agent.Input) {
	s.t.Helper()
	s.facts = append(s.facts, s.d.Feed(in)...)
	state, err := s.d.Checkpoint()
	if err != nil {
		s.t.Fatal(err)
	}
	s.d = catalog.ACP("mine", "mine").New(agent.Settings{})
	if err := s.d.Restore(state); err != nil {
		s.t.Fatal(err)
	}
}

// say writes what the dialect wants written, until it wants nothing more.
func (s *scene) say() {
	s.t.Helper()
	for range 50 {
		m, ok := s.d.Next(s.wishes, s.n+1)
		if !ok {
			return
		}
		s.n++
		var rpc agent.RPC
		if len(m.Bytes) > 0 {
			if rpc, ok = agent.ReadRPC(m.Bytes); !ok {
				s.t.Fatalf("%s is no message: %s", m.Key, m.Bytes)
			}
		}
		s.said, s.lines = append(s.said, strings.TrimSpace(m.Key+" "+rpc.Method)), append(s.lines, string(m.Bytes))
		s.feed(agent.Input{Kind: agent.InputSent, Key: m.Key, N: s.n, Line: m.Bytes})
	}
	s.t.Fatal("it never stops talking")
}

// out is a line of the agent; then the dialect may speak.
func (s *scene) out(line string) {
	s.t.Helper()
	s.feed(agent.Input{Kind: agent.InputOut, Line: []byte(line)})
	s.say()
}

// answer answers the last message of ours that was a request.
func (s *scene) answer(result string) {
	s.out(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, s.n, result))
}

func (s *scene) update(u string) {
	s.out(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`)
}

func (s *scene) ask(id, call string) {
	s.out(`{"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"s","toolCall":` + call +
		`,"options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"ever","kind":"allow_always"},{"optionId":"no","kind":"reject_once"}]}}`)
}

const greeting = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"_meta":{"steering":{"supported":true}}}`

// running is a scene whose first turn has begun.
func running(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.say()
	s.answer(greeting)
	s.answer(`{"sessionId":"s"}`)
	if !slices.Equal(s.said, []string{"hello:greet initialize", "hello:session session/new", "turn:1 session/prompt"}) {
		t.Fatalf("said %q", s.said)
	}
	s.said, s.lines, s.facts = nil, nil, nil
	return s
}

func (s *scene) kinds() (out []agent.FactKind) {
	for _, f := range s.facts {
		out = append(out, f.Kind)
	}
	return out
}

// end is the one outcome so far.
func (s *scene) end() agent.Outcome {
	s.t.Helper()
	var out []agent.Outcome
	for _, f := range s.facts {
		if f.Kind == agent.FactTurnEnded {
			out = append(out, *f.Outcome)
		}
	}
	if len(out) != 1 {
		s.t.Fatalf("%d outcomes in %+v", len(out), s.facts)
	}
	return out[0]
}

// texts are the texts of the facts of a kind.
func (s *scene) texts(kind agent.FactKind) (out []string) {
	for _, f := range s.facts {
		if f.Kind == kind {
			out = append(out, f.Text)
		}
	}
	return out
}

// approvals are the requests so far, whole.
func (s *scene) approvals() (out []agent.Approval) {
	for _, f := range s.facts {
		if f.Kind == agent.FactApprovalAsked {
			out = append(out, *f.Approval)
		}
	}
	return out
}

func (s *scene) approve(request string, yes bool) {
	s.wishes.Answers = append(s.wishes.Answers, agent.Answer{Key: fmt.Sprintf("answer:%d-%s", len(s.said), request), Request: request, Approved: yes})
	s.say()
	s.wishes.Answers = nil
}

// lastResult is the outcome in the last message of ours.
func (s *scene) lastResult() string {
	s.t.Helper()
	var m struct {
		ID     json.RawMessage
		Result struct {
			Outcome struct{ Outcome, OptionID string }
		}
		Error *agent.RPCError
	}
	if len(s.lines) == 0 {
		s.t.Fatal("nothing was said")
	}
	if err := json.Unmarshal([]byte(s.lines[len(s.lines)-1]), &m); err != nil {
		s.t.Fatal(err)
	}
	if m.Error != nil {
		return fmt.Sprintf("%s error %d", m.ID, m.Error.Code)
	}
	return strings.TrimSpace(string(m.ID) + " " + m.Result.Outcome.Outcome + " " + m.Result.Outcome.OptionID)
}
