package keys

import "testing"

// TestE19_WhatATerminalSends are the sequences of xterm, which programs expect.
func TestE19_WhatATerminalSends(t *testing.T) {
	for want, got := range map[string]string{
		"x": Stroke("x", "x", false, false, false), "你": Stroke("你", "你", false, false, false),
		"\r": Stroke("enter", "", false, false, false), "\x1b": Stroke("esc", "", false, false, false), "\x7f": Stroke("backspace", "", false, false, false),
		"\x03": Stroke("ctrl-c", "", false, false, false), "\x1d": Stroke("ctrl-]", "", false, false, false), "\x00": Stroke("ctrl-space", "", false, false, false),
		"\x1b[A": Stroke("up", "", false, false, false), "\x1bOA": Stroke("up", "", false, false, true), "\x1b[1;5D": Stroke("left", "", false, true, true),
		"\x1b[1;2A": Stroke("up", "", true, false, false), "\x1b[1;3C": Stroke("alt-right", "", false, false, false), "\x1b[Z": Stroke("shift-tab", "", true, false, false),
		"\x1bOP": Stroke("f1", "", false, false, false), "\x1b[15~": Stroke("f5", "", false, false, false), "\x1b[24;2~": Stroke("f12", "", true, false, false),
		"\x1b[3~": Stroke("delete", "", false, false, false), "\x1b[6;5~": Stroke("pgdn", "", false, true, false),
		"\x1bb": Stroke("alt-b", "", false, false, false), "\x1b\r": Stroke("alt-enter", "", false, false, false), "\x1b\x7f": Stroke("alt-backspace", "", false, false, false),
		"": Stroke("no such key", "", false, false, false),
	} {
		if got != want {
			t.Errorf("sends %q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		text      string
		bracketed bool
		want      string
		lines     int
	}{
		{"a\nb\r\nc", true, "\x1b[200~a\nb\r\nc\x1b[201~", 0},
		{"a\nb\r\nc", false, "a\rb\rc", 2},
		{"one", false, "one", 0},
		{"x\x1b[201~rm -rf\n", true, "\x1b[200~xrm -rf\n\x1b[201~", 0},
		{"x\x1b[20\x1b[200~1~rm -rf\r", true, "\x1b[200~x[201~rm -rf\r\x1b[201~", 0}, // T37: a mark inside a mark
		{"x\x1b[2\x1d01~\u009b201~y", true, "\x1b[200~x[201~201~y\x1b[201~", 0},
		{"你\t\x0f\x03\x7f\xff\x1b[A好\r\n", false, "你\t[A好\r", 1}, // no control is a key
	} {
		if got, lines := Paste(c.text, c.bracketed); got != c.want || lines != c.lines {
			t.Errorf("%q is sent as %q with %d lines", c.text, got, lines)
		}
	}
}
