// Package widget holds the two things that a person writes in and reads in: a text that is being typed, and a text in a
// window that scrolls. Both are data; nothing here knows a terminal.
package widget

import (
	"strings"
	"unicode/utf8"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// An Editor is a text that is being typed, with its cursor between two characters as a person sees them. The text is kept
// as it was typed or pasted, without control characters; what is shown of it is cleaned once more.
type Editor struct {
	before, after string
	oneLine       bool
	bound         int // bytes; 0 is a prompt's
}

// NewEditor holds a text with the cursor at its end.
func NewEditor(text string, oneLine bool) Editor {
	e := Editor{oneLine: oneLine}
	e.Insert(text)
	return e
}

// Text is the whole.
func (e *Editor) Text() string { return e.before + e.after }

// Insert adds text at the cursor, and reports false when it would be too long: then nothing was added.
func (e *Editor) Insert(s string) bool {
	s = typed(s, e.oneLine)
	bound := e.bound
	if bound == 0 {
		bound = wire.MaxPromptBytes
	}
	if len(e.before)+len(e.after)+len(s) > bound {
		return false
	}
	e.before += s
	return true
}

// typed is a text without what cannot be typed: control characters but line breaks and tabs, and broken UTF-8.
func typed(s string, oneLine bool) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && oneLine:
			return ' '
		case r == '\n' || r == '\t':
			return r
		case r < 0x20 || r >= 0x7f && r <= 0x9f || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
}

// Press moves or changes; text is what an unnamed key adds. It reports false when that would be too long.
func (e *Editor) Press(name, text string) (fits bool) {
	switch name {
	case "left", "ctrl-b":
		e.move(-1)
	case "right", "ctrl-f":
		e.move(1)
	case "home", "ctrl-a":
		e.jump(strings.LastIndexByte(e.before, '\n') + 1)
	case "end", "ctrl-e":
		if i := strings.IndexByte(e.after, '\n'); i >= 0 {
			e.jump(len(e.before) + i)
		} else {
			e.jump(len(e.Text()))
		}
	case "backspace":
		last := plain.Last(e.before[strings.LastIndexByte(e.before, '\n')+1:])
		if last == "" && e.before != "" {
			last = "\n"
		}
		e.before = strings.TrimSuffix(e.before, last)
	case "delete", "ctrl-d":
		e.after = strings.TrimPrefix(e.after, plain.First(e.after))
	case "ctrl-u":
		e.before = e.before[:strings.LastIndexByte(e.before, '\n')+1]
	case "ctrl-w":
		kept := strings.TrimRight(e.before, " ")
		e.before = kept[:strings.LastIndexAny(kept, " \n")+1]
	default:
		return e.Insert(text)
	}
	return true
}

func (e *Editor) jump(at int) {
	all := e.Text()
	e.before, e.after = all[:at], all[at:]
}

func (e *Editor) move(by int) {
	if by > 0 {
		e.jump(len(e.before) + len(plain.First(e.after)))
		return
	}
	if last := plain.Last(e.before[strings.LastIndexByte(e.before, '\n')+1:]); last != "" || e.before == "" {
		e.jump(len(e.before) - len(last))
	} else {
		e.jump(len(e.before) - 1)
	}
}

// Lines breaks the text for so many cells, and says in which row and cell the cursor stands.
func (e *Editor) Lines(cells int) (rows []string, row, col int) {
	cells = max(cells, 2)
	line := strings.LastIndexByte(e.before, '\n') + 1
	for i, text := range strings.Split(e.Text(), "\n") {
		parts := plain.Chop(plain.Line(text), cells)
		if i == strings.Count(e.before, "\n") {
			head := plain.Chop(plain.Line(e.before[line:]), cells)
			row, col = len(rows)+len(head)-1, plain.Width(head[len(head)-1])
			if col == cells { // behind the last cell of a row is before the first of the next
				row, col = row+1, 0
				if len(head) == len(parts) {
					parts = append(parts, "")
				}
			}
		}
		rows = append(rows, parts...)
	}
	return rows, row, col
}
