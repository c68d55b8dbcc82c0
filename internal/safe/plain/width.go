package plain

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// cut marks shortened text.
const cut = ".."

// Width returns the terminal cells that s takes, counted by grapheme; s is a cleaned line.
func Width(s string) int { return displaywidth.String(s) }

// Truncate returns s when it takes at most cells, else its beginning and "..", together at most cells wide. A wide
// character is never halved. With fewer than 2 cells the mark itself is cut.
func Truncate(s string, cells int) string {
	cells = max(cells, 0)
	if len(s) <= cells && printable(s, false) || Width(s) <= cells {
		return s
	}
	if cells <= len(cut) {
		return cut[:cells]
	}
	used, end := 0, 0
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		if used+g.Width() > cells-len(cut) {
			break
		}
		used += g.Width()
		end += len(g.Value())
	}
	return s[:end] + cut
}

// Pad returns s in exactly cells: with spaces behind it, or truncated; a wide character that does not fit leaves a
// space.
func Pad(s string, cells int) string {
	s = Truncate(s, cells)
	s += strings.Repeat(" ", max(cells-Width(s), 0))
	for Width(s) < cells { // a character that joins with what follows took the first space
		s += " "
	}
	return s
}

// FirstLine returns the first line of s that is not blank, cleaned, without surrounding space, and cut with ".." to
// at most so many characters (runes). It is what a job's task line shows of a prompt.
func FirstLine(s string, runes int) string {
	for len(s) > 0 {
		line := s
		if i := strings.IndexAny(s, "\n\r"); i >= 0 {
			line, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		if line = strings.TrimSpace(Line(line)); line != "" {
			return shorten(line, max(runes, 0))
		}
	}
	return ""
}

func shorten(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	keep := max(runes-len(cut), 0)
	for i := range s {
		if keep == 0 {
			return strings.TrimRight(s[:i], " ") + cut[:min(runes, len(cut))]
		}
		keep--
	}
	return s
}

// Wrap breaks a cleaned line into parts of at most so many cells (at least 2): after a space where there is one in the
// second half of a part, else between two characters. A wide character is never halved, nothing is left out but the
// spaces at a break, and an empty line is one empty part.
func Wrap(s string, cells int) []string {
	cells = max(cells, 2)
	if len(s) <= cells && printable(s, false) {
		return []string{s}
	}
	var parts []string
	start, used := 0, 0
	space, spaceUsed := -1, 0 // behind the last space that may be a break, and the cells up to there
	at := 0
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		w := g.Width()
		if used+w > cells {
			if g.Value() == " " { // the break swallows it
				parts = append(parts, strings.TrimRight(s[start:at], " "))
				at += len(g.Value())
				start, used, space = at, 0, -1
				continue
			}
			end := at
			if space > start && spaceUsed*2 >= cells {
				end = space
			}
			parts = append(parts, strings.TrimRight(s[start:end], " "))
			start, used, space = end, Width(s[end:at]), -1
		}
		at += len(g.Value())
		used += w
		if g.Value() == " " {
			space, spaceUsed = at, used
		}
	}
	return append(parts, s[start:])
}

// Chop breaks a cleaned line into parts of at most so many cells (at least 2) and leaves nothing out, for text that is
// being typed. There is at least one part.
func Chop(s string, cells int) []string {
	cells = max(cells, 2)
	var parts []string
	start, used, at := 0, 0, 0
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		if used+g.Width() > cells {
			parts = append(parts, s[start:at])
			start, used = at, 0
		}
		at += len(g.Value())
		used += g.Width()
	}
	return append(parts, s[start:])
}

// First returns the first character of s as a person sees it, with everything that joins to it; it is empty when s is.
func First(s string) string {
	if g := displaywidth.StringGraphemes(s); g.Next() {
		return g.Value()
	}
	return ""
}

// Last returns the last character of s as a person sees it; it is empty when s is.
func Last(s string) string {
	last := ""
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		last = g.Value()
	}
	return last
}

// Quote quotes a name from outside for a sentence: nothing invisible, at most 80 cells.
func Quote(name string) string { return "\"" + Truncate(Line(name), 80) + "\"" }
