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
