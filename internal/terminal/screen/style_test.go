package screen

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
)

func spansOf(in string, row int) []wire.AttachSpan {
	s := New(40, 4)
	_, _ = s.Write([]byte(in))
	return s.spans(&s.grid.rows[row])
}

func diff(a, b any) string { return cmp.Diff(a, b, cmp.AllowUnexported(wire.AttachColor{})) }

func TestV1_Styles(t *testing.T) {
	red, grey := wire.IndexColor(1), wire.IndexColor(250)
	rgb := wire.RGBColor(1, 2, 3)
	for _, c := range []struct {
		in   string
		want wire.AttachSpan
	}{
		{"\x1b[31ma", wire.AttachSpan{Fg: red}},
		{"\x1b[41ma", wire.AttachSpan{Bg: red}},
		{"\x1b[30ma", wire.AttachSpan{Fg: wire.IndexColor(0)}},
		{"\x1b[91;102ma", wire.AttachSpan{Fg: wire.IndexColor(9), Bg: wire.IndexColor(10)}},
		{"\x1b[38;5;250ma", wire.AttachSpan{Fg: grey}},
		{"\x1b[38:5:250ma", wire.AttachSpan{Fg: grey}},
		{"\x1b[48;2;1;2;3ma", wire.AttachSpan{Bg: rgb}},
		{"\x1b[48:2:1:2:3ma", wire.AttachSpan{Bg: rgb}},
		{"\x1b[48:2::1:2:3ma", wire.AttachSpan{Bg: rgb}},
		{"\x1b[48:2:0:1:2:3:9;1ma", wire.AttachSpan{Bg: rgb, Bold: true}},
		{"\x1b[38;2;1;2;3;1ma", wire.AttachSpan{Fg: rgb, Bold: true}},
		{"\x1b[38;5;300;1ma", wire.AttachSpan{Bold: true}},
		{"\x1b[38:5;1ma", wire.AttachSpan{Bold: true}},
		{"\x1b[38;5ma", wire.AttachSpan{Fg: wire.IndexColor(0)}},
		{"\x1b[38ma", wire.AttachSpan{}},
		{"\x1b[58;2;9;9;9;1ma", wire.AttachSpan{Bold: true}},
		{"\x1b[58:5:1;3ma", wire.AttachSpan{Italic: true}},
		{"\x1b[1;3;4;7ma", wire.AttachSpan{Bold: true, Italic: true, Underline: true, Inverse: true}},
		{"\x1b[1;3;4;7;22;23;24;27ma", wire.AttachSpan{}},
		{"\x1b[4:3ma", wire.AttachSpan{Underline: true}},
		{"\x1b[21ma", wire.AttachSpan{Underline: true}},
		{"\x1b[4;4:0ma", wire.AttachSpan{}},
		{"\x1b[1;31m\x1b[ma", wire.AttachSpan{}},
		{"\x1b[1;31m\x1b[39ma", wire.AttachSpan{Bold: true}},
		{"\x1b[31;;1ma", wire.AttachSpan{Bold: true}},
		{"\x1b[>4;1ma", wire.AttachSpan{}},
		{"\x1b[?4ma", wire.AttachSpan{}},
	} {
		c.want.Text = "a"
		if d := diff([]wire.AttachSpan{c.want}, spansOf(c.in, 0)); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
	}
}

func TestV9_Spans(t *testing.T) {
	red := wire.IndexColor(1)
	for _, c := range []struct {
		name, in string
		want     []wire.AttachSpan
	}{
		{"blank", "   ", nil},
		{"no blanks at the end", "ab   ", []wire.AttachSpan{{Text: "ab"}}},
		{"a coloured blank is shown", "a\x1b[41m ", []wire.AttachSpan{{Text: "a"}, {Text: " ", Bg: red}}},
		{"an erased background is shown", "\x1b[41m\x1b[2X", []wire.AttachSpan{{Text: "  ", Bg: red}}},
		{"an erase takes the background alone", "\x1b[4;7;41mab\x1b[2D\x1b[2X", []wire.AttachSpan{{Text: "  ", Bg: red}}},
		{"an underlined blank is shown", "\x1b[4m ", []wire.AttachSpan{{Text: " ", Underline: true}}},
		{"runs", "a\x1b[1mb\x1b[mc", []wire.AttachSpan{{Text: "a"}, {Text: "b", Bold: true}, {Text: "c"}}},
		{"wide", "世\x1b[1m界", []wire.AttachSpan{{Text: "世"}, {Text: "界", Bold: true}}},
		{"concealed", "a\x1b[8msecret\x1b[mb", []wire.AttachSpan{{Text: "a"}, {Text: "      "}, {Text: "b"}}},
		{"a cluster that counts otherwise is alone", "a❤️b", []wire.AttachSpan{{Text: "a"}, {Text: "❤️", Cells: 2}, {Text: "b"}}},
		{"a cluster that counts alike is not", "ae\u0301b", []wire.AttachSpan{{Text: "ae\u0301b"}}},
	} {
		if d := diff(c.want, spansOf(c.in, 0)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
