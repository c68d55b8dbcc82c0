package offline

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestFinderNeedsToKnowTheseLetters: what a finder takes for the only way of writing a character is that in all of Unicode.
func TestFinderNeedsToKnowTheseLetters(t *testing.T) {
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		to := foldRune(r)
		switch {
		case to == r || !utf8.ValidRune(r):
		case to < utf8.RuneSelf && !odd([]byte(string(r))):
			t.Errorf("%U is written for %q and is not odd", r, to)
		case to >= utf8.RuneSelf && unicode.SimpleFold(to) == to:
			t.Errorf("%U is written for %U, which counts as the only way", r, to)
		}
	}
}

// FuzzFinder: a finder says what folding everything would say.
func FuzzFinder(f *testing.F) {
	f.Add("retry", "a Retry b")
	f.Add("重试", "修复重试测试")
	f.Add("重试 x", "修复重试 X测试")
	f.Add("kiss", "a \u212aI\u0130S")
	f.Add("retry", "ＲＥＴＲＹ")
	f.Add("é", "É")
	f.Add("a", "\xff\xefa")
	f.Fuzz(func(t *testing.T, needle, data string) {
		needle = fold(needle)
		find := newFinder(needle)
		if got, want := find.in([]byte(data)), strings.Contains(fold(data), needle); got != want && utf8.ValidString(needle) {
			t.Errorf("%q in %q: %t, want %t", needle, data, got, want)
		}
	})
}
