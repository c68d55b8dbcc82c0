package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"scv/internal/session"
	"scv/internal/wire"
	"scv/internal/wire/frame"
)

// chunk is how much is written under one deadline: a client that reads slowly is served, one that reads nothing is cut.
const chunk = 64 << 10

// farewell is what a request that is being answered has once the daemon is stopping, and what a write of it has.
const farewell = time.Second

// errStalled ends a connection whose client does not read.
var errStalled = errors.New("the client does not read")

// A conn is one client's connection. All its fields but the lock belong to the goroutine that serves it.
type conn struct {
	srv     *Server
	nc      net.Conn
	in      *frame.Reader
	log     *slog.Logger
	peer    peer
	client  *wire.PeerInfo    // nil before the handshake
	session *session.Entrance // nil until session.start or session.attach
	told    <-chan struct{}   // closed when nothing more of the session is passed on
	diff    *heldDiff         // nil between two differences
	ctx     context.Context
	work    context.Context // of a request that is being answered: it outlives ctx by farewell

	writing sync.Mutex // held by who writes: the connection's goroutine, and the one that passes on what its session tells
}

func newConn(s *Server, nc net.Conn, p peer) *conn {
	return &conn{srv: s, nc: nc, in: frame.NewReader(nc, wire.MaxClientFrame), log: s.opt.Log.With("peer", p.pid), peer: p}
}

// serve answers one message after the other until the client leaves, is cut, or ctx ends.
func (c *conn) serve(ctx context.Context) {
	defer c.nc.Close()
	daemon := ctx
	defer func() { c.leaveSession(daemon) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work, drop := context.WithCancel(context.WithoutCancel(ctx))
	defer drop()
	c.ctx, c.work = ctx, work
	stop := context.AfterFunc(ctx, func() {
		now := time.Now()
		time.AfterFunc(farewell, drop)
		_ = c.nc.SetReadDeadline(now)
		_ = c.nc.SetWriteDeadline(now.Add(farewell))
	})
	defer stop()
	for {
		line, err := c.in.Next()
		if ctx.Err() != nil {
			return
		}
		if err := c.take(line, err); err != nil {
			c.ended(err)
			return
		}
	}
}

// take answers what the reader gave. Its error ends the connection.
func (c *conn) take(line []byte, err error) error {
	switch {
	case err == nil:
		return c.message(line)
	case errors.Is(err, frame.ErrTooLarge):
		return c.refuse("", &wire.Error{
			Code: wire.CodeInvalidRequest, Reason: wire.ReasonTooLarge,
			Message: "the message is longer than the 1 MiB that a client may send", Hint: "send less at a time",
		})
	case errors.Is(err, io.ErrUnexpectedEOF):
		// The rest of a client that left in the middle of a line is a message as well, and is answered (wire.md 2.2).
		return errors.Join(c.message(line), io.EOF)
	default:
		return err
	}
}

// message answers one frame.
func (c *conn) message(line []byte) error {
	msg, err := wire.DecodeClientMessage(line)
	if err != nil {
		return c.refuse("", unreadable(line, err))
	}
	return c.dispatch(msg)
}

func unreadable(line []byte, err error) *wire.Error {
	message := "the message cannot be read: " + err.Error()
	if len(bytes.TrimSpace(line)) == 0 {
		message = "the message is empty"
	}
	return &wire.Error{
		Code: wire.CodeInvalidJSON, Reason: wire.ReasonInvalid, Message: message,
		Hint: "each message is one JSON object on a line of its own",
	}
}

// ended logs why a connection ended, where that is not the client's own leaving.
func (c *conn) ended(err error) {
	switch {
	case errors.Is(err, errStalled):
		c.srv.cut.Add(1)
		c.log.Warn("cut a client: it left an answer unread", "seconds", c.srv.opt.Stall.Seconds(), "client", c.name())
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), c.ctx.Err() != nil:
	default:
		c.log.Debug("a connection ended", "error", err, "client", c.name())
	}
}

func (c *conn) name() string {
	if c.client == nil {
		return ""
	}
	return c.client.Name
}

// send writes one event.
func (c *conn) send(event wire.ServerEvent) error {
	data, err := wire.Encode(event)
	if err != nil {
		return err
	}
	return c.write(append(data, '\n'))
}

// refuse writes the error event that answers a request.
func (c *conn) refuse(id wire.RequestID, err *wire.Error) error {
	return c.send(err.Event(id))
}

// write writes the parts of one frame. What several clients share is written from where it lies, not copied.
func (c *conn) write(parts ...[]byte) error {
	total := 0
	for _, p := range parts {
		total += len(p)
	}
	if total > wire.MaxServerFrame {
		return errors.New("an answer is longer than a client takes")
	}
	return c.put(parts...)
}

// put writes parts of any number of frames.
func (c *conn) put(parts ...[]byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	bufs := append(make(net.Buffers, 0, len(parts)), parts...)
	for len(bufs) > 0 {
		batch, rest := split(bufs)
		if err := c.flush(&batch); err != nil {
			return err
		}
		bufs = rest
	}
	return nil
}

// split takes at most one chunk from the front of bufs.
func split(bufs net.Buffers) (batch, rest net.Buffers) {
	left := chunk
	for i, b := range bufs {
		if len(b) > left {
			batch = append(batch, b[:left])
			rest = append(net.Buffers{b[left:]}, bufs[i+1:]...)
			return batch, rest
		}
		left -= len(b)
		batch = append(batch, b)
	}
	return batch, nil
}

func (c *conn) flush(batch *net.Buffers) error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.srv.opt.Stall)); err != nil {
		return err
	}
	if c.ctx.Err() != nil {
		_ = c.nc.SetWriteDeadline(time.Now().Add(min(farewell, c.srv.opt.Stall)))
	}
	_, err := batch.WriteTo(c.nc)
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() && c.ctx.Err() == nil {
		return errStalled
	}
	return err
}
