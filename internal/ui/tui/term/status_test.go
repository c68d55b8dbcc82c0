package term

import (
	"strings"
	"testing"
	"time"

	"scv/internal/ui/tui/canvas"
)

// TestOnlyTerminalsThatTakeItAreToldWhatGoesOn: to another one OSC 9 is a notice, and OSC 7501 may be text.
func TestOnlyTerminalsThatTakeItAreToldWhatGoesOn(t *testing.T) {
	states := []canvas.State{canvas.Idle, canvas.Working, canvas.Working, canvas.Blocked, canvas.Idle}
	const progress = "\x1b]9;4;3\x07\x1b]9;4;4;100\x07\x1b]9;4;0\x07"
	for name, c := range map[string]struct {
		env    map[string]string
		answer Answer
		want   string
	}{
		"unknown":          {nil, "", ""},
		"another answer":   {nil, "11;rgb:0/0/0", ""},
		"Windows Terminal": {map[string]string{"WT_SESSION": "x"}, "", progress},
		"ghostty":          {map[string]string{"TERM_PROGRAM": "ghostty"}, "", progress},
		"iTerm2":           {map[string]string{"TERM_PROGRAM": "iTerm.app"}, "", ""},
		"in tmux":          {map[string]string{"TERM_PROGRAM": "ghostty", "TMUX": "x"}, "", ""},
		"program status":   {nil, "7501;version=1", "\x1b]7501;state=working:app=scv\x07\x1b]7501;state=blocked:kind=permission:app=scv\x07\x1b]7501;state=idle:app=scv\x07"},
	} {
		s := newStatus(func(name string) string { return c.env[name] })
		s.learn(c.answer)
		var out strings.Builder
		for _, state := range states {
			out.WriteString(s.to(state))
		}
		if out.String() != c.want {
			t.Errorf("%s: told %q, want %q", name, out.String(), c.want)
		}
	}
}

func TestWhatWasToldIsTakenBack(t *testing.T) {
	g := newGlass(80, 24)
	s, err := open(g, func(name string) string { return map[string]string{"TERM": "xterm-256color", "WT_SESSION": "x"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	raw := func() string {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.raw.String()
	}
	f := canvas.Frame{Rows: []canvas.Row{{canvas.Text("x")}}, State: canvas.Working}
	s.Draw(f)
	if !strings.Contains(raw(), "\x1b]9;4;3\x07") {
		t.Error("what works is not told")
	}
	before := len(raw())
	s.Draw(f)
	if got := raw()[before:]; got != "" {
		t.Errorf("nothing changed, and %q was written", got)
	}
	if err := s.Suspend(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got := raw()[before:]; !strings.Contains(got, "\x1b]9;4;0\x07") {
		t.Errorf("a suspension leaves it: %q", got)
	}
	before = len(raw())
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	s.Draw(f)
	if got := raw()[before:]; !strings.Contains(got, "\x1b]9;4;3\x07") {
		t.Errorf("it is not told anew: %q", got)
	}
	before = len(raw())
	s.Close(time.Time{})
	if got := raw()[before:]; !strings.Contains(got, "\x1b]9;4;0\x07") {
		t.Errorf("the end leaves it: %q", got)
	}
}
