package screen

import (
	"slices"

	"scv/internal/wire"
)

// A Mask finds what must not be shown in the text of rows: it returns byte ranges [from, to) in rising order. Rows are
// divided by line feeds, except where a line was too long and goes on.
type Mask func(text string) [][2]int

const (
	historyContext = 20 // scrollback lines that the mask reads above what is shown
	dot            = "•"
)

// A View is what the owner is shown of a Screen: masked rows, each with the generation at which it last changed. Like
// its Screen it belongs to one goroutine at a time. Nothing unmasked is compared or given out.
type View struct {
	s      *Screen
	mask   Mask
	seen   uint64 // revision of the screen at the last Refresh
	gen    uint64
	reset  uint64 // generation of the last change of size or screen
	resets uint64 // the screen's count of these
	rows   []shown
	cursor [2]uint16
	modes  Modes
}

type shown struct {
	spans []wire.AttachSpan
	gen   uint64
}

// NewView returns a view of s. A nil mask hides nothing.
func NewView(s *Screen, mask Mask) *View { return &View{s: s, mask: mask} }

// Generation returns the generation of the last Refresh that found a change. It begins at 1.
func (v *View) Generation() uint64 { return v.gen }

// Refresh reads the screen and reports whether what is shown changed, which raises the generation by one. Without a
// Write or Resize since the last call it does nothing.
func (v *View) Refresh() bool {
	s := v.s
	if v.gen > 0 && v.seen == s.rev {
		return false
	}
	whole := v.gen == 0 || v.resets != s.resets || len(v.rows) != s.rows
	if whole {
		v.rows = make([]shown, s.rows)
	}
	s.hide(v.mask)
	changed := whole
	next := v.gen + 1
	for r := range s.grid.rows {
		w := &s.grid.rows[r]
		if !whole && w.rev <= v.seen {
			continue
		}
		spans := s.spans(w)
		if whole || !slices.Equal(spans, v.rows[r].spans) {
			v.rows[r] = shown{spans, next}
			changed = true
		}
	}
	cursor, modes := [2]uint16{uint16(s.cur.Row), uint16(s.cur.Col)}, s.Modes()
	changed = changed || cursor != v.cursor || modes != v.modes
	v.cursor, v.modes, v.seen, v.resets = cursor, modes, s.rev, s.resets
	if whole {
		v.reset = next
	}
	if changed {
		v.gen = next
	}
	return changed
}

// Page returns what changed after generation after, as of the last Refresh. It is full when after is 0, not known, or
// older than the last change of size or screen. Who the page is for and how the terminal ended is the caller's to fill.
func (v *View) Page(after uint64) wire.AttachPage {
	page := wire.AttachPage{
		Generation: v.gen, Cols: uint16(v.s.cols), Rows: uint16(len(v.rows)),
		Full:              after == 0 || after > v.gen || after < v.reset,
		ApplicationCursor: v.modes.ApplicationCursor, BracketedPaste: v.modes.BracketedPaste,
		Mouse: uint16(v.modes.Mouse), MouseEncoding: uint16(v.modes.MouseEncoding), Focus: v.modes.Focus,
	}
	if v.s.grid == v.s.main {
		page.History = uint16(v.s.history.n)
	}
	if v.modes.CursorVisible {
		cursor := v.cursor
		page.Cursor = &cursor
	}
	for r, row := range v.rows {
		if page.Full && len(row.spans) > 0 || !page.Full && row.gen > after {
			page.Lines = append(page.Lines, wire.AttachRow{Row: uint16(r), Spans: row.spans})
		}
	}
	return page
}

// History returns up to n lines of the scrollback from line first on, masked, numbered from the oldest (0), and how
// many there are. They do not change; lines leave at the oldest end.
func (v *View) History(first, n int) (lines []wire.AttachRow, total int) {
	s := v.s
	total = s.history.n
	first = clamp(first, 0, total)
	last := first + clamp(n, 0, total-first)
	from, to := max(0, first-historyContext), min(total, last+historyContext)
	g := s.recall(from, to)
	s.hideRows(g.refs(), v.mask)
	for i := first; i < last; i++ {
		lines = append(lines, wire.AttachRow{Row: uint16(i), Spans: s.spans(&g.rows[i-from])})
	}
	s.sweep()
	return lines, total
}

// recall decodes scrollback lines. Their clusters go into the screen's table until the caller sweeps it.
func (s *Screen) recall(from, to int) *grid {
	g := newGrid(s.cols, to-from)
	for i := range g.rows {
		decodeRow(s.history.line(from+i), &g.rows[i], &s.clusters)
	}
	return g
}

func (g *grid) refs() []*row {
	all := make([]*row, len(g.rows))
	for r := range g.rows {
		all[r] = &g.rows[r]
	}
	return all
}

// hide marks the cells of the grid that the mask covers; the end of the scrollback is read with it. A mark stays until
// the cell is written again, so a secret does not flicker when what gave it away has gone.
func (s *Screen) hide(mask Mask) {
	if mask == nil {
		return
	}
	var rows []*row
	if s.grid == s.main && s.history.n > 0 {
		rows = s.recall(max(0, s.history.n-historyContext), s.history.n).refs()
	}
	s.hideRows(append(rows, s.grid.refs()...), mask)
	s.sweep() // of what the scrollback's clusters took
}

func (s *Screen) hideRows(rows []*row, mask Mask) {
	if mask == nil {
		return
	}
	for _, loose := range []bool{false, true} {
		if loose && !slices.ContainsFunc(rows, func(w *row) bool { return s.clusters.reachesEdge(w) }) {
			return
		}
		j := s.clusters.join(rows, loose)
		j.mark(mask(string(j.text)), &s.clusters, s.rev)
	}
}

// joined is the text of rows for the mask, and where it came from.
type joined struct {
	text  []byte
	parts []part
}

type part struct {
	row       *row
	from, to  int // columns
	firstByte int
}

// join writes rows as text. Lines that were too long are one line. When it is loose, so are rows whose text reaches the
// last column, or the right border of a box, which is how programs that wrap for themselves look.
func (c *clusters) join(rows []*row, loose bool) joined {
	var j joined
	inBox := false
	for _, w := range rows {
		p := part{row: w, to: w.length(), firstByte: len(j.text)}
		reaches := false
		if loose {
			reaches = c.reachesEdge(w)
			if box, ok := c.boxed(w); ok && (reaches || inBox) {
				p.from, p.to = box.from, box.to
				inBox = reaches
			} else {
				inBox = false
			}
		}
		for _, cell := range w.cells[p.from:p.to] {
			j.text = c.appendText(j.text, cell)
		}
		j.parts = append(j.parts, p)
		if !w.wrapped && !reaches {
			j.text = append(j.text, '\n')
		}
	}
	return j
}

// length is the number of cells up to the last that something was printed in.
func (w *row) length() int {
	n := len(w.cells)
	for n > 0 && w.cells[n-1].Ch&^isProtected == 0 {
		n--
	}
	return n
}

// reachesEdge says whether the text of a row touches the last column, or the right border of a box.
func (c *clusters) reachesEdge(w *row) bool {
	if box, ok := c.boxed(w); ok {
		return box.to >= box.right-1
	}
	last := w.cells[len(w.cells)-1]
	return !last.blank()
}

type box struct{ from, to, right int }

// boxed finds the text of a row between the two borders of a box, without blanks at the right and one at the left.
func (c *clusters) boxed(w *row) (box, bool) {
	right := w.length() - 1
	for right > 0 && w.cells[right].blank() {
		right--
	}
	left := 0
	for left < right && w.cells[left].blank() {
		left++
	}
	if left >= right || !border(w.cells[left]) || !border(w.cells[right]) {
		return box{}, false
	}
	b := box{from: left + 1, to: right, right: right}
	if w.cells[b.from].blank() && b.from < right {
		b.from++
	}
	for b.to > b.from && w.cells[b.to-1].blank() {
		b.to--
	}
	return b, b.to > b.from && !border(w.cells[b.from])
}

func border(p cell) bool {
	g := p.glyph()
	return p.Ch&isCluster == 0 && (g >= 0x2500 && g <= 0x257f || g == '|')
}

// mark masks the cells whose text lies in one of the ranges.
func (j *joined) mark(ranges [][2]int, c *clusters, rev uint64) {
	if len(ranges) == 0 {
		return
	}
	var buf []byte
	for _, p := range j.parts {
		at := p.firstByte
		for i := p.from; i < p.to; i++ {
			q := &p.row.cells[i]
			buf = c.appendText(buf[:0], *q)
			end := at + len(buf)
			for len(ranges) > 0 && ranges[0][1] <= at {
				ranges = ranges[1:]
			}
			if len(ranges) > 0 && end > at && ranges[0][0] < end && q.Ch&isMasked == 0 && !q.blank() {
				q.Ch |= isMasked
				p.row.rev = rev
			}
			at = end
		}
	}
}

// spans gives a row as runs of one style, without what shows nothing at its end. Text that SGR 8 hides is blank.
func (s *Screen) spans(w *row) []wire.AttachSpan {
	end := len(w.cells)
	for end > 0 && !visible(w.cells[end-1]) {
		end--
	}
	var out []wire.AttachSpan
	var text []byte
	var st style
	flush := func() {
		if len(text) > 0 {
			out = append(out, span(string(text), st))
		}
		text = text[:0]
	}
	for _, p := range w.cells[:end] {
		if p.St != st {
			flush()
			st = p.St
		}
		odd := p.Ch&(isCluster|isMasked) == isCluster && p.St.Fg&hidden == 0 && s.clusters.odd(p)
		if odd {
			flush()
		}
		switch {
		case p.Ch&isMasked != 0 && p.Ch&wide != 0:
			text = append(text, dot+dot...)
		case p.Ch&isMasked != 0:
			text = append(text, dot...)
		case p.St.Fg&hidden != 0:
			text = append(text, ' ')
		default:
			text = s.clusters.appendText(text, p)
		}
		if odd {
			flush()
			out[len(out)-1].Cells = uint16(cellWidth(p))
		}
	}
	flush()
	return out
}

// odd says whether a cluster's width is not the sum of its characters' widths. Such a cluster stands in a span of its
// own, so that a client that counts characters is wrong in that span alone.
func (c *clusters) odd(p cell) bool {
	sum := 0
	for _, r := range c.text[p.Ch&charMask] {
		sum += runeWidth(r)
	}
	return sum != cellWidth(p)
}

// visible says whether a cell shows anything on a terminal of default colours.
func visible(p cell) bool {
	return !p.blank() || p.St.Fg&(inverse|strike) != 0 || p.St.Bg&(colourMask|lineOnBlank) != 0
}

func span(text string, st style) wire.AttachSpan {
	return wire.AttachSpan{
		Text: text, Fg: colour(st.Fg), Bg: colour(st.Bg),
		Bold: st.Fg&bold != 0, Italic: st.Fg&italic != 0, Underline: st.Bg&underMask != 0, Inverse: st.Fg&inverse != 0,
	}
}
