package term

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v3"
)

// A script is a terminal that gives one chunk at each read.
type script struct {
	tcell.Tty
	chunks []string
	wrote  strings.Builder
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.chunks[0])
	s.chunks = s.chunks[1:]
	return n, nil
}

func (s *script) Write(p []byte) (int, error) { return s.wrote.Write(p) }

// through is what the library gets of some input, what was pasted, and what was answered.
func through(t *testing.T, asked bool, chunks ...string) (out string, pastes []pasted, answers []Answer) {
	t.Helper()
	f := newFilter(&script{chunks: chunks})
	if asked {
		if err := f.ask("\x1b]11;?\x1b\\"); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	buf := make([]byte, 64)
	for {
		n, err := f.Read(buf)
		b.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for {
		p, ok := f.popPaste()
		if !ok {
			break
		}
		pastes = append(pastes, p)
	}
	for len(f.answers) > 0 {
		if a := <-f.answers; a != "" {
			answers = append(answers, a)
		}
	}
	return b.String(), pastes, answers
}

func TestFilterPassesKeysAndDropsWhatBreaksTheLibrary(t *testing.T) {
	for name, tt := range map[string]struct {
		in   []string
		want string
	}{
		"keys":                 {[]string{"abc\r\t\x01"}, "abc\r\t\x01"},
		"arrows":               {[]string{"\x1b[A\x1bOB\x1b[1;5C"}, "\x1b[A\x1bOB\x1b[1;5C"},
		"a lone escape":        {[]string{"\x1b"}, "\x1b"},
		"an arrow in pieces":   {[]string{"\x1b", "[", "A"}, "\x1b[A"},
		"two escapes":          {[]string{"\x1b\x1b[A"}, "\x1b\x1b[A"},
		"alt":                  {[]string{"\x1bx"}, "\x1bx"},
		"mouse":                {[]string{"\x1b[<0;3;4M\x1b[<0;3;4m"}, "\x1b[<0;3;4M\x1b[<0;3;4m"},
		"latin 1":              {[]string{"caf\xe9!"}, "caf!"},
		"ff":                   {[]string{"a\xff\xfeb"}, "ab"},
		"C1":                   {[]string{"a\x9b1mb\u009bc"}, "a1mbc"},
		"a split character":    {[]string{"\xe4", "\xbd", "\xa0x"}, "你x"},
		"a cut character":      {[]string{"\xe4\xbdx"}, "x"},
		"a character at end":   {[]string{"x\xe4\xbd"}, "x"},
		"emoji":                {[]string{"👩‍👩‍👧"}, "👩‍👩‍👧"},
		"alt-] asks nothing":   {[]string{"\x1b]ls\r"}, "ls\r"},
		"alt-P":                {[]string{"\x1bPx"}, "x"},
		"endless CSI":          {[]string{"\x1b[" + strings.Repeat("1;", 300) + "x"}, "\x1b[" + strings.Repeat("1;", 300) + "x"},
		"CSI with a control":   {[]string{"\x1b[1\rx"}, "\x1b[1\rx"},
		"an answer not asked":  {[]string{"\x1b[?62;c" + "x"}, "x"},
		"empty paste":          {[]string{"\x1b[200~\x1b[201~"}, "\x1b[200~\x1b[201~"},
		"paste between keys":   {[]string{"a\x1b[200~q\ny\x1b[201~b"}, "a\x1b[200~\x1b[201~b"},
		"paste cut everywhere": {[]string{"\x1b", "[2", "00~he", "llo\x1b", "[20", "1~z"}, "\x1b[200~\x1b[201~z"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _, _ := through(t, false, tt.in...); got != tt.want {
				t.Errorf("the library gets %q, want %q", got, tt.want)
			}
			var bytewise []string
			for _, chunk := range tt.in {
				for i := range len(chunk) {
					bytewise = append(bytewise, chunk[i:i+1])
				}
			}
			got, _, _ := through(t, false, bytewise...)
			// What a read cut was passed on already; only an answer and a string can lose their first bytes that way.
			if got != tt.want && !strings.Contains(tt.in[0], "\x1b[?") && !strings.Contains(tt.in[0], "\x1b]") && !strings.Contains(tt.in[0], "\x1bP") {
				t.Errorf("byte by byte the library gets %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFilterTakesPastesWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want pasted
	}{
		"text":           {"line one\nline two\ttab 你好", pasted{"line one\nline two\ttab 你好", false}},
		"keys in it":     {"\x1b[A\x03y\rn", pasted{"\x1b[A\x03y\rn", false}},
		"not UTF-8":      {"a\xffb", pasted{"ab", false}},
		"a begun end":    {"x\x1b[201", pasted{"x\x1b[201", false}},
		"much too long":  {strings.Repeat("x", 3*longestPaste), pasted{"", true}},
		"just too long":  {strings.Repeat("x", longestPaste+1), pasted{"", true}},
		"a start inside": {"a\x1b[200~b", pasted{"a\x1b[200~b", false}},
	} {
		t.Run(name, func(t *testing.T) {
			var chunks []string
			for s := "\x1b[200~" + tt.in + "\x1b[201~"; s != ""; {
				n := min(len(s), 1000)
				chunks = append(chunks, s[:n])
				s = s[n:]
			}
			out, got, _ := through(t, false, chunks...)
			if out != "\x1b[200~\x1b[201~" || len(got) != 1 || got[0] != tt.want {
				t.Errorf("out %.40q, %d pastes", out, len(got))
			}
		})
	}
}

func TestE16_AnswersAreNeverKeys(t *testing.T) {
	const osc, da = "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", "\x1b[?62;22;52c"
	for name, chunks := range map[string][]string{
		"at once":        {osc + da + "x"},
		"with BEL":       {"\x1b]11;rgb:1e1e/1e1e/2e2e\a" + da + "x"},
		"in pieces":      {"\x1b]11;rgb:1e", "1e/1e1e/2e2e\x1b", "\\" + da[:4], da[4:], "x"},
		"keys before it": {"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", da, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, answers := through(t, true, chunks...)
			if out != "x" && name != "in pieces" || strings.Contains(out, "1e") {
				t.Errorf("the library gets %q", out)
			}
			if len(answers) != 1 || groundOf(answers[0]) != darkGround {
				t.Errorf("answers %q", answers)
			}
		})
	}
	// Whoever types alt-] before the terminal has answered loses no more than that line.
	if out, _, _ := through(t, true, "\x1b]ls\rq"); out != "\rq" {
		t.Errorf("after alt-] the library gets %q", out)
	}
}

func TestFence(t *testing.T) {
	f := newFilter(&script{chunks: []string{"\x1b[?1;2c"}})
	if f.expects() || !f.silent() {
		t.Error("something is expected before anything was asked")
	}
	if err := f.ask(""); err != nil {
		t.Fatal(err)
	}
	if !f.expects() {
		t.Error("nothing is expected after a question")
	}
	if _, err := f.Read(make([]byte, 10)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if f.expects() || f.silent() {
		t.Error("the answer was not counted")
	}
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte("a\x1b[200~x\x1b[201~\xff\x1b]11;?\x07"), true)
	f.Fuzz(func(t *testing.T, data []byte, asked bool) {
		flt := newFilter(&script{})
		if asked {
			_ = flt.ask("")
		}
		flt.feed(data)
		for i := range data { // and byte by byte
			flt.feed(data[i : i+1])
		}
		if len(flt.paste) > longestPaste+len(pasteEnd) || len(flt.seq) > longestSequence+2 {
			t.Fatalf("%d and %d bytes are kept", len(flt.paste), len(flt.seq))
		}
		if n := len(flt.out); n > 2*len(data) {
			t.Fatalf("%d bytes became %d", 2*len(data), n)
		}
	})
}
