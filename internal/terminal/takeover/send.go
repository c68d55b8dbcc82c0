package takeover

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"
)

// A message is one thing for the shim: typed bytes, a size, or a screen to keep.
type message struct {
	typed      []byte
	reserved   int // of them, to be given back
	cols, rows uint16
	screen     []byte
	at         uint64
}

// maxWaiting bounds what waits for a shim that does not answer.
const maxWaiting = 256

// A sender talks to the shim in a goroutine of its own, so that a shim that hangs stops nobody from looking.
type sender struct {
	shim     Shim
	patience time.Duration
	queue    chan message
	failed   chan string // one slot: a sentence on what was not delivered

	mu      sync.Mutex
	waiting int           // typed bytes that the shim has not taken
	freed   chan struct{} // one slot: fewer wait
}

// maxTyped bounds what was typed and waits, in bytes.
const maxTyped = 64 << 10

// reserve waits for room for typed bytes; false when there was none in time.
func (s *sender) reserve(n int, most time.Duration, gone <-chan struct{}) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		s.mu.Lock()
		fits := s.waiting+n <= maxTyped || s.waiting == 0
		if fits {
			s.waiting += n
		}
		s.mu.Unlock()
		if fits {
			return true
		}
		select {
		case <-s.freed:
		case <-timer.C:
			return false
		case <-gone:
			return false
		}
	}
}

// release gives back what was reserved.
func (s *sender) release(n int) {
	s.mu.Lock()
	s.waiting -= n
	s.mu.Unlock()
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

func newSender(s Shim, patience time.Duration) *sender {
	return &sender{shim: s, patience: patience, queue: make(chan message, maxWaiting), failed: make(chan string, 1), freed: make(chan struct{}, 1)}
}

// send takes a message; one that finds no room is lost, and the owner is told.
func (s *sender) send(m message) {
	select {
	case s.queue <- m:
	default:
		s.release(m.reserved)
		s.complain(m, fmt.Errorf("%d messages wait for it already", maxWaiting))
	}
}

// typed sends input. Enter is a write of its own: programs take one that comes with text for a part of a paste.
func (s *sender) typed(p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\r')
		switch {
		case n < 0:
			n = len(p)
		case n == 0:
			n = 1
		}
		s.send(message{typed: p[:n], reserved: n})
		p = p[n:]
	}
}

func (s *sender) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-s.queue:
			err := s.deliver(ctx, m)
			s.release(m.reserved)
			if err != nil && ctx.Err() == nil {
				s.complain(m, err)
			}
		}
	}
}

func (s *sender) deliver(ctx context.Context, m message) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	switch {
	case m.screen != nil:
		return s.shim.Keep(ctx, m.at, m.screen)
	case m.typed != nil:
		return s.shim.Type(ctx, m.typed)
	}
	return s.shim.Resize(ctx, m.cols, m.rows)
}

// complain says what was not delivered; a screen that is not kept is no loss to tell of.
func (s *sender) complain(m message, err error) {
	why := fmt.Sprintf("the size %dx%d was not set: %v", m.cols, m.rows, err)
	switch {
	case m.screen != nil:
		return
	case m.typed != nil:
		why = fmt.Sprintf("%d typed bytes were not delivered: %v", len(m.typed), err)
	}
	select {
	case s.failed <- why:
	default: // one is there already
	}
}
