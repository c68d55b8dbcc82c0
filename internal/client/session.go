package client

import (
	"context"
	"fmt"

	"scv/internal/wire"
)

// A Talk is a connection with a session of the model loop: what the session tells comes by Next, in its order. One
// goroutine reads; Send may be called beside it.
type Talk struct {
	conn    *Conn
	Started wire.SessionStarted
}

// StartTalk opens a session. A refusal is a *wire.Error.
func StartTalk(ctx context.Context, c *Conn, m wire.SessionStart) (*Talk, error) {
	if (m.Keep != nil || m.Name != nil) && !c.Has(wire.FeatureKeep) {
		return nil, older("sessions that are kept", "")
	}
	m.RequestID = c.nextID()
	return begun(ctx, c, m)
}

// AttachTalk joins a session that is kept.
func AttachTalk(ctx context.Context, c *Conn, id wire.SessionID, cwd string) (*Talk, error) {
	if !c.Has(wire.FeatureKeep) {
		return nil, older("sessions that are kept", "")
	}
	return begun(ctx, c, wire.SessionAttach{RequestID: c.nextID(), SessionID: id, Cwd: cwd})
}

func begun(ctx context.Context, c *Conn, m wire.ClientMessage) (*Talk, error) {
	event, err := c.exchange(ctx, m)
	if err != nil {
		return nil, err
	}
	switch e := event.(type) {
	case wire.SessionStarted:
		return &Talk{conn: c, Started: e}, nil
	case wire.ErrorEvent:
		return nil, e.Err()
	}
	return nil, fmt.Errorf("the daemon answered %s with %s", m.MessageType(), event.EventType())
}

// ID is the session's id.
func (t *Talk) ID() wire.SessionID { return t.Started.SessionID }

// NextID draws a name for a request.
func (t *Talk) NextID() wire.RequestID { return t.conn.nextID() }

// Send hands the session a request; its answer comes by Next.
func (t *Talk) Send(ctx context.Context, m wire.ClientMessage) error {
	data, err := wire.Encode(m)
	if err != nil {
		return err
	}
	defer t.conn.until(ctx)()
	if _, err := t.conn.nc.Write(append(data, '\n')); err != nil {
		return t.conn.broken(ctx, err)
	}
	return nil
}

// Next waits for the next event that this build knows.
func (t *Talk) Next(ctx context.Context) (wire.ServerEvent, error) { return t.conn.read(ctx) }
