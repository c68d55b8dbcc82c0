package agent

import (
	"fmt"
	"strings"
	"time"

	"scv/internal/agent/renewal"
	"scv/internal/wire"
)

// An Account is what a turn leaves behind as it goes: its reply so far, what was refused, and the last lines that
// explain a failure. The folded states of the dialects hold one; it is data.
type Account struct {
	Reply   string   `json:"reply,omitempty"` // the last whole message
	Cut     bool     `json:"cut,omitzero"`    // Reply is only the beginning
	Tail    []string `json:"tail,omitempty"`  // the last lines of its standard error and of what was no event
	Denied  []string `json:"denied,omitempty"`
	Refused int      `json:"refused,omitzero"` // tool calls in Denied and beyond its bound

	at time.Time // of the input in hand, by which words such as "in two hours" are read
}

// Bounds of what is kept for the sentence on a failure.
const (
	maxTailLines = 12
	maxTailLine  = 400
	maxDenied    = 20
)

// Say notes a whole message of the agent as its reply so far.
func (s *Account) Say(text string) Fact {
	s.SetReply(text)
	return Fact{Kind: FactText, Text: text}
}

// SetReply keeps text, bounded, as the reply.
func (s *Account) SetReply(text string) { s.Reply, s.Cut = Bound(text, MaxReply) }

// Deny counts a tool call that the mode refused.
func (s *Account) Deny(line string) {
	s.Refused++
	if len(s.Denied) < maxDenied {
		s.Denied = append(s.Denied, line)
	}
}

// Remember keeps a line for the sentence on a failure.
func (s *Account) Remember(line []byte) {
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

// Renewed notes from what an agent said beside the words of a failure when the limit that it reached is renewed.
func (s *Account) Renewed(o *Outcome, said string) {
	if o.Class == ClassQuota && o.Resets == 0 {
		o.Resets = renewal.At(said, s.at)
	}
}

// Settle completes the outcome of a turn by its reply, by what was refused and by when a reached limit is renewed, and
// begins a new account.
func (s *Account) Settle(o *Outcome) {
	if o.Reply == "" {
		o.Reply = s.Reply
	}
	s.Renewed(o, o.Error)
	o.Denied = s.Denied
	var notes []string
	if o.Detail != "" {
		notes = append(notes, Shorten(o.Detail, MaxDetail))
	}
	if o.Class == ClassQuota {
		notes = append(notes, Renewal(o.Resets))
	}
	if s.Refused > 0 {
		notes = append(notes, deniedNote(s.Refused, s.Denied[0]))
	}
	if s.Cut {
		notes = append(notes, fmt.Sprintf("the reply was longer than %d MiB and is cut", MaxReply>>20))
	}
	o.Detail = strings.Join(notes, "; ")
	*s = Account{}
}

// Renewal says when a reached usage limit is renewed: at a moment in seconds of Unix time, 0 when the agent did not say.
func Renewal(resets int64) string {
	if resets <= 0 {
		return "when the limit is renewed was not said"
	}
	return "it resets at " + time.Unix(resets, 0).UTC().Format("2006-01-02 15:04 UTC")
}

func deniedNote(n int, first string) string {
	if n == 1 {
		return "1 tool call was refused by the permission mode (" + first + "); a job started with --mode auto may do it"
	}
	return fmt.Sprintf("%d tool calls were refused by the permission mode (first: %s); a job started with --mode auto may do them", n, first)
}

// Vanished is the outcome of a turn whose process left without a final event. Spoke says whether the agent ever wrote
// a line that was understood, and broken why its input was closed; it may be empty.
func (s *Account) Vanished(name string, exit Exit, spoke bool, broken string) Outcome {
	tail := strings.Join(s.Tail, " / ")
	class := ClassifyText(tail)
	if class == ClassNone {
		switch {
		case exit.Code == 126 || exit.Code == 127:
			class = ClassMissing
		case !spoke:
			class = ClassStart
		default:
			class = ClassAgent
		}
	}
	said := s.lastLines()
	if said == "" && broken != "" {
		said = "it closed its input (" + broken + ")"
	}
	detail := strings.TrimSuffix(name+" "+ended(exit)+" without a final event: "+said, ": ")
	if class == ClassAuth || class == ClassSession {
		detail = Explain(class, name, "", said)
	}
	return Outcome{State: wire.StateFailed, Class: class, Detail: detail, Error: firstNonEmpty(tail, detail), NoEnd: true}
}

// lastLines returns the end of the tail that fits a detail.
func (s *Account) lastLines() string {
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
