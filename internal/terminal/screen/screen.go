// Package screen is SCV's terminal emulator: the bytes that a program writes go in, and a grid of cells, a cursor,
// modes, a bounded scrollback and the answers to the program's questions come out. It follows ECMA-48, the VT420 and
// xterm where those leave a choice.
//
// It is pure: no file, no process, no clock, no goroutine. A Screen belongs to one goroutine at a time; internal/terminal
// calls it under its own rules. Nothing that a program writes can make it fail, block or grow without bound, and the
// same bytes give the same screen however they are cut. Titles are kept as plain text, links, clipboard requests and
// device strings are consumed and dropped. No escape sequence leaves it: rows are given as spans of printable text.
package screen

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

// Resize gives the screen another size (clamped). Nothing is wrapped anew: columns are cut or added at the right. Rows
// that have to go are blank ones below the cursor, then rows at the top, which the main screen moves into its
// scrollback and takes back when it grows.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clamp(cols, 1, MaxCols), clamp(rows, 1, MaxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	s.mark()
	s.resets = s.rev
	other := s.saved[0].Row // stands for the main screen's cursor while the alternate one shows
	if s.grid == s.main {
		other = s.cur.Row
	}
	moved := s.resizeMain(cols, rows, other)
	s.saved[0].Row += moved
	if s.grid == s.main {
		s.cur.Row += moved
		s.alt.resize(cols, rows, max(0, s.rows-rows-s.alt.blankBelow(s.saved[1].Row)))
	} else {
		drop := max(0, s.rows-rows-s.alt.blankBelow(s.cur.Row))
		s.alt.resize(cols, rows, drop)
		s.cur.Row -= drop
		s.saved[1].Row -= drop
	}
	s.settle(cols, rows)
}

// resizeMain returns by how many rows the content of the main screen moved down.
func (s *Screen) resizeMain(cols, rows, cursorRow int) int {
	drop := 0
	if rows < s.rows {
		drop = max(0, s.rows-rows-s.main.blankBelow(cursorRow))
		for r := range drop {
			s.history.push(&s.main.rows[r], &s.clusters)
		}
		s.main.resize(cols, rows, drop)
		return -drop
	}
	back := min(rows-s.rows, s.history.n)
	s.main.resize(cols, rows, -back)
	for r := back - 1; r >= 0; r-- {
		w := &s.main.rows[r]
		s.history.pop(w, &s.clusters)
	}
	return back
}

// settle brings everything else to the new size.
func (s *Screen) settle(cols, rows int) {
	wider := cols > s.cols
	for c := len(s.tabs); c < cols; c++ {
		s.tabs = append(s.tabs, c%8 == 0)
	}
	s.tabs = s.tabs[:cols]
	s.cols, s.rows = cols, rows
	s.fullMargins()
	if wider && s.cur.Pending {
		s.cur.Pending = false
		s.cur.Col++
	}
	for _, c := range []*cursor{&s.cur, &s.saved[0], &s.saved[1]} {
		c.Row, c.Col = clamp(c.Row, 0, rows-1), clamp(c.Col, 0, cols-1)
		c.Pending = c.Pending && c.Col == cols-1
	}
	s.last.Row, s.last.Col, s.last.Joins = 0, 0, false
}
