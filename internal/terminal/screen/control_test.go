package screen

import "testing"

const grid5 = "aaaaa\r\nbbbbb\r\nccccc\r\nddddd\r\neeeee"

func TestV1_CursorMoves(t *testing.T) {
	check(t, 20, 10, []shot{
		{"CUP", "\x1b[3;5H", "", 2, 4},
		{"CUP defaults", "\x1b[3;5H\x1b[H", "", 0, 0},
		{"CUP zero", "\x1b[0;0H", "", 0, 0},
		{"CUP clamped", "\x1b[99;999H", "", 9, 19},
		{"HVP", "\x1b[3;5f", "", 2, 4},
		{"CUU CUD CUF CUB", "\x1b[5;5H\x1b[2A\x1b[3B\x1b[4C\x1b[D", "", 5, 7},
		{"CNL CPL", "\x1b[5;5H\x1b[2E\x1b[3C\x1b[F", "", 5, 0},
		{"CHA HPA VPA", "\x1b[5G\x1b[4d\x1b[7`", "", 3, 6},
		{"HPR VPR HPB", "\x1b[5a\x1b[2e\x1b[2j", "", 2, 3},
		{"CUU stops at the top margin", "\x1b[3;6r\x1b[5;1H\x1b[9A", "", 2, 0},
		{"CUU above the margin", "\x1b[3;6r\x1b[2;1H\x1b[9A", "", 0, 0},
		{"CUD stops at the bottom margin", "\x1b[3;6r\x1b[5;1H\x1b[9B", "", 5, 0},
		{"CUD below the margin", "\x1b[3;6r\x1b[8;1H\x1b[9B", "", 9, 0},
		{"CUF stops at the right margin", "\x1b[?69h\x1b[5;10s\x1b[1;6H\x1b[99C", "", 0, 9},
		{"CUB stops at the left margin", "\x1b[?69h\x1b[5;10s\x1b[1;6H\x1b[99D", "", 0, 4},
		{"CR to the left margin", "\x1b[?69h\x1b[5;10s\x1b[1;6H\r", "", 0, 4},
		{"CR left of the margin", "\x1b[?69h\x1b[5;10s\x1b[1;2H\r", "", 0, 0},
		{"origin mode", "\x1b[3;6r\x1b[?6h\x1b[2;2Hx\x1b[99;1Hy", "/// x//y", 5, 1},
		{"origin mode counts columns from the margin", "\x1b[?69h\x1b[5;10s\x1b[?6h\x1b[1;2H", "", 0, 5},
		{"origin mode homes", "\x1b[3;6r\x1b[?6h", "", 2, 0},
		{"DECSTBM homes", "\x1b[5;5H\x1b[3;6r", "", 0, 0},
		{"DECSTBM of one row is refused", "\x1b[5;5H\x1b[3;3r", "", 4, 4},
		{"unknown sequences do nothing", "a\x1b[1;2;3z\x1b[?99h\x1b[>5x\x1b[1!zb\x1bQ\x1b#7c", "abc", 0, 3},
		{"controls inside a sequence", "ab\x1b[\b2\rCx", "abx", 0, 3},
		{"CAN and SUB end a sequence", "a\x1b[2\x18Cb\x1b\x1ac", "aCbc", 0, 4},
		{"ESC begins anew", "a\x1b[2\x1b[3Cb", "a   b", 0, 5},
		{"a sequence with a mark in its middle", "a\x1b[2?Cb\x1b[2 3Cc", "abc", 0, 3},
		{"more parameters than are kept", "\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;31ma", "a", 0, 1},
	})
}

func TestV1_SaveAndRestore(t *testing.T) {
	check(t, 20, 10, []shot{
		{"DECSC", "\x1b[3;3H\x1b7\x1b[H\x1b8x", "//  x", 2, 3},
		{"CSI s and u", "\x1b[3;3H\x1b[s\x1b[H\x1b[ux", "//  x", 2, 3},
		{"CSI s sets margins in their mode", "\x1b[?69h\x1b[3;3H\x1b[5;9s", "", 0, 0},
		{"never saved", "\x1b[3;3H\x1b8x", "x", 0, 1},
		{"1048", "\x1b[3;3H\x1b[?1048h\x1b[H\x1b[?1048lx", "//  x", 2, 3},
		{"keeps origin mode", "\x1b[3;6r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[Hx", "//x", 2, 1},
		{"alternate screen 1049", "ab\x1b[?1049hxy\x1b[?1049lc", "abc", 0, 3},
		{"alternate screen is cleared", "\x1b[?1049hxy\x1b[?1049l\x1b[?1049h", "", 0, 0},
		{"alternate screen is not cleared again", "\x1b[?1049hxy\x1b[?1049hz", "xyz", 0, 3},
		{"alternate screen 47 is kept", "a\x1b[?47hxy\x1b[?47l\x1b[?47h", " xy", 0, 3},
		{"alternate screen 1047", "a\x1b[?1047hxy\x1b[?1047l\x1b[?1047h", "", 0, 3},
		{"each screen has its own place", "\x1b[2;2H\x1b7\x1b[?47h\x1b[5;5H\x1b7\x1b[?47l\x1b8", "", 1, 1},
		{"full reset", "abc\x1b[3;6r\x1b[4h\x1bcx", "x", 0, 1},
		{"soft reset keeps the text", "abc\x1b[4h\x1b[2;5r\x1b[1;3H\x1b[!pX\x1b[10;1HY", "abX/////////Y", 9, 1},
	})
}

func TestV1_Scrolling(t *testing.T) {
	check(t, 5, 5, []shot{
		{"IND at the bottom", grid5 + "\x1bD", "bbbbb/ccccc/ddddd/eeeee", 4, 4},
		{"RI at the top", grid5 + "\x1b[H\x1bM", "/aaaaa/bbbbb/ccccc/ddddd", 0, 0},
		{"LF in a region", grid5 + "\x1b[2;4r\x1b[4;1H\nx", "aaaaa/ccccc/ddddd/x/eeeee", 3, 1},
		{"LF below a region", grid5 + "\x1b[2;4r\x1b[5;1H\n\n", "aaaaa/bbbbb/ccccc/ddddd/eeeee", 4, 0},
		{"RI in a region", grid5 + "\x1b[2;4r\x1b[2;1H\x1bM", "aaaaa//bbbbb/ccccc/eeeee", 1, 0},
		{"SU", grid5 + "\x1b[2S", "ccccc/ddddd/eeeee", 4, 4},
		{"SD", grid5 + "\x1b[2T", "//aaaaa/bbbbb/ccccc", 4, 4},
		{"SD of ECMA-48", grid5 + "\x1b[^", "/aaaaa/bbbbb/ccccc/ddddd", 4, 4},
		{"mouse tracking is no SD", grid5 + "\x1b[1;2;3;4;5T", "aaaaa/bbbbb/ccccc/ddddd/eeeee", 4, 4},
		{"NEL right of the margins does not scroll", grid5 + "\x1b[?69h\x1b[2;3s\x1b[5;5H\x1bE", "aaaaa/bbbbb/ccccc/ddddd/eeeee", 4, 1},
		{"SU with all margins", grid5 + "\x1b[?69h\x1b[2;4s\x1b[2;4r\x1b[S", "aaaaa/bcccb/cdddc/d   d/eeeee", 0, 0},
		{"SD with all margins", grid5 + "\x1b[?69h\x1b[2;4s\x1b[2;4r\x1b[T", "aaaaa/b   b/cbbbc/dcccd/eeeee", 0, 0},
		{"IL", grid5 + "\x1b[2;3H\x1b[2L", "aaaaa///bbbbb/ccccc", 1, 0},
		{"DL", grid5 + "\x1b[2;3H\x1b[2M", "aaaaa/ddddd/eeeee", 1, 0},
		{"IL outside the margins", grid5 + "\x1b[2;4r\x1b[5;3H\x1b[L", "aaaaa/bbbbb/ccccc/ddddd/eeeee", 4, 2},
		{"IL in a region", grid5 + "\x1b[2;4r\x1b[3;1H\x1b[L", "aaaaa/bbbbb//ccccc/eeeee", 2, 0},
		{"SL", grid5 + "\x1b[2 @", "aaa/bbb/ccc/ddd/eee", 4, 4},
		{"SR", grid5 + "\x1b[2 A", "  aaa/  bbb/  ccc/  ddd/  eee", 4, 4},
		{"DECIC", "abcde\r\nfghij\x1b[1;2H\x1b[2'}", "a  bc/f  gh", 0, 1},
		{"DECDC", "abcde\r\nfghij\x1b[1;2H\x1b[2'~", "ade/fij", 0, 1},
		{"DECBI", "abcde\r\nfghij\x1b[H\x1b6", " abcd/ fghi", 0, 0},
		{"DECFI", "abcde\r\nfghij\x1b[1;5H\x1b9", "bcde/ghij", 0, 4},
		{"text wraps inside side margins", "\x1b[?69h\x1b[2;4s\x1b[1;2Habcde", " abc/ de", 1, 3},
		{"more than there is", grid5 + "\x1b[9999S", "", 4, 4},
	})
}

func TestV1_Editing(t *testing.T) {
	check(t, 10, 3, []shot{
		{"ICH", "abcdef\x1b[1;3H\x1b[2@", "ab  cdef", 0, 2},
		{"DCH", "abcdef\x1b[1;3H\x1b[2P", "abef", 0, 2},
		{"ICH inside margins", "abcdefghij\x1b[?69h\x1b[2;5s\x1b[1;3H\x1b[@", "ab cdfghij", 0, 2},
		{"DCH inside margins", "abcdefghij\x1b[?69h\x1b[2;5s\x1b[1;3H\x1b[P", "abde fghij", 0, 2},
		{"ICH outside margins", "abcdefghij\x1b[?69h\x1b[2;5s\x1b[1;8H\x1b[@", "abcdefghij", 0, 7},
		{"DCH of half a wide character", "a世bc\x1b[1;3H\x1b[P", "a bc", 0, 2},
		{"ICH parts a wide character at the edge", "abcdefgh世\x1b[H\x1b[@", " abcdefgh", 0, 0},
		{"ECH", "abcdef\x1b[1;3H\x1b[2X", "ab  ef", 0, 2},
		{"ECH past the edge", "abcdef\x1b[1;3H\x1b[9999X", "ab", 0, 2},
		{"EL 0", "abcdef\x1b[1;3H\x1b[K", "ab", 0, 2},
		{"EL 1", "abcdef\x1b[1;3H\x1b[1K", "   def", 0, 2},
		{"EL 2", "abcdef\x1b[1;3H\x1b[2K", "", 0, 2},
		{"EL at a pending wrap", "0123456789\x1b[Kx", "012345678x", 0, 9},
		{"ED 0", "abc\r\ndef\r\nghi\x1b[2;2H\x1b[J", "abc/d", 1, 1},
		{"ED 1", "abc\r\ndef\r\nghi\x1b[2;2H\x1b[1J", "/  f/ghi", 1, 1},
		{"ED 2", "abc\r\ndef\x1b[2J", "", 1, 3},
		{"ED 3 leaves the screen", "abc\x1b[3J", "abc", 0, 3},
		{"DECSCA and DECSEL", "a\x1b[1\"qb\x1b[0\"qc\x1b[?2K", " b", 0, 3},
		{"DECSED", "a\x1b[1\"qb\x1b[2\"qc\x1b[?2J", " b", 0, 3},
		{"plain erase takes DECSCA's", "a\x1b[1\"qb\x1b[2K", "", 0, 2},
		{"SPA holds against plain erase", "a\x1bVb\x1bWc\x1b[2K", " b", 0, 3},
		{"DECALN", "\x1b#8", "EEEEEEEEEE/EEEEEEEEEE/EEEEEEEEEE", 0, 0},
		{"DECFRA", "\x1b[42;1;2;2;4$x", " ***/ ***", 0, 0},
		{"DECERA", "\x1b#8\x1b[1;2;3;9$z", "E        E/E        E/E        E", 0, 0},
		{"DECSERA", "\x1b[1\"qab\x1b[\"qcd\x1b[1;1;1;9${", "ab", 0, 4},
		{"DECCRA", "abc\r\ndef\x1b[1;1;2;2;1;1;5$v", "abc ab/def de", 1, 3},
		{"DECCRA over itself", "abcdef\x1b[1;1;1;5;1;1;2$v", "aabcde", 0, 6},
		{"double width line", "\x1b#6abcdefg", "abcde/fg", 1, 2},
		{"132 columns only where allowed", "abc\x1b[?3h", "abc", 0, 3},
		{"132 columns clear", "\x1b[?40habc\x1b[?3h", "", 0, 0},
	})
}

func TestV1_TabStops(t *testing.T) {
	check(t, 30, 3, []shot{
		{"every eight", "\ta\tb", "        a       b", 0, 17},
		{"stops at the edge", "\t\t\t\tx", "                             x", 0, 29},
		{"HTS", "\x1b[4G\x1bH\r\tx", "   x", 0, 4},
		{"TBC", "\x1b[9G\x1b[g\r\tx", "                x", 0, 17},
		{"TBC 3", "\x1b[3g\tx", "                             x", 0, 29},
		{"CHT", "\x1b[2Ix", "                x", 0, 17},
		{"CBT", "\x1b[20G\x1b[2Zx", "        x", 0, 9},
		{"CTC", "\x1b[5G\x1b[W\r\tx", "    x", 0, 5},
		{"DECST8C", "\x1b[3g\x1b[?5W\tx", "        x", 0, 9},
		{"right margin", "\x1b[?69h\x1b[1;5s\tx", "    x", 0, 4},
	})
}

func TestV1_ReverseWrap(t *testing.T) {
	check(t, 5, 3, []shot{
		{"off", "abcdef\b\b\bx", "abcde/x", 1, 1},
		{"on", "\x1b[?45habcdef\b\bx", "abcdx/f", 0, 4},
		{"over no line that ended", "\x1b[?45hab\r\nc\b\b\bx", "ab/x", 1, 1},
		{"not over the top", "\x1b[?45h\x1b[H\bx", "x", 0, 1},
		{"extended", "\x1b[?1045hab\r\nc\b\bx", "ab  x/c", 0, 4},
		{"extended, over the top", "\x1b[?1045h\x1b[H\bx", "//    x", 2, 4},
	})
}

func TestV1_Titles(t *testing.T) {
	for _, c := range []struct{ in, title, text string }{
		{"\x1b]0;one\x07x", "one", "x"},
		{"\x1b]2;two\x1b\\x", "two", "x"},
		{"\x1b]2;✳ claude\x07x", "✳ claude", "x"}, // holds the byte 9c
		{"\x1b]2;two\u009cx", "two", "x"},
		{"\x1b]2;a\x1b[mb\x07x", "", "bx"},
		{"\x1b]2;a\x18x", "", "x"},
		{"\x1b]1;icon\x07x", "", "x"},
		{"\x1b]2;\u202ea\nb\x07x", "ab", "x"},
		{"\x1b]8;;http://a.example/\x1b\\link\x1b]8;;\x1b\\", "", "link"},
		{"\x1b]52;c;c2VjcmV0\x07x", "", "x"},
		{"\x1bPq#0;2;0~\x1b\\x\x1b_Gi=1\x1b\\y\x1b^pm\x1b\\z\x1bXsos\x07\x1b\\!", "", "xyz!"},
	} {
		s := New(20, 2)
		_, _ = s.Write([]byte(c.in))
		if s.Title() != c.title || show(s) != c.text {
			t.Errorf("%q: title %q, text %q", c.in, s.Title(), show(s))
		}
	}
}
