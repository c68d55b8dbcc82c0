package offline

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A finder looks for a folded text in whole files, most of which do not have it: without folding them where that can be
// done, since folding copies them.
type finder struct {
	text  string
	exact bool // no character of the text can be written in another way
	ascii bool
	rare  int // place in the text of the byte that other texts have least often
}

func newFinder(folded string) finder {
	f := finder{text: folded, exact: folded != "", ascii: folded != ""}
	for _, r := range folded {
		f.ascii = f.ascii && r < utf8.RuneSelf
		f.exact = f.exact && r >= utf8.RuneSelf && r != utf8.RuneError && unicode.SimpleFold(r) == r
	}
	const often = " etaoinsrhldcumfpgwybvkxjqz" // most of all first
	best := -1
	for i := range len(folded) {
		at := strings.IndexByte(often, folded[i])
		if at < 0 {
			at = len(often)
		}
		if at > best {
			f.rare, best = i, at
		}
	}
	return f
}

// in reports whether data has the text, however its letters are written.
func (f *finder) in(data []byte) bool {
	switch {
	case f.exact:
		return bytes.Contains(data, []byte(f.text))
	case f.ascii && !odd(data):
		return f.plainly(data)
	}
	return strings.Contains(fold(string(data)), f.text)
}

// odd reports whether there may be characters that fold to ASCII and are none: wide forms, the Kelvin sign and the dotted I.
func odd(data []byte) bool {
	for _, sign := range []string{"\xef\xbc", "\xef\xbd", "\u212a", "\u0130"} {
		if bytes.Contains(data, []byte(sign)) {
			return true
		}
	}
	return false
}

// plainly looks at the places of the rarest byte, small and capital.
func (f *finder) plainly(data []byte) bool {
	low := f.text[f.rare]
	signs := []byte{low}
	if low >= 'a' && low <= 'z' {
		signs = append(signs, low-'a'+'A')
	}
	for _, sign := range signs {
		for at := 0; ; at++ {
			i := bytes.IndexByte(data[at:], sign)
			if i < 0 {
				break
			}
			at += i
			if f.stands(data, at-f.rare) {
				return true
			}
		}
	}
	return false
}

// stands reports whether the text begins at a place of data, with letters of either size.
func (f *finder) stands(data []byte, from int) bool {
	if from < 0 || from+len(f.text) > len(data) {
		return false
	}
	for i := range len(f.text) {
		c := data[from+i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != f.text[i] {
			return false
		}
	}
	return true
}
