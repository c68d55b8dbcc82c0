package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

// exhausted is a listener that has no descriptor for its connections until one is given back.
type exhausted struct {
	net.Listener
	reserve *reserve
	conns   []net.Conn
	hopeful bool // one descriptor less in the reserve is enough
	calls   int
	clear   int // from this call on there are descriptors
}

// open is the reserve's way to a descriptor.
func (e *exhausted) open() (*os.File, error) {
	if e.calls > 0 && e.calls < e.clear {
		return nil, syscall.EMFILE
	}
	return os.Open(os.DevNull)
}

func (e *exhausted) Accept() (net.Conn, error) {
	e.calls++
	free := e.calls >= e.clear || e.hopeful && len(e.reserve.files) < reserved
	if !free {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	if len(e.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := e.conns[0]
	e.conns = e.conns[1:]
	return c, nil
}

// Without descriptors a connection is told so and closed, and the next one that fits is served.
func TestNoDescriptorsIsSaid(t *testing.T) {
	theirs, ours := net.Pipe()
	good, _ := net.Pipe()
	r := newReserve()
	defer r.close()
	var log bytes.Buffer
	l := &exhausted{reserve: r, conns: []net.Conn{ours, good}, hopeful: true, clear: 3}
	r.open = l.open
	a := acceptor{listener: l, log: slog.New(slog.NewTextHandler(&log, nil)), reserve: r}
	said := make(chan string)
	go func() {
		data, _ := io.ReadAll(theirs)
		said <- string(data)
	}()
	conn, err := a.accept(t.Context())
	if err != nil || conn != good {
		t.Fatalf("accepted %v, %v", conn, err)
	}
	if got := <-said; got != busyFrame || !strings.HasPrefix(brief(t, strings.TrimSpace(got)), "error - invalid_request") {
		t.Errorf("the refused client read %q", got)
	}
	if len(r.files) != reserved {
		t.Errorf("%d descriptors are in reserve", len(r.files))
	}
	good.Close()
}

// TestDescriptorsThatAreBackAreUsed: the want of descriptors is found out while no client is there. The next one comes when
// there are some again, and is served.
func TestDescriptorsThatAreBackAreUsed(t *testing.T) {
	good, _ := net.Pipe()
	r := newReserve()
	defer r.close()
	l := &exhausted{reserve: r, conns: []net.Conn{good}, clear: 2}
	r.open = l.open
	a := acceptor{listener: l, log: slog.New(slog.DiscardHandler), reserve: r}
	conn, err := a.accept(t.Context())
	if err != nil || conn != good {
		t.Fatalf("accepted %v, %v", conn, err)
	}
	if len(r.files) != reserved {
		t.Errorf("%d descriptors are in reserve", len(r.files))
	}
	good.Close()
}

// When even the reserve does not help, accepting rests instead of spinning.
func TestNoDescriptorsDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &exhausted{clear: 1 << 30}
		l.reserve = &reserve{open: l.open}
		a := acceptor{listener: l, log: slog.New(slog.DiscardHandler), reserve: l.reserve}
		ctx, cancel := context.WithTimeout(t.Context(), 10*acceptPause+1)
		defer cancel()
		if _, err := a.accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		l.reserve.close()
		if l.calls > 30 {
			t.Errorf("asked %d times in ten rests", l.calls)
		}
	})
}

func TestAcceptEndsWithTheListener(t *testing.T) {
	l := &exhausted{}
	l.reserve = &reserve{open: l.open}
	a := acceptor{listener: l, log: slog.New(slog.DiscardHandler), reserve: l.reserve}
	if _, err := a.accept(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
