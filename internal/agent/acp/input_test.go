package acp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/run/fold/foldtest"
	"scv/internal/wire"
)

func TestC4_EachWayATurnEnds(t *testing.T) {
	stop := func(reason string) func(*scene) {
		return func(s *scene) { s.answer(`{"stopReason":"` + reason + `"}`) }
	}
	for _, c := range []struct {
		name   string
		do     func(*scene)
		state  wire.AgentState
		class  agent.Class
		detail string
	}{
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
	} {
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

func TestHandshakesThatFail(t *testing.T) {
	fail := func(code int, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"error":{"code":%d,"message":"%s"}}`, code, text)
	}
	for _, c := range []struct {
		name   string
		turn   func(*agent.Turn)
		do     func(*scene)
		class  agent.Class
		detail string
	}{
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
	} {
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
			if !strings.Contains(f.Text, "offers no permission modes") {
				t.Errorf("logged %q", f.Text)
			}
		}
	}
	if s.end().Reply != "" {
		t.Errorf("the reply is %q", s.end().Reply)
	}
}

func TestP14_RequestsSayEveryByte(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name, call string
		want       agent.Approval
		summary    []string
	}{
		{
			"a command in words", `{"toolCallId":"t","kind":"execute","title":"Terminal","rawInput":{"command":["bash","-c","` + long + `"]}}`,
			agent.Approval{Risk: agent.RiskProcess, Command: "bash -c " + long}, []string{long},
		},
		{
			"a command in the title", `{"toolCallId":"t","kind":"execute","title":"rm -rf build"}`,
			agent.Approval{Risk: agent.RiskProcess, Command: "rm -rf build"}, []string{"rm -rf build"},
		},
		{
			"an edit", `{"toolCallId":"t","kind":"edit","title":"Write a.txt","content":[{"type":"diff","path":"/w/a.txt","oldText":"one\ntwo\n","newText":"one\nthree\n"}]}`,
			agent.Approval{Risk: agent.RiskFilesystem, Paths: []string{"/w/a.txt"}}, []string{"/w/a.txt", "-two", "+three"},
		},
		{
			"reading", `{"toolCallId":"t","kind":"read","title":"Read","locations":[{"path":"/w/a.go"}]}`,
			agent.Approval{Risk: agent.RiskReadOnly, Paths: []string{"/w/a.go"}}, []string{"/w/a.go"},
		},
		{
			"reading a secret", `{"toolCallId":"t","kind":"read","title":"Read","rawInput":{"file_path":"/w/.env.local"}}`,
			agent.Approval{Risk: agent.RiskFilesystem, Paths: []string{"/w/.env.local"}}, []string{"/w/.env.local"},
		},
		{"an address", `{"toolCallId":"t","kind":"fetch","title":"Fetch","rawInput":{"url":"http://x/` + long + `"}}`, agent.Approval{Risk: agent.RiskNetwork}, []string{long}},
		{"an unknown kind", `{"toolCallId":"t","kind":"teleport","title":"Go"}`, agent.Approval{Risk: agent.RiskDelegate}, []string{"Go"}},
		{"nothing at all", `{}`, agent.Approval{Risk: agent.RiskDelegate}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := running(t)
			s.ask("7", c.call)
			asked := s.approvals()
			if len(asked) != 1 {
				t.Fatalf("asked %+v", asked)
			}
			a := asked[0]
			if a.Request != "7" || a.Risk != c.want.Risk || a.Command != c.want.Command || !slices.Equal(a.Paths, c.want.Paths) || len(a.Options) != 3 {
				t.Errorf("asked %.300v", a)
			}
			for _, part := range c.summary {
				if !strings.Contains(a.Summary, part) {
					t.Errorf("the summary lacks %.60q: %.300q", part, a.Summary)
				}
			}
			s.approve("7", true)
			if got := s.lastResult(); got != "7 selected yes" {
				t.Errorf("answered %q", got)
			}
		})
	}
}

// TestP15_AYesIsNeverForEver: where only a lasting yes is offered, none is given.
func TestP15_AYesIsNeverForEver(t *testing.T) {
	s := running(t)
	s.out(`{"id":"a-1","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"title":"x"},"options":[{"optionId":"ever","kind":"allow_always"},{"optionId":"never","kind":"reject_always"}]}}`)
	s.approve(`"a-1"`, true)
	if got := s.lastResult(); got != `"a-1" cancelled` {
		t.Errorf("answered %q", got)
	}
	if notes := s.texts(agent.FactNote); len(notes) != 1 || !strings.Contains(notes[0], "no yes that counts once") {
		t.Errorf("notes %q", notes)
	}
}

func TestBadInput_AroundRequests(t *testing.T) {
	const call = `{"toolCallId":"t","kind":"execute","title":"x"}`
	t.Run("seven at once are answered in any order", func(t *testing.T) {
		s := running(t)
		for i := range 7 {
			s.ask(fmt.Sprint(i), call)
		}
		for _, i := range []int{6, 0, 3, 1, 5, 2, 4} {
			s.approve(fmt.Sprint(i), i%2 == 0)
			if got, want := s.lastResult(), fmt.Sprintf("%d selected %s", i, []string{"yes", "no"}[i%2]); got != want {
				t.Errorf("answered %q, want %q", got, want)
			}
		}
	})
	t.Run("a cancel withdraws them all, and what comes after it", func(t *testing.T) {
		s := running(t)
		s.ask("0", call)
		s.ask("1", call)
		s.wishes.Cancel = 1
		s.say()
		s.ask("2", call)
		want := []string{"cancel:1 session/cancel", "withdraw:0", "withdraw:1", "owed:1:2"}
		if !slices.Equal(s.said, want) {
			t.Errorf("said %q, want %q", s.said, want)
		}
		if got := s.lastResult(); got != "2 cancelled" {
			t.Errorf("answered %q", got)
		}
	})
	t.Run("answered twice and never asked", func(t *testing.T) {
		s := running(t)
		s.ask("0", call)
		s.approve("0", true)
		said := len(s.said)
		s.approve("0", false)
		s.approve("99", true)
		if len(s.said) != said {
			t.Errorf("said %q", s.said)
		}
	})
	t.Run("an id used again voids the first text", func(t *testing.T) {
		s := running(t)
		s.ask("0", call)
		s.ask("0", `{"toolCallId":"u","kind":"execute","title":"rm -rf /"}`)
		if want := []agent.FactKind{agent.FactApprovalAsked, agent.FactApprovalClosed, agent.FactApprovalAsked}; !slices.Equal(s.kinds(), want) {
			t.Errorf("facts %v", s.kinds())
		}
	})
	t.Run("the agent takes one back", func(t *testing.T) {
		s := running(t)
		s.ask("0", call)
		s.out(`{"method":"$/cancel_request","params":{"requestId":0}}`)
		if last := s.facts[len(s.facts)-1]; last.Kind != agent.FactApprovalClosed || last.Status != agent.ClosedVoid {
			t.Errorf("facts %+v", s.facts)
		}
	})
	t.Run("between turns nobody is asked", func(t *testing.T) {
		s := running(t)
		s.answer(`{"stopReason":"end_turn"}`)
		s.ask("0", call)
		if got := s.lastResult(); got != "0 cancelled" || len(s.approvals()) != 0 {
			t.Errorf("answered %q, asked %v", got, s.approvals())
		}
	})
	t.Run("what SCV does not offer is refused at once", func(t *testing.T) {
		s := running(t)
		for i, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create", "what/ever"} {
			s.out(fmt.Sprintf(`{"id":%d,"method":"%s","params":{"path":"/etc/passwd"}}`, i, method))
			if got, want := s.lastResult(), fmt.Sprintf("%d error -32601", i); got != want {
				t.Errorf("%s is answered %q, want %q", method, got, want)
			}
		}
	})
	t.Run("one that cannot be read is refused", func(t *testing.T) {
		s := running(t)
		s.out(`{"id":5,"method":"session/request_permission","params":[]}`)
		if got := s.lastResult(); !strings.HasPrefix(got, "5 error") {
			t.Errorf("answered %q", got)
		}
	})
}

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
	f.Fuzz(func(t *testing.T, text string) {
		var s foldtest.Script
		s.Start()
		s.In("hello:greet", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
		s.Out(`{"id":1,"result":` + greeting + "}\n")
		s.In("hello:session", `{"jsonrpc":"2.0","id":2,"method":"session/new"}`)
		s.Out(`{"id":2,"result":{"sessionId":"s"}}` + "\n")
		s.In("turn:1", `{"jsonrpc":"2.0","id":3,"method":"session/prompt"}`)
		for line := range strings.Lines(text) {
			s.Out(line)
		}
		s.Exit(0, "")
		foldtest.Check(t, foldtestOptions(kind), s.Frames, nil)
	})
}
