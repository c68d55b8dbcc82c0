package screen

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// The codes of an encoded row that are not characters. Every other byte begins a character in UTF-8, whose cell is
// narrow unless codeWide stands before it.
const (
	codeBlank     = 0x00 // a cell that nothing was printed in
	codeCluster   = 0x01 // length in one byte, then the text of one cell
	codeWide      = 0x02
	codeMasked    = 0x03
	codeProtected = 0x04
	codeStyle     = 0x05 // 8 bytes: the style from here on
	codeBlanks    = 0x06 // a count in one byte, 1 to 255

	rowWrapped = 1 // in the first byte; the line size is shifted by 1
)

// appendRow appends a row in a form without its trailing blanks of default style.
func appendRow(dst []byte, w *row, c *clusters) []byte {
	head := w.size << 1
	if w.wrapped {
		head |= rowWrapped
	}
	dst = append(dst, head)
	end := len(w.cells)
	for end > 0 && w.cells[end-1] == (cell{}) {
		end--
	}
	st := style{}
	for i := 0; i < end; i++ {
		p := w.cells[i]
		if p.St != st {
			st = p.St
			dst = append(dst, codeStyle)
			dst = binary.LittleEndian.AppendUint32(dst, st.Fg)
			dst = binary.LittleEndian.AppendUint32(dst, st.Bg)
		}
		if p.Ch == 0 {
			n := 1
			for i+n < end && n < 255 && w.cells[i+n] == p {
				n++
			}
			dst = append(dst, codeBlanks, byte(n))
			i += n - 1
			continue
		}
		dst = appendCell(dst, p, c)
		if p.Ch&wide != 0 {
			i++ // its right half follows from it
		}
	}
	return dst
}

func appendCell(dst []byte, p cell, c *clusters) []byte {
	if p.Ch&isMasked != 0 {
		dst = append(dst, codeMasked)
	}
	if p.Ch&isProtected != 0 {
		dst = append(dst, codeProtected)
	}
	if p.Ch&wide != 0 {
		dst = append(dst, codeWide)
	}
	switch {
	case p.Ch&isCluster != 0:
		text := c.text[p.Ch&charMask]
		return append(append(dst, codeCluster, byte(len(text))), text...)
	case p.glyph() == 0:
		return append(dst, codeBlank)
	}
	return utf8.AppendRune(dst, rune(p.glyph()))
}

// decodeRow fills w, which is blank, with an encoded row, as far as it fits. It reports false for bytes that appendRow
// cannot have written; w is then whatever was read so far.
func decodeRow(src []byte, w *row, c *clusters) bool {
	if len(src) == 0 || src[0]>>1 > lineBottom {
		return false
	}
	w.wrapped, w.size = src[0]&rowWrapped != 0, src[0]>>1
	var st style
	marks := uint32(0)
	at := 0
	for src = src[1:]; len(src) > 0; {
		n, need := 1, 0 // bytes taken, cells filled
		ch := marks
		switch src[0] {
		case codeMasked:
			marks |= isMasked
		case codeProtected:
			marks |= isProtected
		case codeWide:
			marks |= wide
		case codeStyle:
			if len(src) < 9 {
				return false
			}
			st = style{binary.LittleEndian.Uint32(src[1:]), binary.LittleEndian.Uint32(src[5:])}
			n = 9
		case codeBlanks:
			if len(src) < 2 || src[1] == 0 || marks != 0 {
				return false
			}
			n, need = 2, int(src[1])
		default:
			var glyph uint32
			glyph, n = decodeGlyph(src, c)
			if n == 0 {
				return false
			}
			ch, need = marks|glyph, 1
		}
		src = src[n:]
		if need > 0 {
			at = w.put(at, need, cell{ch, st})
			marks = 0
		}
	}
	return true
}

// decodeGlyph reads a character, blank or cluster; n is 0 when there is none.
func decodeGlyph(src []byte, c *clusters) (glyph uint32, n int) {
	switch {
	case src[0] == codeBlank:
		return 0, 1
	case src[0] == codeCluster:
		if len(src) < 2 || len(src) < 2+int(src[1]) || !utf8.Valid(src[2:2+int(src[1])]) || src[1] == 0 {
			return 0, 0
		}
		n = 2 + int(src[1])
		return isCluster | c.intern(src[2:n]), n
	case src[0] < 0x20:
		return 0, 0
	}
	r, n := utf8.DecodeRune(src)
	if r == utf8.RuneError && n == 1 {
		return 0, 0
	}
	return uint32(r), n
}

// put fills n cells from at, a wide character two, and returns where the next one goes. What does not fit is left out.
func (w *row) put(at, n int, p cell) int {
	for ; n > 0 && at < len(w.cells); n-- {
		if p.Ch&wide == 0 {
			w.cells[at] = p
			at++
			continue
		}
		if at+1 < len(w.cells) {
			w.cells[at] = p
			w.cells[at+1] = cell{Ch: tail | p.Ch&isProtected, St: p.St}
		}
		at += 2
	}
	return at
}

// stateVersion is the form of Serialize. It rises with each change that an older build would misread; a build reads its
// own and, from 2 on, the one before.
const stateVersion = 1

// ErrState is what Restore answers to bytes that Serialize of this build or the one before did not write.
var ErrState = errors.New("not a saved screen of this version")

// saved is a whole Screen as JSON. Answers that wait are not part of it: they belong to the process that asked.
type saved struct {
	Version    int
	Cols, Rows int
	Main, Alt  [][]byte
	History    [][]byte `json:",omitempty"`
	Parse      parser
	Cur        cursor
	Saved      [2]cursor
	Modes      modes
	Margin     [4]int // top, left, bottom, right
	Tabs       []int
	Title      string `json:",omitempty"`
	Last       printed
}

// Serialize returns the whole state, incomplete sequences included: a screen restored from it goes on with the next
// byte as this one would. It holds text unmasked and is for memory or a 0600 file only.
func (s *Screen) Serialize() ([]byte, error) {
	m := s.margin
	v := saved{
		Version: stateVersion, Cols: s.cols, Rows: s.rows, Main: s.encode(s.main), Alt: s.encode(s.alt), Parse: s.parse,
		Cur: s.cur, Saved: s.saved, Modes: s.modes, Margin: [4]int{m.top, m.left, m.bottom, m.right}, Title: s.title, Last: s.last,
	}
	if s.parse.State != inCommand && !s.parse.Ending {
		v.Parse.Body = nil // of a command that is done
	}
	for i := range s.history.n {
		v.History = append(v.History, s.history.line(i))
	}
	for c, on := range s.tabs {
		if on {
			v.Tabs = append(v.Tabs, c)
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("save screen: %w", err)
	}
	return out.Bytes(), nil
}

func (s *Screen) encode(g *grid) [][]byte {
	lines := make([][]byte, len(g.rows))
	for r := range g.rows {
		lines[r] = appendRow(nil, &g.rows[r], &s.clusters)
	}
	return lines
}

// Restore returns the screen that Serialize saved. Answers are off. An error wraps ErrState; damaged bytes never give a
// screen that breaks the package's bounds.
func Restore(data []byte) (*Screen, error) {
	var v saved
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if v.Version != stateVersion {
		return nil, fmt.Errorf("%w: version %d", ErrState, v.Version)
	}
	if err := v.check(); err != nil {
		return nil, err
	}
	s := New(v.Cols, v.Rows)
	s.parse, s.cur, s.saved, s.modes, s.title, s.last = v.Parse, v.Cur, v.Saved, v.Modes, v.Title, v.Last
	s.margin = rect{v.Margin[0], v.Margin[1], v.Margin[2], v.Margin[3]}
	clear(s.tabs)
	for _, c := range v.Tabs {
		s.tabs[c] = true
	}
	if !s.decode(s.main, v.Main) || !s.decode(s.alt, v.Alt) {
		return nil, fmt.Errorf("%w: a row is damaged", ErrState)
	}
	if s.modes.has(modeAlt) {
		s.grid = s.alt
	}
	for _, line := range v.History {
		w := row{cells: make([]cell, s.cols)}
		if !decodeRow(line, &w, &s.clusters) {
			return nil, fmt.Errorf("%w: a line of the scrollback is damaged", ErrState)
		}
		s.history.keep(line)
	}
	s.sweep()
	s.mark()
	return s, nil
}

func (s *Screen) decode(g *grid, lines [][]byte) bool {
	for r := range g.rows {
		if !decodeRow(lines[r], &g.rows[r], &s.clusters) {
			return false
		}
	}
	return true
}

// check refuses what would break a rule that the code relies on.
func (v *saved) check() error {
	m := v.Margin
	inside := func(n, top int) bool { return n >= 0 && n < top }
	ok := v.Cols >= 1 && v.Cols <= MaxCols && v.Rows >= 1 && v.Rows <= MaxRows &&
		len(v.Main) == v.Rows && len(v.Alt) == v.Rows && len(v.History) <= MaxHistory &&
		m[0] >= 0 && m[0] <= m[2] && m[2] < v.Rows && m[1] >= 0 && m[1] <= m[3] && m[3] < v.Cols &&
		inside(v.Last.Row, v.Rows) && inside(v.Last.Col, v.Cols) && len(v.Last.Repeat) <= 4*(clusterRunes+1) &&
		len(v.Title) <= 4*maxTitle && v.Parse.valid() &&
		!slices.ContainsFunc(v.Tabs, func(c int) bool { return !inside(c, v.Cols) })
	for i, c := range []cursor{v.Cur, v.Saved[0], v.Saved[1]} {
		// A saved place may lie outside a screen that has shrunk; it is clamped when used.
		rows, cols := v.Rows, v.Cols
		if i > 0 {
			rows, cols = MaxRows, MaxCols
		}
		ok = ok && inside(c.Row, rows) && inside(c.Col, cols) && c.GL < 4 && c.Shift < 4
	}
	if !ok {
		return fmt.Errorf("%w: a value is out of bounds", ErrState)
	}
	return nil
}

func (p *parser) valid() bool {
	return p.State < numStates && p.Need <= 3 && p.NInter <= 3 && len(p.Body) <= maxCommandBody+4 &&
		p.Code >= 0 && int64(p.Code)<<(6*p.Need) <= unicode.MaxRune && p.Params.N >= 0 && p.Params.N <= maxParams &&
		!slices.ContainsFunc(p.Params.V[:], func(n int32) bool { return n < -1 || n > maxValue })
}
