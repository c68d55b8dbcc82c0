// Package chat is a session of SCV's own model as the dashboard shows it: a fold over what the session tells, from its
// history and the turn that runs when the dashboard joins to the newest event. It knows no socket, no clock and no key.
// Package model owns a Talk, and package view reads it.
package chat

import (
	"slices"
	"strings"
	"time"

	"scv/internal/ui/tui/widget"
	"scv/internal/wire"
)

// A Talk is one session. Its exported fields are for reading.
type Talk struct {
	ID            wire.SessionID
	Name          string // as people call it
	Cwd           string
	Model         string
	Mode          string // what its tools may do unasked
	Queue         []wire.QueueEntry
	Paused        bool            // the queue
	Turn          wire.TurnID     // that runs; empty when none does
	Asks          []wire.Approval // of the running turn
	Prompts       []string        // what people asked, oldest first
	Input, Output uint64          // tokens of the turns that ended since the dashboard joined
	Body          widget.Scroll   // what is said

	stable int                             // lines before this mark do not change any more
	begun  int                             // where the message that comes begins
	words  strings.Builder                 // of the message that comes
	rest   string                          // its last line, as far as it is there
	calls  []call                          // of the step under way
	asking map[wire.ApprovalID]wire.CallID // of Asks
	next   string                          // prompt of the turn that begins, when it waited
}

// Begin shows a session anew, as it was when the dashboard joined it. history is newest first, as it is read in pages;
// more says that there is an older part.
func (t *Talk) Begin(s wire.SessionStarted, history []wire.SessionMessage, more bool, at time.Time) {
	width := t.Body.Width()
	*t = Talk{ID: s.SessionID, Name: nameOf(s), Cwd: s.Cwd, Model: s.Model, Body: widget.NewScroll(width, true), asking: map[wire.ApprovalID]wire.CallID{}}
	if s.Mode != nil {
		t.Mode = string(*s.Mode)
	}
	if more {
		t.Body.Add(faint("older messages: scv sessions show " + t.Name))
	}
	for _, m := range slices.Backward(history) {
		t.message(m)
	}
	if s.Turn != nil {
		t.Turn = s.Turn.TurnID
		t.resume(s.Turn, at)
	} else {
		t.settle()
	}
	if r := s.Restored; r != nil {
		t.restored(r)
	}
	t.draw()
}

func nameOf(s wire.SessionStarted) string {
	if s.Name != nil && *s.Name != "" {
		return *s.Name
	}
	return string(s.SessionID)[:min(8, len(s.SessionID))]
}

// message adds a message of the history.
func (t *Talk) message(m wire.SessionMessage) {
	switch m.Role {
	case "user":
		t.settle()
		said, files, attached := strings.Cut(m.Text, attachedMark)
		if strings.HasPrefix(said, "[") && strings.HasSuffix(said, "]") { // what the model was told of how a turn ended
			t.Body.Add(faint(strings.Trim(said, "[]")))
			break
		}
		t.prompt(said)
		if attached {
			for line := range strings.Lines(files) {
				t.Body.Add(faint("  attached " + strings.TrimRight(strings.TrimPrefix(line, "- "), "\n")))
			}
		}
	case "assistant":
		t.settle()
		t.said(m.Text)
		for _, c := range m.Calls {
			t.calls = append(t.calls, call{id: c.ID, name: c.Name, args: arguments(c.Arguments), state: unknown})
		}
	case "tool":
		for _, r := range m.Results {
			t.ended(r)
		}
	}
	t.draw()
}

// attachedMark stands in the history between a prompt and the list of the files that came with it.
const attachedMark = "\n\nAttached to this message:\n"

// resume takes the turn that runs as far as it has come. While it has calls under way, the message that they stand in is
// in the history.
func (t *Talk) resume(v *wire.TurnView, at time.Time) {
	if !slices.ContainsFunc(t.calls, func(c call) bool { return c.state == unknown }) {
		t.settle()
		t.words.WriteString(v.Text)
		t.rest, t.begun = v.Text, t.stable
		return
	}
	for i := range t.calls {
		t.calls[i].state = runs
	}
	for _, r := range v.Results {
		t.ended(r)
	}
	for _, a := range v.Approvals {
		t.asked(a, at)
	}
}

func (t *Talk) restored(r *wire.RestoredQueue) {
	if r.Interrupted != nil {
		t.Body.Add(faint("This prompt was cut off, and is not sent again by itself: " + *r.Interrupted))
		t.remember(*r.Interrupted)
	}
	if r.Queued > 0 {
		t.Body.Add(faint("What waits is paused: ctrl-p looks at it and lets it go on."))
	}
	if r.Dropped > 0 {
		t.Body.Add(faint("Some of what waited is gone: too long, or a file that went with it is."))
	}
	t.stable = t.Body.Mark()
}

// Take takes what the session tells.
func (t *Talk) Take(e wire.ServerEvent, at time.Time) {
	switch e := e.(type) {
	case wire.QueueSnapshot, wire.QueueEnqueued, wire.QueueUpdated, wire.QueueMoved, wire.QueueRemoved, wire.QueueDequeued, wire.SessionPaused:
		t.queued(e)
	case wire.TurnStarted:
		t.started(e)
	case wire.AssistantDelta:
		t.delta(e.Content)
	case wire.AssistantCompleted:
		t.whole(e.Content)
	case wire.ToolProposed, wire.ToolStarted, wire.ToolProgress, wire.ToolCompleted:
		t.called(e)
	case wire.ApprovalRequested:
		t.asked(e, at)
	case wire.TurnCompleted:
		t.over(faint(usage(e)))
		t.Input, t.Output = t.Input+value(e.Usage.InputTokens), t.Output+value(e.Usage.OutputTokens)
	case wire.TurnCancelled:
		t.over(faint("-- cancelled; what its tools did stays --"))
	case wire.TurnFailed:
		t.over(failed("the turn failed: " + e.Message))
	default:
		t.note(e)
	}
	t.draw()
}

// note takes what is only told.
func (t *Talk) note(e wire.ServerEvent) {
	line := widget.Line{}
	switch e := e.(type) {
	case wire.ContextCompacted:
		line = faint(compacted(e))
	case wire.SessionTrimmed:
		line = faint(trimmed(e))
	case wire.SessionPinned:
		line = faint(pinned(e))
	case wire.SessionCleared:
		t.Body, t.Prompts = widget.NewScroll(t.Body.Width(), true), nil
		t.stable, t.begun, t.calls = 0, 0, nil
		line = faint("The history is forgotten; files and jobs are as they were.")
	case wire.BackgroundReported:
		t.settle()
		for _, r := range e.Reports {
			t.Body.Add(faint(string(r.Job) + " is " + string(r.Status) + ": " + first(r.Reply)))
		}
		t.stable = t.Body.Mark()
		return
	default:
		return
	}
	t.settle()
	t.Body.Add(line)
	t.stable = t.Body.Mark()
}

// started begins a turn, whoever sent it.
func (t *Talk) started(e wire.TurnStarted) {
	t.settle()
	t.Turn = e.TurnID
	switch {
	case e.Origin != nil:
		t.Body.Add(widget.Line{}, faint(reported(e.Origin)))
	case e.Prompt != nil:
		t.prompt(*e.Prompt)
	default: // a daemon that does not tell it
		t.prompt(t.next)
	}
	t.next = ""
	t.stable = t.Body.Mark()
}

// prompt shows what a person asked.
func (t *Talk) prompt(text string) {
	if text == "" {
		text = "(files only)"
	} else {
		t.remember(text)
	}
	t.Body.Add(widget.Line{})
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		t.Body.Add(asked(line))
	}
	t.stable = t.Body.Mark()
}

// mostPrompts bounds what is remembered for being sent again.
const mostPrompts = 500

func (t *Talk) remember(text string) {
	t.Prompts = append(slices.DeleteFunc(t.Prompts, func(p string) bool { return p == text }), text)
	t.Prompts = t.Prompts[max(0, len(t.Prompts)-mostPrompts):]
}

// over ends the turn.
func (t *Talk) over(last widget.Line) {
	t.settle()
	t.Turn, t.Asks = "", nil
	t.Body.Add(last)
	t.stable = t.Body.Mark()
}

func value(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// Place is where a prompt waits, from 0; -1 when it does not.
func (t *Talk) Place(id wire.QueueID) int {
	return slices.IndexFunc(t.Queue, func(e wire.QueueEntry) bool { return e.QueueID == id })
}

// queued follows the queue.
func (t *Talk) queued(e wire.ServerEvent) {
	drop := func(id wire.QueueID) (was wire.QueueEntry) {
		if i := t.Place(id); i >= 0 {
			was = t.Queue[i]
			t.Queue = slices.Delete(slices.Clone(t.Queue), i, i+1)
		}
		return was
	}
	put := func(at uint64, entry wire.QueueEntry) {
		t.Queue = slices.Insert(slices.Clone(t.Queue), min(int(at), len(t.Queue)), entry)
	}
	switch e := e.(type) {
	case wire.QueueSnapshot:
		t.Queue, t.Paused = e.Entries, e.Paused
	case wire.QueueEnqueued:
		put(e.Position, e.Entry)
	case wire.QueueUpdated:
		if i := t.Place(e.Entry.QueueID); i >= 0 {
			drop(e.Entry.QueueID)
			put(uint64(i), e.Entry)
		}
	case wire.QueueMoved:
		if was := drop(e.QueueID); was.QueueID != "" {
			was.Revision = e.Revision
			put(e.Position, was)
		}
	case wire.QueueRemoved:
		drop(e.QueueID)
	case wire.QueueDequeued:
		t.next = drop(e.QueueID).Prompt
	case wire.SessionPaused:
		t.Paused = e.Paused
	}
}
