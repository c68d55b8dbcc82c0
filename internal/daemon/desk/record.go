package desk

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"scv/internal/home"
	"scv/internal/terminal/takeover"
	"scv/internal/wire"
)

const (
	maxRecord   = 4 << 20                // bytes of a recording; what comes later is not kept
	recordEvery = 200 * time.Millisecond // between two pages of it
)

// recorder keeps what a terminal shows, masked as its owner sees it, for replay.
type recorder struct {
	file *os.File
	size int64
	now  func() time.Time
}

func newRecorder(h *home.Home, run wire.RunHandle) (*recorder, error) {
	root, err := h.RunRoot(run)
	if err != nil {
		return nil, err
	}
	file, err := root.OpenFile(wire.RecordingName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err := errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &recorder{file: file, size: info.Size(), now: time.Now}, nil
}

// run records until the terminal is over, the recording is full, or ctx ends. Nothing is done while nothing is drawn.
func (r *recorder) run(ctx context.Context, term *takeover.Terminal) error {
	w, err := term.Watch("")
	if err != nil {
		return nil // it was over before
	}
	defer w.Close()
	var after uint64
	for r.size < maxRecord {
		select {
		case <-ctx.Done():
			return nil
		case <-w.Wake():
		}
		if !r.pause(ctx) {
			return nil
		}
		page, news, err := w.Next(after)
		if err != nil {
			return nil
		}
		if !news {
			continue
		}
		after = page.Generation
		if err := r.add(page); err != nil || page.Ended {
			return err
		}
	}
	return nil
}

// pause lets what is being drawn come together; false when ctx ended.
func (r *recorder) pause(ctx context.Context) bool {
	timer := time.NewTimer(recordEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (r *recorder) add(page wire.AttachPage) error {
	line, err := json.Marshal(wire.RecordedPage{AtMs: uint64(max(r.now().UnixMilli(), 0)), Page: page})
	if err != nil {
		return err
	}
	n, err := r.file.Write(append(line, '\n'))
	r.size += int64(n)
	return err
}
