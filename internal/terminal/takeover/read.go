package takeover

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// A reader follows the output of a terminal in a goroutine of its own and hands it over in order: where a connection
// begins, then its bytes.
type reader struct {
	shim   Shim
	again  time.Duration
	log    *slog.Logger
	opened chan Output
	chunks chan []byte
	free   chan []byte // the chunk that was taken, to be filled again
}

func newReader(s Shim, again time.Duration, log *slog.Logger) *reader {
	r := &reader{shim: s, again: again, log: log, opened: make(chan Output), chunks: make(chan []byte), free: make(chan []byte, 1)}
	r.free <- make([]byte, 32<<10)
	return r
}

// run follows the output over every lost connection, until the terminal has ended (true) or ctx ends.
func (r *reader) run(ctx context.Context) (ended bool) {
	at, wait := uint64(0), r.again
	for ctx.Err() == nil {
		out, err := r.shim.Watch(ctx, at)
		if errors.Is(err, ErrEnded) {
			return true
		}
		if err != nil {
			r.log.Debug("a terminal is out of reach", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			wait = min(2*wait, 20*r.again)
			continue
		}
		wait = r.again
		at = r.copy(ctx, out)
	}
	return false
}

// copy hands over what one connection gives and returns how far that came.
func (r *reader) copy(ctx context.Context, out Output) uint64 {
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer func() {
		stop()
		_ = out.Close()
	}()
	at := out.From
	select {
	case r.opened <- out:
	case <-ctx.Done():
		return at
	}
	for {
		var p []byte
		select {
		case p = <-r.free:
		case <-ctx.Done():
			return at
		}
		n, err := out.Read(p[:cap(p)])
		at += uint64(n)
		select {
		case r.chunks <- p[:n]:
		case <-ctx.Done():
			return at
		}
		if err != nil {
			return at
		}
	}
}
