package screen

// Modes are what a program asked of its terminal and the owner's side has to know.
type Modes struct {
	ApplicationCursor bool // DECCKM: cursor keys send ESC O
	ApplicationKeypad bool // DECNKM, DECKPAM
	BracketedPaste    bool
	CursorVisible     bool
	Focus             bool // focus changes are wanted
	Synchronized      bool // a frame is being drawn (2026): better not shown yet
	AltScreen         bool
	ReverseVideo      bool // DECSCNM
	NewLine           bool // LNM: Enter sends CR LF
	Mouse             int  // 0 none, else 9, 1000, 1002 or 1003
	MouseEncoding     int  // 0 plain, else 1005, 1006, 1015 or 1016
}

type modes uint32

const (
	modeInsert modes = 1 << iota
	modeNewLine
	modeAppCursor
	modeReverse
	modeWrap
	modeBlink
	modeVisible
	modeAllow132
	modeReverseWrap
	modeKeypad
	modeSideMargins
	modeKeepOn132
	modeMouse9
	modeMouse1000
	modeMouse1002
	modeMouse1003
	modeFocus
	modeUTF8Mouse
	modeSGRMouse
	modeURXVTMouse
	modePixelMouse
	modePaste
	modeSync
	modeAlt
	modeISOProtect // the last protection asked for was SPA, which every erase respects
	modeReverseAny // reverse wrap over any line, and from the top to the bottom
)

const (
	mouseModes     = modeMouse9 | modeMouse1000 | modeMouse1002 | modeMouse1003
	mouseEncodings = modeUTF8Mouse | modeSGRMouse | modeURXVTMouse | modePixelMouse
)

func (m modes) has(bit modes) bool { return m&bit != 0 }

// set switches bits.
func (m *modes) set(bits modes, on bool) {
	if on {
		*m |= bits
	} else {
		*m &^= bits
	}
}

// Modes returns the modes in force.
func (s *editor) Modes() Modes {
	m := s.modes
	out := Modes{
		ApplicationCursor: m.has(modeAppCursor), ApplicationKeypad: m.has(modeKeypad), BracketedPaste: m.has(modePaste),
		CursorVisible: m.has(modeVisible), Focus: m.has(modeFocus), Synchronized: m.has(modeSync),
		AltScreen: m.has(modeAlt), ReverseVideo: m.has(modeReverse), NewLine: m.has(modeNewLine),
	}
	for _, n := range []int{9, 1000, 1002, 1003} {
		if m.has(privateMode(n)) {
			out.Mouse = n
		}
	}
	for _, n := range []int{1005, 1006, 1015, 1016} {
		if m.has(privateMode(n)) {
			out.MouseEncoding = n
		}
	}
	return out
}

// privateMode gives the bit of a DEC private mode; 0 for one that has none.
func privateMode(n int) modes {
	switch n {
	case 1:
		return modeAppCursor
	case 5:
		return modeReverse
	case 7:
		return modeWrap
	case 9:
		return modeMouse9
	case 12:
		return modeBlink
	case 25:
		return modeVisible
	case 40:
		return modeAllow132
	case 45:
		return modeReverseWrap
	case 1045:
		return modeReverseAny
	case 66:
		return modeKeypad
	case 69:
		return modeSideMargins
	case 95:
		return modeKeepOn132
	}
	return xtermMode(n)
}

func xtermMode(n int) modes {
	switch n {
	case 47, 1047, 1049:
		return modeAlt
	case 1000:
		return modeMouse1000
	case 1002:
		return modeMouse1002
	case 1003:
		return modeMouse1003
	case 1004:
		return modeFocus
	case 1005:
		return modeUTF8Mouse
	case 1006:
		return modeSGRMouse
	case 1015:
		return modeURXVTMouse
	case 1016:
		return modePixelMouse
	case 2004:
		return modePaste
	case 2026:
		return modeSync
	}
	return 0
}

// setModes is SM and RM.
func (s *editor) setModes(ps *params, on bool) {
	for i := range ps.N {
		switch ps.at(i, 0) {
		case 4:
			s.modes.set(modeInsert, on)
		case 20:
			s.modes.set(modeNewLine, on)
		}
	}
}

// setPrivateModes is DECSET and DECRST.
func (s *editor) setPrivateModes(ps *params, on bool) {
	for i := range ps.N {
		s.setPrivate(ps.at(i, 0), on)
	}
}

func (s *editor) setPrivate(n int, on bool) {
	bit := privateMode(n)
	switch n {
	case 3:
		s.columns132()
	case 6:
		s.cur.Origin = on
		s.home()
	case 47, 1047, 1049:
		s.switchScreen(n, on)
		return
	case 1048:
		s.saveOrRestore(on)
	}
	if bit&mouseModes != 0 {
		s.modes.set(mouseModes, false)
	}
	if bit&mouseEncodings != 0 {
		s.modes.set(mouseEncodings, false)
	}
	s.modes.set(bit, on)
	if n == 69 && !on {
		s.margin.left, s.margin.right = 0, s.cols-1
	}
}

// columns132 is DECCOLM: the screen has the size that its owner gave it, so only the side effects remain, and those
// only where the program allowed the switch.
func (s *editor) columns132() {
	if !s.modes.has(modeAllow132) {
		return
	}
	s.fullMargins()
	if !s.modes.has(modeKeepOn132) {
		s.grid.clear(0, s.rows-1, s.blankCell())
	}
	s.home()
}

// switchScreen is 47, 1047 (which clears the alternate screen on leaving) and 1049 (which saves the cursor, clears on
// entering, though not when it shows already, and restores on leaving).
func (s *editor) switchScreen(n int, on bool) {
	s.last.Joins = false
	switch {
	case on:
		fresh := !s.modes.has(modeAlt)
		if n == 1049 {
			s.saveOrRestore(true)
		}
		if n == 1049 && fresh {
			s.saved[0].Pending = s.cur.Pending
			s.alt.clear(0, s.rows-1, s.blankCell())
		}
		s.show(s.alt)
	default:
		if n == 1047 && s.modes.has(modeAlt) {
			s.alt.clear(0, s.rows-1, s.blankCell())
		}
		s.show(s.main)
		if n == 1049 {
			s.saveOrRestore(false)
		}
	}
}

func (s *editor) show(g *grid) {
	if s.grid == g {
		return
	}
	s.grid = g
	s.modes.set(modeAlt, g == s.alt)
	s.resets = s.rev
	for r := range g.rows {
		g.rows[r].rev = s.rev
	}
}

// saveOrRestore is DECSC and DECRC. Each screen has its own place; one never saved gives the initial state. DECSC
// forgets a pending wrap, as xterm's reference screens have it; 1049 keeps it, so that a full-screen program leaves the
// line as it was.
func (s *editor) saveOrRestore(save bool) {
	slot := &s.saved[0]
	if s.modes.has(modeAlt) {
		slot = &s.saved[1]
	}
	if save {
		*slot = s.cur
		slot.Pending = false
		return
	}
	s.cur = *slot
	s.cur.Row, s.cur.Col = min(s.cur.Row, s.rows-1), min(s.cur.Col, s.cols-1)
	s.cur.Pending = s.cur.Pending && s.cur.Col == s.cols-1
	s.last.Joins = false
}

// softReset is DECSTR: modes and the saved cursor, while text and cursor stay.
func (s *editor) softReset() {
	row, col := s.cur.Row, s.cur.Col
	s.modes.set(modeInsert|modeAppCursor|modeKeypad|modeReverseWrap|modeReverseAny|modeISOProtect|modeSideMargins, false)
	s.modes.set(modeVisible|modeWrap, true)
	s.fullMargins()
	s.cur = freshCursor()
	s.cur.Row, s.cur.Col = row, col
	slot := &s.saved[0]
	if s.modes.has(modeAlt) {
		slot = &s.saved[1]
	}
	*slot = freshCursor()
}
