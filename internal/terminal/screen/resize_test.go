package screen

import (
	"math/rand/v2"
	"strings"
	"testing"

	"scv/internal/wire"
)

func TestV10_Resize(t *testing.T) {
	for _, c := range []struct {
		name, before string
		cols, rows   int
		after, want  string
		row, col     int
	}{
		{"wider", "ab\r\ncd", 15, 5, "e", "ab/cde", 1, 3},
		{"narrower wraps", "0123456789", 5, 5, "", "01234/56789", 1, 4},
		{"narrower, and the cursor goes along", "0123456789\x1b[1;7H", 5, 5, "X", "01234/5X789", 1, 2},
		{"narrower parts no wide character", "a世世", 4, 5, "", "a世/世", 1, 2},
		{"a cursor behind the text stays in its row", "ab\x1b[1;9H", 5, 5, "", "ab", 0, 4},
		{"blanks before the cursor are text", "$ \x1b[K", 5, 5, "x", "$ x", 0, 3},
		{"blanks at the end are none", "ab      \x1b[1;2H", 5, 5, "", "ab", 0, 1},
		{"wider joins what was too long", "0123456789abc", 15, 5, "d", "0123456789abcd", 0, 14},
		{"wider joins no lines", "0123456789\r\nabc", 15, 5, "d", "0123456789/abcd", 1, 4},
		{"wider joins around a wide character", "012345678世x", 15, 5, "y", "012345678世xy", 0, 13},
		{"wider joins no line that was cut off", "0123456789abc\x1b[1;6H\x1b[K", 15, 5, "", "01234/abc", 0, 5},
		{"wider joins nothing at a margin", "\x1b[?69h\x1b[1;4sabcdef", 15, 5, "", "abcd/ef", 1, 2},
		{"lines too many go up", "aaaaaaaaaa\r\nbbbbbbbbbb\r\nc", 4, 4, "", "bbbb/bbbb/bb/c", 3, 1},
		{"a pending wrap stays one", "01234", 5, 5, "x", "01234/x", 1, 1},
		{"no wide character in one column", "a世b", 1, 5, "", "a//b", 2, 0},
		{"double width is cut", "\x1b#6abcde", 4, 5, "", "abcd", 0, 3},
		{"pending wrap goes on in a wider screen", "0123456789", 15, 5, "a", "0123456789a", 0, 11},
		{"shorter drops blank rows first", "top\x1b[3;1Hthird", 10, 3, "", "top//third", 2, 5},
		{"shorter scrolls", "a\r\nb\r\nc\r\nd\r\ne", 10, 3, "", "c/d/e", 2, 1},
		{"shorter keeps the rows below", "top\x1b[5;1Hlow\x1b[3;1H", 10, 3, "", "//low", 0, 0},
		{"taller takes lines back", "a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng", 10, 7, "", "a/b/c/d/e/f/g", 6, 1},
		{"taller without lines to take", "a\r\nb", 10, 7, "", "a/b", 1, 1},
		{"margins are let go", "\x1b[2;3r\x1b[5;1H", 10, 6, "\nx", "/////x", 5, 1},
		{"new tab stops", "", 30, 5, "\t\t\tx", "                        x", 0, 25},
		{"one cell", "abc\r\ndef", 1, 1, "x世y", "y", 0, 0},
		{"clamped", "ab", 0, -1, "", "b", 0, 0},
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

// TestV10_WhatIsSavedGoesAlong resizes with a saved cursor, a background and a scrollback.
func TestV10_WhatIsSavedGoesAlong(t *testing.T) {
	s := New(10, 3)
	_, _ = s.Write([]byte("0123456789abc\x1b7\r\nend\x1b[41m\x1b[K"))
	s.Resize(5, 3)
	if got := show(s); got != "56789/abc/end" {
		t.Errorf("narrower: %q", got)
	}
	if sp := s.spans(&s.main.rows[2]); len(sp) != 2 || sp[1].Text != "  " || sp[1].Bg != wire.IndexColor(1) {
		t.Errorf("the background behind the text: %+v", sp)
	}
	s.Resize(20, 3)
	_, _ = s.Write([]byte("\x1b[m\x1b8d"))
	if got := show(s); got != "0123456789abcd/end" {
		t.Errorf("wider: %q", got)
	}
}

// TestV10_NoTextIsLost resizes at random: the lines, put together where they were too long, stay what was printed.
func TestV10_NoTextIsLost(t *testing.T) {
	text := func(s *Screen) string {
		g := s.recall(0, s.history.n)
		var b strings.Builder
		for _, w := range append(g.refs(), s.main.refs()...) {
			var line strings.Builder
			for _, c := range w.cells {
				if c.Ch != 0 {
					line.WriteString(string(s.clusters.appendText(nil, c)))
				}
			}
			b.WriteString(line.String())
			if !w.wrapped {
				b.WriteString("\n")
			}
		}
		return strings.TrimRight(b.String(), "\n")
	}
	for i := range 200 {
		random := rand.New(rand.NewPCG(uint64(i), 3))
		s := New(8+random.IntN(40), 1+random.IntN(10))
		var want []string
		for range random.IntN(40) {
			var line strings.Builder
			for range random.IntN(90) {
				line.WriteString([]string{"a", "b", "世", "e\u0301", "0", "❤️"}[random.IntN(6)])
			}
			want = append(want, line.String())
		}
		_, _ = s.Write([]byte(strings.Join(want, "\r\n")))
		for range 10 {
			s.Resize(8+random.IntN(60), 1+random.IntN(12))
			inspect(t, s)
			if d := diff(strings.TrimRight(strings.Join(want, "\n"), "\n"), text(s)); d != "" {
				t.Fatalf("%d, at %dx%d: %s", i, s.cols, s.rows, d)
			}
		}
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
	_, _ = s.Write([]byte("\x1b[?1049h\x1b[1;1H0123456789"))
	s.Resize(4, 5)
	if got := show(s); got != "0123" {
		t.Errorf("alternate, narrower: %q", got)
	}
	s.Resize(10, 5)
	if _, total := NewView(s, nil).History(0, 1); total != 0 {
		t.Errorf("%d lines are left in the scrollback", total)
	}
}
