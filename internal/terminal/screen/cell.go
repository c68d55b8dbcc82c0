package screen

import (
	"unicode/utf8"

	"scv/internal/wire"
)

// A style is how a cell looks: both colours and the attributes, packed so that styles compare as numbers. Bits 0 to 23
// of each word hold a palette index or a direct colour, 24 and 25 which of the two (neither: the default colour), and
// the rest are attributes.
type style struct{ Fg, Bg uint32 }

const (
	kindIndex   = 1 << 24
	kindRGB     = 2 << 24
	colourMask  = 1<<26 - 1
	valueMask   = 1<<24 - 1
	attrMask    = ^uint32(colourMask)
	bold        = 1 << 26 // in Fg, up to strike
	dim         = 1 << 27
	italic      = 1 << 28
	inverse     = 1 << 29
	hidden      = 1 << 30
	strike      = 1 << 31
	underShift  = 26 // in Bg: 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
	underMask   = 7 << underShift
	blinking    = 1 << 29
	overline    = 1 << 30
	lineOnBlank = underMask | overline // attributes of Bg that show on a blank
)

// erased is the style of a cell that was erased under st: its background alone.
func (st style) erased() style { return style{Bg: st.Bg & colourMask} }

func colour(word uint32) wire.AttachColor {
	switch v := word & valueMask; word & (kindIndex | kindRGB) {
	case kindIndex:
		return wire.IndexColor(uint8(v))
	case kindRGB:
		return wire.RGBColor(uint8(v>>16), uint8(v>>8), uint8(v))
	}
	return wire.AttachColor{}
}

// A cell is one column of one row. Ch holds a character, or with isCluster an index of the cluster table; width and
// marks share the word. The zero Ch is a blank that nothing was printed in.
type cell struct {
	Ch uint32
	St style
}

const (
	charMask    = 1<<21 - 1
	isCluster   = 1 << 21
	wide        = 1 << 22 // the left half of a wide character
	tail        = 1 << 23 // its right half; holds no character
	isProtected = 1 << 24 // selective erase leaves it alone
	isMasked    = 1 << 25 // shown as a dot: the owner of the screen found a secret here
)

// glyph is the part of a cell that says what was printed.
func (c cell) glyph() uint32 { return c.Ch & (charMask | isCluster) }

func (c cell) blank() bool { return c.glyph() == 0 && c.Ch&tail == 0 || c.glyph() == ' ' }

const (
	// clusterRunes is the most characters that one cell keeps; further marks are dropped.
	clusterRunes = 16
	sweepAt      = 4096
)

// clusters keeps the text of cells that hold more than one character. Entries are never changed; the screen drops those
// that no cell names when the table has doubled.
type clusters struct {
	text  []string
	index map[string]uint32
	limit int
}

// intern returns the table index of text. The table grows by at most one entry.
func (c *clusters) intern(text []byte) uint32 {
	if i, ok := c.index[string(text)]; ok {
		return i
	}
	if c.index == nil {
		c.index = map[string]uint32{}
	}
	i := uint32(len(c.text))
	s := string(text)
	c.text = append(c.text, s)
	c.index[s] = i
	return i
}

func (c *clusters) full() bool { return len(c.text) >= max(c.limit, sweepAt) }

// sweep keeps the clusters of the cells of the given grids and renumbers them.
func (c *clusters) sweep(grids ...*grid) {
	old := c.text
	c.text, c.index = nil, nil
	for _, g := range grids {
		for r := range g.rows {
			for i := range g.rows[r].cells {
				p := &g.rows[r].cells[i]
				if p.Ch&isCluster != 0 {
					p.Ch = p.Ch&^charMask | c.intern([]byte(old[p.Ch&charMask]))
				}
			}
		}
	}
	c.limit = 2 * len(c.text)
}

// appendText appends what the cell shows: a space for a blank, nothing for the right half of a wide character.
func (c *clusters) appendText(dst []byte, p cell) []byte {
	switch {
	case p.Ch&tail != 0:
		return dst
	case p.Ch&isCluster != 0:
		return append(dst, c.text[p.Ch&charMask]...)
	case p.glyph() == 0:
		return append(dst, ' ')
	}
	return utf8.AppendRune(dst, rune(p.glyph()))
}

// sgr applies SGR parameters to the style of what is printed next.
func (st *style) sgr(ps *params) {
	for i := 0; i < ps.N; i++ {
		switch p := ps.at(i, 0); p {
		case 38, 48, 58:
			i += st.extended(p, ps, i)
		default:
			sub := -1
			if i+1 < ps.N && ps.Sub[i+1] {
				sub = ps.at(i+1, 0)
			}
			st.attribute(p, sub)
		}
		for i+1 < ps.N && ps.Sub[i+1] {
			i++
		}
	}
}

// extended reads a colour of 256 or a direct one behind parameter i, in both notations: 38;5;n and 38;2;r;g;b of
// xterm, 38:5:n, 38:2:r:g:b and 38:2:space:r:g:b of ISO 8613-6. It returns how many further parameters it took.
func (st *style) extended(which int, ps *params, i int) int {
	n := 0 // sub-parameters
	for i+n+1 < ps.N && ps.Sub[i+n+1] {
		n++
	}
	colon := n > 0
	if n == 1 {
		return 0
	}
	first := i + 2
	word, took := uint32(0), 0
	switch ps.at(i+1, 0) {
	case 5:
		word, took = indexWord(ps.at(first, 0)), 2
	case 2:
		took = 4
		if colon && n >= 5 {
			first++ // a colour space stands before the parts
		}
		if colon && n < 4 {
			return 0
		}
		r, g, b := ps.at(first, 0), ps.at(first+1, 0), ps.at(first+2, 0)
		if max(r, g, b) <= 255 {
			word = kindRGB | uint32(r)<<16 | uint32(g)<<8 | uint32(b)
		}
	default:
		return min(1, ps.N-1-i)
	}
	if word != 0 {
		st.setColour(which, word)
	}
	if colon {
		return 0 // the caller skips sub-parameters
	}
	return min(took, ps.N-1-i)
}

func indexWord(n int) uint32 {
	if n > 255 {
		return 0
	}
	return kindIndex | uint32(n)
}

// setColour sets the colour that SGR 38 or 48 names; underline colours (58) are read and not kept.
func (st *style) setColour(which int, word uint32) {
	switch which {
	case 38:
		st.Fg = st.Fg&attrMask | word
	case 48:
		st.Bg = st.Bg&attrMask | word
	}
}

// attribute applies one plain SGR parameter; sub is its first sub-parameter, or -1.
func (st *style) attribute(p, sub int) {
	switch {
	case p == 0:
		*st = style{}
	case p == 4:
		st.underline(sub)
	case p == 21:
		st.underline(2)
	case p >= 30 && p <= 37:
		st.setColour(38, indexWord(p-30))
	case p == 39:
		st.setColour(38, 0)
	case p >= 40 && p <= 47:
		st.setColour(48, indexWord(p-40))
	case p == 49:
		st.setColour(48, 0)
	case p >= 90 && p <= 97:
		st.setColour(38, indexWord(p-90+8))
	case p >= 100 && p <= 107:
		st.setColour(48, indexWord(p-100+8))
	default:
		st.flag(p)
	}
}

func (st *style) underline(kind int) {
	if kind < 0 {
		kind = 1
	}
	if kind <= 5 {
		st.Bg = st.Bg&^uint32(underMask) | uint32(kind)<<underShift
	}
}

func (st *style) flag(p int) {
	switch p {
	case 1:
		st.Fg |= bold
	case 2:
		st.Fg |= dim
	case 3:
		st.Fg |= italic
	case 5, 6:
		st.Bg |= blinking
	case 7:
		st.Fg |= inverse
	case 8:
		st.Fg |= hidden
	case 9:
		st.Fg |= strike
	case 22:
		st.Fg &^= bold | dim
	case 23:
		st.Fg &^= italic
	case 24:
		st.Bg &^= underMask
	case 25:
		st.Bg &^= blinking
	case 27:
		st.Fg &^= inverse
	case 28:
		st.Fg &^= hidden
	case 29:
		st.Fg &^= strike
	case 53:
		st.Bg |= overline
	case 55:
		st.Bg &^= overline
	}
}
