package config

import (
	"slices"
	"strings"
)

// An entry is one key = value of a file, with the place of its value in bytes.
type entry struct {
	path       []string
	line       int // from 1
	start, end int // of the value, without a comment behind it
	after      int // of the first byte of the next line
}

// A header is one [table] of a file.
type header struct {
	path  []string
	line  int
	after int
}

// A layout is where things stand in a TOML text that the decoder has accepted. It is what lets a problem name its
// line and an edit keep comments; the values themselves come from the decoder.
type layout struct {
	entries []entry
	headers []header
}

// scan finds the tables and keys of a valid TOML text.
func scan(text string) layout {
	s := scanner{text: text, line: 1}
	var out layout
	var table []string
	for s.at < len(s.text) {
		s.space()
		switch {
		case s.at >= len(s.text):
		case s.text[s.at] == '\n':
			s.next()
		case s.text[s.at] == '#', s.text[s.at] == '\r':
			s.skipLine()
		case s.text[s.at] == '[':
			line := s.line
			for s.at < len(s.text) && s.text[s.at] == '[' {
				s.next()
			}
			table = s.keys(']')
			s.skipLine()
			out.headers = append(out.headers, header{path: table, line: line, after: s.at})
		default:
			e := entry{line: s.line}
			e.path = slices.Concat(table, s.keys('='))
			s.next()
			s.space()
			e.start = s.at
			s.value()
			e.end = s.at
			s.skipLine()
			e.after = s.at
			out.entries = append(out.entries, e)
		}
	}
	return out
}

// lineOf is the line that sets a dotted key, or the nearest thing above it; 0 for none.
func (l *layout) lineOf(key string) int {
	for at := key; at != ""; {
		for i := range l.entries {
			if strings.Join(l.entries[i].path, ".") == at {
				return l.entries[i].line
			}
		}
		for i := range l.headers {
			if strings.Join(l.headers[i].path, ".") == at {
				return l.headers[i].line
			}
		}
		cut := strings.LastIndexByte(at, '.')
		if cut < 0 {
			// A table that is only made by the headers below it.
			for i := range l.headers {
				if l.headers[i].path[0] == at {
					return l.headers[i].line
				}
			}
			return 0
		}
		at = at[:cut]
	}
	return 0
}

type scanner struct {
	text string
	at   int
	line int
}

func (s *scanner) next() {
	if s.at < len(s.text) {
		if s.text[s.at] == '\n' {
			s.line++
		}
		s.at++
	}
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

func (s *scanner) skipLine() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		s.at++
	}
	s.next()
}

// keys reads a dotted key up to the byte that ends it.
func (s *scanner) keys(end byte) []string {
	var out []string
	for s.at < len(s.text) && s.text[s.at] != end && s.text[s.at] != '\n' {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '.':
			s.at++
		case '"', '\'':
			from := s.at + 1
			s.quoted()
			out = append(out, s.text[from:max(from, s.at-1)])
		default:
			from := s.at
			for s.at < len(s.text) && !strings.ContainsRune(" \t.\n", rune(s.text[s.at])) && s.text[s.at] != end {
				s.at++
			}
			out = append(out, s.text[from:s.at])
		}
	}
	return out
}

// value steps over one value: texts, lists and tables over several lines included, a comment behind it not.
func (s *scanner) value() {
	depth, last := 0, s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '"' || c == '\'':
			s.quoted()
			last = s.at
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == '#':
			if depth == 0 {
				s.at = last
				return
			}
			for s.at < len(s.text) && s.text[s.at] != '\n' {
				s.at++
			}
			continue
		case c == '\n' && depth == 0:
			s.at = last
			return
		}
		s.next()
		if c != ' ' && c != '\t' && c != '\r' {
			last = s.at
		}
	}
	s.at = last
}

// quoted steps over a text in quotes of any of the four kinds.
func (s *scanner) quoted() {
	quote := s.text[s.at : s.at+1]
	end := quote
	if strings.HasPrefix(s.text[s.at:], strings.Repeat(quote, 3)) {
		end = strings.Repeat(quote, 3)
	}
	for range end {
		s.next()
	}
	for s.at < len(s.text) {
		switch {
		case s.text[s.at] == '\\' && quote == `"`:
			s.next()
			s.next()
		case strings.HasPrefix(s.text[s.at:], end):
			for range end {
				s.next()
			}
			// Up to two more quotes belong to the text in front of the end.
			for len(end) == 3 && s.at < len(s.text) && s.text[s.at:s.at+1] == quote {
				s.next()
			}
			return
		default:
			s.next()
		}
	}
}
