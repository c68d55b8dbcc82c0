package screen

// Resize gives the screen another size (clamped). Lines of the main screen and its scrollback that were too long are
// wrapped anew; the alternate screen, which its program paints again, is cut or grows at the right. Rows that have to go
// are blank ones below the cursor, then rows at the top, which the main screen moves into its scrollback and takes back
// when it grows.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clamp(cols, 1, MaxCols), clamp(rows, 1, MaxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	s.mark()
	s.resets = s.rev
	if cols != s.cols {
		s.rewrap(cols)
	}
	places := s.mainPlaces()
	moved := s.resizeMain(cols, rows, places[0].Row)
	for _, p := range places {
		p.Row += moved
	}
	if s.grid == s.main {
		s.alt.resize(cols, rows, max(0, s.rows-rows-s.alt.blankBelow(s.saved[1].Row)))
	} else {
		drop := max(0, s.rows-rows-s.alt.blankBelow(s.cur.Row))
		s.alt.resize(cols, rows, drop)
		s.cur.Row -= drop
		s.saved[1].Row -= drop
		if s.cur.Pending && cols > s.cols {
			s.cur.Pending = false
			s.cur.Col++
		}
	}
	s.settle(cols, rows)
}

// mainPlaces are the places on the main screen that keep to their characters, its cursor first.
func (s *Screen) mainPlaces() []*cursor {
	if s.grid == s.main {
		return []*cursor{&s.cur, &s.saved[0]}
	}
	return []*cursor{&s.saved[0]}
}

// resizeMain gives the main screen its rows and returns by how many its content moved down.
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
	for c := len(s.tabs); c < cols; c++ {
		s.tabs = append(s.tabs, c%8 == 0)
	}
	s.tabs = s.tabs[:cols]
	s.cols, s.rows = cols, rows
	s.fullMargins()
	for _, c := range []*cursor{&s.cur, &s.saved[0], &s.saved[1]} {
		c.Row, c.Col = clamp(c.Row, 0, rows-1), clamp(c.Col, 0, cols-1)
		c.Pending = c.Pending && c.Col == cols-1
	}
	s.last.Row, s.last.Col, s.last.Joins = 0, 0, false
}

// rewrap gives the main screen and the scrollback other columns. The top row stays at the top unless the rows become
// too many. Clusters are not swept before all rows have their place.
func (s *Screen) rewrap(cols int) {
	w := wrapper{cols: cols, clusters: &s.clusters, history: history{limit: s.history.limit}}
	for _, c := range s.mainPlaces() {
		w.places = append(w.places, place{cursor: c, row: c.Row})
	}
	scratch := row{cells: make([]cell, s.cols)}
	for i := range s.history.n {
		clear(scratch.cells)
		decodeRow(s.history.line(i), &scratch, &s.clusters)
		w.add(&scratch, -1)
	}
	last := s.rows - 1 - s.main.blankBelow(w.places[0].row)
	for r := 0; r <= last; r++ {
		w.add(&s.main.rows[r], r)
	}
	w.flush(nil, true, lineSingle)
	top := max(w.top, len(w.out)-s.rows)
	for r := range top {
		w.history.push(&w.out[r], &s.clusters)
	}
	for i := range w.places {
		p := &w.places[i]
		if p.row > last { // below everything
			p.cursor.Row = len(w.out) - 1 + p.row - last
		}
		p.cursor.Row = clamp(p.cursor.Row-top, 0, s.rows-1)
	}
	s.history = w.history
	s.main.rows, s.main.cols = newGrid(cols, s.rows).rows, cols
	for r := range w.out[top:] {
		s.main.rows[r] = w.out[top+r]
	}
	s.sweep()
}

// A wrapper puts rows together to lines and divides these anew. Lines of the scrollback go to its history, those that
// reach into the screen to out.
type wrapper struct {
	cols     int
	clusters *clusters
	history  history
	out      []row
	top      int // of out: where the screen begins
	places   []place

	line   []cell
	open   bool // a line is being put together
	early  bool // its last row ended one column early, so that a wide character fitted in the next row
	inside bool // it reaches into the screen
	topAt  int  // where in it the screen begins, or -1
}

// A place is a cursor that keeps to its character.
type place struct {
	cursor *cursor
	row    int // on the old screen
	at     int // in the line, where here says so
	here   bool
}

// add takes the next row: r on the screen, or -1 of the scrollback.
func (w *wrapper) add(from *row, r int) {
	if w.open && (from.size != lineSingle || w.early && from.cells[0].Ch&wide == 0) {
		w.flush(nil, true, lineSingle)
	}
	if !w.open {
		w.open, w.early, w.inside, w.topAt = true, false, false, -1
	}
	w.inside = w.inside || r >= 0
	if r == 0 {
		w.topAt = len(w.line)
	}
	end := from.textEnd()
	goesOn := from.wrapped && from.size == lineSingle
	if goesOn {
		end = len(from.cells)
		if w.early = from.cells[end-1].Ch&^isProtected == 0; w.early {
			end--
		}
	}
	for i := range w.places {
		p := &w.places[i]
		if p.row != r || r < 0 {
			continue
		}
		col := p.cursor.Col
		if p.cursor.Pending {
			col++
		}
		p.at, p.here = len(w.line)+col, true
		end = max(end, min(col, from.length())) // blanks that were printed before it are text
	}
	w.line = append(w.line, from.cells[:end]...)
	if !goesOn {
		w.flush(from.cells[end:], false, from.size)
	}
}

// textEnd is the number of cells up to the last that is not blank.
func (w *row) textEnd() int {
	n := w.length()
	for n > 0 && w.cells[n-1].blank() {
		n--
	}
	return n
}

// flush ends a line. The rest of its last row, blanks with a background, follows as far as there is room. A line of
// double width is cut.
func (w *wrapper) flush(rest []cell, wrapped bool, size uint8) {
	if !w.open {
		return
	}
	start, n := 0, len(w.line)
	for start == 0 || start < n {
		end := min(start+w.cols, n)
		next := end
		switch {
		case end < n && w.line[end].Ch&tail != 0 && w.cols == 1: // a wide character fits nowhere
			end, next = start, start+2
		case end < n && w.line[end].Ch&tail != 0:
			end--
			next = end
		}
		if size != lineSingle {
			next = max(n, 1)
		}
		w.settle(start, next, next >= n, n)
		to := row{cells: make([]cell, w.cols), size: size, wrapped: next < n || wrapped}
		at := copy(to.cells, w.line[start:end])
		if next >= n {
			copy(to.cells[at:], rest)
		}
		w.emit(to)
		start = max(next, 1)
	}
	w.line, w.open = w.line[:0], false
	for i := range w.places {
		w.places[i].here = false
	}
}

// settle gives the places in the part of the line from start to before next, which is row len(out), their row and column.
func (w *wrapper) settle(start, next int, last bool, n int) {
	if w.topAt >= start && (w.topAt < next || last) {
		w.top = len(w.out)
		w.topAt = -1
	}
	for i := range w.places {
		p := &w.places[i]
		if !p.here || p.at < start || p.at >= next && !last {
			continue
		}
		c := p.cursor
		c.Row, c.Col = len(w.out), min(p.at-start, w.cols-1)
		c.Pending = p.at == n && p.at-start == w.cols
	}
}

func (w *wrapper) emit(r row) {
	if w.inside {
		w.out = append(w.out, r)
		return
	}
	w.history.push(&r, w.clusters)
}
