package takeover

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// A message is one thing for the shim: typed bytes, a size, or a screen to keep.
type message struct {
	typed      Input
	settled    chan struct{} // of what a client typed, for which there is room: closed once the shim has it, or it was given up
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
		s.settle(m, fmt.Errorf("%d messages wait for it already", maxWaiting))
	}
}

// typed sends input for which there was room, and returns what is closed once the shim has it or it was given up.
func (s *sender) typed(in Input) <-chan struct{} {
	m := message{typed: in, settled: make(chan struct{})}
	s.send(m)
	return m.settled
}

func (s *sender) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-s.queue:
			m, err := s.deliver(ctx, m)
			if ctx.Err() != nil {
				return // who waits is told that nothing is served any more
			}
			s.settle(m, err)
		}
	}
}

// deliver returns what of a message was left when it failed.
func (s *sender) deliver(ctx context.Context, m message) (left message, err error) {
	for len(m.typed.Bytes) > 0 {
		part := m.typed
		part.Bytes = part.Bytes[:keys(part.Bytes)]
		if err := s.within(ctx, func(ctx context.Context) error { return s.shim.Type(ctx, part) }); err != nil {
			return m, err
		}
		if m.settled != nil {
			s.release(len(part.Bytes))
		}
		m.typed.Bytes, m.typed.From = m.typed.Bytes[len(part.Bytes):], m.typed.From+uint64(len(part.Bytes))
	}
	switch {
	case m.typed.Bytes != nil:
		return m, nil
	case m.screen != nil:
		return m, s.within(ctx, func(ctx context.Context) error { return s.shim.Keep(ctx, m.at, m.screen) })
	}
	return m, s.within(ctx, func(ctx context.Context) error { return s.shim.Resize(ctx, m.cols, m.rows) })
}

func (s *sender) within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	return ask(ctx)
}

// keys is how much of p is one write. Enter is a write of its own: programs take one that comes with text for a part of a
// paste.
func keys(p []byte) int {
	n := bytes.IndexByte(p, '\r')
	if n < 0 {
		return len(p)
	}
	return cmp.Or(n, 1)
}

// settle gives up what is left of a message that failed, and tells whoever waits for it.
func (s *sender) settle(m message, err error) {
	if err != nil {
		s.complain(m, err)
	}
	if m.settled != nil {
		s.release(len(m.typed.Bytes))
		close(m.settled)
	}
}

// complain says what was not delivered; a screen that is not kept is no loss to tell of, and neither is a question.
func (s *sender) complain(m message, err error) {
	why := fmt.Sprintf("the size %dx%d was not set: %v", m.cols, m.rows, err)
	switch {
	case m.screen != nil:
		return
	case m.typed.Bytes != nil && len(m.typed.Bytes) == 0:
		return
	case m.typed.Bytes != nil:
		why = fmt.Sprintf("%d typed bytes were not delivered: %v", len(m.typed.Bytes), err)
	}
	select {
	case s.failed <- why:
	default: // one is there already
	}
}
