package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/widget"
	"scv/internal/wire"
)

// Bounds of what is shown of a call; the model and scv sessions show have the whole.
const (
	argumentCells = 200
	resultLines   = 4
	resultCells   = 200
)

// How far a call has come.
type progress uint8

const (
	proposed progress = iota
	asks
	runs
	done
	refused
	unknown // the history does not say
)

// A call is one wish of the model to use a tool.
type call struct {
	id     wire.CallID
	name   string
	args   string
	state  progress
	newest string // of what it shows while it runs
	result string
}

// called follows a call.
func (t *Talk) called(e wire.ServerEvent) {
	switch e := e.(type) {
	case wire.ToolProposed:
		t.calls = append(t.calls, call{id: e.CallID, name: e.Name, args: arguments(e.Arguments)})
	case wire.ToolStarted:
		t.step(e.CallID, runs)
	case wire.ToolProgress:
		if i := t.at(e.CallID); i >= 0 {
			t.calls[i].newest = last(e.Text)
		}
	case wire.ToolCompleted:
		t.ended(wire.SessionResult{ID: e.CallID, Name: e.Name, Text: e.Output, Failed: !e.Success})
	}
}

// at is the place of a call, of the newest one with that id; -1 when there is none.
func (t *Talk) at(id wire.CallID) int {
	for i := range slices.Backward(t.calls) {
		if t.calls[i].id == id {
			return i
		}
	}
	return -1
}

// step moves a call on; whatever it asked is answered then.
func (t *Talk) step(id wire.CallID, to progress) {
	i := t.at(id)
	if i < 0 {
		return
	}
	t.calls[i].state = to
	t.Asks = slices.DeleteFunc(slices.Clone(t.Asks), func(a wire.Approval) bool { return t.asking[a.ID] == id })
}

func (t *Talk) ended(r wire.SessionResult) {
	to := done
	if r.Failed {
		to = refused
	}
	t.step(r.ID, to)
	if i := t.at(r.ID); i >= 0 {
		t.calls[i].result = r.Text
	}
}

// asked puts a question among those that wait, until its call goes on or ends.
func (t *Talk) asked(e wire.ApprovalRequested, at time.Time) {
	t.step(e.CallID, asks)
	t.asking[e.ApprovalID] = e.CallID
	t.Asks = append(slices.Clone(t.Asks), wire.Approval{
		ID: e.ApprovalID, Session: e.SessionID, Name: e.Name, Risk: e.Risk, Cwd: e.Cwd, Summary: e.Summary,
		SinceUnixSeconds: uint64(max(at.Unix(), 0)), ExpiresUnixSeconds: wire.NoDeadline,
	})
}

// delta takes a piece of the message that comes. Its whole lines are never drawn again.
func (t *Talk) delta(text string) {
	if t.words.Len() == 0 {
		t.settle()
		t.begun = t.stable
	}
	t.words.WriteString(text)
	t.rest += text
}

// whole takes the message when it is there. It stands as it came, unless masking took more of it as a whole.
func (t *Talk) whole(text string) {
	if t.words.String() == text {
		t.settle()
		return
	}
	if t.words.Len() == 0 {
		t.settle()
	} else {
		t.Body.Cut(t.begun)
	}
	t.words.Reset()
	t.rest = ""
	t.said(text)
}

// said shows a whole message of the model.
func (t *Talk) said(text string) {
	if text != "" {
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			t.Body.Add(widget.Line{Text: line})
		}
	}
	t.stable = t.Body.Mark()
}

// settle makes what is under way final: the next thing is another one.
func (t *Talk) settle() {
	t.draw()
	t.stable, t.calls, t.rest = t.Body.Mark(), nil, ""
	t.words.Reset()
}

// draw shows what may still change below what does not.
func (t *Talk) draw() {
	t.Body.Cut(t.stable)
	for {
		line, rest, found := strings.Cut(t.rest, "\n")
		if !found {
			break
		}
		t.Body.Add(widget.Line{Text: line})
		t.rest, t.stable = rest, t.Body.Mark()
	}
	if t.rest != "" {
		t.Body.Add(widget.Line{Text: t.rest})
	}
	for i := range t.calls {
		t.Body.Add(t.calls[i].lines()...)
	}
}

// lines are a call in words: what, how far, and the beginning of what it gave.
func (c *call) lines() []widget.Line {
	word, role := "", canvas.Work
	switch c.state {
	case proposed, unknown:
		word = "  "
	case asks:
		word, role = "? asks", canvas.Wait
	case runs:
		word = "* runs"
	case done:
		word, role = "= done", canvas.Done
	case refused:
		word, role = "x failed", canvas.Fail
	}
	head := canvas.Row{canvas.Cell(role, "  "+word, 11), canvas.As(canvas.Strong, c.name), canvas.Text(" ")}
	out := []widget.Line{{Head: head, Role: canvas.Faint, Text: plain.Truncate(plain.Line(c.args), argumentCells)}}
	shown := strings.Split(strings.TrimRight(plain.Block(c.result), "\n"), "\n")
	if c.state == runs && c.newest != "" {
		shown = []string{c.newest}
	} else if c.result == "" {
		return out
	}
	more := len(shown) - resultLines
	for _, line := range shown[:min(len(shown), resultLines)] {
		out = append(out, widget.Line{Head: canvas.Row{canvas.Blank(11)}, Role: canvas.Faint, Text: plain.Truncate(line, resultCells)})
	}
	if more > 0 {
		out = append(out, widget.Line{Head: canvas.Row{canvas.Blank(11)}, Role: canvas.Faint, Text: fmt.Sprintf(".. and %d more", more)})
	}
	return out
}

// arguments are those of a call for people: the one text that there is, else the JSON.
func arguments(raw json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) == nil && len(fields) <= 1 {
		for name, v := range fields {
			if s, ok := v.(string); ok {
				return name + "=" + s
			}
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func faint(text string) widget.Line  { return widget.Line{Role: canvas.Faint, Text: text} }
func failed(text string) widget.Line { return widget.Line{Role: canvas.Fail, Text: text} }

// asked is a line of a prompt.
func asked(text string) widget.Line {
	return widget.Line{Head: canvas.Row{canvas.As(canvas.Strong, "> ")}, Role: canvas.Strong, Text: text}
}

func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func last(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// usage is how a turn ended, with what it cost as far as that is known.
func usage(e wire.TurnCompleted) string {
	out := fmt.Sprintf("-- done in %d steps", e.Steps)
	if e.Steps == 1 {
		out = "-- done in 1 step"
	}
	if e.Usage.InputTokens != nil {
		out += fmt.Sprintf(", %d tokens in", *e.Usage.InputTokens)
	}
	if e.Usage.OutputTokens != nil {
		out += fmt.Sprintf(", %d out", *e.Usage.OutputTokens)
	}
	return out + " --"
}

func compacted(e wire.ContextCompacted) string {
	return fmt.Sprintf("-- the model reads notes in place of %d older messages: %d tokens became %d --", e.RemovedMessages, e.BeforeTokens, e.AfterTokens)
}

func trimmed(e wire.SessionTrimmed) string {
	return fmt.Sprintf("-- %d old messages are gone: the history is as large as it may be --", e.RemovedMessages)
}

func pinned(e wire.SessionPinned) string {
	if len(e.Pins) == 0 {
		return "-- nothing is pinned for the model --"
	}
	return "-- pinned for the model: " + strings.Join(e.Pins, "; ") + " --"
}

// reported is the first line of a turn that nobody asked for.
func reported(o *wire.TurnOrigin) string {
	names := make([]string, 0, len(o.Jobs))
	for _, j := range o.Jobs {
		names = append(names, string(j))
	}
	return "-- the model is told of " + strings.Join(names, ", ") + " --"
}
