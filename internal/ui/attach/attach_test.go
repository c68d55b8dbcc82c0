package attach

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"scv/internal/wire"
)

func takes(t *typist, parts ...string) (out string, letGo bool) {
	for _, p := range parts {
		pieces, left := t.take([]byte(p))
		for _, x := range pieces {
			mark := ""
			if x.paste {
				mark = "paste:"
			}
			out += fmt.Sprintf("%s%q ", mark, x.text)
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
		"let go":                     {[]string{"a\x1db"}, `"a"`, true},
		"a paste":                    {[]string{"a" + pasteBegin + "b\r\nc" + pasteEnd + "d"}, `"a" paste:"b\r\nc" "d"`, false},
		"a paste in parts":           {[]string{pasteBegin[:3], pasteBegin[3:] + "x" + pasteEnd[:4], pasteEnd[4:] + "y"}, `paste:"x" "y"`, false},
		"marks in a paste":           {[]string{pasteBegin + "a" + pasteBegin + "b\x1dc" + pasteEnd}, `paste:"abc"`, false},
		"let go after a paste":       {[]string{pasteBegin + "a" + pasteEnd + "\x1d"}, `paste:"a"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, letGo := takes(&typist{detach: 0x1d}, c.in...)
			if got != c.want || letGo != c.letGo {
				t.Errorf("got %s, let go %v", got, letGo)
			}
		})
	}
	p := piece{"a\nb\r\nc", true}
	if p.toSend(true) != pasteBegin+"a\nb\r\nc"+pasteEnd || p.toSend(false) != "a\rb\rc" || p.lines() != 2 {
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
