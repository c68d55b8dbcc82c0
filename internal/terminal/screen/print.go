package screen

import (
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"scv/internal/safe/plain"
)

// A writer puts characters on the surface.
type writer struct{ editor }

// The width rule, which is published with the protocol: text is cut into extended grapheme clusters; a cluster is as
// wide as its characters together by East Asian Width (combining marks and joiners 0), but never wider than 2, and 2
// when it holds the emoji selector U+FE0F. Bidi controls and other characters that show nothing are dropped.

// runeWidth is the width of one character alone: 0, 1 or 2. Ambiguous ones are narrow whatever the environment says.
func runeWidth(r rune) int {
	if r < 0x300 {
		if r == 0xad {
			return 0
		}
		return 1
	}
	return displaywidth.Options{}.Rune(r)
}

// printASCII is the fast way for runs of printable ASCII. It returns how many bytes it took; 0 means that the ordinary
// way has to look.
func (s *writer) printASCII(p []byte) int {
	if s.cur.Pending || s.modes.has(modeInsert) || s.cur.Shift != 0 || s.cur.Sets[s.cur.GL] != 'B' {
		return 0
	}
	w := &s.grid.rows[s.cur.Row]
	if w.size != lineSingle {
		return 0
	}
	right := s.rightLimit()
	n := 0
	for room := min(len(p), right-s.cur.Col+1); n < room && p[n] >= 0x20 && p[n] < 0x7f; n++ {
	}
	if n == 0 {
		return 0
	}
	col := s.cur.Col
	s.grid.edit(s.cur.Row, col, col+n)
	fill := cell{St: s.cur.Style, Ch: s.protection()}
	part := w.cells[col : col+n]
	for i := range part {
		part[i] = cell{St: fill.St, Ch: fill.Ch | uint32(p[i])}
	}
	s.advance(col+n, right)
	s.last.Row, s.last.Col, s.last.Joins = s.cur.Row, col+n-1, true
	s.last.Repeat = append(s.last.Repeat[:0], p[n-1])
	return n
}

// print shows one character at the cursor, or joins it to the one before.
func (s *writer) print(r rune) {
	r = s.translate(r)
	if r >= 0x300 && s.join(r) {
		return
	}
	w := runeWidth(r)
	if w == 0 {
		return
	}
	if plain.Hidden(r) { // it takes cells and is blank, such as a Hangul filler
		for range w {
			s.place(' ', 1)
		}
		r = ' '
	} else {
		s.place(uint32(r), w)
	}
	s.last.Repeat = utf8.AppendRune(s.last.Repeat[:0], r)
}

// place puts a character, or cluster, of width w at the cursor and moves on. A wide one that may not wrap into the next
// row is left out, as in most terminals.
func (s *writer) place(ch uint32, w int) {
	if s.cur.Pending && s.modes.has(modeWrap) {
		s.wrap()
	}
	s.cur.Pending = false
	right := s.rightLimit()
	if w == 2 && s.cur.Col+1 > right {
		if right-s.leftOfWrap() < 1 || !s.modes.has(modeWrap) {
			return // it fits nowhere
		}
		s.grid.erase(s.cur.Row, s.cur.Col, s.cur.Col+1, s.blankCell(), nil)
		s.wrap()
		right = s.rightLimit()
	}
	row, col := s.cur.Row, s.cur.Col
	if s.modes.has(modeInsert) {
		s.grid.shift(row, col, right, w, s.blankCell())
	}
	line := s.grid.edit(row, col, col+w)
	ch |= s.protection()
	if w == 2 {
		line.cells[col] = cell{Ch: ch | wide, St: s.cur.Style}
		line.cells[col+1] = cell{Ch: tail | s.protection(), St: s.cur.Style}
	} else {
		line.cells[col] = cell{Ch: ch, St: s.cur.Style}
	}
	s.last.Row, s.last.Col, s.last.Joins = row, col, true
	s.advance(col+w, right)
}

// advance moves the cursor to col, or to the last column with a wrap pending.
func (s *writer) advance(col, right int) {
	s.cur.Pending = col > right
	s.cur.Col = min(col, right)
}

// wrap goes on in the next row.
func (s *writer) wrap() {
	left := s.leftOfWrap()
	s.grid.rows[s.cur.Row].wrapped = true
	s.index()
	s.cur.Col = left
}

// join adds r to the cluster before the cursor when it belongs there, and reports whether that settles r.
func (s *writer) join(r rune) bool {
	row, col, ok := s.before()
	if !ok {
		return false
	}
	line := &s.grid.rows[row]
	prev := line.cells[col]
	if neverJoins(r) && prev.Ch&isCluster == 0 || prev.Ch&tail != 0 {
		return false
	}
	var room [4*clusterRunes + utf8.UTFMax]byte
	text := s.clusters.appendText(room[:0], prev)
	n := len(text)
	text = utf8.AppendRune(text, r)
	next := text[n:]
	if !s.last.Joins && runeWidth(r) != 0 || !oneCluster(text) {
		return false
	}
	if utf8.RuneCount(text[:n]) >= clusterRunes {
		return true
	}
	before, after := cellWidth(prev), clusterWidth(text)
	s.sweep()
	ch := isCluster | s.clusters.intern(text)
	if after <= before || !s.last.Joins || !s.canWiden() {
		line.cells[col].Ch = ch | line.cells[col].Ch&(wide|isProtected)
		line.rev = s.grid.rev
	} else {
		s.widen(row, col, ch)
	}
	if s.last.Joins {
		s.last.Repeat = append(s.last.Repeat, next...)
	}
	return true
}

// canWiden says whether the narrow cluster before the cursor has room to become wide, here or in the next row.
func (s *writer) canWiden() bool {
	return !s.cur.Pending || s.modes.has(modeWrap) && s.rightLimit()-s.leftOfWrap() >= 1
}

// widen replaces the narrow cluster just printed at the place by a wide one.
func (s *writer) widen(row, col int, ch uint32) {
	style, protected := s.cur.Style, s.cur.Protected
	old := s.grid.rows[row].cells[col]
	s.cur.Style, s.cur.Protected = old.St, old.Ch&isProtected != 0
	insert := s.modes.has(modeInsert)
	if insert {
		s.grid.shift(row, col, s.rightLimit(), -1, s.blankCell())
	} else if s.cur.Pending {
		s.grid.erase(row, col, col+1, cell{St: old.St.erased()}, nil)
	}
	s.cur.Row, s.cur.Col, s.cur.Pending = row, col, false
	s.place(ch, 2)
	s.cur.Style, s.cur.Protected = style, protected
}

// before finds the cell that a combining mark at the cursor belongs to.
func (s *writer) before() (row, col int, ok bool) {
	if s.last.Joins {
		return s.last.Row, s.last.Col, true
	}
	row, col = s.cur.Row, s.cur.Col
	if !s.cur.Pending {
		col--
	}
	if col < 0 {
		return 0, 0, false
	}
	if col > 0 && s.grid.rows[row].cells[col].Ch&tail != 0 {
		col--
	}
	return row, col, true
}

func cellWidth(c cell) int {
	if c.Ch&wide != 0 {
		return 2
	}
	return 1
}

// neverJoins names large blocks whose characters begin a cluster behind any single character: no need to ask the tables.
func neverJoins(r rune) bool {
	return r >= 0x2010 && r < 0x2028 || r >= 0x2030 && r < 0x2060 || r >= 0x2070 && r < 0x20d0 ||
		r >= 0x2100 && r < 0x2cef || r >= 0x2e80 && r < 0x302a || r >= 0x3030 && r < 0x3099 ||
		r >= 0x309b && r < 0xa000 || r >= 0xe000 && r < 0xf900
}

func oneCluster(text []byte) bool {
	it := graphemes.FromBytes(text)
	return it.Next() && len(it.Value()) == len(text)
}

func clusterWidth(text []byte) int {
	w := 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == 0xfe0f {
			return 2
		}
		w += runeWidth(r)
		text = text[n:]
	}
	return clamp(w, 1, 2)
}

// repeat is REP: the last character or cluster n times more. It never prints more than the screen holds.
func (s *writer) repeat(n int) {
	text := append([]byte(nil), s.last.Repeat...)
	if len(text) == 0 {
		return
	}
	for range min(n, s.cols*s.rows) {
		r, size := utf8.DecodeRune(text)
		if size == len(text) {
			s.place(uint32(r), runeWidth(r))
			continue
		}
		s.sweep()
		s.place(isCluster|s.clusters.intern(text), clusterWidth(text))
	}
}

// translate maps a character through the set in use. A single shift serves one character.
func (s *writer) translate(r rune) rune {
	g := s.cur.GL
	if s.cur.Shift != 0 {
		g, s.cur.Shift = s.cur.Shift, 0
	}
	if r > 0x7e {
		return r
	}
	switch s.cur.Sets[g] {
	case '0':
		return graphic(r)
	case 'A':
		if r == '#' {
			return '£'
		}
	}
	return r
}

// graphic is the DEC Special Graphics set, from 5/15 on.
func graphic(r rune) rune {
	set := [...]rune{
		' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
		'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
	}
	if r < 0x5f || r > 0x7e {
		return r
	}
	return set[r-0x5f]
}
