// Package client speaks protocol 3 to a daemon, ours or an upstream one. It dials, asks, and follows; whoever shows
// something to a person uses it and nothing below. Only Dial knows that a target has a path.
//
// A Conn serves one goroutine and asks one thing at a time. A time-out of a question says nothing about success, and
// nothing is repeated by itself; a caller that wants to ask again does so under the same key (NewKey). Following
// resumes where it was after a lost connection, so no change of state is missed and no line of a log is lost or given
// twice.
package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"scv/internal/wire"
	"scv/internal/wire/frame"
)

// Patience is how long Dial waits for the daemon's first answer when its context says nothing shorter (U18).
const Patience = 2 * time.Second

// busyPause is how long Dial rests before it tries a daemon again that had no descriptors left for it.
const busyPause = 50 * time.Millisecond

// margin is how much longer a frame may be than announced, as the upstream client has it.
const margin = 2

var (
	// ErrNoDaemon says that nobody listens at the target.
	ErrNoDaemon = errors.New("no daemon is running")
	// ErrSilent says that somebody listens and did not answer in time.
	ErrSilent = errors.New("the daemon does not answer")
	// ErrBroken says that the connection ended in the middle of an exchange.
	ErrBroken = errors.New("the daemon closed the connection")
)

// unsent is the error of a message that did not reach the daemon.
type unsent struct{ error }

// Unwrap gives what went wrong.
func (u unsent) Unwrap() error { return u.error }

// Unsent reports whether an error of Call says that the daemon did not get the message, so that it may be sent again.
func Unsent(err error) bool {
	_, ok := errors.AsType[unsent](err)
	return ok
}

// A Target is where a daemon is and who speaks to it.
type Target struct {
	Socket string
	// Client names this program in the handshake of following calls; Dial takes its own.
	Client wire.PeerInfo
	// Lost is called when following lost its connection, and again for each failed attempt to come back. Its error
	// ends the following. Nil goes on until the context ends.
	Lost func(err error) error
	// Connected is called each time following has a connection, with who answered and what it announced, before
	// anything that comes over it. The list is not to be changed.
	Connected func(server wire.PeerInfo, features []string)
}

// A Conn is a connection after its handshake.
type Conn struct {
	nc       net.Conn
	in       *frame.Reader
	server   wire.PeerInfo
	features []string
	home     string
	asked    uint64
}

// Dial connects and shakes hands: one round trip. Its errors are ErrNoDaemon, ErrSilent and ErrBroken, and a *wire.Error
// when the daemon refuses this client. A daemon that is busy with as many clients as it can hold is tried again until the
// context or the patience ends.
func Dial(ctx context.Context, target Target, info wire.PeerInfo) (*Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, ErrSilent)
	defer cancel()
	for {
		c, err := dialOnce(ctx, target, info)
		if refused, ok := errors.AsType[*wire.Error](err); !ok || refused.Reason != wire.ReasonBusy {
			return c, err
		}
		pause := time.NewTimer(busyPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, err
		}
	}
}

// dialOnce tries once.
func dialOnce(ctx context.Context, target Target, info wire.PeerInfo) (*Conn, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, "unix", target.Socket)
	if err != nil {
		return nil, dialError(target, err)
	}
	c := newConn(nc)
	if err := c.handshake(ctx, info); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func newConn(nc net.Conn) *Conn {
	return &Conn{nc: nc, in: frame.NewStopReader(nc, wire.MaxServerFrame+margin)}
}

func dialError(target Target, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w at %s", ErrNoDaemon, target.Socket)
	case errors.Is(err, syscall.EAGAIN), isTimeout(err):
		return fmt.Errorf("%w at %s", ErrSilent, target.Socket)
	}
	return fmt.Errorf("connect to the daemon: %w", err)
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

func (c *Conn) handshake(ctx context.Context, info wire.PeerInfo) error {
	id := c.nextID()
	event, err := c.exchange(ctx, wire.Initialize{RequestID: id, ProtocolVersion: wire.ProtocolVersion, Client: info})
	if err != nil {
		return err
	}
	switch e := event.(type) {
	case wire.Initialized:
		if e.ProtocolVersion != wire.ProtocolVersion {
			return &wire.Error{
				Code: wire.CodeVersionMismatch, Reason: wire.ReasonRefused,
				Message: fmt.Sprintf("the daemon speaks protocol version %d and this program speaks %d", e.ProtocolVersion, wire.ProtocolVersion),
				Hint:    "use a client and a daemon of the same release: scv restart",
			}
		}
		c.server, c.features = e.Server, e.Features
		if e.Home != nil {
			c.home = *e.Home
		}
		return nil
	case wire.ErrorEvent:
		return e.Err()
	default:
		return fmt.Errorf("the daemon answered the handshake with %s", event.EventType())
	}
}

// Server is who answered.
func (c *Conn) Server() wire.PeerInfo { return c.server }

// Home is the id of the daemon's home, empty for an upstream daemon.
func (c *Conn) Home() string { return c.home }

// Has reports whether the daemon announced a feature.
func (c *Conn) Has(feature string) bool { return slices.Contains(c.features, feature) }

// Close ends the connection. What was accepted goes on.
func (c *Conn) Close() error { return c.nc.Close() }

func (c *Conn) nextID() wire.RequestID {
	c.asked++
	return wire.RequestID(strconv.FormatUint(c.asked, 10))
}

// exchange writes a message and reads what comes next. The context's end breaks the connection.
func (c *Conn) exchange(ctx context.Context, msg wire.ClientMessage) (wire.ServerEvent, error) {
	data, err := wire.Encode(msg)
	if err != nil {
		return nil, err
	}
	defer c.until(ctx)()
	if _, err := c.nc.Write(append(data, '\n')); err != nil {
		// A daemon that refused and left may have said why.
		if event, readErr := c.next(); readErr == nil {
			return event, nil
		}
		return nil, unsent{c.broken(ctx, err)}
	}
	event, err := c.next()
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	return event, nil
}

// read waits for the next event that this build knows.
func (c *Conn) read(ctx context.Context) (wire.ServerEvent, error) {
	defer c.until(ctx)()
	event, err := c.next()
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	return event, nil
}

// until breaks what is read or written when ctx ends; the function it returns stops that.
func (c *Conn) until(ctx context.Context) func() {
	past := time.Unix(1, 0)
	stop := context.AfterFunc(ctx, func() { _ = c.nc.SetDeadline(past) })
	return func() { stop() }
}

func (c *Conn) next() (wire.ServerEvent, error) {
	for {
		line, err := c.in.Next()
		if err != nil {
			return nil, err
		}
		event, err := wire.DecodeServerEvent(line)
		if err != nil {
			return nil, fmt.Errorf("the daemon sent what cannot be read: %w", err)
		}
		if _, unknown := event.(wire.UnknownEvent); !unknown {
			return event, nil
		}
	}
}

// broken says in a word what a failed read or write means.
func (c *Conn) broken(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), ErrSilent), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ErrSilent
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w in the middle of a message (it cuts clients that do not read for 5 seconds)", ErrBroken)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		return ErrBroken
	case errors.Is(err, frame.ErrTooLarge):
		return errors.New("the daemon sent a message that is longer than this program takes")
	}
	return fmt.Errorf("speak to the daemon: %w", err)
}

// NewKey draws a key for a mutation: repeated under the same key, it is done once.
func NewKey() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(b[:])
}
