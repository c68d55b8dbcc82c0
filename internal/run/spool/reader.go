package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// window is the usual size in bytes of a reader's buffer; only a larger frame makes it grow, and not for long.
const window = 32 << 10

// Reader reads frames in order from a position and goes on later with what was appended meanwhile. It never
// waits: Next says ErrNotYet and the caller calls again when it was nudged. It holds one open file and at most
// one frame in memory. One goroutine at a time may use it.
type Reader struct {
	dir     string
	pos     Pos
	lastSeq uint64 // 0 until the first frame
	file    *os.File

	buf  []byte // buf[lo:hi] is what the file holds from pos.Offset on, as far as it was read
	lo   int
	hi   int
	tail int64 // bytes seen after the last whole frame at the last ErrNotYet
}

// OpenReader starts reading at from, which must be a zero Pos or one that a frame of this spool carried (Pos
// or End). Files are opened by the first Next, so a spool that does not exist yet is not an error.
func OpenReader(dir string, from Pos) (*Reader, error) {
	if from.Offset < 0 || (from.Segment == 0 && from.Offset != 0) {
		return nil, fmt.Errorf("open spool: no position %s", from)
	}
	return &Reader{dir: dir, pos: from}, nil
}

// Pos is where the next frame begins.
func (r *Reader) Pos() Pos { return r.pos }

// Pending is the number of bytes that stood behind the last whole frame when Next last said ErrNotYet: a frame
// on its way while the shim lives, a torn one when it is gone.
func (r *Reader) Pending() int64 { return r.tail }

// Close frees the open file.
func (r *Reader) Close() error {
	f := r.file
	r.file, r.buf, r.lo, r.hi = nil, nil, 0, 0
	if f == nil {
		return nil
	}
	return f.Close()
}

// Next returns the next frame. ErrNotYet means that there is none now, ErrCorrupt (a CorruptError) that the
// frame here was changed after it was written, ErrDeleted that this place is gone. After any error the reader
// stands where it stood and Next may be called again.
func (r *Reader) Next() (Frame, error) {
	for {
		if err := r.open(); err != nil {
			return Frame{}, err
		}
		stale := r.hi > r.lo
		frame, err := r.here()
		if err != nil && stale {
			// What the window held of this frame may have been taken back by the writer: look at the file.
			r.lo, r.hi = 0, 0
			frame, err = r.here()
		}
		if !errors.Is(err, ErrNotYet) {
			return frame, err
		}
		moved, moveErr := r.advance()
		if moveErr != nil {
			return Frame{}, moveErr
		}
		if !moved {
			return Frame{}, err
		}
	}
}

// here reads the frame at the position from the open segment.
func (r *Reader) here() (Frame, error) {
	have, err := r.fill(headerLen)
	if err != nil {
		return Frame{}, err
	}
	if len(have) < headerLen {
		return Frame{}, r.short(len(have))
	}
	h := parseHeader(have)
	if h.length > MaxPayload {
		return Frame{}, r.bad("its length is impossible")
	}
	whole := headerLen + int(h.length)
	if have, err = r.fill(whole); err != nil {
		return Frame{}, err
	}
	if len(have) < whole {
		if err := r.bad("its length does not fit"); errors.Is(err, ErrCorrupt) {
			return Frame{}, err
		}
		return Frame{}, r.short(len(have))
	}
	b := have[:whole]
	if !h.good(b) {
		return Frame{}, r.bad("its checksum does not match")
	}
	if r.lastSeq != 0 && h.seq != r.lastSeq+1 {
		return Frame{}, r.corrupt(fmt.Sprintf("frame %d follows frame %d", h.seq, r.lastSeq))
	}
	frame := h.frame(b, r.pos)
	r.lo += whole
	r.pos, r.lastSeq, r.tail = frame.End, h.seq, 0
	return frame, nil
}

// fill makes at least n bytes from the position on available when the file has them, and returns what it has.
func (r *Reader) fill(n int) ([]byte, error) {
	if r.hi-r.lo >= n {
		return r.buf[r.lo:r.hi], nil
	}
	size := max(n, window)
	if len(r.buf) < size || len(r.buf) > max(size, 8*window) {
		grown := make([]byte, size)
		r.hi = copy(grown, r.buf[r.lo:r.hi])
		r.buf, r.lo = grown, 0
	} else {
		r.hi = copy(r.buf, r.buf[r.lo:r.hi])
		r.lo = 0
	}
	for r.hi < n {
		m, err := r.file.ReadAt(r.buf[r.hi:], r.pos.Offset+int64(r.hi))
		r.hi += m
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read spool: %w", err)
		}
	}
	return r.buf[:r.hi], nil
}

// short forgets what was read behind the last frame, since a writer may still take it back.
func (r *Reader) short(have int) error {
	r.tail = int64(have)
	r.lo, r.hi = 0, 0
	return ErrNotYet
}

// bad decides what a damaged frame at the position is: torn when nothing good follows in this segment, else
// corrupt. Data in a later segment is found by advance.
func (r *Reader) bad(why string) error {
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("read spool: %w", err)
	}
	rest := make([]byte, min(max(info.Size()-r.pos.Offset, 0), SegmentBytes+MaxPayload+headerLen))
	n, err := r.file.ReadAt(rest, r.pos.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read spool: %w", err)
	}
	if rest = rest[:n]; len(rest) > 0 && findGood(rest[1:], r.lastSeq) {
		return r.corrupt(why)
	}
	_ = r.short(len(rest))
	return ErrTorn
}

func (r *Reader) corrupt(why string) error {
	return &CorruptError{File: segmentPath(r.dir, r.pos.Segment), Offset: r.pos.Offset, Why: why}
}

// open makes the segment of the position the open file.
func (r *Reader) open() error {
	if r.file != nil {
		return nil
	}
	if r.pos.Segment == 0 {
		list, err := segments(r.dir)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return ErrNotYet
		}
		r.pos.Segment = list[0]
	}
	f, err := openPlain(segmentPath(r.dir, r.pos.Segment), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		list, listErr := segments(r.dir)
		if listErr != nil {
			return listErr
		}
		if slices.ContainsFunc(list, func(n uint64) bool { return n > r.pos.Segment }) {
			return fmt.Errorf("open spool at %s: %w", r.pos, ErrDeleted)
		}
		return ErrNotYet
	}
	if err != nil {
		return fmt.Errorf("open spool: %w", err)
	}
	r.file = f
	return nil
}

// advance goes to the next segment when there is one and this one is read to its end. The writer appends to a
// segment only until it has made the next, so the end is looked at again after the next was seen.
func (r *Reader) advance() (bool, error) {
	next, err := os.Lstat(segmentPath(r.dir, r.pos.Segment+1))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read spool: %w", err)
	}
	info, err := r.file.Stat()
	if err != nil {
		return false, fmt.Errorf("read spool: %w", err)
	}
	if rest := info.Size() - r.pos.Offset; rest != 0 {
		if rest > r.tail {
			return true, nil // it grew since: read on here
		}
		if next.Size() == 0 {
			return false, nil
		}
		return false, r.corrupt("frames follow in the next segment")
	}
	err = r.file.Close()
	r.file = nil
	r.pos = Pos{Segment: r.pos.Segment + 1}
	r.lo, r.hi, r.tail = 0, 0, 0
	if err != nil {
		return false, fmt.Errorf("read spool: %w", err)
	}
	return true, nil
}
