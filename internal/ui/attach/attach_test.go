package attach

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"scv/internal/ui/tui/keys"
	"scv/internal/wire"
)

func takes(t *typist, parts ...string) (out string, letGo bool) {
	for _, p := range parts {
		pieces, left := t.take([]byte(p))
		for _, x := range pieces {
			mark, text := "", x.toSend(true)
			if x.paste {
				mark, text = "paste:", strings.TrimSuffix(strings.TrimPrefix(text, keys.PasteBegin), keys.PasteEnd)
			}
			out += fmt.Sprintf("%s%q ", mark, text)
		}
		letGo = letGo || left
	}
	return strings.TrimSpace(out), letGo
}

func TestT37_WhatIsTypedAndPasted(t *testing.T) {
	for name, c := range map[string]struct {
		in    []string
		want  string
		letGo bool
	}{
		"keys":                       {[]string{"ja\r"}, `"ja\r"`, false},
		"half a character":           {[]string{"\xe2\x9c", "\x93 ok"}, `"✓ ok"`, false},
		"what is no character":       {[]string{"a\xff\xfeb"}, `"ab"`, false},
		"escape is a key of its own": {[]string{"\x1b", "x"}, `"\x1b" "x"`, false},
		"a key in parts":             {[]string{"a\x1b[5", ";3~b"}, `"a" "\x1b[5;3~b"`, false},
		"the mouse in parts":         {[]string{"\x1b[<0;1", "2;3", "Mx"}, `"\x1b[<0;12;3Mx"`, false},
		"let go":                     {[]string{"a\x1db"}, `"a"`, true},
		"a paste":                    {[]string{"a" + keys.PasteBegin + "b\r\nc" + keys.PasteEnd + "d"}, `"a" paste:"b\r\nc" "d"`, false},
		"a paste in parts":           {[]string{keys.PasteBegin[:3], keys.PasteBegin[3:] + "x" + keys.PasteEnd[:4], keys.PasteEnd[4:] + "y"}, `paste:"x" "y"`, false},
		"marks in a paste":           {[]string{keys.PasteBegin + "a" + keys.PasteBegin + "b\x1dc" + keys.PasteEnd}, `paste:"abc"`, false},
		"a mark inside a mark":       {[]string{keys.PasteBegin + "a\x1b[20" + keys.PasteBegin + "1~b\x1b[20\x1d1~c\r" + keys.PasteEnd}, `paste:"a[201~b[201~c\r"`, false},
		"let go after a paste":       {[]string{keys.PasteBegin + "a" + keys.PasteEnd + "\x1d"}, `paste:"a"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, letGo := takes(&typist{detach: 0x1d}, c.in...)
			if got != c.want || letGo != c.letGo {
				t.Errorf("got %s, let go %v", got, letGo)
			}
		})
	}
	p := piece{"a\nb\r\nc", true}
	if p.toSend(true) != keys.PasteBegin+"a\nb\r\nc"+keys.PasteEnd || p.toSend(false) != "a\rb\rc" || p.lines() != 2 {
		t.Errorf("sent %q and %q", p.toSend(true), p.toSend(false))
	}
}

func TestTheKeyThatLetsGo(t *testing.T) {
	for name, want := range map[string]Key{"ctrl-]": 0x1d, "Ctrl-A": 1, "ctrl-\\": 0x1c} {
		if got, err := ParseKey(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "a", "ctrl-", "ctrl-m", "ctrl-[", "ctrl-i", "ctrl-1", "ctrl-ab"} {
		if key, err := ParseKey(name); err == nil {
			t.Errorf("%q is %v", name, key)
		}
	}
	if DefaultKey.String() != "ctrl-]" {
		t.Error(DefaultKey)
	}
}

// TestT34_NothingOfAnAgentIsWrittenButText: whatever a page holds, the owner's terminal gets the sequences of the painter
// and printable text.
func TestT34_NothingOfAnAgentIsWrittenButText(t *testing.T) {
	p := newPainter(20, 6)
	evil := "a\x1b]52;c;eA==\x07b\x9b2J\u009b\u202ec\x1bc\r\n"
	page := wire.AttachPage{Full: true, Cursor: &[2]uint16{0, 3}, ApplicationCursor: true, Lines: []wire.AttachRow{
		{Row: 0, Spans: []wire.AttachSpan{{Text: evil, Bold: true, Fg: wire.IndexColor(3)}}},
		{Row: 9, Spans: []wire.AttachSpan{{Text: "below the window"}}},
		{Row: 1, Spans: []wire.AttachSpan{{Text: "世界世界世界世界世界世"}, {Text: "x", Bg: wire.RGBColor(1, 2, 3)}}},
	}}
	out := string(p.take(page))
	out += string(p.say(evil)) + string(p.resize(10, 3))
	ours := regexp.MustCompile(`\x1b\[\??[0-9;]*[hlmHGKJ]`)
	text := ours.ReplaceAllString(out, "")
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e }) {
		t.Errorf("left over: %q", text)
	}
	if strings.Contains(out, "below the window") || strings.Contains(text, "x") && !strings.Contains(text, "52") {
		t.Errorf("drawn beyond the window: %q", text)
	}
	if !strings.Contains(out, "\x1b[?1h") || !strings.Contains(out, "\x1b[1;4H\x1b[?25h") {
		t.Errorf("modes or cursor: %q", out)
	}
}

// TestT37_APasteOfSeveralLinesIsAskedFor where the agent did not ask for pastes: y sends it whole, any other key, which is then
// none, sends nothing of it. To one that asked for pastes it goes at once.
func TestT37_APasteOfSeveralLinesIsAskedFor(t *testing.T) {
	s := &showing{paint: newPainter(80, 24), o: Options{Name: "job-1", Detach: DefaultKey}}
	var q question
	sent := func(p piece) string {
		if !s.sure(&q, p) {
			return "nothing"
		}
		return q.take(p).toSend(s.bracketed())
	}
	lines := piece{"rm -rf\nls\n", true}
	for _, c := range []struct {
		p    piece
		want string
	}{
		{piece{"one line", true}, "one line"},
		{lines, "nothing"},
		{piece{"n", false}, "nothing"},
		{piece{"y", false}, "y"},
		{lines, "nothing"},
		{piece{"y", true}, "nothing"},
		{lines, "nothing"},
		{piece{"y", false}, "rm -rf\rls\r"},
		{piece{"x", false}, "x"},
	} {
		if got := sent(c.p); got != c.want {
			t.Errorf("%+v sends %q, want %q", c.p, got, c.want)
		}
		if asked := strings.Contains(s.note, "each would be entered"); asked != (c.p == lines) {
			t.Errorf("after %+v the last line says %q", c.p, s.note)
		}
	}
	s.last.BracketedPaste = true
	if got := sent(lines); got != keys.PasteBegin+"rm -rf\nls\n"+keys.PasteEnd {
		t.Errorf("to an agent that asked for pastes goes %q", got)
	}
}

// TestWhatIsToldBehindAnOwnerWhoLetGoIsKept for him, and nothing that he saw before.
func TestWhatIsToldBehindAnOwnerWhoLetGoIsKept(t *testing.T) {
	s := &showing{o: Options{Name: "demo-1", Detach: 0x1d}, paint: &painter{}, left: make(chan struct{})}
	if s.tell("before"); s.unseen != "" {
		t.Errorf("kept is %q, which he saw", s.unseen)
	}
	close(s.left)
	if s.tell("what you typed may be lost"); s.unseen != "what you typed may be lost" {
		t.Errorf("kept is %q", s.unseen)
	}
}

// TestWhatIsLostIsStillToldWhenTheDaemonIsBack: what went to a daemon that was dying is named after its return, and the
// next time that it is away begins without it.
func TestWhatIsLostIsStillToldWhenTheDaemonIsBack(t *testing.T) {
	s := &showing{o: Options{Name: "demo-1", Detach: 0x1d}, paint: &painter{}}
	const away, lost = "the daemon is away", "what you typed may be lost"
	s.lost()
	s.tell(lost)
	if h := s.paint.status; !strings.Contains(h, away) {
		t.Errorf("away it says %q", h)
	}
	s.lost()       // the next try to reach it
	s.away = false // as the next page makes it
	if h := s.hint(); !strings.Contains(h, lost) || strings.Contains(h, away) {
		t.Errorf("back it says %q", h)
	}
	s.lost()
	s.away = false
	if h := s.hint(); strings.Contains(h, lost) {
		t.Errorf("after another return it says %q", h)
	}
}
