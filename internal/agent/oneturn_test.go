package agent_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/wire"
)

func started() *agent.OneTurn {
	s := new(agent.OneTurn)
	s.Feed("x", agent.Input{Kind: agent.InputStarted})
	return s
}

// outcome feeds inputs and returns the one outcome.
func outcome(t *testing.T, s *agent.OneTurn, inputs ...agent.Input) agent.Outcome {
	t.Helper()
	var all []agent.Fact
	for _, in := range inputs {
		facts, done := s.Feed("x", in)
		if !done {
			t.Fatalf("input %+v was left to the dialect", in)
		}
		all = append(all, facts...)
	}
	var ends []agent.Outcome
	for _, fact := range all {
		if fact.Kind == agent.FactTurnEnded {
			ends = append(ends, *fact.Outcome)
		}
	}
	if len(ends) != 1 {
		t.Fatalf("%d outcomes in %+v", len(ends), all)
	}
	return ends[0]
}

func sent(key string) agent.Input { return agent.Input{Kind: agent.InputSent, Key: key, N: 1} }

func exit(code int) agent.Input {
	return agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: code}}
}

func stderr(text string) agent.Input {
	return agent.Input{Kind: agent.InputErr, Line: []byte(text)}
}

func TestOneTurn_EndsWithoutAFinalEvent(t *testing.T) {
	for name, c := range map[string]struct {
		inputs []agent.Input
		class  agent.Class
		detail string
	}{
		"B21 silent success":     {[]agent.Input{sent("turn:1"), exit(0)}, agent.ClassStart, "x left with exit code 0 without a final event"},
		"before the prompt":      {[]agent.Input{exit(1)}, agent.ClassStart, "exit code 1"},
		"B12 no conversation":    {[]agent.Input{sent("turn:1"), stderr("no conversation to continue"), exit(1)}, agent.ClassSession, "not found"},
		"P5 sign-in":             {[]agent.Input{sent("turn:1"), stderr("API Error: 401 / please run /login"), exit(1)}, agent.ClassAuth, "not signed in"},
		"B23 a missing program":  {[]agent.Input{sent("turn:1"), stderr("sh: agent: not found"), exit(127)}, agent.ClassMissing, "agent: not found"},
		"a signal":               {[]agent.Input{sent("turn:1"), {Kind: agent.InputExit, Exit: agent.Exit{Code: -1, Signal: "SIGSEGV"}}}, agent.ClassStart, "ended by SIGSEGV"},
		"no memory":              {[]agent.Input{sent("turn:1"), {Kind: agent.InputExit, Exit: agent.Exit{Code: -1, Signal: "SIGKILL", OOM: true}}}, agent.ClassStart, "memory ran out"},
		"closed its input":       {[]agent.Input{sent("turn:1"), {Kind: agent.InputStdin, Text: "broken pipe"}, exit(1)}, agent.ClassStart, "closed its input (broken pipe)"},
		"could not be started":   {[]agent.Input{{Kind: agent.InputStartFailed, Text: "no such file", Class: agent.ClassMissing}}, agent.ClassMissing, "no such file"},
		"started, class unknown": {[]agent.Input{{Kind: agent.InputStartFailed, Text: "odd"}}, agent.ClassStart, "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			got := outcome(t, started(), c.inputs...)
			if got.State != wire.StateFailed || got.Class != c.class || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("%s %q %q", got.State, got.Class, got.Detail)
			}
		})
	}
}

func TestOneTurn_PromptOnceAndNotWhenItsEndIsWished(t *testing.T) {
	s := new(agent.OneTurn)
	turn := &agent.Turn{Number: 3, Key: "turn:3", Prompt: "p"}
	bytes := func(t agent.Turn) []byte { return []byte(t.Prompt) }
	if _, ok := s.Next(agent.Wishes{Turn: turn}, bytes); ok {
		t.Error("a prompt is written before the process was started")
	}
	s.Feed("x", agent.Input{Kind: agent.InputStarted})
	if _, ok := s.Next(agent.Wishes{Turn: turn, Cancel: 3}, bytes); ok {
		t.Error("a prompt is written although its turn should be cancelled")
	}
	for range 2 {
		m, ok := s.Next(agent.Wishes{Turn: turn}, bytes)
		if !ok || m.Key != "turn:3" || string(m.Bytes) != "p" || !m.EOF {
			t.Fatalf("the message is %+v, %v", m, ok)
		}
	}
	facts, _ := s.Feed("x", sent("turn:3"))
	if want := []agent.Fact{{Kind: agent.FactTurnStarted, Turn: 3}}; !reflect.DeepEqual(facts, want) {
		t.Errorf("got %+v", facts)
	}
	if _, ok := s.Next(agent.Wishes{Turn: turn}, bytes); ok {
		t.Error("the prompt is written twice")
	}
}

func TestOneTurn_BoundsReplyTailAndDenials(t *testing.T) {
	s := started()
	s.Feed("x", sent("turn:1"))
	s.Say(strings.Repeat("é", agent.MaxReply/2+5))
	for range 100 {
		s.Remember([]byte(strings.Repeat("t", 10_000)))
		s.Deny("$ rm")
	}
	state, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(state) > agent.MaxReply+16<<10 {
		t.Errorf("the state takes %d bytes", len(state))
	}
	facts := s.End(agent.Outcome{State: wire.StateCompleted})
	o := facts[0].Outcome
	if len(o.Reply) > agent.MaxReply || !strings.Contains(o.Detail, "is cut") || !strings.Contains(o.Detail, "100 tool calls were refused") {
		t.Errorf("reply of %d bytes, detail %q", len(o.Reply), o.Detail)
	}
	if again := s.End(agent.Outcome{State: wire.StateFailed}); again != nil {
		t.Errorf("the turn ended twice: %+v", again)
	}
}

// TestC2_ACutLineIsNoEvent: what is beyond the bound of a line is gone, so the rest cannot be read as JSON.
func TestC2_ACutLineIsNoEvent(t *testing.T) {
	s := started()
	if facts, done := s.Feed("x", agent.Input{Kind: agent.InputOut, Line: []byte(`{"type":"x"`), Cut: 5}); facts != nil || !done {
		t.Errorf("%+v, %v", facts, done)
	}
	if _, done := s.Feed("x", agent.Input{Kind: agent.InputOut, Line: []byte(`{"type":"x"}`)}); done {
		t.Error("the next line is not left to the dialect")
	}
}

func TestCheckTurn_RefusesWhatNoProcessCanTake(t *testing.T) {
	own := agent.Settings{OwnCommand: true}
	for name, c := range map[string]struct {
		settings agent.Settings
		turn     agent.Turn
		reason   wire.Reason
	}{
		"option as session": {agent.Settings{}, agent.Turn{Session: "--dangerous"}, wire.ReasonInvalid},
		"spaces in session": {agent.Settings{}, agent.Turn{Session: "a b"}, wire.ReasonInvalid},
		"option as model":   {agent.Settings{}, agent.Turn{Model: "-c"}, wire.ReasonInvalid},
		"lines in effort":   {agent.Settings{}, agent.Turn{Effort: "a\nb"}, wire.ReasonInvalid},
		"own, NUL":          {own, agent.Turn{Prompt: "a\x00b"}, wire.ReasonInvalid},
		"own, too long":     {own, agent.Turn{Prompt: strings.Repeat("a", 128<<10)}, wire.ReasonTooLarge},
	} {
		refusal, ok := errors.AsType[*wire.Error](c.settings.CheckTurn(c.turn))
		if !ok || refusal.Reason != c.reason || refusal.Hint == "" {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
	if err := own.CheckTurn(agent.Turn{Prompt: "-x \x1b[31m !", Session: "01a2-b", Model: "m"}); err != nil {
		t.Error(err)
	}
}
