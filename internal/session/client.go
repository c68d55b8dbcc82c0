package session

import (
	"context"
	"errors"
	"sync"

	"scv/internal/session/loop"
)

// Bounds of what waits for one client (wire.md section 7.4).
const (
	maxFrames = 256
	maxBytes  = 16 << 20
)

// ErrLeft is what a client's Next returns after the session let go of it.
var ErrLeft = errors.New("the session has ended")

// A Client is one that is attached to a session. What it is to be told waits here, at most 256 frames and 16 MiB: when
// it is full the session waits for room, so a client that does not read must be cut (Close) by whoever writes to it.
type Client struct {
	id loop.ClientID

	mu     sync.Mutex
	room   sync.Cond // of frames, and for the end
	frames [][]byte
	bytes  int
	closed bool
	wake   chan struct{} // one slot: there is something to read
}

func newClient(id loop.ClientID) *Client {
	c := &Client{id: id, wake: make(chan struct{}, 1)}
	c.room.L = &c.mu
	return c
}

// put appends a frame, which is shared with other clients and not changed afterwards.
func (c *Client) put(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && len(c.frames) > 0 && (len(c.frames) >= maxFrames || c.bytes+len(frame) > maxBytes) {
		c.room.Wait()
	}
	if c.closed {
		return
	}
	c.frames = append(c.frames, frame)
	c.bytes += len(frame)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Next waits for frames and returns all that wait, each with its line ending. It returns ErrLeft after the last one of a
// session that has ended.
func (c *Client) Next(ctx context.Context) ([][]byte, error) {
	for {
		c.mu.Lock()
		frames, closed := c.frames, c.closed
		c.frames, c.bytes = nil, 0
		c.room.Broadcast()
		c.mu.Unlock()
		if len(frames) > 0 {
			return frames, nil
		}
		if closed {
			return nil, ErrLeft
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close lets go of the client: nothing more is put, and what waits can still be read.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.room.Broadcast()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
