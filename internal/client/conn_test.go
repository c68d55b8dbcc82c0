package client

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
)

var info = wire.PeerInfo{Name: "scv-cli", Version: "test"}

func dial(t *testing.T, f *fake) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), f.target, info)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestDialAndCall(t *testing.T) {
	f := newFake(t, func(_ int, l *link) {
		if !l.hello(wire.FeatureWhy) {
			return
		}
		id, cmd := l.command()
		if _, ok := cmd.(wire.StatusCommand); !ok {
			t.Errorf("got %T", cmd)
		}
		l.nc.Write([]byte(`{"type":"news.of.tomorrow","anything":[1]}` + "\n"))
		l.status(id, wire.DaemonStatus{Problems: []string{"x"}})
		id, _ = l.command()
		l.send(wire.Refuse(wire.ReasonNotFound, "scv jobs list", "no such job").Event(id))
		l.drain()
	})
	c := dial(t, f)
	if c.Home() != "home-1" || !c.Has(wire.FeatureWhy) || c.Has(wire.FeatureWatch) || c.Server().Name != "fake" {
		t.Errorf("handshake gave home %q, server %+v", c.Home(), c.Server())
	}
	st, err := c.Call(t.Context(), wire.StatusCommand{})
	if err != nil || len(st.Problems) != 1 {
		t.Fatalf("status: %+v, %v", st, err)
	}
	_, err = c.Call(t.Context(), wire.Why{Session: "s", Job: "job-1"})
	we, ok := errors.AsType[*wire.Error](err)
	if !ok || we.Reason != wire.ReasonNotFound || we.Hint != "scv jobs list" {
		t.Fatalf("refusal: %#v", err)
	}
}

func TestDialWithoutADaemon(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "no", "where")} {
		if _, err := Dial(t.Context(), Target{Socket: path}, info); !errors.Is(err, ErrNoDaemon) {
			t.Errorf("%s: %v", path, err)
		}
	}
	stale := filepath.Join(dir, "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := Dial(t.Context(), Target{Socket: stale}, info); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("stale socket: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), Target{Socket: file}, info); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("plain file: %v", err)
	}
}

// A frozen daemon is connected to by the kernel and says nothing.
func TestU18_SilentDaemonIsToldApart(t *testing.T) {
	f := newFake(t, func(_ int, l *link) {
		l.next()
		l.drain()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, f.target, info); !errors.Is(err, ErrSilent) {
		t.Errorf("got %v", err)
	}
}

func TestU18_SilentDaemonDuringACall(t *testing.T) {
	f := newFake(t, func(_ int, l *link) {
		l.hello(wire.FeatureWhy)
		l.drain()
	})
	c := dial(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, wire.StatusCommand{}); !errors.Is(err, ErrSilent) {
		t.Errorf("got %v", err)
	}
}

func TestCancelledCall(t *testing.T) {
	asked := make(chan struct{})
	f := newFake(t, func(_ int, l *link) {
		l.hello()
		l.command()
		close(asked)
		l.drain()
	})
	c := dial(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := c.Call(ctx, wire.StatusCommand{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestBrokenConnections(t *testing.T) {
	tests := map[string]struct {
		play func(l *link, id wire.RequestID)
		want string
	}{
		"closed":      {func(*link, wire.RequestID) {}, ErrBroken.Error()},
		"cut short":   {func(l *link, _ wire.RequestID) { l.nc.Write([]byte(`{"type":"daemon.sta`)) }, "middle of a message"},
		"not JSON":    {func(l *link, _ wire.RequestID) { l.nc.Write([]byte("hello\n")) }, "cannot be read"},
		"other event": {func(l *link, _ wire.RequestID) { l.send(wire.Initialized{RequestID: "x"}) }, "answered status with initialized"},
		"other id":    {func(l *link, _ wire.RequestID) { l.status("other", wire.DaemonStatus{}) }, `one to "other"`},
		"huge": {func(l *link, _ wire.RequestID) {
			l.nc.Write([]byte(strings.Repeat("x", wire.MaxServerFrame+10)))
		}, "longer than this program takes"},
		"older daemon": {func(l *link, _ wire.RequestID) {
			l.send(wire.ErrorEvent{Code: wire.CodeInvalidJSON, Message: "unknown variant"})
		}, "does not know status"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(_ int, l *link) {
				l.hello()
				id, _ := l.command()
				tt.play(l, id)
			})
			c := dial(t, f)
			_, err := c.Call(t.Context(), wire.StatusCommand{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestHandshakeRefusals(t *testing.T) {
	tests := map[string]struct {
		answer wire.ServerEvent
		want   string
	}{
		"refused":       {wire.ErrorEvent{Code: wire.CodeVersionMismatch, Message: "no", Fatal: true}, "no"},
		"other version": {wire.Initialized{ProtocolVersion: 4}, "speaks protocol version 4"},
		"nonsense":      {wire.SessionCleared{}, "session.cleared"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(_ int, l *link) {
				l.next()
				l.send(tt.answer)
			})
			if _, err := Dial(t.Context(), f.target, info); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// What a daemon did not announce it would ignore, so it is refused before it is sent.
func TestOptionsThatTheDaemonDidNotAnnounce(t *testing.T) {
	mode := wire.ModeAuto
	for _, cmd := range []wire.Command{
		wire.WorkbenchStart{Mode: &mode},
		wire.JobResultCommand{After: 1},
		wire.JobsPage{},
		wire.Why{},
		wire.DaemonStop{},
		wire.WorkbenchWatch{},
		wire.RunLogWatch{},
		wire.RunLogCommand{Tail: true},
	} {
		f := newFake(t, func(_ int, l *link) {
			l.hello()
			if m := l.next(); m != nil {
				t.Errorf("%s was sent", cmd.Action())
			}
		})
		c := dial(t, f)
		_, err := c.Call(t.Context(), cmd)
		if we, ok := errors.AsType[*wire.Error](err); !ok || we.Hint == "" || !Predates(err) {
			t.Errorf("%s: %v", cmd.Action(), err)
		}
		c.Close()
	}
}

// TestS10_ABusyDaemonIsTriedAgain: it had no descriptors left, and has some a moment later; or it never has, which is said.
func TestS10_ABusyDaemonIsTriedAgain(t *testing.T) {
	busy := func(l *link) {
		l.send(wire.ErrorEvent{Code: wire.CodeInvalidRequest, Message: "no descriptors left", Reason: new(wire.ReasonBusy), Hint: new("close other clients")})
	}
	f := newFake(t, func(n int, l *link) {
		if n < 2 {
			busy(l)
		} else if l.hello() {
			l.next()
		}
	})
	c, err := Dial(t.Context(), f.target, f.target.Client)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f = newFake(t, func(n int, l *link) {
		busy(l)
		if n == 2 {
			cancel()
		}
	})
	_, err = Dial(ctx, f.target, f.target.Client)
	if refused, ok := errors.AsType[*wire.Error](err); !ok && !errors.Is(err, context.Canceled) || ok && refused.Reason != wire.ReasonBusy {
		t.Errorf("it ends with %v", err)
	}
}

func TestNewKey(t *testing.T) {
	a, b := NewKey(), NewKey()
	if a == b || len(a) > wire.MaxKeyBytes || len(a) < 16 {
		t.Errorf("keys %q, %q", a, b)
	}
}
