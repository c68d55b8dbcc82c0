package server

import (
	"context"
	"io"

	"scv/internal/wire"
)

// A watch is a connection that a client watches on. It carries nothing else: when the client leaves or sends anything
// more, the watch is over.
type watch struct {
	conn *conn
	id   wire.RequestID
	gone <-chan struct{} // closed when the client left or sent something
	said *bool           // whether it sent something; read after gone
}

// watching begins to look for the client's leaving, beside the goroutine that writes.
func (r *request) watching() watch {
	gone, said := make(chan struct{}), new(bool)
	c := r.conn
	c.srv.conns.Go(func() {
		defer close(gone)
		_, err := c.in.Next()
		*said = err == nil
	})
	return watch{conn: c, id: r.id, gone: gone, said: said}
}

// wait returns at the next wake, or with why the watch ends.
func (w watch) wait(ctx context.Context, wake <-chan struct{}) error {
	select {
	case <-wake:
		return nil
	case <-w.gone:
		if *w.said {
			return joinClosed(w.conn.refuse("", &wire.Error{
				Code: wire.CodeInvalidRequest, Reason: wire.ReasonRefused,
				Message: "this connection watches and carries nothing else", Hint: "use another connection",
			}))
		}
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
}

// page sends what changed.
func (w watch) page(p wire.WatchPage) error {
	p.RequestID = w.id
	return w.conn.send(p)
}
