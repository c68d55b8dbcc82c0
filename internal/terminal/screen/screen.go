// Package screen is SCV's terminal emulator: the bytes that a program writes go in, and a grid of cells, a cursor,
// modes, a bounded scrollback and the answers to the program's questions come out. It follows ECMA-48, the VT420 and
// xterm where those leave a choice.
//
// It is pure: no file, no process, no clock, no goroutine. A Screen belongs to one goroutine at a time; internal/terminal
// calls it under its own rules. Nothing that a program writes can make it fail, block or grow without bound, and the
// same bytes give the same screen however they are cut. Titles are kept as plain text, links, clipboard requests and
// device strings are consumed and dropped. No escape sequence leaves it: rows are given as spans of printable text.
package screen

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

const (
	// MaxCols and MaxRows bound the size of a screen, in cells; another size is clamped.
	MaxCols = 1000
	MaxRows = 500
	// MaxHistory bounds the scrollback, in lines; historyBytes bounds it in memory as well.
	MaxHistory   = 1000
	historyBytes = 1 << 20
	maxTitle     = 256 // characters
)

// A Screen is one terminal. It is built in layers, each of which is one job and knows only those below it: surface (the
// grids, the cursor and where it may go), editor (erasing, moving text, modes), writer (printing), interpreter (from
// bytes to functions).
type Screen struct{ interpreter }

// New returns a blank screen. Sizes are clamped to 1 and the maximum. Answers to queries are off until Answer.
func New(cols, rows int) *Screen {
	s := &Screen{}
	s.cols, s.rows = clamp(cols, 1, MaxCols), clamp(rows, 1, MaxRows)
	s.history.limit = MaxHistory
	s.main = newGrid(s.cols, s.rows)
	s.alt = newGrid(s.cols, s.rows)
	s.answer.theme = DarkTheme()
	s.reset()
	return s
}

// Write takes bytes of the program. It never fails; what is incomplete at their end waits for the rest.
func (s *Screen) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.mark()
	s.feed(p)
	return len(p), nil
}

// Size returns the columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Cursor returns the cursor's place, from 0. Waiting to wrap, it is in the last column.
func (s *Screen) Cursor() (row, col int) { return s.cur.Row, s.cur.Col }

// Title returns the title that the program set (OSC 0 or 2), at most 256 printable characters. It is not masked.
func (s *Screen) Title() string { return s.title }

// Text returns what row shows as characters, with its blanks up to the last column.
func (s *Screen) Text(row int) string {
	if row < 0 || row >= s.rows {
		return ""
	}
	var b []byte
	for _, c := range s.grid.rows[row].cells {
		b = s.clusters.appendText(b, c)
	}
	return string(b)
}

// Wrapped reports whether the text of row goes on in the next one because the line was too long.
func (s *Screen) Wrapped(row int) bool {
	return row >= 0 && row < s.rows && s.grid.rows[row].wrapped
}

// maxAnswers bounds what waits to be sent to the program, in bytes; a program that asks and never reads loses answers.
const maxAnswers = 4096

// deviceAttributes says: a VT220 with colours. Programs take it as the end of a row of questions.
const deviceAttributes = "\x1b[?62;22c"

// A Theme is the colours that a program is told when it asks for them.
type Theme struct {
	Foreground, Background, Cursor [3]uint8
	Palette                        [16][3]uint8
}

// DarkTheme is what programs are told while no client gave its own colours.
func DarkTheme() Theme {
	return Theme{
		Foreground: [3]uint8{0xd8, 0xd8, 0xd8}, Background: [3]uint8{0x18, 0x18, 0x18}, Cursor: [3]uint8{0xd8, 0xd8, 0xd8},
		Palette: [16][3]uint8{
			{0, 0, 0},
			{0xcd, 0, 0},
			{0, 0xcd, 0},
			{0xcd, 0xcd, 0},
			{0, 0, 0xee},
			{0xcd, 0, 0xcd},
			{0, 0xcd, 0xcd},
			{0xe5, 0xe5, 0xe5},
			{0x7f, 0x7f, 0x7f},
			{0xff, 0, 0},
			{0, 0xff, 0},
			{0xff, 0xff, 0},
			{0x5c, 0x5c, 0xff},
			{0xff, 0, 0xff},
			{0, 0xff, 0xff},
			{0xff, 0xff, 0xff},
		},
	}
}

// answers are replies to the program's questions, in the order of the questions. All are fixed or numbers of ours:
// nothing that a program wrote is ever sent back to it.
type answers struct {
	on    bool
	theme Theme
	out   []byte
}

func (a *answers) add(reply string) {
	if a.on && len(a.out)+len(reply) <= maxAnswers {
		a.out = append(a.out, reply...)
	}
}

// Answer switches answers to queries. They stay off while old output is played again, or old questions would be typed
// into the program.
func (s *Screen) Answer(on bool) { s.answer.on = on }

// SetTheme gives the colours that programs are told.
func (s *Screen) SetTheme(t Theme) { s.answer.theme = t }

// Answers takes what is to be sent to the program, or nil; at most 4 KiB wait.
func (s *Screen) Answers() []byte {
	out := s.answer.out
	s.answer.out = nil
	return out
}

// status is DSR: that all is well, and where the cursor is.
func (s *interpreter) status(which int, private bool) {
	row, col := s.origin()
	row, col = max(s.cur.Row-row, 0)+1, max(s.cur.Col-col, 0)+1 // a restored cursor may be outside the margins
	switch {
	case which == 5 && !private:
		s.answer.add("\x1b[0n")
	case which == 6 && private:
		s.answer.add(fmt.Sprintf("\x1b[?%d;%d;1R", row, col))
	case which == 6:
		s.answer.add(fmt.Sprintf("\x1b[%d;%dR", row, col))
	}
}

// reportMode is DECRQM of a private mode. Few modes are owned up to: a program that is told of one uses it.
func (s *interpreter) reportMode(n int) {
	state := 0
	switch n {
	case 1, 25, 1049, 2004, 2026:
		state = 2
		if s.modes.has(privateMode(n)) {
			state = 1
		}
	case 2027: // grapheme clusters
		state = 3
	}
	s.answer.mode(n, true, state)
}

func (a *answers) mode(n int, private bool, state int) {
	prefix := ""
	if private {
		prefix = "?"
	}
	a.add(fmt.Sprintf("\x1b[%s%d;%d$y", prefix, n, state))
}

// command executes an OSC; end is how the program ended it, and an answer ends the same way.
func (s *interpreter) command(end string) {
	p := &s.parse
	p.Ending = false
	if p.Long {
		return
	}
	number, rest, _ := strings.Cut(string(p.Body), ";")
	switch number {
	case "0", "2":
		s.title = plainTitle(rest)
	case "4":
		s.answer.palette(rest, end)
	case "10", "11", "12":
		which, _ := strconv.Atoi(number)
		for i, v := range strings.Split(rest, ";") {
			if v == "?" {
				s.answer.special(which+i, end)
			}
		}
	}
}

func (a *answers) special(which int, end string) {
	t := a.theme
	switch which {
	case 10:
		a.colour("10", t.Foreground, end)
	case 11:
		a.colour("11", t.Background, end)
	case 12:
		a.colour("12", t.Cursor, end)
	}
}

func (a *answers) palette(rest, end string) {
	parts := strings.Split(rest, ";")
	for i := 0; i+1 < len(parts); i += 2 {
		n, err := strconv.ParseUint(parts[i], 10, 8)
		if err == nil && parts[i+1] == "?" {
			a.colour("4;"+strconv.Itoa(int(n)), a.theme.colour(int(n)), end)
		}
	}
}

func (a *answers) colour(name string, c [3]uint8, end string) {
	a.add(fmt.Sprintf("\x1b]%s;rgb:%02x%02x/%02x%02x/%02x%02x%s", name, c[0], c[0], c[1], c[1], c[2], c[2], end))
}

// colour is palette entry n: the theme's, xterm's colour cube or its grey ramp.
func (t Theme) colour(n int) [3]uint8 {
	level := func(i int) uint8 {
		if i == 0 {
			return 0
		}
		return uint8(55 + 40*i)
	}
	switch {
	case n < 16:
		return t.Palette[n]
	case n < 232:
		n -= 16
		return [3]uint8{level(n / 36), level(n / 6 % 6), level(n % 6)}
	}
	g := uint8(8 + 10*(n-232))
	return [3]uint8{g, g, g}
}

// plainTitle keeps what can be shown of a title.
func plainTitle(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if !unicode.IsPrint(r) {
			continue
		}
		if n++; n > maxTitle {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
