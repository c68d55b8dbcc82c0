package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"scv/internal/wire"
)

// Live is the folded state that dialects share whose process serves several turns. Everything in it is learnt from the
// spool, our own messages included, so a fold from any point knows which requests are open, which number belongs to
// which message and what is still to be said. A dialect embeds it, gives every input to Feed first, reads the lines that
// Feed leaves to it, and lets Next decide the order of what is written. It is data: JSON, one owner.
type Live struct {
	Started bool              `json:"started,omitzero"` // the process was started
	Ready   bool              `json:"ready,omitzero"`   // the handshake is through
	Spoke   bool              `json:"spoke,omitzero"`   // the agent wrote a line that its dialect understood
	Gone    bool              `json:"gone,omitzero"`    // the process ended
	Useless bool              `json:"useless,omitzero"` // its handshake failed for good: it is only to be closed
	Broken  string            `json:"broken,omitempty"` // why its input is closed
	Session string            `json:"session,omitempty"`
	Wrote   []string          `json:"wrote,omitempty"`   // keys that came back: the handshake's and those of the turn in hand
	Pending map[uint64]string `json:"pending,omitempty"` // our requests without an answer: number to key
	Owed    []Debt            `json:"owed,omitempty"`    // answers to requests of the agent that concern no owner
	Open    []Asked           `json:"open,omitempty"`    // requests of the agent that wait for the owner, in their order
	Asks    uint32            `json:"asks,omitzero"`     // requests so far

	Turn   uint32 `json:"turn,omitzero"` // the turn in hand, or the last one
	Active bool   `json:"active,omitzero"`
	Stream string `json:"stream,omitempty"` // of a message that comes in parts: what is not logged yet
	Whole  []byte `json:"whole,omitempty"`  // of the same message, from its beginning, up to MaxReply
	Account
}

// A Debt is an answer that the agent waits for and that needs nobody's wish, such as the refusal of a request that SCV
// does not offer.
type Debt struct {
	Key  string          `json:"key"`
	Line json.RawMessage `json:"line"`
}

// Asked is an open request of the agent. Data is what the dialect needs to answer it.
type Asked struct {
	Request string          `json:"request"` // the agent's own id of it, which it may use again
	Number  uint32          `json:"number"`  // of the process, from 1
	Data    json.RawMessage `json:"data,omitempty"`
}

// A Tongue is what live dialects differ in. Each method returns a whole line with its line feed, or nil for "nothing
// yet", and changes nothing.
type Tongue interface {
	// Handshake is asked until Ready is set and while no request of ours is open.
	Handshake(w Wishes, n uint64) (Message, bool)
	Prompt(t Turn, n uint64) []byte
	Answer(a Answer, q Asked) []byte
	Steer(s Steer, n uint64) []byte
	Cancel(n uint64) []byte
	// Withdraw answers an open request whose turn is being cancelled; nil when the agent closes it by itself.
	Withdraw(q Asked) []byte
}

// Keys of messages that no wish of the owner names.
const (
	keyHello    = "hello:"
	keyWithdraw = "withdraw:"
	keyOwed     = "owed:"
	keyClose    = "close:"
	keyTurn     = "turn:" // made by whoever wishes the turn
)

// HelloKey is the key of a message of the handshake.
func HelloKey(step string) string { return keyHello + step }

// CancelKey is the key of the message that cancels a turn.
func CancelKey(turn uint32) string { return fmt.Sprintf("cancel:%d", turn) }

// Feed folds what is the same for every live agent. It returns false when the dialect has to read the input as well: a
// whole line of the agent's output, or a message of ours that came back, whose words say what it asked or answered.
func (s *Live) Feed(name string, in Input) ([]Fact, bool) {
	s.at = in.At
	switch in.Kind {
	case InputStarted:
		s.Started = true
	case InputStartFailed:
		class := in.Class
		if class == ClassNone {
			class = ClassStart
		}
		s.Gone = true
		return s.End(Outcome{State: wire.StateFailed, Class: class, Detail: in.Text, Error: in.Text}), true
	case InputSent:
		return s.sent(in), false
	case InputErr:
		s.Remember(in.Line)
	case InputStdin:
		s.Broken = in.Text
	case InputExit:
		return s.exited(name, in.Exit), true
	case InputOut:
		return nil, s.Gone || in.Cut > 0
	case InputEOF:
	}
	return nil, true
}

// sent folds what the key of a message of ours says.
func (s *Live) sent(in Input) []Fact {
	s.Wrote = append(s.Wrote, in.Key)
	kind, rest, _ := strings.Cut(in.Key, ":")
	switch kind + ":" {
	case keyOwed:
		s.Owed = slices.DeleteFunc(s.Owed, func(d Debt) bool { return d.Key == in.Key })
	case keyWithdraw:
		for _, q := range s.Open {
			if q.withdrawKey() == in.Key {
				return s.Closed(q.Request, ClosedCancelled)
			}
		}
	case keyTurn:
		return s.begin(in.Key, rest)
	}
	return nil
}

// begin opens the turn whose prompt came back. Keys of the turn before are forgotten: its wishes are over.
func (s *Live) begin(key, number string) []Fact {
	if _, err := fmt.Sscanf(number, "%d", &s.Turn); err != nil {
		return nil
	}
	s.Wrote = slices.DeleteFunc(s.Wrote, func(k string) bool { return !strings.HasPrefix(k, keyHello) && k != key })
	s.Active, s.Stream, s.Whole = true, "", nil
	s.Account = Account{}
	return s.Stamp(Fact{Kind: FactTurnStarted})
}

// Stamp puts the number of the turn in hand on facts.
func (s *Live) Stamp(facts ...Fact) []Fact {
	for i := range facts {
		facts[i].Turn = s.Turn
	}
	return facts
}

// Hello marks the handshake as through.
func (s *Live) Hello() []Fact {
	s.Ready = true
	return []Fact{{Kind: FactReady}}
}

// Named notes the agent's own id of its session and returns the fact on it, once per id.
func (s *Live) Named(session string) []Fact {
	if session == "" || session == s.Session {
		return nil
	}
	s.Session = session
	return []Fact{{Kind: FactSession, Session: session}}
}

// Await notes that a message of ours is a request that the agent will answer by its number.
func (s *Live) Await(in Input) {
	if s.Pending == nil {
		s.Pending = make(map[uint64]string)
	}
	s.Pending[in.N] = in.Key
}

// Answered returns the key of the request of ours that the number belongs to, once.
func (s *Live) Answered(n uint64) (key string, ok bool) {
	key, ok = s.Pending[n]
	delete(s.Pending, n)
	return key, ok
}

// Waits reports whether a request of ours whose key begins so has no answer yet.
func (s *Live) Waits(prefix string) bool {
	for _, key := range s.Pending {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// Owe notes an answer that is written without anybody's wish. Request is the agent's id of what is answered.
func (s *Live) Owe(request string, line []byte) {
	key := fmt.Sprintf("%s%d:%s", keyOwed, s.Turn, short(request))
	for again := 2; s.Sent(key) || slices.ContainsFunc(s.Owed, func(d Debt) bool { return d.Key == key }); again++ {
		key = fmt.Sprintf("%s%d:%s+%d", keyOwed, s.Turn, short(request), again) // an id used again is owed again
	}
	s.Owed = append(s.Owed, Debt{Key: key, Line: line})
}

func (q Asked) withdrawKey() string {
	return fmt.Sprintf("%s%d:%s", keyWithdraw, q.Number, short(q.Request))
}

// short stands for an agent's id in a key, which the shim bounds.
func short(request string) string {
	if len(request) <= 32 {
		return request
	}
	h := fnv.New64a()
	h.Write([]byte(request))
	return fmt.Sprintf("#%016x", h.Sum64())
}

// Ask notes a request that waits for the owner; q.Data serves its answer. An id that is open already replaces the old
// request, which is void: an answer meant for one text never serves another.
func (s *Live) Ask(q Asked, a Approval) []Fact {
	facts := append(s.Flush(), s.Closed(q.Request, ClosedVoid)...)
	a.Request = q.Request
	s.Asks++
	q.Number = s.Asks
	s.Open = append(s.Open, q)
	return append(facts, s.Stamp(Fact{Kind: FactApprovalAsked, Approval: &a})...)
}

// How an open request can close.
const (
	ClosedAnswered  = "answered"  // the owner's answer was written
	ClosedCancelled = "cancelled" // with its turn, by us
	ClosedVoid      = "void"      // the agent withdrew it, or it ended with its turn or process
)

// Closed takes a request off the open ones.
func (s *Live) Closed(request, status string) []Fact {
	i := slices.IndexFunc(s.Open, func(q Asked) bool { return q.Request == request })
	if i < 0 {
		return nil
	}
	s.Open = slices.Delete(s.Open, i, i+1)
	return s.Stamp(Fact{Kind: FactApprovalClosed, Status: status, Approval: &Approval{Request: request}})
}

// maxStream is how many bytes of a streamed message are held back for a better place to cut it.
const maxStream = 4 << 10

// Chunk takes a part of a message that comes in parts. What it returns ends with a paragraph, or with a line once much
// waits, so that a person can follow and a credential is not cut in two.
func (s *Live) Chunk(part string) []Fact {
	s.Cut = s.Cut && len(s.Whole) > 0 // what was cut before was another message
	if !s.Cut {
		kept, cut := Bound(part, MaxReply-len(s.Whole))
		s.Whole, s.Cut = append(s.Whole, kept...), cut
	}
	s.Stream += part
	end := strings.LastIndex(s.Stream, "\n\n")
	if end < 0 && len(s.Stream) > maxStream {
		end = strings.LastIndexByte(s.Stream, '\n')
	}
	if end <= 0 && len(s.Stream) < 16*maxStream {
		return nil
	}
	if end <= 0 {
		return s.flush()
	}
	text := s.Stream[:end]
	s.Stream = strings.TrimLeft(s.Stream[end:], "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return s.Stamp(Fact{Kind: FactText, Text: text})
}

func (s *Live) flush() []Fact {
	text := strings.Trim(s.Stream, "\n")
	s.Stream = ""
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return s.Stamp(Fact{Kind: FactText, Text: text})
}

// Flush ends a message that came in parts: the whole of it is the reply so far.
func (s *Live) Flush() []Fact {
	if len(bytes.TrimSpace(s.Whole)) > 0 {
		s.Reply = string(s.Whole)
	}
	s.Whole = nil
	return s.flush()
}

// End settles the turn in hand, once: open requests are void, and its outcome is completed by the account.
func (s *Live) End(o Outcome) []Fact {
	if !s.Active && o.Class != ClassStart && o.Class != ClassMissing {
		return nil
	}
	facts := s.Flush()
	for len(s.Open) > 0 {
		facts = append(facts, s.Closed(s.Open[0].Request, ClosedVoid)...)
	}
	s.Active = false
	s.Settle(&o)
	return append(facts, s.Stamp(Fact{Kind: FactTurnEnded, Outcome: &o})...)
}

// Fail settles a turn that could not be begun, such as one whose settings the agent refused; 0 stands for the turn that
// the process was started for.
func (s *Live) Fail(turn uint32, o Outcome) []Fact {
	s.Turn, s.Active = turn, true
	return s.End(o)
}

// Forsake settles the turn that waits for a handshake that failed for good. The process is of no use any more, and Next
// closes it.
func (s *Live) Forsake(o Outcome) []Fact {
	s.Useless = true
	return s.Fail(s.Turn, o)
}

// exited settles a turn that had no final event; between turns an agent may leave. One that leaves before it could take
// a prompt fails the turn that it was started for.
func (s *Live) exited(name string, exit Exit) []Fact {
	s.Gone = true
	if !s.Active && (s.Ready || s.Useless) {
		return nil
	}
	s.Active = true
	return s.End(s.Vanished(name, exit, s.Spoke, s.Broken))
}

// Sent reports whether a message with this key came back.
func (s *Live) Sent(key string) bool { return slices.Contains(s.Wrote, key) }

// Next decides what should be written, in an order that never lets an agent wait for one thing while it wants another:
// the handshake, what is owed, a cancel with what is open in its turn, answers, steers, the next prompt, the end.
func (s *Live) Next(w Wishes, n uint64, t Tongue) (Message, bool) {
	switch {
	case !s.Started || s.Gone || s.Broken != "" || s.Sent(keyClose):
		return Message{}, false
	case len(s.Owed) > 0:
		return Message{Key: s.Owed[0].Key, Bytes: s.Owed[0].Line}, true
	case s.Useless || w.Close && w.Turn == nil && !s.Active:
		return Message{Key: keyClose, EOF: true}, true
	case !s.Ready && len(s.Pending) > 0:
		return Message{}, false
	case !s.Ready:
		return t.Handshake(w, n)
	case s.Active:
		return s.during(w, n, t)
	case w.Turn != nil && !s.Sent(w.Turn.Key) && w.Cancel != w.Turn.Number:
		return line(w.Turn.Key, t.Prompt(*w.Turn, n))
	}
	return Message{}, false
}

// during is what can be said while a turn runs.
func (s *Live) during(w Wishes, n uint64, t Tongue) (Message, bool) {
	if w.Cancel != 0 && w.Cancel == s.Turn {
		if key := CancelKey(s.Turn); !s.Sent(key) {
			if m, ok := line(key, t.Cancel(n)); ok {
				return m, true
			}
		}
		for _, q := range s.Open {
			if m, ok := line(q.withdrawKey(), t.Withdraw(q)); ok {
				return m, true
			}
		}
		return Message{}, false
	}
	for _, a := range w.Answers {
		i := slices.IndexFunc(s.Open, func(q Asked) bool { return q.Request == a.Request })
		if i < 0 || s.Sent(a.Key) {
			continue
		}
		if m, ok := line(a.Key, t.Answer(a, s.Open[i])); ok {
			return m, true
		}
	}
	for _, steer := range w.Steers {
		if steer.Turn != s.Turn || s.Sent(steer.Key) {
			continue
		}
		if m, ok := line(steer.Key, t.Steer(steer, n)); ok {
			return m, true
		}
	}
	return Message{}, false
}

// line makes a message of bytes; none without any.
func line(key string, text []byte) (Message, bool) {
	return Message{Key: key, Bytes: text}, len(text) > 0
}
