package takeover

import (
	"log/slog"

	"scv/internal/terminal/screen"
)

// A picture is the screen as drawn from the output, and how far that is. The goroutine that owns the terminal owns it.
type picture struct {
	sender *sender
	mask   screen.Mask
	log    *slog.Logger
	fresh  bool // nobody before this daemon has seen the output

	screen  *screen.Screen
	view    *screen.View
	begun   bool   // an output was opened
	at      uint64 // position in the output up to which it was read
	kept    uint64 // likewise, of the screen that the shim keeps
	skip    uint64 // bytes to come that the kept screen shows already
	quiet   uint64 // questions before this position were asked of another daemon, or of nobody: no answers
	inexact bool   // output was not seen: the program has to paint anew
	cols    uint16
	rows    uint16
}

func (p *picture) draw(s *screen.Screen) { p.screen, p.view = s, screen.NewView(s, p.mask) }

// open takes up the output where a connection begins, and says what the owner should know of it.
func (p *picture) open(out Output) (note string) {
	first := !p.begun
	p.begun = true
	if !first || !p.fresh {
		p.quiet = out.To
	}
	switch {
	case first && len(out.Screen) > 0 && out.At >= out.From && p.restore(out):
	case out.From != p.at:
		note = p.lose(out.From)
	}
	p.settle()
	return note
}

// restore draws the kept screen; what it shows already is skipped.
func (p *picture) restore(out Output) bool {
	s, err := screen.Restore(out.Screen)
	if err != nil {
		p.log.Warn("a kept screen cannot be read", "error", err)
		return false
	}
	p.at, p.skip, p.kept = out.From, out.At-out.From, out.At
	p.draw(s)
	cols, rows := s.Size()
	p.cols, p.rows = uint16(cols), uint16(rows)
	return true
}

// lose begins with a blank screen at a position, and has the program paint it once all that is there was read.
func (p *picture) lose(from uint64) (note string) {
	p.at, p.inexact = from, true
	p.draw(screen.New(int(p.cols), int(p.rows)))
	return "a part of the output was not seen, so the program was asked to draw its screen again"
}

// take draws output.
func (p *picture) take(b []byte) {
	if old := p.quiet - p.at; p.at < p.quiet && old < uint64(len(b)) { // only what follows is answered
		p.write(b[:old])
		b = b[old:]
	}
	p.write(b)
	if a := p.screen.Answers(); len(a) > 0 {
		p.sender.send(message{typed: Input{Bytes: a}})
	}
	if p.skip == 0 && p.at-p.kept >= keepStep {
		p.keep()
	}
}

func (p *picture) write(b []byte) {
	p.at += uint64(len(b))
	n := min(p.skip, uint64(len(b)))
	p.skip -= n
	_, _ = p.screen.Write(b[n:])
	p.settle()
}

// settle lets questions be answered once the output has come to where this daemon took over, and makes the program
// paint what was not seen.
func (p *picture) settle() {
	if p.at < p.quiet {
		return
	}
	p.screen.Answer(true)
	if p.inexact {
		p.inexact = false
		p.sender.send(message{cols: p.cols, rows: p.rows - 1}) // it is told of a size only when that is another one
		p.sender.send(message{cols: p.cols, rows: p.rows})
	}
}

// keepStep is after how many bytes of output the screen is left with the shim anew.
const keepStep = 512 << 10

func (p *picture) keep() {
	data, err := p.screen.Serialize()
	if err != nil {
		p.log.Warn("a screen was not kept", "error", err)
		return
	}
	p.kept = p.at
	p.sender.send(message{screen: data, at: p.at})
}

// resize sets another size and reports whether it is one. The shim is left a screen of it, since sizes are not in the
// output. 0 leaves a side as it is.
func (p *picture) resize(cols, rows uint16) bool {
	if cols == 0 {
		cols = p.cols
	}
	if rows == 0 {
		rows = p.rows
	}
	cols, rows = Clamp(cols, rows)
	if cols == p.cols && rows == p.rows {
		return false
	}
	p.cols, p.rows = cols, rows
	p.screen.Resize(int(cols), int(rows))
	p.sender.send(message{cols: cols, rows: rows})
	p.keep()
	return true
}
