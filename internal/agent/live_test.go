package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
)

// A toy is the least that a live dialect can be: its lines are the words of the tongue.
type toy struct{ late bool }

func (toy) Handshake(Wishes, uint64) (Message, bool) {
	return Message{Key: HelloKey("1"), Bytes: []byte("hello\n")}, true
}

func (toy) Prompt(t Turn, n uint64) []byte { return fmt.Appendf(nil, "prompt %d %s\n", n, t.Prompt) }

func (toy) Answer(a Answer, q Asked) []byte {
	return fmt.Appendf(nil, "answer %s %t\n", q.Request, a.Approved)
}
func (toy) Steer(s Steer, _ uint64) []byte { return []byte("steer " + s.Text + "\n") }
func (toy) Withdraw(q Asked) []byte        { return []byte("withdraw " + q.Request + "\n") }
func (t toy) Cancel(uint64) (text []byte) {
	if !t.late {
		text = []byte("cancel\n")
	}
	return text
}

// echo writes what Next says until it says nothing, as the shim would, through JSON at each step.
func echo(t *testing.T, s *Live, w Wishes, to Tongue) (said []string) {
	t.Helper()
	for n := uint64(1); n < 20; n++ {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		*s = Live{}
		if err := json.Unmarshal(data, s); err != nil {
			t.Fatal(err)
		}
		m, ok := s.Next(w, n, to)
		if !ok {
			return said
		}
		said = append(said, strings.TrimSpace(m.Key+" "+string(m.Bytes)))
		s.Feed("toy", Input{Kind: InputSent, Key: m.Key, N: n, Line: m.Bytes})
		if m.Key == HelloKey("1") {
			s.Hello()
		}
	}
	t.Fatal("it never stops talking")
	return nil
}

func running(t *testing.T) (*Live, Wishes) {
	t.Helper()
	s := &Live{}
	s.Feed("toy", Input{Kind: InputStarted})
	w := Wishes{Turn: &Turn{Number: 3, Key: "turn:3", Prompt: "do"}}
	if got := strings.Join(echo(t, s, w, toy{}), "|"); got != "hello:1 hello|turn:3 prompt 2 do" {
		t.Fatalf("said %q", got)
	}
	return s, w
}

func TestLive_WhatIsSaidAndInWhichOrder(t *testing.T) {
	ask := func(s *Live, id string) { s.Ask(Asked{Request: id}, Approval{Summary: "x"}) }
	for _, c := range []struct {
		name string
		do   func(s *Live, w *Wishes)
		to   toy
		want string
	}{
		{"an owed answer comes first", func(s *Live, w *Wishes) {
			s.Owe("9", []byte("null"))
			w.Cancel = 3
		}, toy{}, "owed:3:9 null|cancel:3 cancel"},
		{"answers go to open requests only", func(s *Live, w *Wishes) {
			ask(s, "a")
			w.Answers = []Answer{{Key: "answer:1", Request: "gone"}, {Key: "answer:2", Request: "a", Approved: true}}
		}, toy{}, "answer:2 answer a true"},
		{"a cancel withdraws what is open and drops answers and steers", func(s *Live, w *Wishes) {
			ask(s, "a")
			ask(s, "b")
			w.Cancel, w.Answers, w.Steers = 3, []Answer{{Key: "answer:2", Request: "a"}}, []Steer{{Key: "steer:1", Turn: 3}}
		}, toy{}, "cancel:3 cancel|withdraw:1:a withdraw a|withdraw:2:b withdraw b"},
		{"requests are withdrawn even while the cancel has to wait", func(s *Live, w *Wishes) {
			ask(s, "a")
			w.Cancel = 3
		}, toy{late: true}, "withdraw:1:a withdraw a"},
		{"a steer of another turn is not said", func(_ *Live, w *Wishes) {
			w.Steers = []Steer{{Key: "steer:1", Turn: 2, Text: "old"}, {Key: "steer:2", Turn: 3, Text: "left"}}
		}, toy{}, "steer:2 steer left"},
		{"nothing is closed while a turn runs", func(_ *Live, w *Wishes) { w.Close = true }, toy{}, ""},
		{"the next prompt waits for the end", func(_ *Live, w *Wishes) { w.Turn = &Turn{Number: 4, Key: "turn:4"} }, toy{}, ""},
		{"a turn that ended is not prompted again", func(s *Live, _ *Wishes) { s.End(Outcome{State: wire.StateCompleted}) }, toy{}, ""},
		{"idle, it is closed once", func(s *Live, w *Wishes) {
			s.End(Outcome{State: wire.StateCompleted})
			w.Turn, w.Close = nil, true
		}, toy{}, "close:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, w := running(t)
			c.do(s, &w)
			got := strings.Join(echo(t, s, w, c.to), "|")
			if got != c.want {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}

func TestLive_AnIdUsedAgainVoidsTheOldRequest(t *testing.T) {
	s, _ := running(t)
	s.Ask(Asked{Request: "1"}, Approval{Summary: "first"})
	facts := s.Ask(Asked{Request: "1"}, Approval{Summary: "second"})
	if len(facts) != 2 || facts[0].Kind != FactApprovalClosed || facts[0].Status != ClosedVoid || facts[1].Approval.Summary != "second" {
		t.Errorf("facts %+v", facts)
	}
}

func TestLive_AnIdUsedAgainIsWithdrawnAgain(t *testing.T) {
	s, w := running(t)
	w.Cancel = 3
	for _, want := range []string{"cancel:3 cancel|withdraw:1:1 withdraw 1", "withdraw:2:1 withdraw 1"} {
		s.Ask(Asked{Request: "1"}, Approval{Summary: "x"})
		if got := strings.Join(echo(t, s, w, toy{}), "|"); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	}
}

func TestLive_StreamedTextIsCutAtParagraphsAndKeptWhole(t *testing.T) {
	s, _ := running(t)
	var logged []string
	for _, part := range strings.SplitAfter("one\ntwo\n\nthree\n\n\nfour", "") {
		for _, f := range s.Chunk(part) {
			logged = append(logged, f.Text)
		}
	}
	for _, f := range s.End(Outcome{State: wire.StateCompleted}) {
		switch f.Kind {
		case FactText:
			logged = append(logged, f.Text)
		case FactTurnEnded:
			if f.Outcome.Reply != "one\ntwo\n\nthree\n\n\nfour" {
				t.Errorf("reply %q", f.Outcome.Reply)
			}
		}
	}
	if got := strings.Join(logged, "|"); got != "one\ntwo|three|four" {
		t.Errorf("logged %q", got)
	}
}

func TestLive_AnEndWithoutAWord(t *testing.T) {
	s, _ := running(t)
	s.Ask(Asked{Request: "1"}, Approval{})
	s.Feed("toy", Input{Kind: InputErr, Line: []byte("panic: oh")})
	facts, _ := s.Feed("toy", Input{Kind: InputExit, Exit: Exit{Code: 2}})
	if len(facts) != 2 || facts[0].Status != ClosedVoid || facts[1].Outcome.State != wire.StateFailed || !strings.Contains(facts[1].Outcome.Detail, "panic: oh") {
		t.Errorf("facts %+v", facts)
	}
	idle, _ := running(t)
	idle.End(Outcome{State: wire.StateCompleted})
	if facts, _ := idle.Feed("toy", Input{Kind: InputExit}); len(facts) != 0 {
		t.Errorf("leaving between turns gave %+v", facts)
	}
}

func TestLive_AShortMessageAfterOneThatWasCutIsTheReply(t *testing.T) {
	s, _ := running(t)
	s.Chunk(strings.Repeat("x", MaxReply))
	s.Chunk("y")
	s.Flush()
	s.Chunk("done")
	for _, f := range s.End(Outcome{State: wire.StateCompleted}) {
		if f.Kind == FactTurnEnded && (f.Outcome.Reply != "done" || f.Outcome.Detail != "") {
			t.Errorf("the reply is %.20q, %q", f.Outcome.Reply, f.Outcome.Detail)
		}
	}
}

func TestLive_AnIdUsedAgainIsOwedAgain(t *testing.T) {
	s, w := running(t)
	s.Owe("9", []byte("1"))
	s.Owe("9", []byte("2"))
	first := echo(t, s, w, toy{})
	s.Owe("9", []byte("3"))
	if got := strings.Join(append(first, echo(t, s, w, toy{})...), "|"); got != "owed:3:9 1|owed:3:9+2 2|owed:3:9+3 3" {
		t.Errorf("said %q", got)
	}
}

func TestLive_AHandshakeThatFailedForGoodClosesTheProcess(t *testing.T) {
	s := &Live{}
	s.Feed("toy", Input{Kind: InputStarted})
	s.Ask(Asked{Request: "1"}, Approval{})
	facts := s.Forsake(Outcome{State: wire.StateFailed, Class: ClassAuth, Detail: "no"})
	last := facts[len(facts)-1]
	if last.Kind != FactTurnEnded || last.Turn != 0 || last.Outcome.Class != ClassAuth || facts[0].Kind != FactApprovalClosed {
		t.Errorf("facts %+v", facts)
	}
	w := Wishes{Turn: &Turn{Number: 1, Key: "turn:1", Prompt: "do"}}
	if got := strings.Join(echo(t, s, w, toy{}), "|"); got != "close:" {
		t.Errorf("said %q", got)
	}
	if facts, _ := s.Feed("toy", Input{Kind: InputExit, Exit: Exit{Code: 1}}); len(facts) != 0 {
		t.Errorf("its end gave %+v", facts)
	}
}

func TestLive_ATurnThatCouldNotBeginFailsAlone(t *testing.T) {
	s, w := running(t)
	s.End(Outcome{State: wire.StateCompleted})
	facts := s.Fail(4, Outcome{State: wire.StateFailed, Class: ClassModel})
	if len(facts) != 1 || facts[0].Turn != 4 || facts[0].Outcome.Class != ClassModel {
		t.Errorf("facts %+v", facts)
	}
	w.Turn = &Turn{Number: 5, Key: "turn:5", Prompt: "again"}
	if got := strings.Join(echo(t, s, w, toy{}), "|"); got != "turn:5 prompt 1 again" {
		t.Errorf("said %q", got)
	}
}

func TestLive_ClosedBeforeItWasReady(t *testing.T) {
	s := &Live{}
	s.Feed("toy", Input{Kind: InputStarted})
	if got := strings.Join(echo(t, s, Wishes{Close: true}, toy{}), "|"); got != "close:" {
		t.Errorf("said %q", got)
	}
}
