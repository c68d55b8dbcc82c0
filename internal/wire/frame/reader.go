// Package frame owns the framing of protocol 3: one JSON object a line, both ways, with a bound that holds
// before anything is parsed. Server and client read and write their connections through it and nothing else.
//
// A Reader serves one goroutine. It loses nothing but lines above its limit, which it reports one by one. A
// Writer may be shared: each frame leaves in one write, whole frames keep their order, and after a failed write
// nothing more is sent, since the other side may hold half a frame.
package frame

import (
	"bytes"
	"errors"
	"io"
)

const (
	firstBuffer = 4 << 10  // what an idle connection costs
	keptBuffer  = 64 << 10 // a larger buffer is let go once its frame is used
	ending      = 2        // \r\n does not count against the limit
)

// ErrTooLarge reports a frame above the limit. A Reader made by NewReader has skipped the whole line and goes on
// with the next one; one made by NewStopReader consumes nothing more.
var ErrTooLarge = errors.New("the frame is larger than its limit")

// Reader splits a stream into frames. It is not safe for concurrent use.
type Reader struct {
	src   io.Reader
	limit int
	stop  bool

	buf        []byte // what was read and not yet given out is buf[start:end]
	start, end int
	scanned    int   // bytes from start that hold no line feed
	skipping   bool  // inside a line above the limit
	err        error // of the source, or final
}

// NewReader returns a reader that skips lines of more than limit bytes, as a daemon does. The limit counts the
// bytes of the object and not its line ending.
func NewReader(src io.Reader, limit int) *Reader { return &Reader{src: src, limit: limit} }

// NewStopReader returns a reader that ends at a line of more than limit bytes, as a client does.
func NewStopReader(src io.Reader, limit int) *Reader {
	return &Reader{src: src, limit: limit, stop: true}
}

// SetLimit changes the limit for the frames that follow.
func (r *Reader) SetLimit(limit int) { r.limit = limit }

// Next returns the next frame without its line ending; it is valid until the next call and may be empty.
//
// The error is ErrTooLarge for a frame above the limit, io.EOF at a clean end, io.ErrUnexpectedEOF together with
// the rest when the stream ended in the middle of a line (a daemon treats the rest as a frame, a client as a
// broken connection), else what the source reported. All but ErrTooLarge of a skipping reader are final.
func (r *Reader) Next() ([]byte, error) {
	line, err := r.raw()
	if line = trim(line); len(line) > r.limit {
		return nil, r.tooLarge()
	}
	return line, err
}

// raw returns the next line as it came, without its line feed; at most the limit and a line ending of two bytes.
func (r *Reader) raw() ([]byte, error) {
	r.shrink()
	for {
		line, ok := r.line()
		switch {
		case ok && r.skipping:
			r.skipping = false
			return nil, ErrTooLarge
		case ok && len(line) > r.limit+ending:
			return nil, r.tooLarge()
		case ok:
			return line, nil
		case r.end-r.start > r.limit+ending+1 && r.stop:
			return nil, r.tooLarge()
		case r.end-r.start > r.limit+ending+1:
			r.skipping = true
		}
		if r.skipping {
			r.start, r.end, r.scanned = 0, 0, 0
		}
		if r.err != nil {
			return r.rest()
		}
		r.fill()
	}
}

// line takes a whole line, without its line feed, out of the buffer.
func (r *Reader) line() ([]byte, bool) {
	i := bytes.IndexByte(r.buf[r.start+r.scanned:r.end], '\n')
	if i < 0 {
		r.scanned = r.end - r.start
		return nil, false
	}
	line := r.buf[r.start : r.start+r.scanned+i]
	r.start += r.scanned + i + 1
	r.scanned = 0
	return line, true
}

// tooLarge reports a frame above the limit; a stopping reader is over then.
func (r *Reader) tooLarge() error {
	if r.stop {
		r.err, r.start, r.end, r.scanned = ErrTooLarge, 0, 0, 0
	}
	return ErrTooLarge
}

// rest gives out what is left at the end of the source.
func (r *Reader) rest() ([]byte, error) {
	rest := r.buf[r.start:r.end]
	r.start, r.end, r.scanned = 0, 0, 0
	if r.skipping {
		r.skipping = false
		return nil, ErrTooLarge
	}
	if len(rest) == 0 || r.err != io.EOF {
		return nil, r.err
	}
	return rest, io.ErrUnexpectedEOF
}

// fill reads once, with room for at most one line of the limit and what comes along with its end.
func (r *Reader) fill() {
	if r.start > 0 && r.start == r.end {
		r.start, r.end = 0, 0
	}
	if r.end == len(r.buf) {
		r.grow()
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		if err != nil {
			r.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// grow makes room: by moving the open line to the front, else by doubling, up to one line of the limit.
func (r *Reader) grow() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
		return
	}
	size := max(firstBuffer, min(2*len(r.buf), r.limit+ending+2))
	if size <= len(r.buf) {
		size = len(r.buf) + firstBuffer
	}
	larger := make([]byte, size)
	copy(larger, r.buf[:r.end])
	r.buf = larger
}

// shrink lets a large buffer go when what is left in it fits a small one.
func (r *Reader) shrink() {
	if left := r.end - r.start; len(r.buf) > keptBuffer && left <= firstBuffer {
		smaller := make([]byte, firstBuffer)
		copy(smaller, r.buf[r.start:r.end])
		r.buf, r.start, r.end = smaller, 0, left
	}
}

// trim removes all trailing line feeds and carriage returns.
func trim(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }
