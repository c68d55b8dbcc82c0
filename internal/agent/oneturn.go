package agent

import (
	"fmt"
	"strings"

	"scv/internal/wire"
)

// OneTurn is the folded state that dialects with one process per turn share. A dialect holds one in its own state,
// gives every input to Feed first and reads the lines that Feed leaves to it. It is data: JSON, one owner.
//
// A turn ends with the agent's own final event, never with an exit code; a process that leaves without one has
// failed, and its last lines say why. What comes after the final event changes nothing.
type OneTurn struct {
	Turn    uint32   `json:"turn,omitzero"`
	Started bool     `json:"started,omitzero"` // the process was started
	Sent    string   `json:"sent,omitempty"`   // key of the prompt that came back through the spool
	Spoke   bool     `json:"spoke,omitzero"`   // the agent wrote a line that its dialect understood
	Session string   `json:"session,omitempty"`
	Reply   string   `json:"reply,omitempty"` // the last whole message
	Cut     bool     `json:"cut,omitzero"`    // Reply is only the beginning
	Tail    []string `json:"tail,omitempty"`  // the last lines of its standard error and of what was no event
	Broken  string   `json:"broken,omitempty"`
	Denied  []string `json:"denied,omitempty"`
	Refused int      `json:"refused,omitzero"` // tool calls in Denied and beyond its bound
	Over    bool     `json:"over,omitzero"`
}

// Bounds of what is kept for the sentence on a failure.
const (
	maxTailLines = 12
	maxTailLine  = 400
	maxDenied    = 20
)

// Feed folds what is the same for every agent. It returns false when the input is a whole line of the agent's output
// that the dialect has to read.
func (s *OneTurn) Feed(name string, in Input) ([]Fact, bool) {
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

// Say notes a whole message of the agent as its reply so far.
func (s *OneTurn) Say(text string) Fact {
	s.SetReply(text)
	return Fact{Kind: FactText, Text: text}
}

// SetReply keeps text, bounded, as the reply.
func (s *OneTurn) SetReply(text string) { s.Reply, s.Cut = Bound(text, MaxReply) }

// Deny counts a tool call that the mode refused.
func (s *OneTurn) Deny(line string) {
	s.Refused++
	if len(s.Denied) < maxDenied {
		s.Denied = append(s.Denied, line)
	}
}

// Remember keeps a line for the sentence on a failure.
func (s *OneTurn) Remember(line []byte) {
	text, cut := Bound(OneLine(string(line[:min(len(line), 4*maxTailLine)])), maxTailLine)
	if text == "" {
		return
	}
	if cut || len(line) > 4*maxTailLine {
		text += ellipsis
	}
	if len(s.Tail) == maxTailLines {
		s.Tail = append(s.Tail[:0], s.Tail[1:]...)
	}
	s.Tail = append(s.Tail, text)
}

// End settles the turn, once: it completes the outcome by the reply and by what was refused.
func (s *OneTurn) End(o Outcome) []Fact {
	if s.Over {
		return nil
	}
	if o.Reply == "" {
		o.Reply = s.Reply
	}
	o.Denied = s.Denied
	var notes []string
	if o.Detail != "" {
		notes = append(notes, Shorten(o.Detail, MaxDetail))
	}
	if s.Refused > 0 {
		notes = append(notes, deniedNote(s.Refused, s.Denied[0]))
	}
	if s.Cut {
		notes = append(notes, fmt.Sprintf("the reply was longer than %d MiB and is cut", MaxReply>>20))
	}
	o.Detail = strings.Join(notes, "; ")
	// The reply has gone into the outcome: a checkpoint need not carry it on.
	s.Over, s.Reply, s.Tail, s.Denied = true, "", nil, nil
	return s.stamp(Fact{Kind: FactTurnEnded, Outcome: &o})
}

func deniedNote(n int, first string) string {
	if n == 1 {
		return "1 tool call was refused by the permission mode (" + first + "); a job started with --mode auto may do it"
	}
	return fmt.Sprintf("%d tool calls were refused by the permission mode (first: %s); a job started with --mode auto may do them", n, first)
}

// exited settles a turn that had no final event.
func (s *OneTurn) exited(name string, exit Exit) []Fact {
	tail := strings.Join(s.Tail, " / ")
	class := ClassifyText(tail)
	if class == ClassNone {
		switch {
		case exit.Code == 126 || exit.Code == 127:
			class = ClassMissing
		case !s.Spoke:
			class = ClassStart
		default:
			class = ClassAgent
		}
	}
	said := s.lastLines()
	if said == "" && s.Broken != "" {
		said = "it closed its input (" + s.Broken + ")"
	}
	detail := strings.TrimSuffix(name+" "+ended(exit)+" without a final event: "+said, ": ")
	if class == ClassAuth || class == ClassSession {
		detail = Explain(class, name, "", said)
	}
	return s.End(Outcome{State: wire.StateFailed, Class: class, Detail: detail, Error: firstNonEmpty(tail, detail), NoEnd: true})
}

// lastLines returns the end of the tail that fits a detail.
func (s *OneTurn) lastLines() string {
	out := ""
	for i := len(s.Tail) - 1; i >= 0; i-- {
		joined := strings.TrimSuffix(s.Tail[i]+" / "+out, " / ")
		if out != "" && len(joined) > MaxDetail/2 {
			break
		}
		out = joined
	}
	return out
}

func ended(exit Exit) string {
	switch {
	case exit.OOM:
		return "was ended because memory ran out"
	case exit.Signal != "":
		return "was ended by " + exit.Signal
	}
	return fmt.Sprintf("left with exit code %d", exit.Code)
}

func firstNonEmpty(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
