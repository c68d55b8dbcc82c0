package attach

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"scv/internal/ui/tui/keys"
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
			at := bytes.Index(p, []byte(keys.PasteEnd))
			if at < 0 {
				keep := ending(p, keys.PasteEnd, 1)
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
			p = p[at+len(keys.PasteEnd):]
			continue
		}
		before, after, pasting := bytes.Cut(p, []byte(keys.PasteBegin))
		if i := bytes.IndexByte(before, t.detach); i >= 0 {
			return append(out, typed(before[:i])...), true
		}
		if !pasting {
			keep := max(unfinished(before), unfinishedKey(before))
			t.rest = slices.Clone(before[len(before)-keep:])
			return append(out, typed(before[:len(before)-keep])...), false
		}
		out = append(out, typed(before)...)
		t.paste, p = []byte{}, after
	}
	return out, false
}

// pasted ends a paste. What of it may be sent is decided when it is.
func (t *typist) pasted() piece {
	text := string(t.paste)
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
	if !p.paste {
		return p.text
	}
	sent, _ := keys.Paste(p.text, bracketed)
	return sent
}

// lines is how many times a paste that is sent as keys would press Enter.
func (p piece) lines() int {
	_, lines := keys.Paste(p.text, false)
	return lines
}
