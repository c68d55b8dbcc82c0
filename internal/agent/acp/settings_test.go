package acp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
)

// TestC17_SettingsAreInForceBeforeThePrompt: at the handshake, and before each later turn that differs.
func TestC17_SettingsAreInForceBeforeThePrompt(t *testing.T) {
	s := newScene(t)
	s.wishes.Turn.Mode, s.wishes.Turn.Model, s.wishes.Turn.Effort = agent.ModeAlways, "b", "high"
	s.say()
	s.answer(greeting)
	s.answer(`{"sessionId":"s","modes":{"currentModeId":"default","availableModes":[{"id":"yolo"},{"id":"default"}]},"configOptions":[
		{"id":"m","category":"model","currentValue":"a","options":[{"value":"a"},{"group":"g","options":[{"value":"b"}]}]},
		{"id":"e","category":"thought_level","currentValue":"low","options":[{"value":"low"},{"value":"high"}]}]}`)
	s.answer(`{}`)
	s.answer(`{}`)
	s.answer(`{}`)
	s.answer(`{"stopReason":"end_turn"}`)
	s.wishes.Turn = &agent.Turn{Number: 2, Key: "turn:2", Prompt: "more", Mode: agent.ModeAuto, Model: "b", Effort: "high"}
	s.say()
	s.answer(`{}`)
	want := []string{
		"hello:greet initialize", "hello:session session/new", "hello:mode:always session/set_mode", "hello:model session/set_config_option",
		"hello:effort session/set_config_option", "turn:1 session/prompt", "set:2:mode:auto session/set_mode", "turn:2 session/prompt",
	}
	if !slices.Equal(s.said, want) {
		t.Errorf("said\n%q, want\n%q", s.said, want)
	}
	for i, holds := range map[int]string{2: `"modeId":"default"`, 3: `"configId":"m","sessionId":"s","value":"b"`, 6: `"modeId":"yolo"`} {
		if !strings.Contains(s.lines[i], holds) {
			t.Errorf("message %d is %s", i, s.lines[i])
		}
	}
}

// TestC16_AnAgentThatLeavesItsModeIsPutBack: the note is in the log, and the next prompt waits for the mode.
func TestC16_AnAgentThatLeavesItsModeIsPutBack(t *testing.T) {
	s := newScene(t)
	s.say()
	s.answer(greeting)
	s.answer(`{"sessionId":"s","modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"auto"}]}}`)
	s.answer(`{}`)
	prompt := s.n
	s.update(`{"sessionUpdate":"current_mode_update","currentModeId":"auto"}`)
	s.out(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}`, prompt))
	s.wishes.Turn = &agent.Turn{Number: 2, Key: "turn:2", Mode: agent.ModeOnRisk}
	s.say()
	if last := s.said[len(s.said)-1]; last != "set:2:mode:on-risk session/set_mode" {
		t.Errorf("said %q", s.said)
	}
	if notes := s.texts(agent.FactNote); len(notes) != 1 || !strings.Contains(notes[0], "from mode default to mode auto") {
		t.Errorf("notes %q", notes)
	}
}

// TestC18_AReplayIsNoNews: 5,000 chunks of an earlier conversation give no line.
func TestC18_AReplayIsNoNews(t *testing.T) {
	s := newScene(t)
	s.wishes.Turn.Session = "s"
	s.say()
	s.answer(greeting)
	for i := range 5000 {
		s.d.Feed(agent.Input{Kind: agent.InputOut, Line: fmt.Appendf(nil, `{"method":"session/update","params":{"sessionId":"s","update":
			{"sessionUpdate":"%s","toolCallId":"t%d","title":"x","rawInput":{"command":"ls"},"content":{"type":"text","text":"old words "}}}}`,
			[]string{"user_message_chunk", "agent_message_chunk", "tool_call"}[i%3], i)})
	}
	s.answer(`null`)
	s.out(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
	s.feed(agent.Input{Kind: agent.InputExit})
	for _, f := range s.facts {
		switch f.Kind {
		case agent.FactText, agent.FactTool, agent.FactNote, agent.FactPlan:
			if !strings.Contains(f.Text, "it offers no mode of its own for on-risk, always, read-only") {
				t.Errorf("logged %q", f.Text)
			}
		}
	}
	if s.end().Reply != "" {
		t.Errorf("the reply is %q", s.end().Reply)
	}
}

// TestT22_NoServersAreStartedUnasked: neither a new session nor one that is gone on with names servers to start.
func TestT22_NoServersAreStartedUnasked(t *testing.T) {
	for _, session := range []string{"", "s-1"} {
		s := newScene(t)
		s.wishes.Turn.Session = session
		s.say()
		s.answer(greeting)
		if last := s.lines[len(s.lines)-1]; !strings.Contains(last, `"method":"session/`) || !strings.Contains(last, `"mcpServers":[]`) {
			t.Errorf("of session %q it says %s", session, last)
		}
	}
}
