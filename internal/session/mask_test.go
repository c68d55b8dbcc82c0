package session

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"scv/internal/safe/redact"
)

// TestProse_IsWhatTheWholeIs: however an answer is cut into pieces, what is shown of it is what masking the whole gives:
// nothing that the whole hides was shown before, and no words are lost or doubled.
func TestProse_IsWhatTheWholeIs(t *testing.T) {
	known := []*redact.Masker{redact.New(redact.Secret("swordfishes-and-chips")), redact.New(redact.Secret("correct horse battery staple"))}
	long := strings.Repeat("some words that say nothing ", 60)
	parts := []string{
		"plain words, ", "and (more) of them; ", long, "\n", "it's `code` — done. ", "password: hunter2hunter2 ", "AKIAIOSFODNN7EXAMPLE ",
		"correct horse battery staple ", "correct horse ", "swordfishes-and-chips ", "swordfishes and ", "export TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz ", "第三 行\n", "1 2 3 ",
		"the password is swordfishswordfish ", "-----BEGIN PRIVATE KEY-----\n", "login admin ",
	}
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 12).Draw(r, "parts"), "")
		m := rapid.SampledFrom(known).Draw(r, "known")
		p := newProse(m)
		var out strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 60)).Draw(r, "piece")
			out.WriteString(p.write(rest[:n]))
			rest = rest[n:]
		}
		out.WriteString(p.flush())
		if want := m.Text(text); out.String() != want {
			r.Fatalf("shown %q\nwant  %q", out.String(), want)
		}
	})
}

// TestProse_WordsComeAtOnce: a word is shown with the blank behind it, at the end of a very long line as at its begin.
func TestProse_WordsComeAtOnce(t *testing.T) {
	p := newProse(redact.New())
	for i := range 5000 {
		if got := p.write("word "); got != "word " {
			t.Fatalf("piece %d shows %q", i, got)
		}
	}
}
