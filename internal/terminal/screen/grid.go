package screen

import "slices"

// lineSize is a row's DECDWL or DECDHL attribute: every size but single halves the columns that a row has.
const (
	lineSingle = 0
	lineWide   = 1
	lineTop    = 2
	lineBottom = 3
)

// A row is one line of a grid.
type row struct {
	cells   []cell
	rev     uint64 // of the write that last changed it, or its place
	wrapped bool   // the text goes on in the next row: the line was too long
	size    uint8
}

// A grid is the cells of one screen, main or alternate. Its methods keep one rule: a wide character has both halves or
// is blank. Callers pass coordinates that are inside.
type grid struct {
	rows []row
	cols int
	rev  uint64 // given to each row that changes
}

// A rect is a part of a grid; right and bottom are inside it.
type rect struct{ top, left, bottom, right int }

func (b rect) empty() bool { return b.top > b.bottom || b.left > b.right }

func newGrid(cols, rows int) *grid {
	g := &grid{cols: cols, rows: make([]row, rows)}
	all := make([]cell, cols*rows)
	for r := range g.rows {
		g.rows[r].cells = all[r*cols : (r+1)*cols : (r+1)*cols]
	}
	return g
}

// edit returns a row whose cells from left to before right are about to change: halves of wide characters that stick
// out become blanks.
func (g *grid) edit(r, left, right int) *row {
	w := &g.rows[r]
	w.rev = g.rev
	w.split(left)
	w.split(right)
	if right >= g.cols {
		w.wrapped = false
	}
	return w
}

// split blanks a wide character that has its right half at column c.
func (w *row) split(c int) {
	if c > 0 && c < len(w.cells) && w.cells[c].Ch&tail != 0 {
		w.cells[c-1].Ch &= isProtected
		w.cells[c].Ch &= isProtected
	}
}

// erase fills the cells from left to before right; those that keep says are left alone.
func (g *grid) erase(r, left, right int, fill cell, keep func(cell) bool) {
	if left >= right {
		return
	}
	w := g.edit(r, left, right)
	part := w.cells[left:right]
	if keep == nil {
		for i := range part {
			part[i] = fill
		}
		return
	}
	for i := range part {
		if !keep(part[i]) {
			part[i] = fill
		}
	}
}

// clear erases whole rows, with their size.
func (g *grid) clear(top, bottom int, fill cell) {
	for r := top; r <= bottom; r++ {
		g.erase(r, 0, g.cols, fill, nil)
		g.rows[r].size = lineSingle
	}
}

// shift moves the cells of a row between left and right: n > 0 to the right, n < 0 to the left; what falls out is lost.
func (g *grid) shift(r, left, right, n int, fill cell) {
	width := right - left + 1
	n = max(min(n, width), -width)
	w := g.edit(r, left, right+1)
	part := w.cells[left : right+1]
	if n > 0 {
		w.split(right + 1 - n)
		copy(part[n:], part[:width-n])
		paint(part[:n], fill)
		return
	}
	w.split(left - n)
	copy(part, part[-n:])
	paint(part[width+n:], fill)
}

func paint(part []cell, fill cell) {
	for i := range part {
		part[i] = fill
	}
}

// scroll moves the rows of b: n > 0 up, n < 0 down. Rows that come in are filled.
func (g *grid) scroll(b rect, n int, fill cell) {
	height := b.bottom - b.top + 1
	n = max(min(n, height), -height)
	if b.empty() || n == 0 {
		return
	}
	if b.left == 0 && b.right == g.cols-1 {
		g.rotate(b.top, b.bottom, n, fill)
		return
	}
	for r := b.top; r <= b.bottom; r++ {
		g.edit(r, b.left, b.right+1)
	}
	if n > 0 {
		for r := b.top; r+n <= b.bottom; r++ {
			copy(g.rows[r].cells[b.left:b.right+1], g.rows[r+n].cells[b.left:b.right+1])
		}
		g.fill(rect{b.bottom - n + 1, b.left, b.bottom, b.right}, fill, nil)
		return
	}
	for r := b.bottom; r+n >= b.top; r-- {
		copy(g.rows[r].cells[b.left:b.right+1], g.rows[r+n].cells[b.left:b.right+1])
	}
	g.fill(rect{b.top, b.left, b.top - n - 1, b.right}, fill, nil)
}

// rotate scrolls whole rows, whose cells change place without a copy.
func (g *grid) rotate(top, bottom, n int, fill cell) {
	part := g.rows[top : bottom+1]
	k := n
	if n < 0 {
		k = len(part) + n
	}
	if k == 1 { // by far the commonest
		first := part[0]
		copy(part, part[1:])
		part[len(part)-1] = first
	} else {
		slices.Reverse(part[:k])
		slices.Reverse(part[k:])
		slices.Reverse(part)
	}
	for r := range part {
		part[r].rev = g.rev
	}
	if n > 0 {
		g.clear(bottom-n+1, bottom, fill)
	} else {
		g.clear(top, top-n-1, fill)
	}
}

// fill erases a rectangle.
func (g *grid) fill(b rect, fill cell, keep func(cell) bool) {
	for r := b.top; r <= b.bottom; r++ {
		g.erase(r, b.left, b.right+1, fill, keep)
	}
}

// copyRect copies b to another place; what would fall outside limit is not copied.
func (g *grid) copyRect(b rect, toRow, toCol int, limit rect) {
	height := min(b.bottom-b.top, limit.bottom-toRow) + 1
	width := min(b.right-b.left, limit.right-toCol) + 1
	if height <= 0 || width <= 0 {
		return
	}
	for i := range height {
		if toRow > b.top {
			i = height - 1 - i
		}
		line := slices.Clone(g.rows[b.top+i].cells[b.left : b.left+width])
		if line[0].Ch&tail != 0 {
			line[0].Ch = 0
		}
		if end := &line[width-1]; end.Ch&wide != 0 {
			end.Ch = 0
		}
		w := g.edit(toRow+i, toCol, toCol+width)
		copy(w.cells[toCol:], line)
	}
}

// resize gives the grid another size. Columns are cut or added at the right; drop rows leave at the top, and rows are
// cut or added at the bottom.
func (g *grid) resize(cols, rows, drop int) {
	next := newGrid(cols, rows)
	for r := range next.rows {
		from := r + drop
		if from < 0 || from >= len(g.rows) {
			continue
		}
		old, w := &g.rows[from], &next.rows[r]
		if cols < g.cols {
			old.split(cols)
		}
		copy(w.cells, old.cells)
		w.wrapped = old.wrapped && cols >= g.cols
		w.size = old.size
	}
	g.rows, g.cols = next.rows, cols
	for r := range g.rows {
		g.rows[r].rev = g.rev
	}
}

// blankBelow counts the rows at the bottom, below row r, that show nothing.
func (g *grid) blankBelow(r int) int {
	n := 0
	for i := len(g.rows) - 1; i > r; i-- {
		if slices.ContainsFunc(g.rows[i].cells, func(c cell) bool { return !c.blank() || c.St != style{} }) {
			break
		}
		n++
	}
	return n
}

// history is the scrollback: a ring of lines in the form of appendRow, which is a fraction of their size as cells. A
// line that leaves gives its memory to the next.
type history struct {
	lines [][]byte
	first int // of the oldest
	n     int
	size  int // bytes of all
	limit int // lines
}

// push appends a row.
func (h *history) push(w *row, c *clusters) {
	at := h.room()
	h.lines[at] = appendRow(h.lines[at][:0], w, c)
	h.added(h.lines[at])
}

// keep appends a line that is encoded already.
func (h *history) keep(line []byte) {
	h.lines[h.room()] = line
	h.added(line)
}

// room returns the place of the next line.
func (h *history) room() int {
	if h.lines == nil {
		h.lines = make([][]byte, h.limit)
	}
	if h.n == h.limit {
		h.dropOldest()
	}
	return (h.first + h.n) % h.limit
}

func (h *history) added(line []byte) {
	h.n++
	h.size += len(line)
	for h.size > historyBytes && h.n > 1 {
		h.dropOldest()
	}
}

func (h *history) dropOldest() {
	h.size -= len(h.lines[h.first])
	if cap(h.lines[h.first]) > historyBytes/h.limit {
		h.lines[h.first] = nil // memory kept for reuse stays within the bound too
	}
	h.first = (h.first + 1) % h.limit
	h.n--
}

// line returns the encoded line i, 0 being the oldest.
func (h *history) line(i int) []byte { return h.lines[(h.first+i)%h.limit] }

// pop moves the newest line into w.
func (h *history) pop(w *row, c *clusters) {
	h.n--
	line := h.line(h.n)
	h.size -= len(line)
	decodeRow(line, w, c)
}

func (h *history) clear() {
	h.lines, h.first, h.n, h.size = nil, 0, 0, 0
}
