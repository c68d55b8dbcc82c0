package screen

import "fmt"

// An interpreter executes the control functions that its parser finds.
type interpreter struct {
	writer
	parse  parser
	answer answers
	title  string
}

// control executes a C0 control.
func (s *interpreter) control(r rune) {
	switch r {
	case '\b':
		s.back(1)
	case '\t':
		s.tabForward(1)
	case '\n', '\v', '\f':
		s.index()
		if s.modes.has(modeNewLine) {
			s.carriageReturn()
		}
	case '\r':
		s.carriageReturn()
	case 0x0e:
		s.cur.GL = 1
	case 0x0f:
		s.cur.GL = 0
	default:
		return // NUL, BEL, ENQ and the rest show nothing and are not answered
	}
	s.last.Joins, s.last.Repeat = false, s.last.Repeat[:0]
}

// escapeOne executes ESC and one character.
func (s *interpreter) escapeOne(b byte) {
	s.last.Joins = false
	switch b {
	case '6':
		s.backIndex()
	case '7':
		s.saveOrRestore(true)
	case '8':
		s.saveOrRestore(false)
	case '9':
		s.forwardIndex()
	case '=':
		s.modes.set(modeKeypad, true)
	case '>':
		s.modes.set(modeKeypad, false)
	case 'D':
		s.index()
	case 'E':
		s.index()
		s.carriageReturn()
	case 'H':
		s.tabs[s.cur.Col] = true
	case 'M':
		s.reverseIndex()
	case 'N', 'O':
		s.cur.Shift = b - 'N' + 2
	case 'V', 'W':
		s.cur.Protected = b == 'V'
		s.modes.set(modeISOProtect, true)
	case 'Z':
		s.answer.add(deviceAttributes)
	case 'c':
		s.reset()
	case 'n', 'o':
		s.cur.GL = b - 'n' + 2
	}
}

// escapeWith executes ESC with intermediate characters.
func (s *interpreter) escapeWith(b byte) {
	s.last.Joins = false
	if s.parse.NInter != 1 {
		return // sets of two characters are not known: the set stays
	}
	switch inter := s.parse.Inter[0]; inter {
	case '(', ')', '*', '+':
		if b != '0' && b != 'A' {
			b = 'B' // ASCII stands for the national sets
		}
		s.cur.Sets[inter-'('] = b
	case '-', '.', '/':
		s.cur.Sets[inter-'-'+1] = 'B'
	case '#':
		switch b {
		case '3', '4', '5', '6':
			sizes := [...]uint8{lineTop, lineBottom, lineSingle, lineWide}
			s.lineSize(sizes[b-'3'])
		case '8':
			s.align()
		}
	}
}

// csi executes a control sequence.
func (s *interpreter) csi(final byte) {
	p := &s.parse
	if final != 'b' && final != 'm' {
		s.last.Joins, s.last.Repeat = false, s.last.Repeat[:0]
	}
	switch {
	case p.Prefix == '?' && p.NInter == 0:
		s.csiPrivate(final)
	case p.Prefix == 0 && p.NInter == 0:
		if !s.csiMove(final) && !s.csiEdit(final) {
			s.csiOther(final)
		}
	case p.Prefix == 0 && p.NInter == 1:
		s.csiInter(p.Inter[0], final)
	case p.Prefix == '?' && p.NInter == 1 && p.Inter[0] == '$' && final == 'p':
		s.reportMode(p.Params.at(0, 0))
	case p.Prefix == '>' && p.NInter == 0:
		s.csiXterm(final)
	}
}

// csiMove executes what only moves the cursor; it reports whether final is such a function. VPB (k) is left out, as in
// xterm.
func (s *interpreter) csiMove(final byte) bool {
	ps := &s.parse.Params
	n := ps.at(0, 1)
	row, col := s.cur.Row, s.cur.Col
	oRow, oCol := s.origin()
	switch final {
	case 'A':
		s.up(n)
	case 'B':
		s.down(n)
	case 'C':
		s.right(n)
	case 'D':
		s.back(n)
	case 'E':
		s.down(n)
		s.carriageReturn()
	case 'F':
		s.up(n)
		s.carriageReturn()
	case 'G', '`':
		s.address(row-oRow, n-1)
	case 'H', 'f':
		s.address(n-1, ps.at(1, 1)-1)
	case 'I':
		s.tabForward(min(n, s.cols))
	case 'Z':
		s.tabBack(min(n, s.cols))
	case 'a':
		s.address(row-oRow, col-oCol+n)
	case 'd':
		s.address(n-1, col-oCol)
	case 'e':
		s.address(row-oRow+n, col-oCol)
	case 'j':
		s.address(row-oRow, max(col-oCol-n, 0))
	default:
		return false
	}
	return true
}

// csiEdit executes what changes text; it reports whether final is such a function.
func (s *interpreter) csiEdit(final byte) bool {
	ps := &s.parse.Params
	n := ps.at(0, 1)
	switch final {
	case '@':
		s.shiftLine(n)
	case 'P':
		s.shiftLine(-n)
	case 'L':
		s.shiftRows(-n)
	case 'M':
		s.shiftRows(n)
	case 'S':
		s.scroll(min(n, s.rows))
	case 'T', '^':
		if ps.N <= 1 { // five parameters are xterm's mouse tracking
			s.scroll(-min(n, s.rows))
		}
	case 'X':
		s.cur.Pending = false
		s.grid.erase(s.cur.Row, s.cur.Col, min(s.cur.Col+n, s.cols), s.blankCell(), s.keep(false))
	case 'J':
		s.eraseDisplay(ps.at(0, 0), false)
	case 'K':
		s.eraseLine(ps.at(0, 0), false)
	case 'b':
		s.repeat(n)
	default:
		return false
	}
	return true
}

// csiOther executes the remaining functions without prefix or intermediate.
func (s *interpreter) csiOther(final byte) {
	ps := &s.parse.Params
	switch final {
	case 'W':
		s.tabControl(ps.at(0, 0))
	case 'c':
		if ps.at(0, 0) == 0 {
			s.answer.add(deviceAttributes)
		}
	case 'g':
		switch ps.at(0, 0) {
		case 0:
			s.tabs[s.cur.Col] = false
		case 3:
			clear(s.tabs)
		}
	case 'h', 'l':
		s.setModes(ps, final == 'h')
	case 'm':
		s.style(ps)
	case 'n':
		s.status(ps.at(0, 0), false)
	case 'r':
		s.setMargins(ps)
	case 's':
		s.setSideMargins(ps)
	case 't':
		if ps.at(0, 0) == 18 {
			s.answer.add(fmt.Sprintf("\x1b[8;%d;%dt", s.rows, s.cols))
		}
	case 'u':
		s.saveOrRestore(false)
	}
}

func (s *interpreter) style(ps *params) {
	if ps.N == 0 {
		s.cur.Style = style{}
		return
	}
	s.cur.Style.sgr(ps)
}

// csiPrivate executes functions with the prefix ?.
func (s *interpreter) csiPrivate(final byte) {
	ps := &s.parse.Params
	switch final {
	case 'J':
		s.eraseDisplay(ps.at(0, 0), true)
	case 'K':
		s.eraseLine(ps.at(0, 0), true)
	case 'W':
		if ps.at(0, 0) == 5 {
			s.defaultTabs()
		}
	case 'h', 'l':
		s.setPrivateModes(ps, final == 'h')
	case 'n':
		s.status(ps.at(0, 0), true)
	case 'u':
		s.answer.add("\x1b[?0u")
	}
}

// csiXterm executes functions with the prefix >.
func (s *interpreter) csiXterm(final byte) {
	zero := s.parse.Params.at(0, 0) == 0
	switch {
	case final == 'c' && zero:
		s.answer.add("\x1b[>1;10;0c")
	case final == 'q' && zero:
		s.answer.add("\x1bP>|scv\x1b\\")
	}
}

// csiInter executes functions with one intermediate character.
func (s *interpreter) csiInter(inter, final byte) {
	n := s.parse.Params.at(0, 1)
	switch string([]byte{inter, final}) {
	case " @":
		if s.inMargins() {
			s.shiftColumns(s.margin.left, -n)
		}
	case " A":
		if s.inMargins() {
			s.shiftColumns(s.margin.left, n)
		}
	case "'}":
		if s.inMargins() {
			s.shiftColumns(s.cur.Col, n)
		}
	case "'~":
		if s.inMargins() {
			s.shiftColumns(s.cur.Col, -n)
		}
	case "!p":
		s.softReset()
	case "\"q":
		if how := s.parse.Params.at(0, 0); how <= 2 {
			s.cur.Protected = how == 1
			s.modes.set(modeISOProtect, false)
		}
	case "$p":
		s.answer.mode(s.parse.Params.at(0, 0), false, 0)
	case "$v", "$x", "$z", "${":
		s.rectangle(&s.parse.Params, final)
	}
}

// reset is RIS.
func (s *interpreter) reset() {
	s.modes = modeWrap | modeVisible
	s.cur = freshCursor()
	s.saved = [2]cursor{s.cur, s.cur}
	s.fullMargins()
	s.show(s.main)
	s.main.clear(0, s.rows-1, cell{})
	s.alt.clear(0, s.rows-1, cell{})
	s.history.clear()
	s.defaultTabs()
	s.title = ""
	s.last = printed{Repeat: s.last.Repeat[:0]}
}
