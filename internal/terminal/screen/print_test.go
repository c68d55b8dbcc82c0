package screen

import (
	"strings"
	"testing"
)

// show returns the rows without trailing blanks, and without blank rows at the bottom, joined by "/", then the cursor.
func show(s *Screen) string {
	var rows []string
	for r := range s.rows {
		rows = append(rows, strings.TrimRight(s.Text(r), " "))
	}
	return strings.TrimRight(strings.Join(rows, "/"), "/")
}

type shot struct {
	name     string
	in, want string
	row, col int
}

// check plays each input on a screen of cols x rows, whole and byte by byte.
func check(t *testing.T, cols, rows int, shots []shot) {
	t.Helper()
	for _, c := range shots {
		t.Run(c.name, func(t *testing.T) {
			whole, bytewise := New(cols, rows), New(cols, rows)
			_, _ = whole.Write([]byte(c.in))
			for i := range len(c.in) {
				_, _ = bytewise.Write([]byte{c.in[i]})
			}
			for _, s := range []*Screen{whole, bytewise} {
				if got := show(s); got != c.want {
					t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
				}
				if row, col := s.Cursor(); row != c.row || col != c.col {
					t.Errorf("%q: cursor %d,%d, want %d,%d", c.in, row, col, c.row, c.col)
				}
			}
			if !sameState(t, whole, bytewise) {
				t.Error("another state byte by byte")
			}
		})
	}
}

func TestV1_Printing(t *testing.T) {
	check(t, 10, 4, []shot{
		{"plain", "abc", "abc", 0, 3},
		{"pending wrap", "0123456789", "0123456789", 0, 9},
		{"wrap", "0123456789a", "0123456789/a", 1, 1},
		{"return ends the pending wrap", "0123456789\ra", "a123456789", 0, 1},
		{"backspace from a pending wrap", "0123456789\ba", "01234567a9", 0, 9},
		{"line feed ends the pending wrap", "0123456789\na", "0123456789/         a", 1, 9},
		{"tab keeps the pending wrap", "0123456789\ta", "0123456789/a", 1, 1},
		{"no autowrap", "\x1b[?7l0123456789abc", "012345678c", 0, 9},
		{"autowrap again", "\x1b[?7l0123456789\x1b[?7hab", "0123456789/ab", 1, 2},
		{"scroll", "a\r\nb\r\nc\r\nd\r\ne", "b/c/d/e", 3, 1},
		{"wide", "a世b", "a世b", 0, 4},
		{"wide at the edge wraps", "012345678世", "012345678/世", 1, 2},
		{"wide at the edge without autowrap", "\x1b[?7l012345678世", "012345678", 0, 9},
		{"left half overwritten", "a世b\x1b[1;2Hx", "ax b", 0, 2},
		{"right half overwritten", "a世b\x1b[1;3Hx", "a xb", 0, 3},
		{"wide over two halves", "世界\x1b[1;2H語", " 語", 0, 3},
		{"combining", "e\u0301x", "e\u0301x", 0, 2},
		{"combining on a pending wrap", "012345678e\u0301", "012345678e\u0301", 0, 9},
		{"combining after a move", "ab\x1b[1;2H\u0301", "a\u0301b", 0, 1},
		{"combining on a blank", "\x1b[1;3H\u0301x", "  \u0301x", 0, 3},
		{"combining at the left edge", "\u0301a", "a", 0, 1},
		{"insert mode", "abc\x1b[4h\x1b[1;1HXY", "XYabc", 0, 2},
		{"insert pushes over the edge", "0123456789\x1b[4h\x1b[1;3HX", "01X2345678", 0, 3},
		{"insert mode wide", "abc\x1b[4h\x1b[1;2H世", "a世bc", 0, 3},
		{"bidi and zero width controls are dropped", "a\u202eb\u200bc\ufeff", "abc", 0, 3},
		{"filler that hides is a blank", "a\u3164b", "a  b", 0, 4},
		{"NUL and DEL", "a\x00b\x7fc", "abc", 0, 3},
	})
}

func TestV1_InvalidUTF8(t *testing.T) {
	check(t, 10, 2, []shot{
		{"stray byte", "a\x80b", "a\ufffdb", 0, 3},
		{"cut short by ASCII", "a\xe2\x82b", "a\ufffdb", 0, 3},
		{"one per maximal subpart", "\xf0\x90\x80\xe2\x82\xacx", "\ufffd€x", 0, 3},
		{"overlong", "\xc0\xafx", "\ufffd\ufffdx", 0, 3},
		{"surrogate", "\xed\xa0\x80x", "\ufffd\ufffd\ufffdx", 0, 4},
		{"too large", "\xf4\x90\x80\x80x", "\ufffd\ufffd\ufffd\ufffdx", 0, 5},
		{"cut short by ESC", "\xe2\x82\x1b[3Cx", "\ufffd   x", 0, 5},
		{"C1 as a character", "a\u009b2Cb", "a  b", 0, 4},
		{"C1 as a byte is no control", "a\x9b2C", "a\ufffd2C", 0, 4},
		{"NEL", "a\u0085b", "a/b", 1, 1},
	})
}

// TestV7_Widths is the published table of the width rule.
func TestV7_Widths(t *testing.T) {
	var shots []shot
	for _, c := range []struct {
		name, text string
		cells      int
	}{
		{"thumb and skin tone", "👍🏽", 2},
		{"family", "👨‍👩‍👧", 2},
		{"heart and VS16", "❤️", 2},
		{"heart", "❤", 1},
		{"keycap", "1️⃣", 2},
		{"flag", "🇩🇪", 2},
		{"two flags", "🇩🇪🇫🇷", 4},
		{"namaste", "नमस्ते", 4},
		{"CJK", "漢字", 4},
		{"Hangul", "한국", 4},
		{"Hangul jamo", "한", 2},
		{"ambiguous", "é…─★α", 5},
		{"tag flag", "🏴\U000e0067\U000e0062\U000e007f", 2},
	} {
		shots = append(shots, shot{c.name, c.text, c.text, 0, c.cells})
	}
	check(t, 20, 2, shots)
}

func TestV7_ClusterAtTheEdge(t *testing.T) {
	check(t, 4, 3, []shot{
		{"widens into the next row", "abc❤️", "abc/❤️", 1, 2},
		{"widens in place", "ab❤️", "ab❤️", 0, 3},
		{"stays narrow without autowrap", "\x1b[?7labc❤️", "abc❤️", 0, 3},
		{"overwrites what stood behind", "wxyz\r❤️", "❤️yz", 0, 2},
		{"flag at the edge", "abc🇩🇪", "abc/🇩🇪", 1, 2},
		{"a move parts a cluster", "🇩\x1b[1;3H🇪", "🇩🇪", 0, 3},
	})
	s := New(4, 3)
	_, _ = s.Write([]byte("🇩\x1b[1;3H🇪"))
	if n := len(s.clusters.text); n != 0 {
		t.Errorf("letters of two writes became %d clusters", n)
	}
}

func TestV12_ClustersAreBounded(t *testing.T) {
	s := New(10, 2)
	_, _ = s.Write([]byte("e" + strings.Repeat("\u0301", 1000) + "x"))
	if got, want := show(s), "e"+strings.Repeat("\u0301", clusterRunes-1)+"x"; got != want {
		t.Errorf("got %q", got)
	}
	for i := range 30_000 {
		_, _ = s.Write([]byte("a" + string(rune(0x300+i%80)) + string(rune(0x300+i/80%80)) + string(rune(0x300+i/6400%80))))
	}
	if n := len(s.clusters.text); n > 2*sweepAt {
		t.Errorf("%d clusters are kept for %d cells", n, 2*10*2)
	}
}

func TestV1_CharacterSets(t *testing.T) {
	check(t, 12, 3, []shot{
		{"line drawing", "\x1b(0lqk\x1b(Bq", "┌─┐q", 0, 4},
		{"shift out and in", "\x1b)0q\x0eq\x0fq", "q─q", 0, 3},
		{"single shift 2", "\x1b*0q\x1bNqq", "q─q", 0, 3},
		{"single shift 3", "\x1b+0q\x1bOqq", "q─q", 0, 3},
		{"locking shift 2", "\x1b*0\x1bnq\x0fq", "─q", 0, 2},
		{"UK", "\x1b(A#\x1b(B#", "£#", 0, 2},
		{"saved with the cursor", "\x1b7\x1b(0q\x1b8q", "q", 0, 1},
		{"soft reset", "\x1b(0q\x1b[!pq", "─q", 0, 2},
		{"rest of the set", "\x1b(0`a~\x7f_x", "◆▒· │", 0, 5},
	})
}

func TestV1_Repeat(t *testing.T) {
	check(t, 10, 4, []shot{
		{"count", "a\x1b[3b", "aaaa", 0, 4},
		{"default and zero", "a\x1b[b\x1b[0b", "aaa", 0, 3},
		{"wraps", "x\x1b[12b", "xxxxxxxxxx/xxx", 1, 3},
		{"wide", "世\x1b[2b", "世世世", 0, 6},
		{"cluster", "e\u0301\x1b[2b", "e\u0301e\u0301e\u0301", 0, 3},
		{"not after a move", "a\x1b[D\x1b[3b", "a", 0, 0},
		{"nothing printed yet", "\x1b[3b", "", 0, 0},
		{"line drawing", "\x1b(0q\x1b[2b", "───", 0, 3},
	})
}
