package plain

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// forbidden returns the first character of section 7 of the security page that is in s, or -1: controls but tab and
// newline where they are allowed, DEL, C1 as characters, bytes that are not UTF-8, bidi and invisible characters.
func forbidden(s string, block bool) rune {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		allowed := block && (r == '\n' || r == '\t')
		if r < 0x20 && !allowed || r >= 0x7f && r <= 0x9f || r == utf8.RuneError && n == 1 || Hidden(r) {
			return r
		}
		i += n
	}
	return -1
}

func TestT34_SequencesNeverPass(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"colour":             {"a\x1b[1;31mred\x1b[0mb", "aredb"},
		"clear":              {"a\x1b[2Jb", "ab"},
		"cursor query":       {"a\x1b[6nb", "ab"},
		"private mode":       {"a\x1b[?1049hb", "ab"},
		"OSC 0 by BEL":       {"a\x1b]0;title\x07b", "ab"},
		"OSC 52 by ST":       {"a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"},
		"OSC 8":              {"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		"DCS":                {"a\x1bP1$r0m\x1b\\b", "ab"},
		"APC":                {"a\x1b_G1;x\x1b\\b", "ab"},
		"PM":                 {"a\x1b^x\x1b\\b", "ab"},
		"SOS":                {"a\x1bXx\x1b\\b", "ab"},
		"reset":              {"a\x1bcb", "ab"},
		"charset":            {"a\x1b(0b", "ab"},
		"unterminated OSC":   {"a\x1b]0;rest stays visible", "a0;rest stays visible"},
		"OSC ends at line":   {"a\x1b]0;x\nb\x07c", "a0;x b" + "c"},
		"broken CSI":         {"a\x1b[12\nb", "a b"},
		"ESC at the end":     {"a\x1b", "a"},
		"C1 CSI character":   {"a\u009b31mb", "ab"},
		"C1 OSC character":   {"a\u009d0;t\u009cb", "ab"},
		"C1 CSI byte":        {"a\x9b31mb", "a\ufffd31mb"},
		"C1 OSC byte":        {"a\x9d0;t\x07b", "a\ufffd0;tb"},
		"NEL":                {"a\u0085b", "a b"},
		"other C1":           {"a\u0084b", "ab"},
		"C0 and DEL":         {"a\x08\x0e\x7fb", "ab"},
		"NUL and bad UTF-8":  {"a\x00b\xff\xc3", "a\ufffdb\ufffd\ufffd"},
		"tab, breaks":        {"a\tb\r\nc\rd\ne\u2028f", "a b c d e f"},
		"aborted string":     {"a\x1b]0;x\x18b", "ab"},
		"string, then reset": {"a\x1b]0;x\x1bcb", "ab"},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("%s: %q gives %q, want %q", name, c.in, got, c.want)
		}
		if r := forbidden(Block(c.in), true); r >= 0 {
			t.Errorf("%s: block lets %U through", name, r)
		}
	}
	if got := Block("a\tb\r\nc\rd\u2029e\x1b[0m\n"); got != "a\tb\nc\nd\ne\n" {
		t.Errorf("block: %q", got)
	}
}

func TestT35_EveryNameIsALine(t *testing.T) {
	for _, name := range []string{"job\x1b]0;x\x07", "br\x1b[31manch", "/tmp/a\nb", "agent\u202egpj.exe", "x\u009b2Jy", "\x1b"} {
		for what, got := range map[string]string{
			"Line": Line(name), "FirstLine": FirstLine(name, 40), "Truncate": Truncate(Line(name), 5), "Pad": Pad(Line(name), 30),
		} {
			if r := forbidden(got, false); r >= 0 {
				t.Errorf("%s of %q lets %U through", what, name, r)
			}
		}
	}
}

func TestT36_InvisibleBecomesVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a\u202eb": "a⟨U+202E⟩b", "a\u200bb": "a⟨U+200B⟩b", "a\u2060b": "a⟨U+2060⟩b", "\ufeffa": "⟨U+FEFF⟩a",
		"a\U000e0001b": "a⟨U+E0001⟩b", "a\U000e0100b": "a⟨U+E0100⟩b", "a\U0001d173b": "a⟨U+1D173⟩b", "a\U0001bca0b": "a⟨U+1BCA0⟩b",
		"a\u00adb": "a⟨U+00AD⟩b", "a\u2066b\u2069": "a⟨U+2066⟩b⟨U+2069⟩", "a\u061cb": "a⟨U+061C⟩b", "a\u3164b": "a⟨U+3164⟩b",
		"\u26a0\ufe0f ok": "\u26a0 ok", "\U0001f468\u200d\U0001f469": "\U0001f468\U0001f469", "a\u200db": "a⟨U+200D⟩b", "a\ufe0fb": "a⟨U+FE0F⟩b",
		"é 漢字 ё": "é 漢字 ё",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := Width(Line("a\u202eb")); got != 10 {
		t.Errorf("the width of a shown control is %d, want 10", got)
	}
}

func TestCleanTextIsNotCopied(t *testing.T) {
	s := "an ordinary line of text, 80 characters or so, as most of them are"
	if n := testing.AllocsPerRun(100, func() {
		if Line(s) != s || Block(s) != s {
			t.Fatal("changed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWidths(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "漢字": 4, "é": 1, "e\u0301": 1, "🙂": 2, "⟨": 1, "│": 1} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		s     string
		cells int
		want  string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcd.."},
		{"abc", 2, ".."},
		{"abc", 1, "."},
		{"abc", 0, ""},
		{"abc", -3, ""},
		{"漢字漢字", 8, "漢字漢字"},
		{"漢字漢字", 7, "漢字.."},
		{"漢字漢字", 5, "漢.."},
		{"a漢字", 4, "a.."},
		{"e\u0301e\u0301e\u0301e\u0301", 3, "e\u0301.."},
	} {
		if got := Truncate(c.s, c.cells); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.s, c.cells, got, c.want)
		}
		if got := Width(Pad(c.s, c.cells)); got != max(c.cells, 0) {
			t.Errorf("Pad(%q, %d) takes %d cells", c.s, c.cells, got)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for _, c := range []struct {
		s     string
		runes int
		want  string
	}{
		{"", 10, ""},
		{"\n \t\n", 10, ""},
		{"\r\n  fix it  \nmore", 80, "fix it"},
		{"one two three four", 9, "one two.."},
		{"one two three", 10, "one two.."},
		{"漢字漢字漢字", 4, "漢字.."},
		{"abc", 2, ".."},
		{"abc", 0, ""},
		{"\x1b[1mbold\x1b[0m", 80, "bold"},
		{"\x1b[0m\n\u200b\nx", 80, "⟨U+200B⟩"},
	} {
		if got := FirstLine(c.s, c.runes); got != c.want {
			t.Errorf("FirstLine(%q, %d) = %q, want %q", c.s, c.runes, got, c.want)
		}
	}
	if got := FirstLine(strings.Repeat("\n", 1000)+"last", 10); got != "last" {
		t.Errorf("got %q", got)
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"", "a\x1b]52;c;x\x07b", "\u202e\u200d\ufe0f⚠️", "\x9b\xc2\x9b\xe2\x80", "\x1b\x1b[\x1b]\x1bP", "a\r\n\tb漢🙂e\u0301"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n %= 200
		line, block := Line(s), Block(s)
		for _, got := range []string{line, FirstLine(s, n), Truncate(line, n), Pad(line, n)} {
			if r := forbidden(got, false); r >= 0 {
				t.Fatalf("%q lets %U through: %q", s, r, got)
			}
		}
		if r := forbidden(block, true); r >= 0 {
			t.Fatalf("%q lets %U through: %q", s, r, block)
		}
		if Line(line) != line || Block(block) != block {
			t.Fatalf("cleaning %q twice changes it", s)
		}
		if w := Width(Truncate(line, n)); w > max(n, 0) {
			t.Fatalf("Truncate(%q, %d) takes %d cells", line, n, w)
		}
		if w := Width(Pad(line, n)); w != max(n, 0) {
			t.Fatalf("Pad(%q, %d) takes %d cells", line, n, w)
		}
		if c := utf8.RuneCountInString(FirstLine(s, n)); c > max(n, 0) {
			t.Fatalf("FirstLine(%q, %d) has %d characters", s, n, c)
		}
	})
}
