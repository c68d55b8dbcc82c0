package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"scv/internal/failpoint"
)

// Options change what is fixed in production; the zero value is production.
type Options struct {
	SegmentBytes int64            // size of a segment, 0 = SegmentBytes
	Now          func() time.Time // clock of the frames, nil = time.Now

	create func(path string) (segmentFile, error) // nil = a new private file; tests make writes fail
}

// segmentFile is what the writer needs of an open segment.
type segmentFile interface {
	io.WriterAt
	Truncate(size int64) error
	Close() error
}

// Writer appends frames to the spool of one run. It is safe for concurrent use; there is one Writer per
// directory at a time, which the lock of the run ensures.
type Writer struct {
	dir string
	opt Options

	mu       sync.Mutex
	file     segmentFile
	segment  uint64
	off      int64 // end of the last whole frame
	seq      uint64
	buf      []byte
	torn     bool // bytes after off may be in the file
	dirty    bool // appended to since the last sync
	syncErr  error
	repaired int64

	flush sync.Mutex // taken inside mu: a segment is not closed while it is being flushed
}

// OpenWriter opens the spool in dir, makes the directory when it is missing, and cuts off a torn last frame.
// A damaged frame with good data behind it is an ErrCorrupt and nothing is changed.
func OpenWriter(dir string, opt Options) (*Writer, error) {
	if opt.SegmentBytes <= 0 {
		opt.SegmentBytes = SegmentBytes
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.create == nil {
		opt.create = func(path string) (segmentFile, error) {
			return openPlain(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make spool: %w", err)
	}
	w := &Writer{dir: dir, opt: opt}
	list, err := segments(dir)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return w, w.roll()
	}
	return w, w.recover(list)
}

// recover finds the end of the last whole frame and cuts what stands after it.
func (w *Writer) recover(list []uint64) error {
	first := list[max(0, len(list)-2)]
	r, err := OpenReader(w.dir, Pos{Segment: first})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, ErrNotYet) {
		return fmt.Errorf("repair spool: %w", err)
	}
	w.seq, w.segment, w.off = r.lastSeq, r.pos.Segment, r.pos.Offset
	w.repaired = r.Pending()
	f, err := openPlain(segmentPath(w.dir, w.segment), os.O_RDWR)
	if err != nil {
		return fmt.Errorf("repair spool: %w", err)
	}
	if w.repaired > 0 {
		if err := f.Truncate(w.off); err != nil {
			return errors.Join(fmt.Errorf("repair spool: %w", err), f.Close())
		}
	}
	w.file = f
	return nil
}

// Repaired is the number of bytes of a torn frame that OpenWriter cut off.
func (w *Writer) Repaired() int64 { return w.repaired }

// Seq is the number of the last frame, 0 when there is none.
func (w *Writer) Seq() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seq
}

// Append writes one frame with one write and returns its number. After an error (a full disk, say) no part of
// the frame is in the spool, or will be before the next frame is written; the same call may be repeated.
func (w *Writer) Append(kind Kind, flags Flags, key string, n uint64, payload []byte) (uint64, error) {
	if len(key) > MaxKey || len(payload)+len(key)+8 > MaxPayload {
		return 0, ErrTooLarge
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return 0, fmt.Errorf("append to spool: %w", os.ErrClosed)
	}
	frame := Frame{
		Kind: kind, Flags: flags, Seq: w.seq + 1, UnixNano: w.opt.Now().UnixNano(), N: n, Key: key, Payload: payload,
	}
	w.buf = appendFrame(w.buf[:0], &frame)
	if err := w.untear(); err != nil {
		return 0, err
	}
	if w.off > 0 && w.off+int64(len(w.buf)) > w.opt.SegmentBytes {
		if err := w.roll(); err != nil {
			return 0, err
		}
	}
	write := func(b []byte) (int, error) { return w.file.WriteAt(b, w.off) }
	if _, err := failpoint.Write(failpoint.SpoolAppend, w.buf, write); err != nil {
		w.torn = true
		return 0, errors.Join(fmt.Errorf("append to spool: %w", err), w.untear())
	}
	w.off += int64(len(w.buf))
	w.seq++
	w.dirty = true
	if cap(w.buf) > 128<<10 {
		w.buf = nil
	}
	return w.seq, nil
}

// untear removes what a failed write may have left after the last whole frame.
func (w *Writer) untear() error {
	if !w.torn {
		return nil
	}
	if err := w.file.Truncate(w.off); err != nil {
		return fmt.Errorf("take back a torn frame: %w", err)
	}
	w.torn = false
	return nil
}

// roll begins the next segment. The old one gets no further byte once the new one exists, which is what lets
// a reader move on.
func (w *Writer) roll() error {
	var f segmentFile
	err := failpoint.Do(failpoint.SpoolRoll, func() (err error) {
		f, err = w.opt.create(segmentPath(w.dir, w.segment+1))
		return err
	})
	if err != nil {
		return fmt.Errorf("new spool segment: %w", err)
	}
	if w.file != nil {
		w.flush.Lock()
		if w.dirty {
			w.syncErr = errors.Join(w.syncErr, syncFile(w.file))
		}
		w.syncErr = errors.Join(w.syncErr, w.file.Close())
		w.flush.Unlock()
	}
	w.file, w.off, w.dirty = f, 0, false
	w.segment++
	return nil
}

// Sync flushes to the disk what was appended since the last call. An error is told once; what it covered may
// be lost by a crash of the machine, not by the death of a process.
func (w *Writer) Sync() error {
	w.mu.Lock()
	w.flush.Lock()
	defer w.flush.Unlock()
	f, dirty, err := w.file, w.dirty, w.syncErr
	w.dirty, w.syncErr = false, nil
	w.mu.Unlock() // a flush may take long, and the agent's output must not wait for it
	if f != nil && dirty {
		err = errors.Join(err, failpoint.Do(failpoint.SpoolSync, func() error { return syncFile(f) }))
	}
	if err != nil {
		return fmt.Errorf("sync spool: %w", err)
	}
	return nil
}

// Close ends the writer; it does not sync.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	w.flush.Lock()
	defer w.flush.Unlock()
	err := errors.Join(w.untear(), w.file.Close())
	w.file = nil
	return err
}
