package model

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
)

const talkID = wire.SessionID("7d15fc17-bfb6-4166-b177-f824e15b2e3b")

// talkDesk is a desk at which a session of the model is chosen.
func talkDesk(t *testing.T) *desk {
	d := newDesk(t)
	d.send(Connected{Features: []string{wire.FeatureWatch, wire.FeatureKeep, wire.FeatureApprovals}})
	d.list(&wire.Snapshot{Sessions: []wire.Session{{ID: talkID, Label: "TUI", Workspace: "/w", Live: true, State: wire.StateIdle, Kept: true, Name: new("docs")}}})
	d.press("4")
	d.take()
	return d
}

func (d *desk) joined(started wire.SessionStarted, history ...wire.SessionMessage) {
	d.t.Helper()
	for _, e := range d.take() {
		if j, ok := e.(Join); ok {
			started.SessionID, started.Cwd, started.Model = talkID, "/w", "gpt-4.1-mini"
			d.send(Joined{Source: j.Source, Started: started, History: history})
			return
		}
	}
	d.t.Fatal("no session was joined")
}

func (d *desk) hears(events ...wire.ServerEvent) {
	d.send(Heard{Source: d.m.Chat.source, Events: events})
}

func (d *desk) utters() []wire.ClientMessage {
	var out []wire.ClientMessage
	for _, e := range d.take() {
		if u, ok := e.(Utter); ok {
			out = append(out, u.Message)
		}
	}
	return out
}

func (d *desk) said() string {
	var b strings.Builder
	for _, row := range d.m.Chat.Talk.Body.Window(1000) {
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}

func TestASessionIsOpenedTalkedInAndLeft(t *testing.T) {
	d := talkDesk(t)
	d.press("enter")
	d.joined(wire.SessionStarted{Name: new("docs")},
		wire.SessionMessage{Number: 1, Role: "assistant", Text: "It is a parser."}, wire.SessionMessage{Number: 0, Role: "user", Text: "what is it?"})
	if d.m.Focus != OnChat || !strings.Contains(d.said(), "> what is it?\nIt is a parser.") {
		t.Fatalf("focus %d, said %q", d.m.Focus, d.said())
	}
	d.press("type:go on", "enter")
	sent := d.utters()
	if len(sent) != 1 {
		t.Fatalf("uttered %v", sent)
	}
	turn, ok := sent[0].(wire.TurnStart)
	if !ok || turn.Prompt != "go on" || turn.SessionID != talkID || d.m.Chat.Input.Text() != "" {
		t.Fatalf("uttered %+v", sent[0])
	}
	f := wire.TurnFields{RequestID: turn.RequestID, SessionID: talkID, TurnID: "turn-1"}
	d.hears(wire.TurnStarted{TurnFields: f, Prompt: &turn.Prompt}, wire.AssistantDelta{TurnFields: f, Content: "I rea"},
		wire.AssistantDelta{TurnFields: f, Content: "d\nit no"}, wire.AssistantDelta{TurnFields: f, Content: "w"})
	if got := d.said(); !strings.HasSuffix(got, "> go on\nI read\nit now\n") {
		t.Errorf("while it comes: %q", got)
	}
	d.hears(wire.AssistantCompleted{TurnFields: f, Content: "I read\nit now"},
		wire.ToolProposed{TurnFields: f, CallID: "c1", Name: "read", Arguments: json.RawMessage(`{"path":"main.go"}`)},
		wire.ToolStarted{TurnFields: f, CallID: "c1", Name: "read"}, wire.ToolProgress{TurnFields: f, CallID: "c1", Text: "half"})
	if got := d.said(); !strings.Contains(got, "  * runs   read path=main.go\n           half\n") {
		t.Errorf("while a tool runs: %q", got)
	}
	d.hears(wire.ToolCompleted{TurnFields: f, CallID: "c1", Name: "read", Success: true, Output: "1\n2\n3\n4\n5\n6"},
		wire.AssistantCompleted{TurnFields: f, Content: "Done."}, wire.TurnCompleted{TurnFields: f, Steps: 2, Usage: wire.Usage{InputTokens: new(uint64(120)), OutputTokens: new(uint64(7))}})
	want := "> go on\nI read\nit now\n  = done   read path=main.go\n           1\n           2\n           3\n           4\n           .. and 2 more\nDone.\n-- done in 2 steps, 120 tokens in, 7 out --\n"
	if got := d.said(); !strings.HasSuffix(got, want) || d.m.Chat.Talk.Turn != "" {
		t.Errorf("in the end: %q", got)
	}
	d.press("type:half typed", "esc")
	if d.m.Focus != OnList || d.m.Chat.Open() || !has[Part](d.take()) {
		t.Error("esc did not leave the session")
	}
	d.press("enter")
	d.joined(wire.SessionStarted{})
	if d.m.Chat.Input.Text() != "half typed" {
		t.Errorf("what was typed is %q", d.m.Chat.Input.Text())
	}
}

func has[E Effect](all []Effect) bool {
	for _, e := range all {
		if _, ok := e.(E); ok {
			return true
		}
	}
	return false
}

// TestJoiningInTheMiddleShowsNothingTwice: what the history has of the running turn, and what it has not yet.
func TestJoiningInTheMiddleShowsNothingTwice(t *testing.T) {
	d := talkDesk(t)
	d.press("enter")
	f := wire.TurnFields{RequestID: "7", SessionID: talkID, TurnID: "turn-1"}
	d.joined(wire.SessionStarted{Turn: &wire.TurnView{
		TurnID: "turn-1", RequestID: "7", Prompt: "look", Text: "I look.",
		Results:   []wire.SessionResult{{ID: "c1", Name: "read", Text: "package main"}},
		Approvals: []wire.ApprovalRequested{{TurnFields: f, ApprovalID: "ask-1", CallID: "c2", Name: "write", Risk: "filesystem", Cwd: "/w", Summary: "write main.go"}},
	}}, wire.SessionMessage{Number: 1, Role: "assistant", Text: "I look.", Calls: []wire.SessionCall{
		{ID: "c1", Name: "read", Arguments: json.RawMessage(`{"path":"main.go"}`)}, {ID: "c2", Name: "write", Arguments: json.RawMessage(`{}`)},
	}}, wire.SessionMessage{Number: 0, Role: "user", Text: "look"})
	want := "\n> look\nI look.\n  = done   read path=main.go\n           package main\n  ? asks   write {}\n"
	if got := d.said(); got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
	if r := d.m.Requests; len(r) != 1 || r[0].ID != "ask-1" || d.m.Tally().Need != 1 {
		t.Fatalf("requests %+v", r)
	}
	d.hears(wire.ToolCompleted{TurnFields: f, CallID: "c2", Name: "write", Output: "no"}, wire.AssistantDelta{TurnFields: f, Content: "Then not."})
	if got := d.said(); got != strings.Replace(want, "  ? asks   write {}\n", "  x failed write {}\n           no\nThen not.\n", 1) || len(d.m.Requests) != 0 {
		t.Errorf("then %q with %d requests", got, len(d.m.Requests))
	}
	// Between two steps the text is not in the history.
	d.press("esc", "enter")
	d.joined(wire.SessionStarted{Turn: &wire.TurnView{TurnID: "turn-1", Prompt: "look", Text: "Then\nno"}}, wire.SessionMessage{Number: 0, Role: "user", Text: "look"})
	d.hears(wire.AssistantDelta{TurnFields: f, Content: "t."}, wire.AssistantCompleted{TurnFields: f, Content: "Then\nnot."}, wire.TurnCancelled{TurnFields: f})
	if got := d.said(); got != "\n> look\nThen\nnot.\n-- cancelled; what its tools did stays --\n" {
		t.Errorf("a message in the middle: %q", got)
	}
}

// TestE9_ASessionsQuestionIsAnsweredByTwoKeys, never by what is being typed.
func TestE9_ASessionsQuestionIsAnsweredByTwoKeys(t *testing.T) {
	d := talkDesk(t)
	d.press("enter")
	d.joined(wire.SessionStarted{})
	f := wire.TurnFields{RequestID: "7", SessionID: talkID, TurnID: "turn-1"}
	ask := wire.ApprovalRequested{TurnFields: f, ApprovalID: "ask-1", CallID: "c", Name: "bash", Risk: "process", Cwd: "/w", Summary: "rm -rf build"}
	d.hears(wire.TurnStarted{TurnFields: f, Prompt: new("clean")}, wire.ToolProposed{TurnFields: f, CallID: "c", Name: "bash"}, ask)
	d.wait(time.Second)
	d.press("y", "enter", "space")
	for _, m := range d.utters() {
		if _, ok := m.(wire.ApprovalResolve); ok {
			t.Error("typed text answered a question")
		}
	}
	d.press("ctrl-y", "y")
	if d.m.Focus != OnCards || len(d.utters()) != 0 {
		t.Error("it was answered before anybody could read it")
	}
	d.wait(time.Second)
	d.press("y")
	sent := d.utters()
	if len(sent) != 1 || sent[0].(wire.ApprovalResolve).ApprovalID != "ask-1" || !sent[0].(wire.ApprovalResolve).Approved {
		t.Fatalf("uttered %v", sent)
	}
	d.hears(wire.ToolStarted{TurnFields: f, CallID: "c", Name: "bash"})
	if d.m.Focus != OnChat || len(d.m.Requests) != 0 {
		t.Errorf("afterwards the focus is %d", d.m.Focus)
	}
	// An answer that came too late is told, and another one can be given to the next question.
	ask.ApprovalID, ask.CallID = "ask-2", "d"
	d.hears(wire.ToolProposed{TurnFields: f, CallID: "d", Name: "bash"}, ask)
	d.press("ctrl-y")
	d.wait(time.Second)
	d.press("n")
	id := d.utters()[0].Request()
	d.hears(wire.ErrorEvent{RequestID: &id, Code: wire.CodeApprovalNotFound, Message: "that question is no longer open"})
	if !strings.Contains(d.m.Notice.Text, "no longer open") || d.m.Cards.Sent("ask-2") {
		t.Errorf("told %q", d.m.Notice.Text)
	}
}

func TestTheQueueOfASession(t *testing.T) {
	d := talkDesk(t)
	d.press("enter")
	d.joined(wire.SessionStarted{})
	entry := func(id, prompt string) wire.QueueEntry {
		return wire.QueueEntry{QueueID: wire.QueueID(id), Revision: 1, Prompt: prompt}
	}
	d.hears(wire.QueueSnapshot{Entries: []wire.QueueEntry{entry("a", "one"), entry("b", "two"), entry("c", "three")}, Paused: true})
	if s := d.m.Chat.Status(); !strings.Contains(s, "3 wait  paused") {
		t.Errorf("status %q", s)
	}
	d.press("ctrl-p", "enter")
	if u := d.utters(); len(u) != 1 || u[0].(wire.SessionPause).Paused {
		t.Fatalf("uttered %v", u)
	}
	choose := func(words string) {
		d.press("ctrl-p", "type:"+words, "enter")
	}
	choose("three earlier")
	if m := d.utters()[0].(wire.QueueMove); m.QueueID != "c" || m.BeforeQueueID == nil || *m.BeforeQueueID != "b" {
		t.Errorf("earlier: %+v", m)
	}
	choose("one later")
	if m := d.utters()[0].(wire.QueueMove); m.QueueID != "a" || *m.BeforeQueueID != "c" {
		t.Errorf("later: %+v", m)
	}
	choose("two later")
	if m := d.utters()[0].(wire.QueueMove); m.QueueID != "b" || m.BeforeQueueID != nil {
		t.Errorf("to the end: %+v", m)
	}
	choose("two edit")
	d.edits("two", "two, better")
	if m := d.utters()[0].(wire.QueueUpdate); m.QueueID != "b" || m.Prompt != "two, better" || m.Revision != 1 {
		t.Errorf("edited: %+v", m)
	}
	choose("one take")
	if d.m.Focus != OnConfirm || len(d.utters()) != 0 {
		t.Error("a prompt was taken out without a question")
	}
	d.press("y")
	if m := d.utters()[0].(wire.QueueRemove); m.QueueID != "a" {
		t.Errorf("taken out: %+v", m)
	}
	s := wire.SessionFields{SessionID: talkID}
	d.hears(wire.QueueMoved{SessionFields: s, QueueID: "c", Position: 0, Revision: 2}, wire.QueueRemoved{SessionFields: s, QueueID: "a"},
		wire.QueueUpdated{SessionFields: s, Entry: entry("b", "two, better")}, wire.QueueEnqueued{SessionFields: s, Entry: entry("e", "new"), Position: 1}, wire.SessionPaused{SessionFields: s})
	var got []string
	for _, e := range d.m.Chat.Talk.Queue {
		got = append(got, e.Prompt)
	}
	if strings.Join(got, ",") != "three,new,two, better" || d.m.Chat.Talk.Paused {
		t.Errorf("the queue is %v, paused %t", got, d.m.Chat.Talk.Paused)
	}
	// A prompt that waited is shown when it begins, also by a daemon that does not tell prompts.
	d.hears(wire.QueueDequeued{SessionFields: s, QueueID: "c", TurnID: "t"}, wire.TurnStarted{TurnFields: wire.TurnFields{TurnID: "t"}})
	if !strings.HasSuffix(d.said(), "> three\n") || len(d.m.Chat.Talk.Queue) != 2 {
		t.Errorf("said %q", d.said())
	}
}

// TestNothingTypedIsLost: a prompt that is refused, or that the daemon may not have got, comes back.
func TestNothingTypedIsLost(t *testing.T) {
	d := talkDesk(t)
	d.press("enter", "type:early", "enter")
	if len(d.utters()) == 0 && d.m.Chat.Input.Text() != "early" {
		t.Errorf("before the session is there: %q", d.m.Chat.Input.Text())
	}
	d.press("esc", "enter")
	d.joined(wire.SessionStarted{})
	d.press("ctrl-u", "type:one", "enter")
	id := d.utters()[0].Request()
	d.hears(wire.ErrorEvent{RequestID: &id, Code: wire.CodeQueueLimit, Message: "the queue is full"})
	if d.m.Chat.Input.Text() != "one" || !strings.Contains(d.m.Notice.Text, "the queue is full. Not sent; the text is back") {
		t.Errorf("text %q, told %q", d.m.Chat.Input.Text(), d.m.Notice.Text)
	}
	d.press("enter", "type:two", "enter")
	source := d.m.Chat.source
	d.send(Parted{Source: source, Err: errors.New("the daemon went away")})
	if !strings.Contains(d.m.Chat.Status(), "away: the daemon went away") {
		t.Errorf("status %q", d.m.Chat.Status())
	}
	d.press("type:three")
	d.send(Joined{Source: source, Started: wire.SessionStarted{SessionID: talkID}, History: []wire.SessionMessage{{Role: "user", Text: "one"}}})
	if d.m.Chat.Input.Text() != "three" || !strings.Contains(d.m.Notice.Text, "ctrl-r has the text") {
		t.Errorf("text %q, told %q", d.m.Chat.Input.Text(), d.m.Notice.Text)
	}
	d.press("ctrl-r", "type:tw", "enter")
	if d.m.Chat.Input.Text() != "two" || d.m.Focus != OnChat {
		t.Errorf("ctrl-r gives %q", d.m.Chat.Input.Text())
	}
	d.press("ctrl-u", "up", "up")
	if d.m.Chat.Input.Text() != "one" {
		t.Errorf("up up gives %q", d.m.Chat.Input.Text())
	}
	d.press("down", "down")
	if d.m.Chat.Input.Text() != "" {
		t.Errorf("down again gives %q", d.m.Chat.Input.Text())
	}
}

func TestFilesGoWithAPrompt(t *testing.T) {
	d := talkDesk(t)
	d.press("enter")
	d.joined(wire.SessionStarted{})
	d.press("ctrl-t", "type:ma", "tab")
	for _, e := range d.take() {
		if c, ok := e.(Complete); ok && c.Dir == "/w" && c.Path == "ma" {
			d.send(Completed{Then: c.Then, Path: "main.", Names: []string{"main.go", "main.md"}})
		}
	}
	if d.m.Field.Text() != "main." || d.m.Notice.Text != "main.go  main.md" {
		t.Fatalf("completed to %q, told %q", d.m.Field.Text(), d.m.Notice.Text)
	}
	answer := func(file wire.Attachment, err error) {
		for _, e := range d.take() {
			if p, ok := e.(Probe); ok {
				d.send(Probed{Then: p.Then, File: file, Err: err})
			}
		}
	}
	d.press("enter")
	answer(wire.Attachment{}, errors.New("main. is no plain file"))
	if d.m.Focus != OnChat || d.m.Notice.Text != "not attached: main. is no plain file" {
		t.Errorf("told %q", d.m.Notice.Text)
	}
	d.press("ctrl-t", "type:main.go", "enter")
	answer(wire.Attachment{Kind: "file", Path: "/w/main.go", Name: "main.go", Size: 12}, nil)
	d.press("enter")
	if turn := d.utters()[0].(wire.TurnStart); turn.Prompt != "" || len(turn.Attachments) != 1 || d.m.Chat.Files != nil {
		t.Errorf("sent %+v", turn)
	}
}

func TestANewSessionBeginsWithItsPrompt(t *testing.T) {
	d := talkDesk(t)
	d.press("c", "type:hello", "enter")
	d.joined(wire.SessionStarted{})
	if turn := d.utters()[0].(wire.TurnStart); turn.Prompt != "hello" {
		t.Errorf("sent %+v", turn)
	}
	if it := d.m.List.Selected(); it == nil || it.Session == nil || it.Session.ID != talkID {
		t.Error("the new session is not chosen in the list")
	}
	d.press("ctrl-x")
	if d.m.Focus != OnChat || !strings.Contains(d.m.Notice.Text, "no turn runs") {
		t.Errorf("told %q", d.m.Notice.Text)
	}
	d.hears(wire.TurnStarted{TurnFields: wire.TurnFields{TurnID: "t"}, Prompt: new("hello")})
	d.press("ctrl-x", "y")
	if c, ok := d.utters()[0].(wire.TurnCancel); !ok || c.TurnID != "t" {
		t.Error("ctrl-x and y do not cancel the turn")
	}
	d.press("tab", "/", "type:hello", "enter", "enter", "type:x")
	if d.m.Focus != OnChat || d.m.Chat.Input.Text() != "x" {
		t.Errorf("after reading, focus %d and text %q", d.m.Focus, d.m.Chat.Input.Text())
	}
	// A session that is over stays to be read.
	d.send(Parted{Source: d.m.Chat.source, Err: errors.New("the session has ended"), Over: true})
	d.press("enter")
	if d.m.Chat.Input.Text() != "x" || !strings.Contains(d.m.Chat.Status(), "the session has ended") || !strings.Contains(d.said(), "> hello") {
		t.Errorf("text %q, status %q", d.m.Chat.Input.Text(), d.m.Chat.Status())
	}
}

// TestTheFirstPromptIsKept when its session does not begin, or is left before it has.
func TestTheFirstPromptIsKept(t *testing.T) {
	d := talkDesk(t)
	d.press("c", "type:hello", "esc", "c")
	if d.m.Field.Text() != "hello" {
		t.Errorf("after esc there is %q", d.m.Field.Text())
	}
	d.press("enter", "esc", "c")
	if d.m.Field.Text() != "hello" || len(d.utters()) != 0 {
		t.Errorf("left before it began there is %q", d.m.Field.Text())
	}
	d.press("enter")
	d.send(Parted{Source: d.m.Chat.source, Err: errors.New("the settings cannot be used"), Over: true})
	if d.m.Chat.Input.Text() != "hello" || !strings.Contains(d.m.Notice.Text, "the settings cannot be used") {
		t.Errorf("refused, there is %q, told %q", d.m.Chat.Input.Text(), d.m.Notice.Text)
	}
}
