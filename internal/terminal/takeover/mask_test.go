package takeover

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"scv/internal/safe/redact"
	"scv/internal/terminal/screen"
	"scv/internal/wire"
)

// wrapped are ways in which a program shows a key on a screen of so many columns, over two rows or more.
func wrapped(key string, cols int) map[string]string {
	lead := ""
	if cols > len(key) {
		lead = strings.Repeat("-", cols-len(key)/2-1) + " "
	}
	var coloured, boxed strings.Builder
	for i, r := range key {
		if i%7 == 0 {
			fmt.Fprintf(&coloured, "\x1b[3%dm", i%6+1)
		}
		coloured.WriteRune(r)
	}
	rest, inner := lead+key, cols-4
	for len(rest) > 0 {
		n := min(inner, len(rest))
		boxed.WriteString("│ " + rest[:n] + strings.Repeat(" ", inner-n) + " │\r\n")
		rest = rest[n:]
	}
	return map[string]string{"plain": lead + key + " end", "coloured": lead + coloured.String() + "\x1b[m end", "boxed": boxed.String()}
}

// letters is what a page shows, without blanks, boxes and marks.
func letters(page wire.AttachPage) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, rows(page))
}

// TestT55_AKeyIsMaskedAtEveryWidth: over two rows and more, in a box and with colours that change inside of it no part of it is
// shown, and each cell keeps its place and its style.
func TestT55_AKeyIsMaskedAtEveryWidth(t *testing.T) {
	key := "sk-ant-api03-" + strings.Repeat("Ab3dEf6hIj", 9) + "AA"
	mask := redact.New().Find
	for cols := 20; cols <= 200; cols++ {
		for how, text := range wrapped(key, cols) {
			s := screen.New(cols, 12)
			_, _ = s.Write([]byte(text))
			masked, open := screen.NewView(s, mask), screen.NewView(s, nil)
			masked.Refresh()
			open.Refresh()
			got, want := masked.Page(0), open.Page(0)
			shown := letters(got)
			for i := 13; i+6 <= len(key); i++ {
				if strings.Contains(shown, key[i:i+6]) {
					t.Fatalf("%s at %d columns shows\n%s", how, cols, strings.ReplaceAll(rows(got), "|", "\n"))
				}
			}
			if len(got.Lines) != len(want.Lines) {
				t.Fatalf("%s at %d columns: %d rows, and %d without a mask", how, cols, len(got.Lines), len(want.Lines))
			}
			for i, line := range want.Lines {
				if diff := restyled(line.Spans, got.Lines[i].Spans); diff != "" {
					t.Fatalf("%s at %d columns, row %d: %s", how, cols, i, diff)
				}
			}
		}
	}
}

// restyled says how spans differ in anything but their characters.
func restyled(a, b []wire.AttachSpan) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d spans became %d", len(a), len(b))
	}
	for i := range a {
		if n, m := utf8.RuneCountInString(a[i].Text), utf8.RuneCountInString(b[i].Text); n != m {
			return fmt.Sprintf("%q became %q", a[i].Text, b[i].Text)
		}
		x, y := a[i], b[i]
		if x.Text, y.Text = "", ""; x != y {
			return fmt.Sprintf("%+v became %+v", x, y)
		}
	}
	return ""
}
