package fold

import (
	"bytes"
	"runtime/debug"

	"scv/internal/agent"
)

// kept is the largest buffer in bytes that stays allocated between two lines.
const kept = 64 << 10

// huge is the size of a buffer in bytes from which on its memory is given back to the system at once.
const huge = 8 << 20

// A line gathers the pieces of one line of a stream. It holds at most agent.MaxLine bytes and counts the rest.
type line struct {
	buf []byte
	cut uint64
}

// feed takes the next bytes and calls each for every line that they complete, without its ending. The bytes that
// each gets are valid during the call.
func (l *line) feed(p []byte, each func(text []byte, cut uint64)) {
	for {
		text, rest, whole := bytes.Cut(p, []byte{'\n'})
		switch {
		case !whole:
			l.keep(text)
			return
		case len(l.buf) == 0 && l.cut == 0 && len(text) <= agent.MaxLine:
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
	if len(l.buf) > 0 || l.cut > 0 {
		l.give(each)
	}
}

func (l *line) give(each func(text []byte, cut uint64)) {
	text, cut := bytes.TrimSuffix(l.buf, []byte{'\r'}), l.cut
	size := cap(l.buf)
	l.buf, l.cut = l.buf[:0], 0
	if size > kept {
		l.buf = nil
	}
	each(text, cut)
	if size > huge {
		debug.FreeOSMemory() // such lines are rare, and else their memory stays with the process for minutes
	}
}

// keep grows the buffer by doubling, and never beyond the bound, so that a long line costs twice its length for a
// moment and an ordinary one almost nothing.
func (l *line) keep(p []byte) {
	take := min(len(p), agent.MaxLine-len(l.buf))
	l.cut += uint64(len(p) - take)
	if need := len(l.buf) + take; need > cap(l.buf) {
		grown := make([]byte, len(l.buf), min(max(need, 2*cap(l.buf), 512), agent.MaxLine))
		copy(grown, l.buf)
		old := cap(l.buf)
		l.buf = grown
		if old >= huge {
			debug.FreeOSMemory() // the old one: two or three times in such a line
		}
	}
	l.buf = append(l.buf, p[:take]...)
}
