package screen

// A surface is what there is to draw on: the two grids and the cursor, with the margins that bound it, the tab stops,
// and the scrollback above the main grid.
type surface struct {
	cols, rows int
	main, alt  *grid
	grid       *grid // the one that shows
	clusters   clusters
	history    history

	cur    cursor
	saved  [2]cursor // DECSC, of the main and the alternate screen
	modes  modes
	margin rect // DECSTBM and DECSLRM
	tabs   []bool
	last   printed

	rev    uint64 // rises with each Write that can have changed something
	resets uint64 // rev of the last change of size or screen
}

// move puts the cursor at a place, clamped to the screen. Any move ends a pending wrap.
func (s *surface) move(row, col int) {
	s.cur.Row, s.cur.Col = clamp(row, 0, s.rows-1), clamp(col, 0, s.cols-1)
	if s.grid.rows[s.cur.Row].size != lineSingle {
		s.cur.Col = min(s.cur.Col, max(0, s.cols/2-1))
	}
	s.cur.Pending = false
}

// address moves to a row and column as a program counts them, from 0, and from the margins in origin mode.
func (s *surface) address(row, col int) {
	if !s.cur.Origin {
		s.move(row, col)
		return
	}
	m := s.margin
	s.move(clamp(m.top+row, m.top, m.bottom), clamp(m.left+col, m.left, m.right))
}

// origin is where a program's row 0 and column 0 are.
func (s *surface) origin() (row, col int) {
	if s.cur.Origin {
		return s.margin.top, s.margin.left
	}
	return 0, 0
}

func (s *surface) home() { s.address(0, 0) }

func (s *surface) carriageReturn() {
	col := 0
	if s.cur.Col >= s.margin.left || s.cur.Origin {
		col = s.margin.left
	}
	s.move(s.cur.Row, col)
}

// inMargins says whether the cursor is in the scrolling region.
func (s *surface) inMargins() bool {
	m := s.margin
	return s.cur.Row >= m.top && s.cur.Row <= m.bottom && s.betweenSides()
}

func (s *surface) betweenSides() bool {
	return s.cur.Col >= s.margin.left && s.cur.Col <= s.margin.right
}

// index moves down one row, and scrolls at the bottom margin.
func (s *surface) index() {
	s.cur.Pending = false
	switch {
	case s.cur.Row != s.margin.bottom:
		s.cur.Row = min(s.cur.Row+1, s.rows-1)
	case s.betweenSides():
		s.scroll(1)
	}
}

func (s *surface) reverseIndex() {
	s.cur.Pending = false
	switch {
	case s.cur.Row != s.margin.top:
		s.cur.Row = max(s.cur.Row-1, 0)
	case s.betweenSides():
		s.scroll(-1)
	}
}

// scroll moves the scrolling region: n > 0 up. What leaves the main screen over its top edge goes to the scrollback.
func (s *surface) scroll(n int) {
	m := s.margin
	if n > 0 && m.top == 0 && m.left == 0 && m.right == s.cols-1 && s.grid == s.main {
		for r := range min(n, m.bottom+1) {
			s.history.push(&s.main.rows[r], &s.clusters)
		}
	}
	s.grid.scroll(m, n, s.blankCell())
}

// shiftColumns moves the region's columns from left on: n > 0 to the right.
func (s *surface) shiftColumns(left, n int) {
	for r := s.margin.top; r <= s.margin.bottom; r++ {
		s.grid.shift(r, left, s.margin.right, n, s.blankCell())
	}
}

// back is BS and CUB. It stops at the left margin, or goes on in the row above: in reverse wrap mode (45) where the line
// there was too long, in the extended one (1045) everywhere, from the top to the bottom too.
func (s *surface) back(n int) {
	left := s.margin.left
	if s.cur.Col < left {
		left = 0
	}
	if !s.modes.has(modeReverseWrap|modeReverseAny) || !s.modes.has(modeWrap) {
		s.move(s.cur.Row, max(s.cur.Col-n, left))
		return
	}
	for range min(n, s.cols*s.rows) {
		switch {
		case s.cur.Pending:
			s.cur.Pending = false
		case s.cur.Col > left:
			s.cur.Col--
		case !s.modes.has(modeReverseAny) && (s.cur.Row == 0 || !s.grid.rows[s.cur.Row-1].wrapped):
			return
		default:
			left = s.margin.left
			s.cur.Col = s.margin.right
			if s.cur.Row == s.margin.top || s.cur.Row == 0 {
				s.cur.Row = s.margin.bottom
			} else {
				s.cur.Row--
			}
		}
	}
}

// tabForward is HT and CHT; a pending wrap stays, as in xterm.
func (s *surface) tabForward(n int) {
	right := s.rightLimit()
	for ; n > 0 && s.cur.Col < right; n-- {
		s.cur.Col++
		for s.cur.Col < right && !s.tabs[s.cur.Col] {
			s.cur.Col++
		}
	}
}

func (s *surface) tabBack(n int) {
	s.cur.Pending = false
	for ; n > 0 && s.cur.Col > 0; n-- {
		s.cur.Col--
		for s.cur.Col > 0 && !s.tabs[s.cur.Col] {
			s.cur.Col--
		}
	}
}

// up and down stop at a margin that lies in the way.
func (s *surface) up(n int) {
	top := 0
	if s.cur.Row >= s.margin.top {
		top = s.margin.top
	}
	s.move(max(s.cur.Row-n, top), s.cur.Col)
}

func (s *surface) down(n int) {
	bottom := s.rows - 1
	if s.cur.Row <= s.margin.bottom {
		bottom = s.margin.bottom
	}
	s.move(min(s.cur.Row+n, bottom), s.cur.Col)
}

func (s *surface) right(n int) {
	s.move(s.cur.Row, min(s.cur.Col+n, s.rightLimit()))
}

func freshCursor() cursor { return cursor{Sets: [4]byte{'B', 'B', 'B', 'B'}} }

func (s *surface) fullMargins() { s.margin = rect{0, 0, s.rows - 1, s.cols - 1} }

func (s *surface) defaultTabs() {
	s.tabs = make([]bool, s.cols)
	for c := 8; c < s.cols; c += 8 {
		s.tabs[c] = true
	}
}

func (s *surface) protection() uint32 {
	if s.cur.Protected {
		return isProtected
	}
	return 0
}

// rightLimit is the last column that text reaches from the cursor: the right margin, or the edge beyond it.
func (s *surface) rightLimit() int {
	edge := s.cols - 1
	if s.grid.rows[s.cur.Row].size != lineSingle {
		edge = max(0, s.cols/2-1)
	}
	if s.cur.Col <= s.margin.right {
		edge = min(edge, s.margin.right)
	}
	return max(edge, s.cur.Col)
}

func (s *surface) leftOfWrap() int {
	if s.cur.Col <= s.margin.right {
		return s.margin.left
	}
	return 0
}

// A cursor is a place with all that DECSC keeps. Its column is the last one while a wrap is pending.
type cursor struct {
	Row, Col  int
	Pending   bool // the next character wraps first
	Style     style
	Protected bool    // DECSCA
	Origin    bool    // DECOM
	Sets      [4]byte // designated to G0 to G3, by final character
	GL        uint8
	Shift     uint8 // SS2, SS3: the set of the next character; 0 none
}

// printed remembers the last character for REP and for what joins it.
type printed struct {
	Row, Col int
	Joins    bool // nothing came in between
	Repeat   []byte
}

// mark begins a new revision: rows that change from here on carry it.
func (s *surface) mark() {
	s.rev++
	s.main.rev, s.alt.rev = s.rev, s.rev
}

func clamp(n, low, top int) int { return max(low, min(n, top)) }

// blankCell is what erasing leaves.
func (s *surface) blankCell() cell { return cell{St: s.cur.Style.erased()} }

// sweep forgets clusters that no cell shows any more. The cursor's own and the scrollback hold their text themselves.
func (s *surface) sweep() {
	if s.clusters.full() {
		s.clusters.sweep(s.main, s.alt)
	}
}
