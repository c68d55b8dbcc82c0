// Package plain makes text safe to print. It owns the rule of docs/security.md on terminal output: no control byte,
// no escape sequence, no invisible or text-turning character leaves through a printing path. Every room that prints a
// name, a path, an error or an agent's words calls it first. Its functions are pure, keep nothing and never fail;
// clean text comes back as the same string without a copy.
//
// What happens to a character: escape sequences (7-bit, and 8-bit as U+0080 to U+009F) are dropped whole, also when
// they carry text of their own; a sequence without an end loses only its opening, so that it cannot hide what
// follows; other control characters are dropped; NUL and bytes that are not UTF-8 become U+FFFD; bidi controls and
// characters that show nothing become a visible ⟨U+202E⟩. The one exception are presentation selectors and joiners
// inside emoji, which are dropped: they hide nothing and every chat is full of them.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	escape = 0x1b
	bell   = 0x07
	csi    = 0x9b
	// longestSequence bounds the search for the end of a string sequence (title, clipboard, device control), in bytes.
	longestSequence = 1 << 16
)

// Line returns s as one display line: what Block does, and each line break or tab as one space.
func Line(s string) string {
	if printable(s, false) {
		return s
	}
	return clean(s, false)
}

// Block returns s with its line breaks as \n (also for \r\n, \r, U+0085, U+2028 and U+2029) and its tabs, and without
// anything else a terminal could act on.
func Block(s string) string {
	if printable(s, true) {
		return s
	}
	return clean(s, true)
}

// printable says whether s is only ASCII that needs no change.
func printable(s string, block bool) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c < 0x7f || block && (c == '\n' || c == '\t') {
			continue
		}
		return false
	}
	return true
}

func clean(s string, block bool) string {
	var b strings.Builder
	b.Grow(len(s))
	prev := rune(0) // the last character written, for the emoji rule
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == escape || r >= 0x80 && r <= 0x9f && n > 1:
			i += sequence(s[i:])
			if r == 0x85 {
				writeBreak(&b, block)
			}
			continue
		case r == '\r' && strings.HasPrefix(s[i+n:], "\n"):
			i += n
			continue
		case r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029:
			writeBreak(&b, block)
		case r == '\t':
			b.WriteByte(pick(block, '\t', ' '))
		case r == 0 || r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r < 0x20 || r == 0x7f:
			// dropped
		case Hidden(r):
			if !emojiPart(r, prev, s[i+n:]) {
				writeVisible(&b, r)
				prev = 0
			}
			i += n
			continue
		default:
			b.WriteString(s[i : i+n])
		}
		prev = r
		i += n
	}
	return b.String()
}

func pick(block bool, yes, no byte) byte {
	if block {
		return yes
	}
	return no
}

func writeBreak(b *strings.Builder, block bool) { b.WriteByte(pick(block, '\n', ' ')) }

// writeVisible writes ⟨U+202E⟩ for r.
func writeVisible(b *strings.Builder, r rune) {
	const digits = "0123456789ABCDEF"
	b.WriteString("⟨U+")
	shift := 12
	for shift < 20 && r>>(shift+4) != 0 {
		shift += 4
	}
	for ; shift >= 0; shift -= 4 {
		b.WriteByte(digits[r>>shift&0xf])
	}
	b.WriteString("⟩")
}

// Hidden says whether r is a bidi control or shows nothing: Unicode's Default_Ignorable_Code_Point, the bidi
// controls and the interlinear marks.
func Hidden(r rune) bool {
	if r < 0xad {
		return false
	}
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5,
		r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e,
		r >= 0x2060 && r <= 0x206f, r == 0x3164, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r == 0xffa0,
		r >= 0xfff0 && r <= 0xfffb, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// emojiPart says whether the hidden character r only chooses how the symbol before it looks.
func emojiPart(r, prev rune, rest string) bool {
	switch r {
	case 0xfe0e, 0xfe0f:
		return pictograph(prev) || prev == '#' || prev == '*' || prev >= '0' && prev <= '9'
	case 0x200d:
		next, _ := utf8.DecodeRuneInString(rest)
		return pictograph(prev) && pictograph(next)
	}
	return false
}

func pictograph(r rune) bool {
	return r >= 0x203c && (unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r) || unicode.Is(unicode.Po, r) ||
		r >= 0x1f3fb && r <= 0x1f3ff)
}

// sequence returns the length of the escape sequence at the start of s, which begins with ESC or a C1 character.
// It is at least the length of that character.
func sequence(s string) int {
	intro, n := rune(s[0]), 1
	if intro == escape {
		if len(s) == 1 {
			return 1
		}
		intro, n = rune(s[1])+0x40, 2 // ESC [ is CSI, and so on
		if s[1] < 0x40 || s[1] > 0x5f {
			return shortSequence(s)
		}
	} else {
		intro, n = utf8.DecodeRuneInString(s)
	}
	switch intro {
	case csi:
		return controlSequence(s, n)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC
		return stringSequence(s, n)
	}
	return n
}

// shortSequence is ESC, any intermediates, one final byte (ESC c, ESC ( B).
func shortSequence(s string) int {
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		return i + 1
	}
	return i
}

// controlSequence is CSI, parameters, intermediates, one final byte; broken off, only what belongs to it goes.
func controlSequence(s string, i int) int {
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		return i + 1
	}
	return i
}

// stringSequence runs to BEL, ST or an aborting control; without one, only the opening is taken.
func stringSequence(s string, start int) int {
	for i := start; i < len(s) && i < longestSequence; i++ {
		switch c := s[i]; {
		case c == bell || c == 0x18 || c == 0x1a:
			return i + 1
		case c == escape:
			if i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			return i
		case c == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
			return i + 2
		case c == '\n':
			return start
		}
	}
	return start
}
