package desk

import (
	"context"
	"errors"
	"sync"
	"time"

	"scv/internal/run/control"
	"scv/internal/terminal/takeover"
)

// shim is the far side of a terminal.
type shim struct {
	socket, dir string

	mu   sync.Mutex
	link *control.Link // nil until it is needed

	old bool // it is of a release that takes no numbered input; of the goroutine that types
}

// Watch opens the output. That there is no terminal any more is told by the lock of the run and by nothing else.
func (s *shim) Watch(ctx context.Context, after uint64) (takeover.Output, error) {
	t, err := control.DialTerminal(ctx, s.socket, after)
	if err == nil {
		return takeover.Output{ReadCloser: t, From: t.From, To: t.To, Screen: t.Screen, At: t.At}, nil
	}
	if life, probeErr := control.Probe(s.dir); probeErr == nil && life.Life != control.LifeHeld {
		err = takeover.ErrEnded
	}
	return takeover.Output{}, err
}

// Type types. While the program has not read what was typed before, it is offered again: the shim drops that after 2 s.
// So it is over a lost connection, when the shim takes each byte once.
func (s *shim) Type(ctx context.Context, in takeover.Input) error {
	for {
		err := s.ask(ctx, func(l *control.Link) error { return s.offer(ctx, l, in) })
		refused, ok := errors.AsType[*control.RefusedError](err)
		full := ok && refused.Class == control.RefusedFull
		lost := errors.Is(err, control.ErrLinkClosed) && in.Typist != "" && !s.old
		if !full && !lost {
			return said(err)
		}
		timer := time.NewTimer(offerAgain)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return said(err)
		}
	}
}

// offerAgain is how long typed bytes wait before they are offered again to a shim that had no room for them.
const offerAgain = 10 * time.Millisecond

// said is what a shim refused with, for the owner.
// errOld says why input may be lost that a shim of an older release may have.
var errOld = errors.New("the process that holds this terminal is of an older release, and cannot tell whether it had them before")

// offer types once. A shim of a release that takes no numbered input gets it without a number, unless it may have it.
func (s *shim) offer(ctx context.Context, l *control.Link, in takeover.Input) error {
	if in.Typist != "" && !s.old {
		err := l.Typed(ctx, in.Typist, in.From, in.Bytes)
		if !errors.Is(err, control.ErrUnknownRequest) {
			return err
		}
		s.old = true
	}
	if in.Typist != "" && in.Again {
		return errOld
	}
	return l.Type(ctx, in.Bytes)
}

func said(err error) error {
	if refused, ok := errors.AsType[*control.RefusedError](err); ok {
		return errors.New(refused.Text)
	}
	return err
}

// Resize sets the size.
func (s *shim) Resize(ctx context.Context, cols, rows uint16) error {
	return said(s.ask(ctx, func(l *control.Link) error { return l.Resize(ctx, control.Size{Cols: cols, Rows: rows}) }))
}

// Keep leaves a screen.
func (s *shim) Keep(ctx context.Context, at uint64, screen []byte) error {
	return said(s.ask(ctx, func(l *control.Link) error { return l.Keep(ctx, at, screen) }))
}

// ask asks over the connection that there is, or a new one. What may have been done is not asked twice: typed text must
// not come twice.
func (s *shim) ask(ctx context.Context, ask func(*control.Link) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		select {
		case <-s.link.Closed():
			_ = s.link.Close() // it is lost already
			s.link = nil
		default:
		}
	}
	if s.link == nil {
		link, err := control.Dial(ctx, s.socket)
		if err != nil {
			return errors.New("its shim is out of reach")
		}
		s.link = link
	}
	return ask(s.link)
}

func (s *shim) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		_ = s.link.Close() // nothing is owed
		s.link = nil
	}
}
