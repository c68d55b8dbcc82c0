package redact

import (
	"strings"
	"unicode/utf8"
)

// view is a line as a reader sees it: without escape sequences and characters that show nothing, so that a colour
// change or a zero-width space inside a value does not hide it. at maps each byte of text, and its end, to the line;
// nil when nothing was taken out.
type view struct {
	text  string
	at    []int
	inner []inner
	extra []span // masks of the inner texts, in bytes of the line
}

// inner is a text inside a sequence (a title, a link target), which is scanned on its own.
type inner struct {
	text string
	at   int
}

func newView(line string) view {
	first := firstHidden(line)
	if first < 0 {
		return view{text: line}
	}
	v := view{at: make([]int, 0, len(line)+1)}
	var b strings.Builder
	b.Grow(len(line))
	for i := 0; i < len(line); {
		if i >= first {
			if n, from, to := hiddenAt(line[i:]); n > 0 {
				if to > from {
					v.inner = append(v.inner, inner{line[i+from : i+to], i + from})
				}
				i += n
				continue
			}
		}
		b.WriteByte(line[i])
		v.at = append(v.at, i)
		i++
	}
	v.at = append(v.at, len(line))
	v.text = b.String()
	return v
}

// raw and rawEnd give the place in the line of a byte of the view and of the end of a stretch of it.
func (v *view) raw(i int) int {
	if v.at == nil {
		return i
	}
	return v.at[i]
}

func (v *view) rawEnd(i int) int {
	if v.at == nil {
		return i
	}
	if i == 0 {
		return v.at[0]
	}
	return v.at[i-1] + 1
}

// rawSpans moves spans from the view to the line; what was taken out inside one is masked with it.
func (v *view) rawSpans(spans []span) []span {
	if v.at == nil {
		return spans
	}
	f := finding{}
	for _, s := range spans {
		f.add(v.raw(s.from), v.rawEnd(s.to), s.kind)
	}
	f.spans = append(f.spans, v.extra...)
	f.settle()
	return f.spans
}

// scanInner masks the texts inside sequences.
func (v *view) scanInner(m *Masker) {
	for _, in := range v.inner {
		f := finding{}
		scan(m.rules, in.text, &f, context{}, &context{})
		m.known.find(in.text, &f)
		for _, s := range f.spans {
			v.extra = append(v.extra, span{s.from + in.at, s.to + in.at, s.kind})
		}
	}
}

// firstHidden returns where the first byte lies that may begin something to take out, or -1.
func firstHidden(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c < 0x7f || c == '\t' || c == '\r' {
			continue
		}
		if c < 0x80 {
			return i
		}
		switch c {
		case 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3:
			if n, _, _ := hiddenAt(s[i:]); n > 0 {
				return i
			}
		}
	}
	return -1
}

// hiddenAt returns how many bytes at the start of s a reader does not see, and where in them a text lies that the
// terminal would take (a link target, a title).
func hiddenAt(s string) (n, from, to int) {
	c := s[0]
	switch {
	case c == 0x1b:
		if len(s) == 1 {
			return 1, 0, 0
		}
		return sequenceAt(s, 2, s[1])
	case c < 0x20 && c != '\t' && c != '\r', c == 0x7f:
		return 1, 0, 0
	case c < 0x80:
		return 0, 0, 0
	}
	r, size := utf8.DecodeRuneInString(s)
	if r >= 0x80 && r <= 0x9f && size == 2 {
		return sequenceAt(s, 2, byte(r-0x40))
	}
	if unseen(r) {
		return size, 0, 0
	}
	return 0, 0, 0
}

// sequenceAt measures a sequence whose opening of i bytes ends with intro.
func sequenceAt(s string, i int, intro byte) (n, from, to int) {
	switch intro {
	case '[':
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
			i++
		}
		if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
			i++
		}
	case ']', 'P', 'X', '^', '_':
		for j := i; j < len(s); j++ {
			switch {
			case s[j] == 0x07 || s[j] == 0x18 || s[j] == 0x1a:
				return j + 1, i, j
			case strings.HasPrefix(s[j:], "\x1b\\") || strings.HasPrefix(s[j:], "\u009c"):
				return j + 2, i, j
			case s[j] == 0x1b || s[j] == 0xc2 && j+1 < len(s) && s[j+1] < 0xa0:
				return j, i, j
			}
		}
	default:
		if intro >= 0x20 && intro <= 0x2f && i < len(s) { // ESC ( B
			i++
		}
	}
	return i, 0, 0
}

// unseen says whether r shows nothing or only turns the text: Unicode's default-ignorable and bidi characters.
func unseen(r rune) bool {
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

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool { return isLower(c|0x20) || isDigit(c) }
func isWord(c byte) bool  { return isAlnum(c) || c == '_' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func base64Byte(c byte) bool { return isAlnum(c) || c == '+' || c == '/' || c == '=' }

// tokenByte says whether c may be part of an opaque token of any kind.
func tokenByte(c byte) bool {
	return isAlnum(c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '/' || c == '=' || c == '~' || c == '%'
}

func digitsOnly(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// counts sums up the characters of a value.
type counts struct {
	lower, upper, digits, other int
	hex                         int // hexadecimal digits, of one letter case
	changes                     int // neighbours of another class, not counting a capital before its word
	run                         int // longest run of lower-case letters
	words                       int // letters in such runs of 4 and more
	groups                      int // groups of digits
	distinct                    int
}

// count looks at the first 512 bytes of s, which is enough to judge any value.
func count(s string) counts {
	var c counts
	var seen [4]uint64
	last, run, hexLow, hexUp := byte(0), 0, 0, 0
	for i := 0; i < len(s) && i < 512; i++ {
		b, class := s[i], byte('o')
		switch {
		case isLower(b):
			c.lower, class = c.lower+1, 'l'
			hexLow += bit(b <= 'f')
		case isUpper(b):
			c.upper, class = c.upper+1, 'u'
			hexUp += bit(b <= 'F')
		case isDigit(b):
			c.digits, class = c.digits+1, 'd'
			c.groups += bit(last != 'd')
		default:
			c.other++
		}
		if class == 'l' {
			run++
			c.run = max(c.run, run)
			if run == 4 {
				c.words += 4
			} else if run > 4 {
				c.words++
			}
		} else {
			run = 0
		}
		if last != 0 && class != last && class != 'o' && last != 'o' && !(last == 'u' && class == 'l') {
			c.changes++
		}
		if seen[b>>6]&(1<<(b&63)) == 0 {
			seen[b>>6] |= 1 << (b & 63)
			c.distinct++
		}
		last = class
	}
	c.hex = c.digits + max(hexLow, hexUp)
	return c
}

// identifier says whether text of n bytes is made of words, as a person would name something, with few numbers.
func (c counts) identifier(n int) bool {
	return c.words*5 >= min(n, 512)*2 && c.groups <= 3
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
