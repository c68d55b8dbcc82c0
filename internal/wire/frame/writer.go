package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrLineFeed reports a frame that holds a line feed, which would make two of it.
var ErrLineFeed = errors.New("the frame holds a line feed")

// Writer writes frames. It is safe for concurrent use.
type Writer struct {
	mu    sync.Mutex
	dst   io.Writer
	limit int
	buf   []byte
	err   error // of the first write that failed; final
}

// NewWriter returns a writer that refuses frames of more than limit bytes, line ending not counted.
func NewWriter(dst io.Writer, limit int) *Writer { return &Writer{dst: dst, limit: limit} }

// SetLimit changes the limit for the frames that follow.
func (w *Writer) SetLimit(limit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = limit
}

// Write sends one frame and its line feed in one write. ErrTooLarge and ErrLineFeed leave nothing on the wire and
// the writer usable; any other error is final and is returned again by every later call.
func (w *Writer) Write(frame []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case len(frame) > w.limit:
		return ErrTooLarge
	case bytes.IndexByte(frame, '\n') >= 0:
		return ErrLineFeed
	}
	w.buf = append(append(w.buf[:0], frame...), '\n')
	n, err := w.dst.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("write frame: %w", err)
	}
	if cap(w.buf) > keptBuffer {
		w.buf = nil
	}
	return w.err
}
