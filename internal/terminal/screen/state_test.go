package screen

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// stateInputs end in every state that a parser can be in.
func stateInputs() []string {
	return []string{
		"", "abc", "0123456789", "a世b", "e\u0301👍🏽❤️", "\x1b[1;31;48;2;1;2;3mx\x1b[K", "\x1b", "\x1b[", "\x1b[1;2", "\x1b[?25", "\x1b(",
		"\x1b]0;ti", "\x1b]0;title\x1b", "\x1bPq", "\xe4\xb8", "\x1b]2;\xe4", "\x1b*0\x1bN", "\x1b[?1049h\x1b[3;3Halt\x1b7",
		"\x1b[?69h\x1b[2;5s\x1b[2;3r\x1b[?6h", "\x1b[3g\x1b[4G\x1bH", "\x1b[1\"qprot\x1b[2;5;1\"q", strings.Repeat("line\r\n", 40),
		"\x1b#6wide", strings.Repeat("w", 25), "👨\u200d", "\x1b[1;2;3:4;5", "\x1b[>!",
	}
}

func TestV1_RestoredScreenGoesOn(t *testing.T) {
	rest := "m\x1b\\\xad世\u0301x\x07\x1b[2;2Hq\x1b8z\x1b[?1049l\x1b8!\tb\x1b[3b"
	for _, in := range stateInputs() {
		s := New(10, 4)
		_, _ = s.Write([]byte(in))
		state := stateOf(t, s)
		again, err := Restore(state)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := stateOf(t, again); !bytes.Equal(got, state) {
			t.Errorf("%q:\n%s\n%s", in, state, got)
		}
		_, _ = s.Write([]byte(rest))
		_, _ = again.Write([]byte(rest))
		if !sameState(t, s, again) {
			t.Errorf("%q goes on otherwise:\n%s\n%s", in, stateOf(t, s), stateOf(t, again))
		}
	}
}

func TestV8_MaskSurvivesRestore(t *testing.T) {
	s := New(20, 2)
	_, _ = s.Write([]byte("a secret"))
	NewView(s, planted("secret")).Refresh()
	again, err := Restore(stateOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	v := NewView(again, nil)
	v.Refresh()
	if got := pageText(v.Page(0)); got != "a ••••••\n" {
		t.Errorf("got %q", got)
	}
}

func TestV13_DamagedStateIsRefused(t *testing.T) {
	s := New(10, 4)
	_, _ = s.Write([]byte("e\u0301世\x1b[31mx\x1b]0;t"))
	state := string(stateOf(t, s))
	for _, c := range [][2]string{
		{`"Version":1`, `"Version":2`},
		{`"Cols":10`, `"Cols":100000`},
		{`"Cols":10`, `"Cols":9`},
		{`"Rows":4`, `"Rows":3`},
		{`"N":1`, `"N":99`},
		{`"Margin":[0,0,3,9]`, `"Margin":[3,0,0,9]`},
		{`"Margin":[0,0,3,9]`, `"Margin":[0,0,4,9]`},
		{`"GL":0`, `"GL":9`},
		{`"Tabs":[8]`, `"Tabs":[80]`},
		{`"Main":["`, `"Main":["//8=`},
		{`{`, `[`},
	} {
		bad := strings.Replace(state, c[0], c[1], 1)
		if bad == state {
			t.Fatalf("nothing to damage: %s in %s", c[0], state)
		}
		if _, err := Restore([]byte(bad)); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", c[1], err)
		}
	}
}

func FuzzRestore(f *testing.F) {
	for _, in := range stateInputs() {
		s := New(10, 4)
		_, _ = s.Write([]byte(in))
		state, err := s.Serialize()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state, []byte("a世\x1b[2J\x1b[?1049h\x1b[S\x1b[?1049l"))
	}
	f.Fuzz(func(t *testing.T, state, input []byte) {
		if len(state) > 1<<20 {
			t.Skip()
		}
		s, err := Restore(state)
		if err != nil {
			return
		}
		_, _ = s.Write(input)
		s.Resize(7, 3)
		_, _ = s.Write(input)
		inspect(t, s)
	})
}

func TestV10_Resize(t *testing.T) {
	for _, c := range []struct {
		name, before string
		cols, rows   int
		after, want  string
		row, col     int
	}{
		{"wider", "ab\r\ncd", 15, 5, "e", "ab/cde", 1, 3},
		{"narrower cuts", "0123456789", 5, 5, "", "01234", 0, 4},
		{"narrower cuts a wide character", "a世世", 4, 5, "", "a世", 0, 3},
		{"pending wrap goes on in a wider screen", "0123456789", 15, 5, "a", "0123456789a", 0, 11},
		{"shorter drops blank rows first", "top\x1b[3;1Hthird", 10, 3, "", "top//third", 2, 5},
		{"shorter scrolls", "a\r\nb\r\nc\r\nd\r\ne", 10, 3, "", "c/d/e", 2, 1},
		{"shorter keeps the rows below", "top\x1b[5;1Hlow\x1b[3;1H", 10, 3, "", "//low", 0, 0},
		{"taller takes lines back", "a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng", 10, 7, "", "a/b/c/d/e/f/g", 6, 1},
		{"taller without lines to take", "a\r\nb", 10, 7, "", "a/b", 1, 1},
		{"margins are let go", "\x1b[2;3r\x1b[5;1H", 10, 6, "\nx", "/////x", 5, 1},
		{"new tab stops", "", 30, 5, "\t\t\tx", "                        x", 0, 25},
		{"one cell", "abc\r\ndef", 1, 1, "x世y", "y", 0, 0},
		{"clamped", "ab", 0, -1, "", "a", 0, 0},
	} {
		s := New(10, 5)
		_, _ = s.Write([]byte(c.before))
		s.Resize(c.cols, c.rows)
		_, _ = s.Write([]byte(c.after))
		row, col := s.Cursor()
		if got := show(s); got != c.want || row != c.row || col != c.col {
			t.Errorf("%s: %q, cursor %d,%d; want %q, %d,%d", c.name, got, row, col, c.want, c.row, c.col)
		}
		inspect(t, s)
	}
}

func TestV10_ResizeOfTheOtherScreen(t *testing.T) {
	s := New(10, 5)
	_, _ = s.Write([]byte("a\r\nb\r\nc\r\nd\r\ne\x1b[?1049h\x1b[5;1Halt"))
	s.Resize(10, 3)
	if got := show(s); got != "//alt" {
		t.Errorf("alternate: %q", got)
	}
	s.Resize(10, 5)
	_, _ = s.Write([]byte("\x1b[?1049lx"))
	if got := show(s); got != "a/b/c/d/ex" {
		t.Errorf("main: %q", got)
	}
	if _, total := NewView(s, nil).History(0, 1); total != 0 {
		t.Errorf("%d lines are left in the scrollback", total)
	}
}
