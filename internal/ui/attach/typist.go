package attach

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Marks of a paste, as terminals write them.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// A piece is keys, or a whole paste.
type piece struct {
	text  string
	paste bool
}

// A typist turns what is read of the keyboard into what may be sent: whole characters, pastes in one piece, and never the
// key that lets go.
type typist struct {
	detach byte
	rest   []byte // of a character or a mark that has not come whole
	paste  []byte // so far; nil outside a paste
}

// maxPaste bounds a paste in bytes; what is beyond comes as a paste of its own.
const maxPaste = 4 << 20

// take returns what came whole, and whether the owner lets go behind it.
func (t *typist) take(p []byte) (out []piece, letGo bool) {
	p = append(t.rest, p...)
	t.rest = nil
	for len(p) > 0 {
		if t.paste != nil {
			at := bytes.Index(p, []byte(pasteEnd))
			if at < 0 {
				keep := ending(p, pasteEnd, 1)
				t.paste = append(t.paste, p[:len(p)-keep]...)
				t.rest = slices.Clone(p[len(p)-keep:])
				if len(t.paste) > maxPaste {
					out = append(out, t.pasted())
					t.paste = []byte{}
				}
				return out, false
			}
			t.paste = append(t.paste, p[:at]...)
			out = append(out, t.pasted())
			p = p[at+len(pasteEnd):]
			continue
		}
		keys, after, pasting := bytes.Cut(p, []byte(pasteBegin))
		if i := bytes.IndexByte(keys, t.detach); i >= 0 {
			return append(out, typed(keys[:i])...), true
		}
		if !pasting {
			keep := max(unfinished(keys), unfinishedKey(keys))
			t.rest = slices.Clone(keys[len(keys)-keep:])
			return append(out, typed(keys[:len(keys)-keep])...), false
		}
		out = append(out, typed(keys)...)
		t.paste, p = []byte{}, after
	}
	return out, false
}

// pasted ends a paste. Marks and the key that lets go have no business in it; nor has what begins a mark, since taking
// one out must not make another.
func (t *typist) pasted() piece {
	text := strings.ToValidUTF8(string(t.paste), "")
	text = strings.NewReplacer(pasteBegin, "", pasteEnd, "", string(rune(t.detach)), "", "\x1b", "", "\u009b", "").Replace(text)
	t.paste = nil
	return piece{text, true}
}

func typed(p []byte) []piece {
	if text := strings.ToValidUTF8(string(p), ""); text != "" {
		return []piece{{text: text}}
	}
	return nil
}

// ending is how many bytes at the end of p may begin a mark, if at least so many.
func ending(p []byte, mark string, least int) int {
	for n := min(len(p), len(mark)-1); n >= least; n-- {
		if bytes.HasSuffix(p, []byte(mark[:n])) {
			return n
		}
	}
	return 0
}

// unfinishedKey is how many bytes at the end of p begin the sequence of a key, of the mouse or of a paste that has not come
// whole. A lone ESC is a key.
func unfinishedKey(p []byte) int {
	const longest = 32
	at := bytes.LastIndex(p, []byte("\x1b["))
	if at < 0 || len(p)-at > longest || bytes.ContainsFunc(p[at+2:], func(r rune) bool { return r < '0' || r > '?' }) {
		return 0
	}
	return len(p) - at
}

// unfinished is how many bytes at the end of p begin a character that has not come whole.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n:]; utf8.RuneStart(c[0]) {
			if utf8.FullRune(c) {
				return 0
			}
			return n
		}
	}
	return 0
}

// toSend is a piece as the agent gets it: a paste between marks when it asked for those, else as if it was typed.
func (p piece) toSend(bracketed bool) string {
	switch {
	case !p.paste:
		return p.text
	case bracketed:
		return pasteBegin + p.text + pasteEnd
	}
	return strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(p.text)
}

// lines is how many times a paste that is sent as keys would press Enter.
func (p piece) lines() int { return strings.Count(p.toSend(false), "\r") }
