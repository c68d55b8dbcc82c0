package fold

import (
	"time"
	"unicode/utf8"

	"scv/internal/safe/plain"
	"scv/internal/safe/redact"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A sheet gives each item of one frame after the other its position and passes it on. All text passes its mask.
type sheet struct {
	mask  *redact.Masker
	frame uint64    // number of the frame in hand, or of the last
	index uint32    // items made of it
	at    time.Time // of it
	take  func(Item)
}

// turnTo begins the items of a frame, which take is given one by one.
func (s *sheet) turnTo(frame uint64, at time.Time, take func(Item)) {
	s.frame, s.index, s.at, s.take = frame, 0, at, take
}

func (s *sheet) remark(text string) {
	s.event(wire.RunEvent{Kind: wire.EventNote, Text: s.display(text)})
}

func (s *sheet) event(ev wire.RunEvent) {
	ev.TsMs = uint64(max(s.at.UnixMilli(), 0))
	s.take(Item{Pos: s.next(), Event: &ev})
}

func (s *sheet) step(x row.Step) {
	x.Pos, x.At = s.next(), s.at
	s.take(Item{Pos: x.Pos, Step: &x})
}

func (s *sheet) next() row.Pos {
	s.index++
	return row.Pos{Frame: s.frame, Index: s.index}
}

// display is a text as the log shows it: masked, one line, bounded.
func (s *sheet) display(text string) string { return cut(plain.Line(s.mask.Text(text)), maxText) }

func (s *sheet) brief(text string) string { return cut(plain.Line(s.mask.Text(text)), maxLast) }

// block is a prompt as the log shows it: masked, its lines kept, bounded.
func (s *sheet) block(text string) string { return cut(plain.Block(s.mask.Text(text)), maxPrompt) }

// cut shortens text to a number of characters; an ellipsis stands for the rest.
func cut(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	end := 0
	for range limit - 1 {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end] + "…"
}
