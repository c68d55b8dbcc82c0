package model

// The smallest screen that is drawn on, in cells.
const (
	MinCols = 40
	MinRows = 10
)

// Widths from which more is shown.
const (
	tabsFrom = 60  // a row of tabs, and one row for an item
	sideFrom = 160 // the detail stands beside the list
)

// A Rect is a part of the screen, in cells.
type Rect struct{ Row, Col, Rows, Cols int }

// A Layout is where things are. A part that is not shown has no rows. The last column of the screen stays empty: terminals
// disagree about characters that end there.
type Layout struct {
	Small  bool // too small for anything but a sentence
	Cols   int  // of every row
	Two    bool // an item takes two rows
	Side   bool // the detail stands beside the list
	Banner Rect
	Tabs   Rect
	Head   Rect // names of the columns
	List   Rect
	Detail Rect // its first row is its title
	Cards  Rect
	Field  Rect
	Over   Rect // of a form, menu or question: what list and detail would have
	Foot   int
}

// ListItems is how many items fit into the list.
func (l Layout) ListItems() int {
	if l.Two {
		return l.List.Rows / 2
	}
	return l.List.Rows
}

// Layout is a pure function of the size and of what is open.
func (m *Model) Layout() Layout {
	l := Layout{Cols: m.Cols - 1, Foot: m.Rows - 1}
	if m.Cols < MinCols || m.Rows < MinRows {
		l.Small = true
		return l
	}
	l.Two, l.Side = m.Cols < tabsFrom, m.Cols >= sideFrom
	row, end := 1, m.Rows-1
	take := func(rows int) Rect {
		r := Rect{Row: row, Rows: rows, Cols: l.Cols}
		row += rows
		return r
	}
	bottom := func(rows int) Rect {
		end -= rows
		return Rect{Row: end, Rows: rows, Cols: l.Cols}
	}
	if m.Banner() != "" {
		l.Banner = take(1)
	}
	if !l.Two && m.Rows >= 12 {
		l.Tabs = take(1)
	}
	if n := fieldRows(m, l.Cols); n > 0 {
		l.Field = bottom(n)
	}
	if n := cardRows(m, l); n > 0 {
		l.Cards = bottom(n)
	}
	l.Over = Rect{Row: row, Rows: end - row, Cols: l.Cols}
	divide(m, &l, row, end)
	return l
}

// divide gives the rows between row and end to the list and the detail.
func divide(m *Model, l *Layout, row, end int) {
	head := func() {
		if !l.Two {
			l.Head = Rect{Row: row, Rows: 1, Cols: l.Cols}
			row++
		}
	}
	switch {
	case l.Side:
		head()
		left := l.Cols * 3 / 5
		l.Detail = Rect{Row: l.Head.Row, Col: left + 2, Rows: end - l.Head.Row, Cols: l.Cols - left - 2}
		l.Head.Cols = left
		l.List = Rect{Row: row, Rows: end - row, Cols: left}
	case m.Detail.Open:
		l.Detail = Rect{Row: row, Rows: end - row, Cols: l.Cols}
	case m.Rows >= 20 && end-row >= 12:
		head()
		n := max(5, (end-row)/3)
		l.List = Rect{Row: row, Rows: end - row - n, Cols: l.Cols}
		l.Detail = Rect{Row: end - n, Rows: n, Cols: l.Cols}
	default:
		head()
		l.List = Rect{Row: row, Rows: end - row, Cols: l.Cols}
	}
}

// cardRows is how high the strip of approvals is: nothing without one, a head and the request with one, more while it has
// the focus, so that the whole request is read before it is answered.
func cardRows(m *Model, l Layout) int {
	n := len(m.Data.Approvals)
	switch {
	case n == 0:
		return 0
	case m.Focus == OnCards:
		return min(2+len(m.Cards.Body(l.Cols)), max(m.Rows*2/3, 4))
	case l.Side:
		return 1 + min(n, 4)
	case m.Focus == OnForm && m.Rows < 20:
		return 1
	}
	return 2
}

// fieldRows is how high the line is that is being typed.
func fieldRows(m *Model, cols int) int {
	if m.Focus != OnField {
		return 0
	}
	rows, _, _ := m.Field.Lines(cols)
	return 1 + min(len(rows), max(1, min(6, m.Rows/4)))
}

// ShowsTrees reports whether there is a list of worktrees.
func (m *Model) ShowsTrees() bool { return noTrees(m) == "" }
