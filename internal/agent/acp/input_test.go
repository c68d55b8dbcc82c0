package acp_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/wire"
)

func TestBadInput_Lines(t *testing.T) {
	s := running(t)
	before := len(s.facts)
	for _, line := range []string{
		"npm WARN deprecated", "npm WARN again", "{", `[]`, `"text"`, `{"jsonrpc":"2.0"}`, "\xff\xfe\x00", strings.Repeat("[", 100000),
		`{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","id":3.5,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`,
		`{"method":"session/update"}`, `{"method":"session/update","params":{"sessionId":"s","update":7}}`, `{"method":"unknown/notice","params":{}}`,
		`{"method":"session/update","params":{"sessionId":"another","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"foreign"}}}}`,
		`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"from the future","x":1}}}`,
		`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"never seen","status":"completed"}}}`,
	} {
		s.out(line)
	}
	if n := len(s.texts(agent.FactNote)); n != 3 { // garbage, an answer to nothing, an update that cannot be read
		t.Errorf("%d notes: %q", n, s.texts(agent.FactNote))
	}
	if len(s.said) != 0 || len(s.texts(agent.FactText)) != 0 || len(s.texts(agent.FactTool)) != 0 {
		t.Errorf("said %q, facts %+v", s.said, s.facts[before:])
	}
	s.out(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
	if s.end().State != wire.StateCompleted {
		t.Errorf("the turn is %s", s.end().State)
	}
}

// TestLateEventsOfATurnNeverTouchTheNext: words go to the log as such, an open tool's end is no news.
func TestLateEventsOfATurnNeverTouchTheNext(t *testing.T) {
	s := running(t)
	s.update(`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"execute","status":"in_progress","title":"sleep 9","rawInput":{"command":"sleep 9"}}`)
	s.wishes.Cancel = 1
	s.say()
	s.out(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}`)
	s.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"late words"}}`)
	s.wishes = agent.Wishes{Turn: &agent.Turn{Number: 2, Key: "turn:2", Prompt: "next"}}
	s.say()
	prompt := s.n
	s.facts = nil
	s.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","title":"sleep 9","rawInput":{"command":"sleep 9"}}`)
	s.out(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
	s.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"fresh"}}`)
	s.out(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}`, prompt))
	if o := s.end(); o.Reply != "fresh" || o.State != wire.StateCompleted {
		t.Errorf("the next turn ended %+v", o)
	}
	if len(s.texts(agent.FactTool))+len(s.texts(agent.FactToolFailed)) != 0 {
		t.Errorf("facts %+v", s.facts)
	}
}

func TestC19_EachOutcomeOfASteer(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		kind         agent.FactKind
		text         string
	}{
		{"injected", `"result":{"outcome":"injected"}`, agent.FactSteered, ""},
		{"promptRequired", `"result":{"outcome":"promptRequired","reason":"noRunningTurn"}`, agent.FactSteerRefused, "its turn was over"},
		{"failed", `"result":{"outcome":"failed","reason":"busy"}`, agent.FactSteerRefused, "busy"},
		{"startedNewTurn", `"result":{"outcome":"startedNewTurn"}`, agent.FactSteerRefused, "a turn of its own"},
		{"an older adapter", `"result":{"accepted":false}`, agent.FactSteerRefused, "could not"},
		{"an error", `"error":{"code":-32601,"message":"Method not found"}`, agent.FactSteerRefused, "Method not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := running(t)
			s.wishes.Steers = []agent.Steer{{Key: "steer:job-2", Turn: 1, Text: "go left"}}
			s.say()
			if !strings.Contains(s.lines[0], `"idleBehavior":"promptRequired"`) {
				t.Errorf("said %s", s.lines[0])
			}
			s.out(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, s.n, c.answer))
			var got []agent.Fact
			for _, f := range s.facts {
				if f.Kind == agent.FactSteered || f.Kind == agent.FactSteerRefused {
					got = append(got, f)
				}
			}
			if len(got) != 1 || got[0].Kind != c.kind || got[0].Key != "steer:job-2" || got[0].Turn != 1 || !strings.Contains(got[0].Text, c.text) {
				t.Errorf("facts %+v", got)
			}
			if cancels := slices.Contains(s.said, `owed:1:steer-steer:job-2 session/cancel`); cancels != (c.name == "startedNewTurn") {
				t.Errorf("said %q", s.said)
			}
		})
	}
	t.Run("not offered", func(t *testing.T) {
		s := newScene(t)
		s.say()
		s.answer(`{"protocolVersion":1}`)
		s.answer(`{"sessionId":"s"}`)
		said := len(s.said)
		s.wishes.Steers = []agent.Steer{{Key: "steer:job-2", Turn: 1, Text: "go left"}}
		s.say()
		if len(s.said) != said {
			t.Errorf("said %q", s.said)
		}
	})
	t.Run("the agent left before it answered", func(t *testing.T) {
		s := running(t)
		s.wishes.Steers = []agent.Steer{{Key: "steer:job-2", Turn: 1, Text: "go left"}}
		s.say()
		s.feed(agent.Input{Kind: agent.InputExit})
		if last := s.facts[len(s.facts)-1]; last.Kind != agent.FactSteerRefused {
			t.Errorf("facts %+v", s.facts)
		}
	})
}

// TestC3_AFloodLosesNothing: 20,000 chunks, the message is whole.
func TestC3_AFloodLosesNothing(t *testing.T) {
	d := catalog.ACP("mine", "mine").New(agent.Settings{})
	s := running(t)
	state, err := s.d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Restore(state); err != nil {
		t.Fatal(err)
	}
	var want, logged strings.Builder
	for i := range 20000 {
		word := fmt.Sprintf("w%d\\n\\n", i)
		want.WriteString(fmt.Sprintf("w%d\n\n", i))
		for _, f := range d.Feed(agent.Input{Kind: agent.InputOut, Line: []byte(`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + word + `"}}}}`)}) {
			logged.WriteString(f.Text)
		}
	}
	facts := d.Feed(agent.Input{Kind: agent.InputOut, Line: []byte(`{"id":3,"result":{"stopReason":"end_turn"}}`)})
	if o := facts[len(facts)-1].Outcome; o == nil || o.Reply != want.String() {
		t.Errorf("the reply is not whole")
	}
	if !strings.Contains(logged.String(), "w19998") {
		t.Error("the log lacks the end")
	}
}

// FuzzLines feeds any lines to a dialect in the middle of a turn: it never panics, and from any checkpoint it says the
// same.
func FuzzLines(f *testing.F) {
	f.Add(`{"id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}}`)
	f.Add(`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"x"}]}}}`)
	f.Add(`{"id":3,"result":{"stopReason":"end_turn"}}` + "\n" + `{"id":3,"result":{}}`)
	f.Add("garbage\n\xff{}")
	kind := catalog.ACP("mine", "mine")
	begin := []agent.Input{
		{Kind: agent.InputStarted},
		{Kind: agent.InputSent, Key: "hello:greet", N: 1, Line: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)},
		{Kind: agent.InputOut, Line: []byte(`{"id":1,"result":` + greeting + `}`)},
		{Kind: agent.InputSent, Key: "hello:session", N: 2, Line: []byte(`{"jsonrpc":"2.0","id":2,"method":"session/new"}`)},
		{Kind: agent.InputOut, Line: []byte(`{"id":2,"result":{"sessionId":"s"}}`)},
		{Kind: agent.InputSent, Key: "turn:1", N: 3, Line: []byte(`{"jsonrpc":"2.0","id":3,"method":"session/prompt"}`)},
	}
	f.Fuzz(func(t *testing.T, text string) {
		inputs := slices.Clone(begin)
		for line := range strings.Lines(text) {
			inputs = append(inputs, agent.Input{Kind: agent.InputOut, Line: []byte(strings.TrimSuffix(line, "\n"))})
		}
		inputs = append(inputs, agent.Input{Kind: agent.InputExit})
		whole, broken := kind.New(agent.Settings{}), kind.New(agent.Settings{})
		for _, in := range inputs {
			want := whole.Feed(in)
			if got := broken.Feed(in); !reflect.DeepEqual(got, want) {
				t.Fatalf("through JSON it says %+v, whole %+v", got, want)
			}
			state, err := broken.Checkpoint()
			if err != nil {
				t.Fatal(err)
			}
			broken = kind.New(agent.Settings{})
			if err := broken.Restore(state); err != nil {
				t.Fatal(err)
			}
		}
	})
}
