package screen

import (
	"strings"
	"testing"
)

func answersTo(in string) string {
	s := New(80, 24)
	s.Answer(true)
	_, _ = s.Write([]byte(in))
	return string(s.Answers())
}

// TestV5_AgentStarts holds what each agent asks at its start, and our answers in order.
func TestV5_AgentStarts(t *testing.T) {
	const da1, xtversion = "\x1b[?62;22c", "\x1bP>|scv\x1b\\"
	const fg, bg = "\x1b]10;rgb:d8d8/d8d8/d8d8", "\x1b]11;rgb:1818/1818/1818"
	for _, c := range []struct{ name, in, want string }{
		{"claude", "\x1b[>0q\x1b[?2026$p\x1b[c\x1b[c", xtversion + "\x1b[?2026;2$y" + da1 + da1},
		{
			"codex", "\x1b[6n\x1b[?1007$p\x1b[?u\x1b[c\x1b]10;?\x1b\\\x1b]11;?\x1b\\",
			"\x1b[1;1R\x1b[?1007;0$y\x1b[?0u" + da1 + fg + "\x1b\\" + bg + "\x1b\\",
		},
		{"gemini", "\x1b[>q\x1b[?u\x1b[0c\x1b]11;?\x07", xtversion + "\x1b[?0u" + da1 + bg + "\x07"},
		{
			"opencode",
			"\x1b[>0q\x1b[c\x1b[6n\x1b[2;2H\x1b[6n\x1b[?1004$p\x1b[?2004$p\x1b[?2026$p\x1b[?2027$p\x1b]4;0;?\x07\x1b[14t" +
				"\x1bP+q4d73\x1b\\\x1b_Gi=31,a=q;AAAA\x1b\\\x1b]66;w=1; \x1b\\",
			xtversion + da1 + "\x1b[1;1R\x1b[2;2R\x1b[?1004;0$y\x1b[?2004;2$y\x1b[?2026;2$y\x1b[?2027;3$y\x1b]4;0;rgb:0000/0000/0000\x07",
		},
		{"vim", "\x1b[>c\x1b[5;7H\x1b[6n\x1b[?4m\x1b[?12$p", "\x1b[>1;10;0c\x1b[5;7R\x1b[?12;0$y"},
	} {
		if got := answersTo(c.in); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestV5_Answers(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\x1b[5n", "\x1b[0n"},
		{"\x1b[?6n", "\x1b[?1;1;1R"},
		{"\x1b[3;6r\x1b[?6h\x1b[2;2H\x1b[6n", "\x1b[2;2R"},
		{"\x1b[?6h\x1b7\x1b[5;9r\x1b8\x1b[6n", "\x1b[1;1R"},
		{"\x1b[18t", "\x1b[8;24;80t"},
		{"\x1b[?2004h\x1b[?2004$p\x1b[?1$p\x1b[?25$p", "\x1b[?2004;1$y\x1b[?1;2$y\x1b[?25;1$y"},
		{"\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y"},
		{"\x1b[4$p", "\x1b[4;0$y"},
		{"\x1b]10;?;?\x07", "\x1b]10;rgb:d8d8/d8d8/d8d8\x07\x1b]11;rgb:1818/1818/1818\x07"},
		{"\x1b]4;1;?;255;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07\x1b]4;255;rgb:eeee/eeee/eeee\x07"},
		{"\x1b]4;16;?\x07\x1b]4;231;?\x07", "\x1b]4;16;rgb:0000/0000/0000\x07\x1b]4;231;rgb:ffff/ffff/ffff\x07"},
		{"\x1b]4;256;?\x07", ""},
		{"\x1bZ", "\x1b[?62;22c"},
	} {
		if got := answersTo(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// TestV6_NothingIsEchoed asks for all that a terminal could be made to type.
func TestV6_NothingIsEchoed(t *testing.T) {
	for _, in := range []string{
		"\x1b]0;title\x07\x1b[21t", "\x1b[20t", "\x05", "\x1b]52;c;?\x07", "\x1b[14t", "\x1b[16t", "\x1b[=c",
		"\x1bP+q544e\x1b\\", "\x1bP$qm\x1b\\", "\x1bP$q\"p\x1b\\", "\x1b]66;s=2;x\x07", "\x1b_Gi=1,a=q;AAAA\x1b\\",
		"\x1b]10;#fff\x07", "\x1b[1;1;1;1;1;1*y", "\x1b[c"[:2] + "5c",
	} {
		if got := answersTo(in); got != "" {
			t.Errorf("%q is answered with %q", in, got)
		}
	}
}

func TestV5_AnswersAreOffAndBounded(t *testing.T) {
	s := New(80, 24)
	_, _ = s.Write([]byte("\x1b[c"))
	s.Answer(true)
	if got := s.Answers(); got != nil {
		t.Errorf("answered %q before it was asked to", got)
	}
	_, _ = s.Write([]byte(strings.Repeat("\x1b[c", 10_000)))
	if n := len(s.Answers()); n == 0 || n > maxAnswers {
		t.Errorf("%d bytes wait", n)
	}
	s.SetTheme(Theme{Background: [3]uint8{1, 2, 3}})
	_, _ = s.Write([]byte("\x1b]11;?\x07"))
	if got := string(s.Answers()); got != "\x1b]11;rgb:0101/0202/0303\x07" {
		t.Errorf("got %q", got)
	}
}

func TestV5_Modes(t *testing.T) {
	s := New(80, 24)
	if got := s.Modes(); got != (Modes{CursorVisible: true}) {
		t.Errorf("at first: %+v", got)
	}
	_, _ = s.Write([]byte("\x1b[?1;5;1002;1004;1006;2004;2026;1049h\x1b[?25l\x1b=\x1b[20h"))
	want := Modes{
		ApplicationCursor: true, ApplicationKeypad: true, BracketedPaste: true, Focus: true, Synchronized: true,
		AltScreen: true, ReverseVideo: true, NewLine: true, Mouse: 1002, MouseEncoding: 1006,
	}
	if got := s.Modes(); got != want {
		t.Errorf("got %+v", got)
	}
	_, _ = s.Write([]byte("\x1b[?1003h\x1b[?1015h"))
	if got := s.Modes(); got.Mouse != 1003 || got.MouseEncoding != 1015 {
		t.Errorf("got %+v", got)
	}
	_, _ = s.Write([]byte("\x1bc"))
	if got := s.Modes(); got != (Modes{CursorVisible: true}) {
		t.Errorf("after a reset: %+v", got)
	}
}
