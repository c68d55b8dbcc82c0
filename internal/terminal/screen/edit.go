package screen

// An editor changes what is on the surface, and the modes that say how.
type editor struct{ surface }

func (s *editor) lineSize(size uint8) {
	w := s.grid.edit(s.cur.Row, 0, 0)
	w.size = size
	s.move(s.cur.Row, s.cur.Col)
}

// align is DECALN: the screen full of E.
func (s *editor) align() {
	s.fullMargins()
	s.grid.clear(0, s.rows-1, cell{Ch: 'E'})
	s.cur.Origin = false
	s.move(0, 0)
}

// backIndex is DECBI, forwardIndex DECFI: a column left or right, and at the margin the region moves instead.
func (s *editor) backIndex() {
	if s.cur.Col == s.margin.left && s.inMargins() {
		s.shiftColumns(s.margin.left, 1)
		return
	}
	s.move(s.cur.Row, s.cur.Col-1)
}

func (s *editor) forwardIndex() {
	if s.cur.Col == s.margin.right && s.inMargins() {
		s.shiftColumns(s.margin.left, -1)
		return
	}
	s.move(s.cur.Row, s.cur.Col+1)
}

// shiftLine is ICH (n > 0) and DCH.
func (s *editor) shiftLine(n int) {
	s.cur.Pending = false
	if s.betweenSides() {
		s.grid.shift(s.cur.Row, s.cur.Col, s.margin.right, n, s.blankCell())
	}
}

// shiftRows is DL (n > 0) and IL; both take the cursor to the line's home.
func (s *editor) shiftRows(n int) {
	s.cur.Pending = false
	if !s.inMargins() {
		return
	}
	m := s.margin
	m.top = s.cur.Row
	s.grid.scroll(m, n, s.blankCell())
	s.cur.Col = s.margin.left
}

// keep says which cells an erase leaves alone: protected ones, when the erase is selective or SPA protected them.
func (s *editor) keep(selective bool) func(cell) bool {
	if !selective && !s.modes.has(modeISOProtect) || selective && s.modes.has(modeISOProtect) {
		return nil
	}
	return func(c cell) bool { return c.Ch&isProtected != 0 }
}

func (s *editor) eraseDisplay(how int, selective bool) {
	fill, keep := s.blankCell(), s.keep(selective)
	if how <= 2 {
		s.cur.Pending = false
	}
	switch how {
	case 0:
		s.grid.erase(s.cur.Row, s.cur.Col, s.cols, fill, keep)
		s.eraseRows(s.cur.Row+1, s.rows-1, fill, keep)
	case 1:
		s.eraseRows(0, s.cur.Row-1, fill, keep)
		s.grid.erase(s.cur.Row, 0, s.cur.Col+1, fill, keep)
	case 2:
		s.eraseRows(0, s.rows-1, fill, keep)
	case 3:
		if !selective {
			s.history.clear()
		}
	}
}

func (s *editor) eraseRows(top, bottom int, fill cell, keep func(cell) bool) {
	if keep == nil {
		s.grid.clear(top, bottom, fill)
		return
	}
	s.grid.fill(rect{top, 0, bottom, s.cols - 1}, fill, keep)
}

func (s *editor) eraseLine(how int, selective bool) {
	s.cur.Pending = false
	left, right := 0, s.cols
	switch how {
	case 0:
		left = s.cur.Col
	case 1:
		right = s.cur.Col + 1
	case 2:
	default:
		return
	}
	s.grid.erase(s.cur.Row, left, right, s.blankCell(), s.keep(selective))
}

// tabControl is CTC.
func (s *editor) tabControl(how int) {
	switch how {
	case 0:
		s.tabs[s.cur.Col] = true
	case 2:
		s.tabs[s.cur.Col] = false
	case 5:
		clear(s.tabs)
	}
}

// setMargins is DECSTBM; a region of less than two rows is refused.
func (s *editor) setMargins(ps *params) {
	top, bottom := ps.at(0, 1)-1, min(ps.at(1, s.rows), s.rows)-1
	if top >= bottom {
		return
	}
	s.margin.top, s.margin.bottom = top, bottom
	s.home()
}

// setSideMargins is DECSLRM, where that mode is on; otherwise CSI s saves the cursor.
func (s *editor) setSideMargins(ps *params) {
	if !s.modes.has(modeSideMargins) {
		if ps.N == 0 {
			s.saveOrRestore(true)
		}
		return
	}
	left, right := ps.at(0, 1)-1, min(ps.at(1, s.cols), s.cols)-1
	if left >= right {
		return
	}
	s.margin.left, s.margin.right = left, right
	s.home()
}

// rectangle is DECCRA (v), DECFRA (x), DECERA (z) and DECSERA ({).
func (s *editor) rectangle(ps *params, final byte) {
	first := 0
	if final == 'x' {
		first = 1
	}
	limit := rect{0, 0, s.rows - 1, s.cols - 1}
	oRow, oCol := s.origin()
	if s.cur.Origin {
		limit = s.margin
	}
	b := rect{
		ps.at(first, 1) - 1 + oRow, ps.at(first+1, 1) - 1 + oCol,
		min(ps.at(first+2, s.rows)-1+oRow, limit.bottom), min(ps.at(first+3, s.cols)-1+oCol, limit.right),
	}
	if b.empty() {
		return
	}
	switch final {
	case 'v':
		row, col := ps.at(5, 1)-1+oRow, ps.at(6, 1)-1+oCol
		s.grid.copyRect(b, row, col, limit)
	case 'x':
		c := ps.at(0, 0)
		if c >= 0x20 && c < 0x7f || c >= 0xa0 && c < 0x100 {
			s.grid.fill(b, cell{Ch: uint32(c) | s.protection(), St: s.cur.Style}, nil)
		}
	case 'z':
		s.grid.fill(b, s.blankCell(), s.keep(false))
	case '{':
		s.grid.fill(b, s.blankCell(), s.keep(true))
	}
}
