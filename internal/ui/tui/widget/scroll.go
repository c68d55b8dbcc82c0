package widget

import (
	"slices"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
)

// Bounds of what a Scroll keeps; beyond them the oldest lines go.
const (
	maxLines = 3000
	maxBytes = 768 << 10
)

// A Line is a line of a pane before it is broken into rows.
type Line struct {
	Head canvas.Row // stands before the text; further rows begin below the text
	Role canvas.Role
	Text string
}

// A Scroll is a text in a window, broken for the window's width. While it follows, the window stays at the end; else it
// stays where it is, whatever is added.
type Scroll struct {
	lines  []Line
	counts []int // rows of each line
	rows   []canvas.Row
	bytes  int
	width  int
	top    int
	hit    int // row that was found last, from 1
	Follow bool
	Gone   bool // older lines were dropped
	bound  bool // drop what is beyond the bounds
	gone   int  // lines that were dropped
}

// NewScroll is an empty text for a window of this width. A bounded one drops its oldest lines, and follows its end.
func NewScroll(width int, bounded bool) Scroll {
	return Scroll{width: width, bound: bounded, Follow: bounded}
}

// Set replaces the text and keeps the place, as far as there is one.
func (s *Scroll) Set(lines []Line) {
	top, follow, width := s.top, s.Follow, s.width
	*s = Scroll{width: width, Follow: follow}
	s.Add(lines...)
	s.top = min(top, max(len(s.rows)-1, 0))
}

// Add puts lines at the end.
func (s *Scroll) Add(lines ...Line) {
	for _, l := range lines {
		s.lines = append(s.lines, l)
		s.bytes += len(l.Text)
		s.wrap(l)
	}
	drop := 0
	for s.bound && drop < len(s.lines)-1 && (len(s.lines)-drop > maxLines || s.bytes > maxBytes) {
		s.bytes -= len(s.lines[drop].Text)
		drop++
	}
	if drop > 0 {
		rows := 0
		for _, n := range s.counts[:drop] {
			rows += n
		}
		s.lines, s.counts = slices.Delete(s.lines, 0, drop), slices.Delete(s.counts, 0, drop)
		s.rows = slices.Delete(s.rows, 0, rows)
		s.top, s.Gone = max(s.top-rows, 0), true
		s.gone += drop
	}
}

func (s *Scroll) wrap(l Line) {
	rows := canvas.Wrap(l.Head, l.Role, l.Text, max(s.width, 2))
	s.counts = append(s.counts, len(rows))
	s.rows = append(s.rows, rows...)
}

// Mark is the number of the line that is added next. Numbers stay when older lines are dropped.
func (s *Scroll) Mark() int { return s.gone + len(s.lines) }

// Cut takes the lines off from a mark on.
func (s *Scroll) Cut(mark int) {
	keep := max(mark-s.gone, 0)
	if keep >= len(s.lines) {
		return
	}
	rows := 0
	for i := keep; i < len(s.lines); i++ {
		s.bytes -= len(s.lines[i].Text)
		rows += s.counts[i]
	}
	s.lines, s.counts, s.rows = s.lines[:keep], s.counts[:keep], s.rows[:len(s.rows)-rows]
}

// Width is the width of the window.
func (s *Scroll) Width() int { return s.width }

// SetWidth breaks the text anew when the window has another width; the first line shown stays the first.
func (s *Scroll) SetWidth(width int) {
	if width == s.width {
		return
	}
	line, at := 0, 0
	for line < len(s.counts) && at+s.counts[line] <= s.top {
		at += s.counts[line]
		line++
	}
	s.width, s.rows, s.counts = width, nil, nil
	for i, l := range s.lines {
		if i == line {
			s.top = len(s.rows)
		}
		s.wrap(l)
	}
}

// Move turns the window by rows of a window of so many; reaching the end of what follows makes it follow again.
func (s *Scroll) Move(by, height int, follows bool) {
	end := max(len(s.rows)-height, 0)
	s.top = min(max(s.start(height)+by, 0), end)
	s.Follow = follows && s.top == end && by > 0
	if by < 0 {
		s.Follow = false
	}
}

func (s *Scroll) start(height int) int {
	end := max(len(s.rows)-height, 0)
	if s.Follow {
		return end
	}
	return min(s.top, end)
}

// Window is the rows that a window of this height shows.
func (s *Scroll) Window(height int) []canvas.Row {
	at := s.start(height)
	return s.rows[at:min(at+max(height, 0), len(s.rows))]
}

// Below is how many rows are below the window.
func (s *Scroll) Below(height int) int { return max(len(s.rows)-s.start(height)-height, 0) }

// Len is the number of rows.
func (s *Scroll) Len() int { return len(s.rows) }

// Text is all lines, as they would be written to a file.
func (s *Scroll) Text() string {
	var b strings.Builder
	for _, l := range s.lines {
		var head strings.Builder
		for _, part := range l.Head {
			head.WriteString(part.Text)
		}
		b.WriteString(head.String() + plain.Line(l.Text) + "\n")
	}
	return b.String()
}

// Find turns the window to the next row (by 1) or the row before (by -1) that holds the words, in either case of
// letters, and reports whether there is one.
func (s *Scroll) Find(words string, by, height int) bool {
	words = strings.ToLower(words)
	from := s.start(height)
	if s.hit > from && s.hit <= from+height {
		from = s.hit - 1
	} else if by > 0 {
		from--
	}
	for at := from + by; at >= 0 && at < len(s.rows); at += by {
		if strings.Contains(strings.ToLower(s.rows[at].String()), words) {
			s.top, s.hit, s.Follow = at, at+1, false
			return true
		}
	}
	return false
}

// AddText adds a text of many lines. One that goes on joins its first line with the last one that is there.
func (s *Scroll) AddText(role canvas.Role, text string, goesOn bool) {
	if text == "" {
		return
	}
	parts := strings.Split(text, "\n")
	if n := len(s.lines); goesOn && n > 0 {
		last := s.lines[n-1]
		s.rows = s.rows[:len(s.rows)-s.counts[n-1]]
		s.lines, s.counts = s.lines[:n-1], s.counts[:n-1]
		parts[0] = last.Text + parts[0]
	}
	for _, part := range parts {
		s.Add(Line{Role: role, Text: part})
	}
}
