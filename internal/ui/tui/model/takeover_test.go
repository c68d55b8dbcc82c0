package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
)

// taken is a desk that has taken the terminal of job-1's conversation over, and seen it.
func taken(t *testing.T) (*desk, Attach) {
	j := job(1, wire.StateCompleted, "one")
	j.Attach = &wire.AttachOffer{State: wire.AttachReady}
	d := newDesk(t, j)
	d.press("t")
	for _, e := range d.take() {
		if a, ok := e.(Attach); ok {
			d.screen(a, wire.AttachPage{Full: true, Cols: 79, Rows: 22, Lines: []wire.AttachRow{{Row: 1, Spans: []wire.AttachSpan{{Text: "hello"}}}}})
			return d, a
		}
	}
	t.Fatal("t takes nothing over")
	return nil, Attach{}
}

func (d *desk) screen(a Attach, page wire.AttachPage) { d.send(Screened{Source: a.Source, Page: page}) }

// typed is what went to the terminal since take.
func (d *desk) typed() (text string) {
	for _, e := range d.take() {
		if k, ok := e.(Type); ok {
			text += k.Text
		}
	}
	return text
}

func TestE19_EveryKeyButOneGoesToTheTerminal(t *testing.T) {
	d, a := taken(t)
	if diff := cmp.Diff(Attach{Source: a.Source, Session: session, Conversation: "codex-1", Cols: 79, Rows: 22}, a); diff != "" {
		t.Error(diff)
	}
	d.press("q", "y", "A", "ctrl-c", "ctrl-z", "ctrl-l", "esc", "up", "enter")
	if got := d.typed(); got != "qyA\x03\x1a\x0c\x1b\x1b[A\r" || d.m.Focus != OnTerminal {
		t.Errorf("the terminal got %q, focus %d", got, d.m.Focus)
	}
	d.screen(a, wire.AttachPage{Rows: 22, ApplicationCursor: true})
	d.press("up")
	if got := d.typed(); got != "\x1bOA" {
		t.Errorf("in the other mode of arrow keys it got %q", got)
	}
	d.send(Resized{100, 30})
	if got := d.take(); len(got) != 1 || got[0] != (Window{Cols: 99, Rows: 28}) {
		t.Errorf("another window did %v", got)
	}
	// An approval that comes meanwhile takes neither the keys nor the room.
	view := asking()
	d.list(view)
	d.press("A", "y")
	if got := d.take(); len(got) != 2 || d.m.Focus != OnTerminal {
		t.Errorf("a card made the keys do %v", got)
	}
	d.press("ctrl-]")
	if got := d.take(); !strings.Contains(d.m.Notice.Text, "goes on") || d.m.Focus != OnList || len(got) == 0 || got[0] != LetGo {
		t.Errorf("letting go did %v, %q", got, d.m.Notice.Text)
	}
	d.screen(a, wire.AttachPage{Ended: true, Exit: new("exit 0")})
	if strings.Contains(d.m.Notice.Text, "closed") {
		t.Error("what was let go is still listened to")
	}
}

func TestE19_TheEndSaysHow(t *testing.T) {
	for name, c := range map[string]struct {
		page wire.AttachPage
		want string
	}{
		"well":   {wire.AttachPage{Rows: 22, Ended: true, Exit: new("exit 0")}, "the terminal of codex-1 is closed (exit 0)"},
		"badly":  {wire.AttachPage{Rows: 22, Ended: true, Exit: new("exit 3")}, "the terminal of codex-1 is closed (exit 3; its last line: hello)"},
		"silent": {wire.AttachPage{Rows: 22, Ended: true}, "the terminal of codex-1 is closed (it is not known how; its last line: hello)"},
	} {
		d, a := taken(t)
		d.screen(a, c.page)
		if d.m.Focus != OnList || d.m.Notice.Text != c.want {
			t.Errorf("%s: focus %d, %q", name, d.m.Focus, d.m.Notice.Text)
		}
	}
	d, a := taken(t)
	d.send(Released{Source: a.Source, Err: errors.New("it was taken by another client")})
	if d.m.Focus != OnList || d.m.Notice.Text != "codex-1: it was taken by another client" || !d.m.Notice.Bad {
		t.Errorf("focus %d, %q", d.m.Focus, d.m.Notice.Text)
	}
}

func TestE19_APasteOfSeveralLinesIsAsked(t *testing.T) {
	d, a := taken(t)
	d.send(Pasted{Text: "one"})
	if got := d.typed(); got != "one" {
		t.Errorf("one line is sent as %q", got)
	}
	d.send(Pasted{Text: "a\nb"})
	if got := d.typed(); got != "" || !strings.Contains(d.m.Taken.Note, "2 lines") {
		t.Fatalf("sent %q, said %q", got, d.m.Taken.Note)
	}
	d.press("n")
	if got := d.typed(); got != "" {
		t.Errorf("no sent %q", got)
	}
	d.send(Pasted{Text: "a\nb"})
	d.press("y")
	if got := d.typed(); got != "a\rb" {
		t.Errorf("yes sent %q", got)
	}
	d.screen(a, wire.AttachPage{Rows: 22, BracketedPaste: true})
	d.send(Pasted{Text: "a\nb"})
	if got := d.typed(); got != "\x1b[200~a\nb\x1b[201~" {
		t.Errorf("to a program that takes pastes it is sent as %q", got)
	}
}

func TestARunningTurnIsStoppedOnlyAfterAQuestion(t *testing.T) {
	j := job(1, wire.StateWorking, "one")
	j.Attach = &wire.AttachOffer{State: wire.AttachBusy, Detail: new("job-1 runs"), Interrupt: true}
	d := newDesk(t, j)
	d.press("t")
	if want := "job-1 runs: stop that turn, to be resumed later, and take codex-1 over in its agent's own terminal?"; d.m.Ask.Text != want {
		t.Fatalf("asks %q", d.m.Ask.Text)
	}
	d.press("enter")
	if got := d.commands(); len(got) != 0 || d.m.Focus != OnList {
		t.Fatalf("enter did %v", got)
	}
	d.press("t", "y")
	var a Attach
	for _, e := range d.take() {
		if x, ok := e.(Attach); ok {
			a = x
		}
	}
	if !a.Interrupt || d.m.Focus != OnTerminal {
		t.Errorf("yes did %+v", a)
	}
	d = newDesk(t, job(2, wire.StateQueued, "two"))
	d.m.Data.Jobs[0].Attach = &wire.AttachOffer{State: wire.AttachIneligible, Detail: new("gemini has no terminal")}
	if d.press("t"); d.m.Notice.Text != "take over in its agent's own terminal: gemini has no terminal" {
		t.Errorf("of what cannot be: %q", d.m.Notice.Text)
	}
}

func TestWhoOnlyLooksTypesNothing(t *testing.T) {
	open := wire.Run{Handle: "codex-0000bb", Agent: "codex", Session: session, Transport: wire.TransportTerminal, Live: true, Conversation: new(wire.ConversationID("codex-1"))}
	d := newDesk(t)
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(1, wire.StateCompleted, "one")}, Runs: []wire.Run{open}})
	d.take()
	d.does("without typing")
	got := d.take()
	if a, ok := got[0].(Attach); !ok || a.Run == nil || *a.Run != open.Handle {
		t.Fatalf("did %v", got)
	}
	d.press("x", "enter")
	d.send(Pasted{Text: "y"})
	d.send(Resized{120, 40})
	if got := d.take(); len(got) != 0 {
		t.Errorf("looking did %v", got)
	}
	d.press("ctrl-]")
	if got := d.take(); d.m.Focus != OnList || got[0] != LetGo {
		t.Errorf("leaving did %v", got)
	}
	d.does("close its terminal")
	d.press("y")
	if diff := cmp.Diff([]wire.Command{wire.AttachEnd{Session: session, Conversation: "codex-1", Key: "key-1"}}, d.commands()); diff != "" {
		t.Error(diff)
	}
}

// above plays the daemon: it answers the history that was asked for, and returns what that was.
func (d *desk) above() (asked []wire.AttachHistory) {
	for _, e := range d.take() {
		c, ok := e.(Call)
		if !ok {
			continue
		}
		cmd := c.Cmd.(wire.AttachHistory)
		asked = append(asked, cmd)
		page := &wire.AttachPage{}
		for i := range cmd.Lines {
			page.Lines = append(page.Lines, wire.AttachRow{Row: i, Spans: []wire.AttachSpan{{Text: fmt.Sprint("line ", cmd.First+i)}}})
		}
		d.send(Called{Then: c.Then, Status: &wire.DaemonStatus{Attach: page}})
	}
	return asked
}

func (d *desk) row(i int) (text string) {
	for _, s := range d.m.Taken.Row(i) {
		text += s.Text
	}
	return text
}

// TestP40_WhatWentOverTheTopIsTurned in the dashboard too: by pages and by the wheel, while the agent draws on, and any key shows
// the live screen.
func TestP40_WhatWentOverTheTopIsTurned(t *testing.T) {
	d, a := taken(t)
	d.press("alt-pgup")
	if got := d.typed(); got != "\x1b[5;3~" {
		t.Errorf("an agent with nothing above got %q", got)
	}
	page := wire.AttachPage{Rows: 22, History: 100, Run: new(wire.RunHandle("codex-0000bb"))}
	d.screen(a, page)
	d.press("alt-pgup")
	if got := d.above(); len(got) != 1 || got[0].First != 79 || got[0].Lines != 21 || d.row(0) != "line 79" || d.m.Taken.Up() != 21 {
		t.Errorf("asked %+v, shows %q", got, d.row(0))
	}
	if d.row(21) != "" || d.row(22) != "" { // below the last line above stands the first of the screen, which is blank
		t.Errorf("below stands %q", d.row(21))
	}
	d.screen(a, wire.AttachPage{Rows: 22, History: 100, Run: page.Run, Lines: []wire.AttachRow{{Row: 0, Spans: []wire.AttachSpan{{Text: "news"}}}}})
	if d.row(0) != "line 79" {
		t.Errorf("what the agent draws shows among what is above: %q", d.row(0))
	}
	d.send(Key{Name: "pgup", Shift: true}, Clicked{Row: 5, Wheel: -3})
	if d.above(); d.row(0) != "line 55" {
		t.Errorf("further up stands %q", d.row(0))
	}
	d.press("alt-pgup", "alt-pgup", "alt-pgup", "alt-pgup")
	if d.above(); d.row(0) != "line 0" || d.m.Taken.Up() != 100 {
		t.Errorf("at the top stands %q", d.row(0))
	}
	d.press("x")
	if got := d.typed(); got != "x" || d.m.Taken.Up() != 0 || d.row(0) != "news" {
		t.Errorf("a key typed %q and shows %q", got, d.row(0))
	}
	d.press("alt-pgup")
	if d.above(); d.row(20) != "line 99" || d.row(21) != "news" {
		t.Errorf("a page up ends with %q and %q", d.row(20), d.row(21))
	}
	d.press("alt-pgdn")
	if d.m.Taken.Up() != 0 {
		t.Errorf("down past the end it is %d lines up", d.m.Taken.Up())
	}
	d.press("alt-pgup")
	for _, e := range d.take() {
		d.send(Called{Then: e.(Call).Then, Err: errors.New("the daemon is away")})
	}
	if !strings.Contains(d.m.Taken.Note, "the daemon is away") || d.m.Taken.Up() != 0 {
		t.Errorf("note %q", d.m.Taken.Note)
	}
}

// TestP40_TheFocusIsToldToAnAgentThatAskedForIt, and to nobody else: neither by one who only looks, nor after he let go.
func TestP40_TheFocusIsToldToAnAgentThatAskedForIt(t *testing.T) {
	d, a := taken(t)
	d.send(Watched{In: true})
	if got := d.take(); len(got) != 0 {
		t.Errorf("an agent that did not ask got %v", got)
	}
	d.screen(a, wire.AttachPage{Rows: 22, Focus: true})
	if got := d.take(); len(got) != 1 || got[0] != FocusOn {
		t.Errorf("what an agent asks for did %v", got)
	}
	d.send(Watched{}, Watched{In: true})
	if got := d.typed(); got != "\x1b[O\x1b[I" {
		t.Errorf("it got %q", got)
	}
	d.screen(a, wire.AttachPage{Rows: 22})
	d.screen(a, wire.AttachPage{Rows: 22, Focus: true})
	if got := d.take(); len(got) != 2 || got[0] != FocusOff || got[1] != FocusOn {
		t.Errorf("an agent that changes its mind did %v", got)
	}
	d.press("ctrl-]")
	if got := d.take(); len(got) != 2 || got[1] != FocusOff {
		t.Errorf("letting go did %v", got)
	}
	d.send(Watched{})
	if got := d.typed(); got != "" {
		t.Errorf("after that it got %q", got)
	}
	d.m.Taken = Takeover{source: 1, Looking: true, Page: wire.AttachPage{Focus: true}}
	d.m.Focus = OnTerminal
	if d.send(Watched{}); len(d.take()) != 0 {
		t.Error("one who only looks tells of his focus")
	}
}

// TestP40_TheMouseGoesToAnAgentThatAskedForIt, in cells of its own terminal, and is the owner's again afterwards.
func TestP40_TheMouseGoesToAnAgentThatAskedForIt(t *testing.T) {
	d, a := taken(t)
	top := d.m.Layout().Over.Row
	click := Clicked{Row: top + 2, Col: 4}
	d.send(click)
	if got := d.take(); len(got) != 0 {
		t.Errorf("an agent that did not ask got %v", got)
	}
	d.screen(a, wire.AttachPage{Rows: 22, Mouse: 1002, MouseEncoding: 1006})
	if got := d.take(); len(got) != 1 || got[0] != MouseAll {
		t.Errorf("what an agent asks for did %v", got)
	}
	d.send(click, Clicked{Row: top + 3, Col: 4, Button: 32}, Clicked{Row: top + 3, Col: 4, Up: true}, Clicked{Row: top, Button: 64, Wheel: -3},
		Clicked{Row: top, Button: 35}, Clicked{Row: top - 1}, Clicked{Row: d.m.Layout().Foot})
	if got := d.typed(); got != "\x1b[<0;5;3M\x1b[<32;5;4M\x1b[<0;5;4m\x1b[<64;1;1M" {
		t.Errorf("it got %q", got)
	}
	d.screen(a, wire.AttachPage{Rows: 22, Mouse: 1000})
	if got := d.take(); len(got) != 1 || got[0] != MouseOn {
		t.Errorf("less did %v", got)
	}
	d.press("ctrl-]")
	if got := d.take(); len(got) != 2 || got[1] != MouseOff {
		t.Errorf("letting go did %v", got)
	}
	d.press("m", "t")
	for _, e := range d.take() {
		if again, ok := e.(Attach); ok {
			a = again
		}
	}
	d.screen(a, wire.AttachPage{Full: true, Rows: 22, Mouse: 1003})
	d.screen(a, wire.AttachPage{Rows: 22, Ended: true})
	if got := d.take(); len(got) != 2 || got[0] != MouseAll || got[1] != MouseOn {
		t.Errorf("of an owner who has taken the mouse: %v", got)
	}
}
