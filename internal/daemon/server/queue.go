package server

import (
	"strings"

	"scv/internal/wire"
)

// sessionRequest answers what a client asks of its session beside turns. No turn runs and no prompt waits, ever, so the
// queue's entries and turns that are named do not exist.
func (c *conn) sessionRequest(msg wire.ClientMessage) error {
	id := msg.Request()
	if m, ok := msg.(wire.TurnCancel); ok {
		return c.gone(m.RequestID, wire.CodeTurnNotFound, "that turn does not run")
	}
	if c.session == nil || c.session.id != sessionOf(msg) {
		return c.noSession(id)
	}
	switch m := msg.(type) {
	case wire.QueueUpdate:
		if strings.TrimSpace(m.Prompt) == "" || len(m.Prompt) > wire.MaxPromptBytes {
			return c.badSession(id, "the prompt is empty or longer than 256 KiB", "correct it and send it again")
		}
		return c.gone(id, wire.CodeQueueNotFound, "no such prompt waits")
	case wire.QueueMove, wire.QueueRemove:
		return c.gone(id, wire.CodeQueueNotFound, "no such prompt waits")
	case wire.SessionPause:
		c.session.paused = m.Paused
		return c.send(wire.SessionPaused{SessionFields: c.session.fields(id), Paused: m.Paused})
	case wire.ApprovalResolve:
		return c.gone(id, wire.CodeApprovalNotFound, "that approval is not open")
	case wire.SessionClear:
		if err := c.send(wire.SessionCleared{SessionFields: c.session.fields(id)}); err != nil {
			return err
		}
		return c.send(c.session.snapshot())
	default:
		return c.refuse(id, &wire.Error{
			Code: wire.CodeUnsupported, Reason: wire.ReasonUnavailable,
			Message: "this release does not offer " + msg.MessageType(),
		})
	}
}

func (c *conn) gone(id wire.RequestID, code wire.ErrorCode, message string) error {
	return c.refuse(id, &wire.Error{Code: code, Reason: wire.ReasonNotFound, Message: message})
}

func sessionOf(msg wire.ClientMessage) wire.SessionID {
	switch m := msg.(type) {
	case wire.QueueUpdate:
		return m.SessionID
	case wire.QueueMove:
		return m.SessionID
	case wire.QueueRemove:
		return m.SessionID
	case wire.SessionPause:
		return m.SessionID
	case wire.ApprovalResolve:
		return m.SessionID
	case wire.SessionClear:
		return m.SessionID
	}
	return ""
}
