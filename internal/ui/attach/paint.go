package attach

import (
	"bytes"
	"fmt"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// painter draws pages on the owner's terminal. Nothing of an agent reaches it but printable text: every position, colour
// and mode is written here, of what the page says. The last line is ours.
type painter struct {
	cols, rows int                          // of the window
	screen     map[uint16][]wire.AttachSpan // what is shown, by row
	past       map[uint16][]wire.AttachSpan // what is shown instead while the owner has scrolled up; else nil
	pass       bool                         // the owner's terminal reports mouse and focus when the agent asks for it
	page       wire.AttachPage              // the last one, without its lines
	status     string                       // what the last line says
	buf        bytes.Buffer
}

func newPainter(cols, rows int) *painter {
	return &painter{cols: cols, rows: rows, screen: map[uint16][]wire.AttachSpan{}}
}

// Modes of the owner's terminal.
const (
	enterScreen = "\x1b[?1049h\x1b[2J\x1b[?2004h" // a paste is told apart from keys, whether the agent wants that or not
	leaveScreen = "\x1b[?2026l\x1b[?1l\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[m\x1b[?25h\x1b[?1049l"
	syncBegin   = "\x1b[?2026h\x1b[?25l"
	syncEnd     = "\x1b[?2026l"
)

// take draws what a page changes and returns the bytes for the terminal, which are valid until the next call.
func (p *painter) take(page wire.AttachPage) []byte {
	p.buf.Reset()
	p.buf.WriteString(syncBegin)
	if page.Full {
		clear(p.screen)
	}
	if page.Full && p.past == nil {
		p.buf.WriteString("\x1b[m\x1b[2J")
	}
	for _, l := range page.Lines {
		p.screen[l.Row] = l.Spans
		if p.past == nil {
			p.row(l.Row)
		}
	}
	p.mode(page.ApplicationCursor, p.page.ApplicationCursor, "1")
	if p.pass {
		p.mode(page.Focus, p.page.Focus, "1004")
		p.mouse(page.Mouse)
	}
	page.Lines = nil
	p.page = page
	p.last()
	return p.buf.Bytes()
}

// resize draws everything for another size of the window.
func (p *painter) resize(cols, rows int) []byte {
	p.cols, p.rows = cols, rows
	p.buf.Reset()
	p.buf.WriteString(syncBegin + "\x1b[m\x1b[2J")
	for r := range p.shown() {
		p.row(r)
	}
	p.last()
	return p.buf.Bytes()
}

// say changes the last line.
func (p *painter) say(status string) []byte {
	p.status = status
	p.buf.Reset()
	p.buf.WriteString(syncBegin)
	p.last()
	return p.buf.Bytes()
}

// mode has the owner's terminal encode keys as the agent wants them.
func (p *painter) mode(on, was bool, number string) {
	if on == was {
		return
	}
	word := "l"
	if on {
		word = "h"
	}
	p.buf.WriteString("\x1b[?" + number + word)
}

// mouse has the owner's terminal report it, always in SGR's form: keys.go makes of it what the agent asked for.
func (p *painter) mouse(mode uint16) {
	if mode == 9 {
		mode = 1000 // of which the presses are sent on
	}
	was := p.page.Mouse
	if was == 9 {
		was = 1000
	}
	if mode == was {
		return
	}
	if was != 0 {
		fmt.Fprintf(&p.buf, "\x1b[?%dl\x1b[?1006l", was)
	}
	switch mode {
	case 1000, 1002, 1003:
		fmt.Fprintf(&p.buf, "\x1b[?%dh\x1b[?1006h", mode)
	}
}

// shown is what the rows show.
func (p *painter) shown() map[uint16][]wire.AttachSpan {
	if p.past != nil {
		return p.past
	}
	return p.screen
}

func (p *painter) last() {
	fmt.Fprintf(&p.buf, "\x1b[%d;1H\x1b[m\x1b[7m%s\x1b[m", p.rows, plain.Pad(plain.Line(p.status), p.cols))
	if c := p.page.Cursor; c != nil && p.past == nil && int(c[0]) < p.rows-1 && int(c[1]) < p.cols {
		fmt.Fprintf(&p.buf, "\x1b[%d;%dH\x1b[?25h", c[0]+1, c[1]+1)
	}
	p.buf.WriteString(syncEnd)
}

func (p *painter) row(r uint16) {
	if int(r) >= p.rows-1 {
		return
	}
	col := 0
	fmt.Fprintf(&p.buf, "\x1b[%d;1H", r+1)
	for i, s := range p.shown()[r] {
		if i > 0 {
			fmt.Fprintf(&p.buf, "\x1b[%dG", col+1) // whatever the terminal made of what stands before
		}
		text := plain.Line(s.Text)
		width := int(s.Cells)
		if width == 0 {
			text, width = fit(text, p.cols-col)
		} else if col+width > p.cols {
			break
		}
		p.style(s)
		p.buf.WriteString(text)
		if col += width; col >= p.cols {
			break
		}
	}
	p.buf.WriteString("\x1b[m")
	if col < p.cols {
		fmt.Fprintf(&p.buf, "\x1b[%dG\x1b[K", col+1)
	}
}

// fit returns as much of a text as fits, and its width: the sum of its characters', as spans without cells have it.
func fit(text string, room int) (string, int) {
	width := 0
	for i, r := range text {
		w := plain.Width(string(r))
		if width+w > room {
			return text[:i], width
		}
		width += w
	}
	return text, width
}

func (p *painter) style(s wire.AttachSpan) {
	codes := []string{"0"}
	for _, x := range []struct {
		on   bool
		code string
	}{{s.Bold, "1"}, {s.Italic, "3"}, {s.Underline, "4"}, {s.Inverse, "7"}} {
		if x.on {
			codes = append(codes, x.code)
		}
	}
	codes = append(append(codes, colour("38", s.Fg)...), colour("48", s.Bg)...)
	p.buf.WriteString("\x1b[" + strings.Join(codes, ";") + "m")
}

func colour(kind string, c wire.AttachColor) []string {
	if n, ok := c.Index(); ok {
		return []string{kind, "5", fmt.Sprint(n)}
	}
	if r, g, b, ok := c.RGB(); ok {
		return []string{kind, "2", fmt.Sprint(r), fmt.Sprint(g), fmt.Sprint(b)}
	}
	return nil
}
