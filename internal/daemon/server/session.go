package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"scv/internal/session"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// sessionStart opens the connection's session.
func (c *conn) sessionStart(m wire.SessionStart) error {
	if c.session != nil {
		return c.badSession(m.RequestID, "the connection has a session already", "use another connection for another session")
	}
	w, err := c.srv.workbench(c.ctx)
	if err != nil {
		return err
	}
	if message := badStart(m); message != "" {
		return c.badSession(m.RequestID, message, "correct it and start the session again")
	}
	if m.Restore != nil && c.srv.opt.Stdio {
		return c.badSession(m.RequestID, "a session on standard input has nothing to restore from", "start it without restore")
	}
	t, err := c.talk(m)
	if err != nil {
		return c.badSession(m.RequestID, err.Error(), "start the session in an existing directory")
	}
	if err := (intake{&request{conn: c, Workbench: w}}).clean("path of the workspace", t.Workspace, "name", t.Name); err != nil {
		return c.refuse(m.RequestID, sessionRefusal(err))
	}
	var restore wire.SessionID
	if m.Restore != nil {
		restore = *m.Restore
	}
	e, err := w.Sessions.Start(c.ctx, m.RequestID, t, restore)
	if err != nil {
		return c.notStarted(m.RequestID, w, err)
	}
	c.attend(e)
	return nil
}

// notStarted refuses a session that could not be built.
func (c *conn) notStarted(id wire.RequestID, w *Workbench, err error) error {
	refusal := &wire.Error{Code: wire.CodeInvalidRequest, Reason: wire.ReasonUnavailable, Message: err.Error(), Hint: "look at the settings: scv config show"}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		refusal = new(*e)
		if refusal.Code == "" {
			refusal.Code = wire.CodeInvalidRequest
		}
	}
	refusal.Message = w.Mask().Text(refusal.Message)
	return c.refuse(id, refusal)
}

// sessionAttach joins a session that was started with keep.
func (c *conn) sessionAttach(m wire.SessionAttach) error {
	if c.session != nil {
		return c.badSession(m.RequestID, "the connection has a session already", "use another connection for another session")
	}
	w, err := c.srv.workbench(c.ctx)
	if err != nil {
		return err
	}
	e, err := w.Sessions.Attach(c.ctx, m.RequestID, m.SessionID)
	if err != nil {
		return c.notStarted(m.RequestID, w, err)
	}
	c.attend(e)
	return nil
}

// talk is what a session.start asks for, as it is kept.
func (c *conn) talk(m wire.SessionStart) (row.Talk, error) {
	cwd, err := directory("workspace", m.Cwd)
	if err != nil {
		return row.Talk{}, err
	}
	t := row.Talk{Label: c.sessionLabel(), Workspace: cwd, Name: value(m.Name), Keep: value(m.Keep), Persist: value(m.PersistQueue) || value(m.Keep)}
	t.Start = row.TalkStart{
		Provider: value(m.Provider), Model: value(m.Model), BaseURL: value(m.BaseURL), NoTools: value(m.NoTools),
		Depth: value(m.DelegationDepth), Channel: value(m.Channel), AutoApprove: value(m.AutoApprove), Chat: m.Chat,
		SystemPrompt: value(m.SystemPrompt), Owner: c.client.Name == "scv-tui" && m.Channel == nil,
	}
	if t.Start.Channel != "" {
		t.Label = t.Start.Channel
	}
	if t.Start.AutoApprove && (&request{conn: c}).ownerOnly("let a session approve by itself") != nil {
		t.Start.AutoApprove = false
	}
	return t, nil
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// sessionLabel says whom the connection's session serves (wire.md section 3).
func (c *conn) sessionLabel() string {
	switch c.client.Name {
	case "scv-tui":
		return "TUI"
	case "scv-exec":
		return "scv exec"
	case "scv-agent":
		return "nested SCV"
	}
	return c.client.Name
}

// attend passes on what the session tells the client, until either leaves.
func (c *conn) attend(e session.Entrance) {
	told := make(chan struct{})
	c.session, c.told = &e, told
	c.srv.conns.Go(func() {
		defer close(told)
		for {
			frames, err := e.Client.Next(c.ctx)
			if err == nil {
				err = c.put(frames...)
			}
			if err != nil {
				if !errors.Is(err, session.ErrLeft) {
					c.ended(err)
				}
				c.nc.Close()
				return
			}
		}
	})
}

// leaveSession lets go of the session, once the client was told what waits for it: one that only ended its own side may
// still read. When the daemon itself ends, the session does not end for good.
func (c *conn) leaveSession(daemon context.Context) {
	if c.session == nil {
		return
	}
	if daemon.Err() != nil {
		c.session.Client.Close()
	} else {
		c.session.Session.Leave(c.session.Client)
	}
	<-c.told
}

// sessionRequest hands what a client asks of its session to the session, which answers.
func (c *conn) sessionRequest(msg wire.ClientMessage) error {
	id := msg.Request()
	if c.session == nil || c.session.Session.ID() != sessionOf(msg) {
		if _, cancel := msg.(wire.TurnCancel); cancel {
			return c.refuse(id, &wire.Error{Code: wire.CodeTurnNotFound, Reason: wire.ReasonNotFound, Message: "that turn does not run", Hint: "look at the session"})
		}
		return c.refuse(id, &wire.Error{
			Code: wire.CodeSessionNotFound, Reason: wire.ReasonNotFound,
			Message: "this connection has no session of that id", Hint: "start one with session.start",
		})
	}
	if m, ok := msg.(wire.ApprovalResolve); ok && m.Approved && !c.srv.opt.Stdio {
		if err := (&request{conn: c}).ownerOnly("answer approvals"); err != nil {
			return c.refuse(id, sessionRefusal(err))
		}
	}
	if c.session.Session.Send(c.session.Client, msg) != nil {
		return errDone // the session has ended, and with it the connection
	}
	return nil
}

func sessionRefusal(err error) *wire.Error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		out := *e
		out.Code = wire.CodeInvalidRequest
		return &out
	}
	return &wire.Error{Code: wire.CodeInvalidRequest, Reason: wire.ReasonRefused, Message: err.Error()}
}

func sessionOf(msg wire.ClientMessage) wire.SessionID {
	switch m := msg.(type) {
	case wire.TurnStart:
		return m.SessionID
	case wire.TurnCancel:
		return m.SessionID
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
	case wire.SessionPin:
		return m.SessionID
	}
	return ""
}

func (c *conn) badSession(id wire.RequestID, message, hint string) error {
	return c.refuse(id, &wire.Error{Code: wire.CodeInvalidRequest, Reason: wire.ReasonInvalid, Message: message, Hint: hint})
}

// badStart is what is wrong with the values of a session.start, or empty.
func badStart(m wire.SessionStart) string {
	if m.Channel != nil {
		if name := *m.Channel; len(name) > wire.MaxChannelBytes || strings.TrimSpace(name) == "" || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Sprintf("a channel's name has 1 to %d bytes, is not blank and holds no control characters", wire.MaxChannelBytes)
		}
	}
	if m.Chat != nil {
		for _, part := range []string{m.Chat.Channel, m.Chat.Account, m.Chat.Conversation} {
			if !chatPart(part) {
				return fmt.Sprintf("each part of a chat's name has 1 to %d ASCII letters, digits, - or _", wire.MaxChatPartBytes)
			}
		}
	}
	if m.SystemPrompt != nil {
		control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
		switch text := *m.SystemPrompt; {
		case m.NoTools == nil || !*m.NoTools:
			return "a system prompt of one's own needs no_tools"
		case len(text) > wire.MaxSystemPromptBytes:
			return fmt.Sprintf("the system prompt is longer than %d bytes", wire.MaxSystemPromptBytes)
		case strings.ContainsFunc(text, control):
			return "the system prompt holds control characters"
		}
	}
	if m.Name != nil {
		return badName(*m.Name, m.Keep)
	}
	return ""
}

// badName is what is wrong with the owner's name for a session, or empty.
func badName(name string, keep *bool) string {
	switch {
	case keep == nil || !*keep:
		return "only a session that is kept has a name"
	case name == "" || len(name) > wire.MaxSessionNameBytes || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '/' }):
		return fmt.Sprintf("a session's name has 1 to %d bytes without spaces, slashes or control characters", wire.MaxSessionNameBytes)
	}
	return ""
}

func chatPart(s string) bool {
	bad := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}
	return len(s) >= 1 && len(s) <= wire.MaxChatPartBytes && !strings.ContainsFunc(s, bad)
}
