package offline

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Characters of a long line that are kept before and behind the place.
const (
	windowBefore = 80
	windowAfter  = 240
)

// A scan looks for one text in the lines of a job and keeps the places with the lines around them. One goroutine at a
// time uses it.
type scan struct {
	needle string // folded
	around int
	keep   int // places
	places []Place
	total  int
	last   []string // lines before the present one, at most around
	open   int      // of places, the first that still takes lines behind it
}

// text takes one text, of one line or more. What it is part of goes on with the next text, until cut.
func (s *scan) text(at Place, text string) {
	if text == "" {
		return
	}
	text = strings.TrimRight(text, "\n")
	if s.open >= len(s.places) && !strings.Contains(fold(text), s.needle) {
		for _, line := range ending(text, s.around) {
			s.remember(line)
		}
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		s.line(at, line)
	}
}

// ending is the last n lines of a text.
func ending(text string, n int) []string {
	from := len(text)
	for i := 0; i < n && from > 0; i++ {
		from = max(strings.LastIndexByte(text[:from], '\n'), 0)
	}
	if n == 0 {
		return nil
	}
	return strings.Split(strings.TrimPrefix(text[from:], "\n"), "\n")
}

func (s *scan) remember(line string) {
	if s.around > 0 {
		s.last = append(s.last, window(line, 0))
		s.last = s.last[max(0, len(s.last)-s.around):]
	}
}

func (s *scan) line(at Place, line string) {
	for i := s.open; i < len(s.places); i++ {
		p := &s.places[i]
		p.After = append(p.After, window(line, 0))
		if len(p.After) == s.around {
			s.open = i + 1
		}
	}
	folded := fold(line)
	if i := strings.Index(folded, s.needle); i >= 0 {
		at.Line = window(line, utf8.RuneCountInString(folded[:i]))
		s.add(at)
	}
	s.remember(line)
}

// add keeps a place, or counts it when enough are kept. A line that repeats is one place: a log says again what the
// reply says.
func (s *scan) add(at Place) {
	if slices.ContainsFunc(s.places, func(p Place) bool { return p.Line == at.Line }) {
		return
	}
	if s.total++; len(s.places) < s.keep {
		at.Before = slices.Clone(s.last)
		s.places = append(s.places, at)
		if s.around == 0 {
			s.open = len(s.places)
		}
	}
}

// cut ends what the texts were part of: no line before it stands around one behind it.
func (s *scan) cut() {
	s.last, s.open = nil, len(s.places)
}

// window is a line, or of a long one the part around a character.
func window(line string, at int) string {
	if len(line) <= windowBefore+windowAfter {
		return line
	}
	chars := []rune(line)
	from, to := max(0, at-windowBefore), min(len(chars), at+windowAfter)
	out := string(chars[from:to])
	if from > 0 {
		out = ".. " + out
	}
	if to < len(chars) {
		out += " .."
	}
	return out
}

// fold makes texts comparable: small letters, and the wide forms of ASCII as ASCII, as Chinese and Japanese texts mix
// them. It keeps the number of characters.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, s)
		}
	}
	return strings.ToLower(s)
}

func foldRune(r rune) rune {
	if r >= 0xff01 && r <= 0xff5e {
		r -= 0xfee0
	}
	return unicode.ToLower(r)
}

// absent hides that a file is not there.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
