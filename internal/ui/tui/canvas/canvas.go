// Package canvas is what the dashboard draws on: rows of spans of text, each with the role that its text plays. It knows
// no terminal, no colour and no key. Everything that gets onto a row is cleaned here (security.md section 7), so neither
// an agent's words nor a path can bring a control character to the terminal.
package canvas

import (
	"slices"
	"strings"

	"scv/internal/safe/plain"
)

// A Role is what a text is, not how it looks; a theme of the terminal's driver says how.
type Role uint8

// The roles. Each is told by its words too, never by colour alone.
const (
	Body   Role = iota // ordinary text
	Strong             // heads and what is named
	Faint              // what may be overlooked
	Wait               // a person is needed
	Work               // in progress
	Done               // ended well
	Fail               // ended badly
	Doubt              // cannot be told
)

// Roles is the number of roles.
const Roles = int(Doubt) + 1

// A Span is text in one role. Chosen is the selected row or field. A Look stands in place of the role's, for cells that an
// agent's own terminal shows.
type Span struct {
	Text   string
	Role   Role
	Chosen bool
	Look   Look
}

// A Look is how a cell of another terminal looks. The zero value is none.
type Look struct {
	Fg, Bg                           Colour
	Bold, Italic, Underline, Inverse bool
}

// A Colour is the terminal's own (0), one of a palette of 256, or a direct one.
type Colour uint32

const (
	ofPalette Colour = 1 << 24
	direct    Colour = 2 << 24
)

// Indexed is a colour of the palette.
func Indexed(index uint8) Colour { return ofPalette | Colour(index) }

// RGB is a direct colour.
func RGB(r, g, b uint8) Colour { return direct | Colour(r)<<16 | Colour(g)<<8 | Colour(b) }

// Index is the place in the palette; ok is false for another kind of colour.
func (c Colour) Index() (index uint8, ok bool) { return uint8(c), c&^0xffffff == ofPalette }

// Parts are those of a direct colour; ok is false for another kind of colour.
func (c Colour) Parts() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c&^0xffffff == direct
}

// A Row is one line of the screen. Rows are never changed once they are made.
type Row []Span

// A Point is a place on the screen, from 0.
type Point struct{ Row, Col int }

// A State is what goes on, for what a terminal shows around the screen.
type State uint8

// The states.
const (
	Idle    State = iota
	Working       // something is in progress
	Blocked       // a person is needed
)

// A Frame is a whole screen: its rows, top down, the place of the cursor when Typing, the window's title, and what goes on.
type Frame struct {
	Rows   []Row
	Cursor Point
	Typing bool
	Title  string
	State  State
}

// Equal reports whether two frames show the same.
func (f *Frame) Equal(g *Frame) bool {
	return f.Typing == g.Typing && f.Cursor == g.Cursor && f.Title == g.Title && f.State == g.State &&
		slices.EqualFunc(f.Rows, g.Rows, func(a, b Row) bool { return slices.Equal(a, b) })
}

// Text is a span of ordinary text, cleaned.
func Text(s string) Span { return As(Body, s) }

// As is a span in a role, cleaned.
func As(role Role, s string) Span { return Span{Text: plain.Line(s), Role: role} }

// Cell is a span of exactly so many cells: cut with ".." or filled with spaces.
func Cell(role Role, s string, cells int) Span {
	return Span{Text: plain.Pad(plain.Line(s), cells), Role: role}
}

// Blank is a span of spaces.
func Blank(cells int) Span { return Span{Text: strings.Repeat(" ", max(cells, 0))} }

// Rule is a line of dashes; dashes are one cell wide in every terminal, which box drawing characters are not.
func Rule(cells int) Span { return Span{Text: strings.Repeat("-", max(cells, 0)), Role: Faint} }

// Width is the number of cells that a row takes.
func (r Row) Width() int {
	n := 0
	for _, s := range r {
		n += plain.Width(s.Text)
	}
	return n
}

// String is a row's text without its blanks at the end.
func (r Row) String() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Choose is the row as a selected one.
func (r Row) Choose() Row {
	out := slices.Clone(r)
	for i := range out {
		out[i].Chosen = true
	}
	return out
}

// Fit is the row in exactly so many cells: cut at the right, or filled with spaces. Every span is cleaned once more, so
// that no row reaches the terminal in another way. Blanks at the end take the choice of the last span.
func Fit(r Row, cells int) Row {
	out := make(Row, 0, len(r)+1)
	left := max(cells, 0)
	for _, s := range r {
		if left == 0 {
			break
		}
		s.Text = plain.Line(s.Text)
		if s.Text == "" {
			continue
		}
		if w := plain.Width(s.Text); w > left {
			s.Text = plain.Pad(s.Text, left)
			left = 0
		} else {
			left -= w
		}
		out = append(out, s)
	}
	if left > 0 {
		pad := Blank(left)
		if n := len(r); n > 0 {
			pad.Chosen = r[n-1].Chosen
		}
		out = append(out, pad)
	}
	return out
}

// Ends puts one row at the left and one at the right of so many cells; the right one gives way when there is no room.
func Ends(left, right Row, cells int) Row {
	gap := cells - left.Width() - right.Width()
	if gap < 2 {
		return Fit(left, cells)
	}
	return Fit(append(append(slices.Clone(left), Blank(gap)), right...), cells)
}

// Wrap breaks a text into rows of at most so many cells. The head stands before the first row, and the others begin
// below the text; a head that leaves no room for text counts as text.
func Wrap(head Row, role Role, s string, cells int) []Row {
	const least = 16
	indent := head.Width()
	if cells-indent < least {
		indent = 0
		s = head.String() + " " + plain.Line(s)
		head = nil
	}
	parts := plain.Wrap(plain.Line(s), cells-indent)
	rows := make([]Row, 0, len(parts))
	for i, part := range parts {
		row := Row{Blank(indent), {Text: part, Role: role}}
		if i == 0 {
			row = append(slices.Clone(head), Span{Text: part, Role: role})
		}
		rows = append(rows, row)
	}
	return rows
}
