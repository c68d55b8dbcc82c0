package acp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/wire"
)

// An ending is how a turn may end.
type ending struct {
	name   string
	do     func(*scene)
	state  wire.AgentState
	class  agent.Class
	detail string
}

func endings() []ending {
	stop := func(reason string) func(*scene) {
		return func(s *scene) { s.answer(`{"stopReason":"` + reason + `"}`) }
	}
	return []ending{
		{"end_turn", stop("end_turn"), wire.StateCompleted, "", ""},
		{"refusal", stop("refusal"), wire.StateDeclined, agent.ClassRefusal, "refused"},
		{"max_tokens", stop("max_tokens"), wire.StateFailed, agent.ClassLimit, "limit of tokens"},
		{"max_turn_requests", stop("max_turn_requests"), wire.StateFailed, agent.ClassLimit, "limit of calls"},
		{"an unknown reason", stop("bored"), wire.StateFailed, agent.ClassAgent, "does not know: bored"},
		{"cancelled by itself", stop("cancelled"), wire.StateInterrupted, "", "by itself"},
		{"cancelled by us", func(s *scene) {
			s.wishes.Cancel = 1
			s.say()
			s.out(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}`)
		}, wire.StateCancelled, "", "stopped by the owner"},
		{"complete before our cancel arrived", func(s *scene) {
			s.wishes.Cancel = 1
			s.say()
			s.out(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
		}, wire.StateCompleted, "", ""},
		{"cancelled after a no", func(s *scene) {
			s.ask("0", `{"toolCallId":"t","kind":"execute","title":"x"}`)
			s.approve("0", false)
			s.out(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}`)
		}, wire.StateCancelled, "", "approval denied"},
		{"an error", func(s *scene) {
			s.out(`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error","data":{"details":"rate limit reached"}}}`)
		}, wire.StateFailed, agent.ClassQuota, "rate limit reached"},
		{"a session that broke", func(s *scene) {
			s.update(`{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}`)
			s.out(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
		}, wire.StateFailed, agent.ClassAgent, "error of its session"},
		{"the next version: accepted, then told", func(s *scene) {
			s.answer(`{}`)
			s.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}`)
			s.update(`{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}`)
		}, wire.StateCompleted, "", ""},
		{"success without a turn end", func(s *scene) {
			s.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"all done"}}`)
			s.feed(agent.Input{Kind: agent.InputExit})
		}, wire.StateFailed, agent.ClassAgent, "without a final event"},
		{"left with a request open", func(s *scene) {
			s.ask("0", `{"toolCallId":"t","kind":"execute","title":"x"}`)
			s.feed(agent.Input{Kind: agent.InputErr, Line: []byte("out of luck")})
			s.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: 7}})
		}, wire.StateFailed, agent.ClassAgent, "out of luck"},
		{"a turn end that cannot be read", func(s *scene) { s.answer(`{"stopReason":7}`) }, wire.StateFailed, agent.ClassAgent, "cannot be read"},
	}
}

func TestC4_EachWayATurnEnds(t *testing.T) {
	for _, c := range endings() {
		t.Run(c.name, func(t *testing.T) {
			s := running(t)
			c.do(s)
			o := s.end()
			if o.State != c.state || o.Class != c.class || !strings.Contains(o.Detail, c.detail) {
				t.Errorf("%s %q %q", o.State, o.Class, o.Detail)
			}
		})
	}
}

// A failure is how a handshake may fail.
type failure struct {
	name   string
	turn   func(*agent.Turn)
	do     func(*scene)
	class  agent.Class
	detail string
}

func failures() []failure {
	fail := func(code int, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"error":{"code":%d,"message":"%s"}}`, code, text)
	}
	return []failure{
		{"P5 auth_required names the agent's own ways", nil, func(s *scene) {
			s.answer(`{"protocolVersion":1,"authMethods":[{"id":"a","name":"Log in with Moon"}]}`)
			s.out(fail(-32000, "Authentication required"))
		}, agent.ClassAuth, "Log in with Moon"},
		{"another version", nil, func(s *scene) { s.answer(`{"protocolVersion":2}`) }, agent.ClassStart, "another version of the protocol (2)"},
		{"no version", nil, func(s *scene) { s.answer(`{}`) }, agent.ClassStart, "another version"},
		{"no session", nil, func(s *scene) { s.answer(greeting); s.answer(`{}`) }, agent.ClassAgent, "no session"},
		{"an unknown session", func(t *agent.Turn) { t.Session = "old" }, func(s *scene) {
			s.answer(greeting)
			s.out(fail(-32603, "Internal error"))
		}, agent.ClassSession, "not found or is in use"},
		{"no way to go on", func(t *agent.Turn) { t.Session = "old" }, func(s *scene) {
			s.answer(`{"protocolVersion":1}`)
			s.out(fail(-32601, "Method not found"))
		}, agent.ClassSession, "cannot go on with an earlier conversation"},
		{"a mode that holds it back is refused", func(t *agent.Turn) { t.Mode = agent.ModeReadOnly }, func(s *scene) {
			s.answer(greeting)
			s.answer(`{"sessionId":"s","modes":{"currentModeId":"yolo","availableModes":[{"id":"yolo"},{"id":"plan"}]}}`)
			s.out(`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}`)
		}, agent.ClassAgent, `refused the mode "plan"`},
		{"a model is refused", func(t *agent.Turn) { t.Model = "huge" }, func(s *scene) {
			s.answer(greeting)
			s.answer(`{"sessionId":"s","models":{"currentModelId":"a","availableModels":[{"modelId":"a"},{"modelId":"b"}]}}`)
			s.out(`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}`)
		}, agent.ClassModel, "it offers a, b"},
		{"left before it could be asked", nil, func(s *scene) {
			s.feed(agent.Input{Kind: agent.InputErr, Line: []byte("no such option --acp")})
			s.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: 2}})
		}, agent.ClassStart, "no such option"},
	}
}

func TestHandshakesThatFail(t *testing.T) {
	for _, c := range failures() {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			if c.turn != nil {
				c.turn(s.wishes.Turn)
			}
			s.say()
			c.do(s)
			o := s.end()
			if o.State != wire.StateFailed || o.Class != c.class || !strings.Contains(o.Detail, c.detail) {
				t.Errorf("%s %q %q", o.State, o.Class, o.Detail)
			}
			if last := s.said[len(s.said)-1]; last != "close:" && !strings.HasPrefix(c.name, "left") {
				t.Errorf("the process is not closed: %q", s.said)
			}
			if slices.ContainsFunc(s.said, func(k string) bool { return strings.HasPrefix(k, "turn:") }) {
				t.Errorf("a prompt was written: %q", s.said)
			}
		})
	}
}

// TestLimits_AnErrorSaysWhenTheyAreRenewed: in its words, or in what stands beside them.
func TestLimits_AnErrorSaysWhenTheyAreRenewed(t *testing.T) {
	for name, c := range map[string][2]string{
		"its words":      {`{"code":-32603,"message":"Internal error","data":{"details":"You've hit your usage limit, or try again at 7:05 PM."}}`, "it resets at 2026-11-30 19:05 UTC"},
		"its data":       {`{"code":429,"message":"quota used up","data":{"details":"RESOURCE_EXHAUSTED","errors":[{"retryDelay":"3600s"}]}}`, "it resets at 2026-11-30 17:24 UTC"},
		"claude's words": {`{"code":-32603,"message":"Internal error: You've hit your session limit · resets 8pm (UTC)"}`, "it resets at 2026-11-30 20:00 UTC"},
		"nothing":        {`{"code":429,"message":"quota used up"}`, "when the limit is renewed was not said"},
	} {
		s := running(t)
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":%s}`, s.n, c[0])
		s.feed(agent.Input{Kind: agent.InputOut, Line: []byte(line), At: time.Date(2026, 11, 30, 16, 24, 0, 0, time.UTC)})
		end := s.facts[len(s.facts)-1].Outcome
		if end == nil || end.Class != agent.ClassQuota || !strings.HasSuffix(end.Detail, c[1]) || (end.Resets == 0) != (c[1] == agent.Renewal(0)) {
			t.Errorf("%s: ended %+v, want %q", name, end, c[1])
		}
	}
}
