package fold

import (
	"bytes"
	"runtime/debug"

	"scv/internal/agent"
)

// kept is the largest buffer in bytes that stays allocated between two lines.
const kept = 64 << 10

// huge is the length of a line in bytes from which on its memory is given back to the system at once.
const huge = 8 << 20

// piece is how many bytes of a long line stand together while it is gathered. In one buffer that grows, a line of 20 MB
// would for a moment be there two or three times.
const piece = 1 << 20

// A line gathers the pieces of one line of a stream. It holds at most agent.MaxLine bytes and counts the rest.
type line struct {
	buf  []byte   // at most a piece
	full [][]byte // pieces before it
	cut  uint64
}

// size is how many bytes of the line are held.
func (l *line) size() int { return len(l.full)*piece + len(l.buf) }

// feed takes the next bytes and calls each for every line that they complete, without its ending. The bytes that
// each gets are valid during the call.
func (l *line) feed(p []byte, each func(text []byte, cut uint64)) {
	for {
		text, rest, whole := bytes.Cut(p, []byte{'\n'})
		switch {
		case !whole:
			l.keep(text)
			return
		case l.size() == 0 && l.cut == 0 && len(text) <= agent.MaxLine:
			each(bytes.TrimSuffix(text, []byte{'\r'}), 0)
		default:
			l.keep(text)
			l.give(each)
		}
		p = rest
	}
}

// end gives what stands at the end of a stream without a line feed.
func (l *line) end(each func(text []byte, cut uint64)) {
	if l.size() > 0 || l.cut > 0 {
		l.give(each)
	}
}

func (l *line) give(each func(text []byte, cut uint64)) {
	text, cut := l.buf, l.cut
	release(l.size()) // what was left over while it came
	if len(l.full) > 0 {
		text = bytes.Join(append(l.full, l.buf), nil)
	}
	l.buf, l.full, l.cut = l.buf[:0], nil, 0
	if cap(l.buf) > kept {
		l.buf = nil
	}
	size := len(text)
	release(size) // the pieces
	each(bytes.TrimSuffix(text, []byte{'\r'}), cut)
	release(size)
}

// release gives back to the system what is garbage now, when a line was so long: such lines are rare, and else their
// memory stays with the process for minutes, beside what is made of them.
func release(size int) {
	if size > huge {
		debug.FreeOSMemory()
	}
}

// keep takes bytes of the line up to the bound. An ordinary line costs almost nothing.
func (l *line) keep(p []byte) {
	take := min(len(p), agent.MaxLine-l.size())
	l.cut += uint64(len(p) - take)
	for p = p[:take]; len(p) > 0; {
		n := min(len(p), piece-len(l.buf))
		l.buf = append(l.buf, p[:n]...)
		if p = p[n:]; len(l.buf) == piece {
			l.full, l.buf = append(l.full, l.buf), make([]byte, 0, piece)
		}
	}
}
