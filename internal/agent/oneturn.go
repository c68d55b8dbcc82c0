package agent

import (
	"fmt"

	"scv/internal/wire"
)

// OneTurn is the folded state that dialects with one process per turn share. A dialect holds one in its own state,
// gives every input to Feed first and reads the lines that Feed leaves to it. It is data: JSON, one owner.
//
// A turn ends with the agent's own final event, never with an exit code; a process that leaves without one has
// failed, and its last lines say why. What comes after the final event changes nothing.
type OneTurn struct {
	Turn    uint32 `json:"turn,omitzero"`
	Started bool   `json:"started,omitzero"` // the process was started
	Sent    string `json:"sent,omitempty"`   // key of the prompt that came back through the spool
	Spoke   bool   `json:"spoke,omitzero"`   // the agent wrote a line that its dialect understood
	Session string `json:"session,omitempty"`
	Broken  string `json:"broken,omitempty"`
	Over    bool   `json:"over,omitzero"`
	Account
}

// Feed folds what is the same for every agent. It returns false when the input is a whole line of the agent's output
// that the dialect has to read.
func (s *OneTurn) Feed(name string, in Input) ([]Fact, bool) {
	s.at = in.At
	switch in.Kind {
	case InputStarted:
		s.Started = true
		return s.stamp(Fact{Kind: FactReady}), true
	case InputStartFailed:
		class := in.Class
		if class == ClassNone {
			class = ClassStart
		}
		return s.End(Outcome{State: wire.StateFailed, Class: class, Detail: in.Text, Error: in.Text}), true
	case InputSent:
		return s.sent(in), true
	case InputErr:
		s.Remember(in.Line)
	case InputStdin:
		s.Broken = in.Text
	case InputExit:
		return s.exited(name, in.Exit), true
	case InputOut:
		if s.Over || in.Cut > 0 {
			return nil, true
		}
		return nil, false
	}
	return nil, true
}

// Next returns the prompt as a message that also closes the agent's input, once, and not when its end is wished.
// Asked with bytes that are empty it still says, by its key, which turn the process serves.
func (s *OneTurn) Next(wishes Wishes, prompt func(Turn) []byte) (Message, bool) {
	if !s.Started || s.Over || s.Sent != "" || wishes.Turn == nil || wishes.Cancel == wishes.Turn.Number {
		return Message{}, false
	}
	return Message{Key: wishes.Turn.Key, Bytes: prompt(*wishes.Turn), EOF: true}, true
}

func (s *OneTurn) sent(in Input) []Fact {
	var number uint32
	if _, err := fmt.Sscanf(in.Key, "turn:%d", &number); err != nil || s.Sent != "" {
		return nil
	}
	s.Sent, s.Turn = in.Key, number
	return s.stamp(Fact{Kind: FactTurnStarted})
}

// stamp puts the turn's number on facts.
func (s *OneTurn) stamp(facts ...Fact) []Fact {
	for i := range facts {
		facts[i].Turn = s.Turn
	}
	return facts
}

// Stamp is what a dialect returns its facts through: they carry the turn's number, and a first one shows that the
// agent speaks.
func (s *OneTurn) Stamp(facts []Fact) []Fact { return s.stamp(facts...) }

// Named notes the agent's own id of its session and returns the fact on it, once per id.
func (s *OneTurn) Named(session string) []Fact {
	if session == "" || session == s.Session {
		return nil
	}
	s.Session = session
	return []Fact{{Kind: FactSession, Session: session}}
}

// End settles the turn, once: it completes the outcome by the reply and by what was refused.
func (s *OneTurn) End(o Outcome) []Fact {
	if s.Over {
		return nil
	}
	s.Over = true
	s.Settle(&o)
	return s.stamp(Fact{Kind: FactTurnEnded, Outcome: &o})
}

// exited settles a turn that had no final event.
func (s *OneTurn) exited(name string, exit Exit) []Fact {
	return s.End(s.Vanished(name, exit, s.Spoke, s.Broken))
}
