// Package redact masks credentials in text. It owns the one rule of the house that no secret reaches disk or a
// client: logs, ledger, approvals, errors and screens all pass their text through a Masker first, after JSON is
// decoded and the pieces of a message are joined, and before anything is cut to a length.
//
// What is found: values that say by themselves what they are (prefixes.tsv, and shapes such as JSON web tokens and
// private key blocks), values told by the name, flag, header or address beside them, and the exact known values given
// to New in every encoding a tool is likely to print them in. What is not: base64 twice, spaced, reversed or
// lower-cased values, word-only passphrases, short passwords, PINs and secrets in pictures.
//
// Nothing is lost but the secrets: a Masker only replaces, and Text and Stream give the same output for the same
// input however it is cut. A Masker is immutable and safe for concurrent use; a Stream belongs to one goroutine.
package redact

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Masker masks the credentials it knows of and those it recognises. The zero value is not usable; call New.
type Masker struct {
	known *knownSet
	rules *ruleSet
}

// New returns a Masker that also masks these exact values in the encodings of known.go. Values that are too short or
// too common to tell from ordinary text are left out (security rule: 8 characters or more).
func New(known ...Secret) *Masker {
	return &Masker{known: newKnownSet(known), rules: rules()}
}

// Text returns s with each credential replaced by [masked:kind]; s may have many lines and any length. It returns s
// itself, without allocating, when there is nothing to mask.
func (m *Masker) Text(s string) string {
	masked, _ := m.Changed(s)
	return masked
}

// Changed is Text that also says whether anything was masked, for a caller that keeps the original of a changed
// prompt apart.
func (m *Masker) Changed(s string) (string, bool) {
	e := engine{m: m}
	e.sink.text = s
	e.finish(e.take(s))
	if e.sink.out == nil {
		return s, false
	}
	return string(e.sink.out), true
}

// Find returns where the credentials of s are, as byte ranges [from, to) in rising order and apart: what Text would
// replace. It is for a caller that keeps the place of every character, such as a screen.
func (m *Masker) Find(s string) [][2]int {
	found := [][2]int{}
	e := engine{m: m}
	e.sink.found = &found
	e.finish(e.take(s))
	return found
}

// Phrases reports whether a known value holds blanks, so that single words may be the beginning of one.
func (m *Masker) Phrases() bool { return m.known != nil && m.known.blanks }

// span is one stretch of text to be masked.
type span struct {
	from, to int
	kind     string
}

const (
	markOpen  = "[masked:"
	markClose = "]"
)

// appendMasked appends raw to out with the spans (sorted, apart) replaced.
func appendMasked(out []byte, raw string, spans []span) []byte {
	at := 0
	for _, s := range spans {
		out = append(out, raw[at:s.from]...)
		out = append(out, markOpen...)
		out = append(out, s.kind...)
		out = append(out, markClose...)
		at = s.to
	}
	return append(out, raw[at:]...)
}

// markAt returns the length of a [masked:kind] at the start of s, or 0. A mask is opaque to every rule, so that
// masking twice changes nothing.
func markAt(s string) int {
	if !strings.HasPrefix(s, markOpen) {
		return 0
	}
	for i := len(markOpen); i < len(s) && i < 64; i++ {
		switch c := s[i]; {
		case c == ']':
			return i + 1
		case !isAlnum(c) && c != '-':
			return 0
		}
	}
	return 0
}

// sink collects masked lines in order: for Text as one text that is only built once something changed, for a Stream
// as lines.
type sink struct {
	text   string // Text: the whole input
	at     int    // Text: how much of it has been passed on
	out    []byte // Text: nil while nothing was masked
	stream bool
	lines  []string
	found  *[][2]int // Find: places in the whole input
}

// emit passes one raw line or piece on with its spans masked.
func (k *sink) emit(raw string, spans []span) {
	if k.stream {
		if len(spans) > 0 {
			raw = string(appendMasked(make([]byte, 0, len(raw)+32), raw, spans))
		}
		k.lines = append(k.lines, raw)
		return
	}
	if k.found != nil {
		for _, s := range spans {
			*k.found = append(*k.found, [2]int{k.at + s.from, k.at + s.to})
		}
		k.at += len(raw)
		return
	}
	if len(spans) > 0 && k.out == nil {
		k.out = append(make([]byte, 0, len(k.text)+64), k.text[:k.at]...)
	}
	if k.out != nil {
		k.out = appendMasked(k.out, raw, spans)
	}
	k.at += len(raw)
}

// hidden is what every printing path shows of a Secret.
const hidden = "[masked]"

// Secret is a credential the program itself holds. Printing, formatting, logging and encoding show "[masked]"; only
// Reveal gives the value. A struct printed with %+v is covered too, since fmt asks each field. Not covered, because fmt
// and encoding/json look at the kind first: %p, a verb that does not fit a pointer to a struct, and JSON map keys.
type Secret string

// Reveal returns the value; call it where the value is used, never where it is shown.
func (s Secret) Reveal() string { return string(s) }

// String returns "[masked]".
func (s Secret) String() string { return hidden }

// GoString returns "[masked]".
func (s Secret) GoString() string { return hidden }

// Format writes "[masked]" for every verb and flag.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalJSON encodes the string "[masked]".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText encodes "[masked]", for encodings other than JSON and for map keys.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue returns "[masked]" for log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }
