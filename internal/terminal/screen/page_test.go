package screen

import (
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
)

// planted masks each occurrence of a word.
func planted(word string) Mask {
	return func(text string) [][2]int {
		var out [][2]int
		for at := 0; ; {
			i := strings.Index(text[at:], word)
			if i < 0 {
				return out
			}
			out = append(out, [2]int{at + i, at + i + len(word)})
			at += i + len(word)
		}
	}
}

// apply plays a page on a client's rows.
func apply(rows map[uint16]string, p wire.AttachPage) {
	if p.Full {
		clear(rows)
	}
	for _, line := range p.Lines {
		var text strings.Builder
		for _, sp := range line.Spans {
			text.WriteString(sp.Text)
		}
		rows[line.Row] = text.String()
	}
}

func pageText(p wire.AttachPage) string {
	var b strings.Builder
	for _, line := range p.Lines {
		for _, sp := range line.Spans {
			b.WriteString(sp.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestV9_PagesRebuildTheScreen(t *testing.T) {
	s := New(20, 5)
	v := NewView(s, nil)
	quick, slow := map[uint16]string{}, map[uint16]string{}
	var quickAfter, slowAfter uint64
	for i, in := range []string{
		"hello", "\r\nworld", "\x1b[H", "X", "\x1b[31mred\x1b[m", "\x1b[2J", "\n\n\n\n\nlast", "\x1b[?1049halt", "\x1b[?1049l", "",
		"\x1b[1;1H\x1b[2;4r\x1b[S", "世界\r\x1b[1C!",
	} {
		_, _ = s.Write([]byte(in))
		v.Refresh()
		p := v.Page(quickAfter)
		apply(quick, p)
		quickAfter = p.Generation
		if i%4 == 3 {
			p = v.Page(slowAfter)
			apply(slow, p)
			slowAfter = p.Generation
		}
	}
	apply(slow, v.Page(slowAfter))
	for r := range s.rows {
		want := strings.TrimRight(s.Text(r), " ")
		if q, w := quick[uint16(r)], slow[uint16(r)]; q != want || w != want {
			t.Errorf("row %d: %q and %q, want %q", r, q, w, want)
		}
	}
}

func TestV9_Generations(t *testing.T) {
	s := New(20, 5)
	v := NewView(s, nil)
	if !v.Refresh() || v.Generation() != 1 {
		t.Fatalf("generation %d at first", v.Generation())
	}
	if v.Refresh() {
		t.Error("changed though nothing was written")
	}
	_, _ = s.Write([]byte("ab\r\ncd"))
	v.Refresh()
	if p := v.Page(1); p.Full || len(p.Lines) != 2 || p.Generation != 2 || p.Cursor == nil || *p.Cursor != [2]uint16{1, 2} {
		t.Errorf("%+v", p)
	}
	_, _ = s.Write([]byte("\x1b[1;1Hab"))
	if !v.Refresh() { // the cursor moved
		t.Error("a move of the cursor is no change")
	}
	if p := v.Page(2); len(p.Lines) != 0 || p.Full {
		t.Errorf("the same text again is a change: %+v", p)
	}
	gen := v.Generation()
	_, _ = s.Write([]byte("\x1b[m\x1b[31m\x1b[m"))
	if v.Refresh() || v.Generation() != gen {
		t.Error("a style nobody sees is a change")
	}
	_, _ = s.Write([]byte("\x1b[?25l\x1b[?1h\x1b[?2004h"))
	v.Refresh()
	if p := v.Page(gen); p.Cursor != nil || !p.ApplicationCursor || !p.BracketedPaste {
		t.Errorf("%+v", p)
	}
}

func TestV10_FullPages(t *testing.T) {
	s := New(20, 5)
	v := NewView(s, nil)
	_, _ = s.Write([]byte("text"))
	v.Refresh()
	now := func() uint64 { v.Refresh(); return v.Generation() }
	before := now()
	for _, c := range []struct {
		name string
		do   func()
		full bool
	}{
		{"a resize", func() { s.Resize(30, 6) }, true},
		{"the alternate screen", func() { _, _ = s.Write([]byte("\x1b[?1049h")) }, true},
		{"the main screen", func() { _, _ = s.Write([]byte("\x1b[?1049l")) }, true},
		{"text", func() { _, _ = s.Write([]byte("x")) }, false},
		{"the same size", func() { s.Resize(30, 6); _, _ = s.Write([]byte("y")) }, false},
	} {
		c.do()
		after := now()
		if p := v.Page(before); p.Full != c.full {
			t.Errorf("%s: full is %v", c.name, p.Full)
		}
		before = after
	}
	for _, after := range []uint64{0, before + 1, 1} {
		if !v.Page(after).Full {
			t.Errorf("after %d is not full", after)
		}
	}
}

func TestV8_MaskedAcrossRowsColoursAndReads(t *testing.T) {
	key := "sk-" + strings.Repeat("k3y", 8)
	for _, c := range []struct {
		name  string
		parts []string
	}{
		{"in one row", []string{"a " + key + " b"}},
		{"wraps over rows", []string{strings.Repeat("-", 30) + key}},
		{"coloured in the middle", []string{key[:9] + "\x1b[31m" + key[9:]}},
		{"in two reads", []string{key[:9], key[9:]}},
		{"in a box", []string{"│ " + key[:16] + " │\r\n│ " + key[16:] + " │"}},
		{"at the last column by hand", []string{"\x1b[1;31H" + key[:10] + "\r\n" + key[10:]}},
		{"half scrolled away", []string{strings.Repeat("-", 30) + key, "\x1b[5;1H\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(40, 5)
			v := NewView(s, planted(key))
			for _, part := range c.parts {
				_, _ = s.Write([]byte(part))
			}
			v.Refresh()
			text := pageText(v.Page(0))
			if strings.Contains(text, "k3y") || !strings.Contains(text, "••") {
				t.Errorf("shown: %q", text)
			}
		})
	}
}

func TestV8_MaskStaysAndKeepsWidth(t *testing.T) {
	s := New(40, 3)
	v := NewView(s, planted("key=世界secret"))
	_, _ = s.Write([]byte("key=世界secret end"))
	v.Refresh()
	p := v.Page(0)
	if got := pageText(p); got != "•••••••••••••• end\n" {
		t.Errorf("got %q", got)
	}
	_, _ = s.Write([]byte("\x1b[1;1H\x1b[4P")) // what gave it away is gone
	v.Refresh()
	if got := pageText(v.Page(0)); got != "•••••••••• end\n" {
		t.Errorf("got %q", got)
	}
	_, _ = s.Write([]byte("\x1b[1;1Hplain12345"))
	v.Refresh()
	if got := pageText(v.Page(0)); got != "plain12345 end\n" {
		t.Errorf("got %q", got)
	}
}

func TestV8_HistoryIsMaskedAndPaged(t *testing.T) {
	s := New(20, 3)
	v := NewView(s, planted("secret"))
	for i := range 50 {
		_, _ = fmt.Fprintf(s, "line %d secret\r\n", i)
	}
	lines, total := v.History(10, 5)
	if total != 48 || len(lines) != 5 || lines[0].Row != 10 {
		t.Fatalf("%d lines of %d: %+v", len(lines), total, lines)
	}
	if got := lines[0].Spans[0].Text; got != "line 10 ••••••" {
		t.Errorf("got %q", got)
	}
	for _, c := range [][3]int{{-5, 3, 3}, {47, 10, 1}, {48, 1, 0}, {1000, 1000, 0}, {0, -1, 0}} {
		if lines, _ := v.History(c[0], c[1]); len(lines) != c[2] {
			t.Errorf("%d lines from %d: got %d", c[1], c[0], len(lines))
		}
	}
}
