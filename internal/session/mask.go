package session

import (
	"encoding/json"
	"strings"
	"unicode"

	"scv/internal/safe/redact"
	"scv/internal/session/loop"
	"scv/internal/session/provider"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// mask hides credentials in what leaves the session: events for clients and rows for the disk. The model sees its own
// conversation as it is.
type mask struct{ m *redact.Masker }

func (k mask) text(s string) string { return k.m.Text(s) }

// event returns an event with its texts masked. Deltas were masked before they had a number.
func (k mask) event(e wire.ServerEvent) wire.ServerEvent {
	switch e := e.(type) {
	case wire.TurnStarted:
		if e.Prompt != nil {
			e.Prompt = new(k.text(*e.Prompt))
		}
		return e
	case wire.AssistantCompleted:
		e.Content = k.text(e.Content)
		return e
	case wire.ToolProposed:
		e.Arguments = k.raw(e.Arguments)
		return e
	case wire.ApprovalRequested:
		e.Summary = k.text(e.Summary)
		return e
	case wire.ToolProgress:
		e.Text = k.text(e.Text)
		return e
	case wire.ToolCompleted:
		e.Output = k.text(e.Output)
		return e
	case wire.TurnFailed:
		e.Message = k.text(e.Message)
		return e
	case wire.QueueEnqueued:
		e.Entry = k.entry(e.Entry)
		return e
	case wire.QueueUpdated:
		e.Entry = k.entry(e.Entry)
		return e
	case wire.QueueSnapshot:
		for i := range e.Entries {
			e.Entries[i] = k.entry(e.Entries[i])
		}
		return e
	}
	return e
}

// view is a running turn as a client that joins may see it; its text was masked as it came.
func (k mask) view(v *wire.TurnView) *wire.TurnView {
	out := *v
	out.Prompt = k.text(out.Prompt)
	for i := range out.Approvals {
		out.Approvals[i].Summary = k.text(out.Approvals[i].Summary)
	}
	for i := range out.Results {
		out.Results[i].Text = k.text(out.Results[i].Text)
	}
	return &out
}

// raw masks inside JSON. When a mask breaks it, it goes as a text.
func (k mask) raw(data json.RawMessage) json.RawMessage {
	masked, changed := k.m.Changed(string(data))
	if !changed {
		return data
	}
	if json.Valid([]byte(masked)) {
		return json.RawMessage(masked)
	}
	text, err := json.Marshal(masked)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

func (k mask) entry(e wire.QueueEntry) wire.QueueEntry {
	e.Prompt = k.text(e.Prompt)
	return e
}

// message is a message as it is kept. What a service wants back unchanged is left out when it holds something hidden.
func (k mask) message(m provider.Message) provider.Message {
	m.Text = k.text(m.Text)
	m.Calls = append([]provider.Call(nil), m.Calls...)
	for i := range m.Calls {
		m.Calls[i].Arguments = k.raw(m.Calls[i].Arguments)
		if !json.Valid(m.Calls[i].Arguments) {
			m.Calls[i].Arguments = json.RawMessage("{}")
		}
	}
	m.Results = append([]provider.Result(nil), m.Results...)
	for i := range m.Results {
		m.Results[i].Text = k.text(m.Results[i].Text)
	}
	if _, changed := k.m.Changed(string(m.Opaque)); changed {
		m.Opaque = nil
	}
	return m
}

// change is what is to be kept, as the ledger takes it.
func (k mask) change(c loop.Change) (row.TalkChange, error) {
	out := row.TalkChange{Talk: c.Talk, Below: c.Below, Gone: c.Gone, Other: c.Other}
	t := &out.Talk
	t.Running, t.Interrupted, t.Summary, t.First = k.text(t.Running), k.text(t.Interrupted), k.text(t.Summary), k.text(t.First)
	t.Pins = append([]string(nil), t.Pins...)
	for i := range t.Pins {
		t.Pins[i] = k.text(t.Pins[i])
	}
	for i, m := range c.Messages {
		body, err := loop.Encode(k.message(m))
		if err != nil {
			return out, err
		}
		out.Messages = append(out.Messages, row.TalkMessage{Num: c.First + uint64(i), Body: body})
	}
	for _, e := range c.Entries {
		out.Entries = append(out.Entries, k.entry(e))
	}
	return out, nil
}

// prose masks an answer while it streams. Whole lines are passed on once they are settled. A line under way is passed on
// word by word as far as it reads like prose: letters and punctuation, which no credential is made of; anything else
// waits for the end of its line.
type prose struct {
	m      *redact.Masker
	stream *redact.Stream
	line   strings.Builder // the line under way, raw
	given  int             // bytes of the first line that was not settled that were passed on
	behind int             // whole lines that the stream holds back
	long   bool            // the line under way is so long that it comes in parts
	lines  bool            // only whole lines are passed on
}

// newProse masks one answer. Where a known value is made of several words, any word could be one of them, and only whole
// lines are passed on.
func newProse(m *redact.Masker) *prose { return &prose{m: m, stream: m.Stream(), lines: m.Phrases()} }

// longestWord is the longest run of letters that is taken for a word.
const longestWord = 24

// write takes the next piece and returns what may be shown now.
func (p *prose) write(piece string) string {
	var out strings.Builder
	for part := range strings.Lines(piece) {
		whole := strings.HasSuffix(part, "\n")
		p.line.WriteString(part)
		if whole {
			p.behind++
		}
		p.settled(&out, p.stream.Write(part))
		if whole {
			p.line.Reset()
			p.long = false
		} else if p.behind == 0 && !p.long && !p.lines {
			p.early(&out)
		}
	}
	return out.String()
}

// settled passes on what the stream has let go, without what was shown of it already.
func (p *prose) settled(out *strings.Builder, lines []string) {
	text := strings.Join(lines, "")
	if text == "" {
		return
	}
	p.behind -= strings.Count(text, "\n")
	p.long = !strings.HasSuffix(text, "\n")
	out.WriteString(text[min(p.given, len(text)):])
	p.given = 0
}

// early passes on the words of a line under way.
func (p *prose) early(out *strings.Builder) {
	line := p.line.String()
	end := strings.LastIndexByte(line, ' ') + 1
	if end <= p.given || !plainWords(line[p.given:end]) {
		return
	}
	if near := line[p.nearby():end]; p.m.Text(near) != near {
		return
	}
	out.WriteString(line[p.given:end])
	p.given = end
}

// nearbyBytes is how much of a line before the words under way is looked at with them. What makes a word a secret
// stands closer, and a line of any length costs the same for each piece.
const nearbyBytes = 512

// nearby is where that begins: at a word.
func (p *prose) nearby() int {
	from := max(0, p.given-nearbyBytes)
	if from == 0 {
		return 0
	}
	return from + strings.IndexByte(p.line.String()[from:p.given], ' ') + 1
}

// plainWords reports whether a text is made of words only.
func plainWords(s string) bool {
	n := 0
	for _, r := range s {
		switch {
		case unicode.IsLetter(r):
			if n++; n > longestWord {
				return false
			}
		case unicode.IsSpace(r):
			n = 0
		case strings.ContainsRune(".,;!?()'’\"“”-–—*`", r):
		default:
			return false
		}
	}
	return true
}

// flush ends the text.
func (p *prose) flush() string {
	var out strings.Builder
	p.settled(&out, p.stream.Flush())
	p.line.Reset()
	p.long, p.behind, p.given = false, 0, 0
	return out.String()
}
