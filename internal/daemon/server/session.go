package server

import (
	"crypto/rand"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"scv/internal/wire"
)

// noModel is the model that a session names: there is no loop of SCV's own to choose one for.
const noModel = "none"

// A session is a connection's own conversation with SCV. This release has no model loop, so a session opens, which the
// upstream dashboard needs, and each turn fails with a sentence; its queue is therefore always empty (wire.md 19.5).
type session struct {
	id     wire.SessionID
	seq    uint64
	paused bool
}

// next counts an event of the session.
func (s *session) next() uint64 {
	s.seq++
	return s.seq
}

func (s *session) fields(id wire.RequestID) wire.SessionFields {
	return wire.SessionFields{RequestID: id, SessionID: s.id, Seq: s.next()}
}

func (s *session) snapshot() wire.QueueSnapshot {
	return wire.QueueSnapshot{SessionID: s.id, Seq: s.next(), Paused: s.paused}
}

func (c *conn) sessionStart(m wire.SessionStart) error {
	if c.session != nil {
		return c.badSession(m.RequestID, "the connection has a session already", "use another connection for another session")
	}
	if message := badStart(m); message != "" {
		return c.badSession(m.RequestID, message, "correct it and start the session again")
	}
	cwd, err := directory("workspace", m.Cwd)
	if err != nil {
		return c.badSession(m.RequestID, err.Error(), "start the session in an existing directory")
	}
	model := noModel
	if m.Model != nil && *m.Model != "" {
		model = *m.Model
	}
	c.session = &session{id: wire.SessionID(uuid())}
	started := wire.SessionStarted{
		RequestID: m.RequestID, SessionID: c.session.id, Cwd: cwd, Model: model,
		ContextMaxTokens: wire.DefaultContextTokens, MaxServerFrameBytes: wire.MaxServerFrame,
		MaxTranscriptBytes: wire.DefaultTranscriptBytes, MaxTranscriptItems: wire.DefaultTranscriptItems,
		MaxPromptHistoryBytes: wire.DefaultPromptHistoryBytes, MaxPromptHistoryItems: wire.DefaultPromptHistoryItems,
	}
	if err := c.send(started); err != nil {
		return err
	}
	return c.send(c.session.snapshot())
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
	return ""
}

func chatPart(s string) bool {
	bad := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}
	return len(s) >= 1 && len(s) <= wire.MaxChatPartBytes && !strings.ContainsFunc(s, bad)
}

// turnStart starts a turn, which fails at once: there is no model to ask.
func (c *conn) turnStart(m wire.TurnStart) error {
	if c.session == nil || c.session.id != m.SessionID {
		return c.noSession(m.RequestID)
	}
	if message := badTurn(m); message != "" {
		return c.badSession(m.RequestID, message, "correct it and send it again")
	}
	turn := wire.TurnFields{RequestID: m.RequestID, SessionID: c.session.id, TurnID: wire.TurnID(uuid()), Seq: c.session.next()}
	if err := c.send(wire.TurnStarted{TurnFields: turn}); err != nil {
		return err
	}
	turn.Seq = c.session.next()
	return c.send(wire.TurnFailed{
		TurnFields: turn, Code: wire.CodeProviderError,
		Message: "this release has no model of its own to answer; start a job instead: scv jobs start --agent codex",
	})
}

// badTurn is what is wrong with a prompt and its attachments, or empty.
func badTurn(m wire.TurnStart) string {
	switch {
	case len(m.Prompt) > wire.MaxPromptBytes:
		return fmt.Sprintf("the prompt is longer than %d bytes", wire.MaxPromptBytes)
	case !utf8.ValidString(m.Prompt):
		return "the prompt is not valid UTF-8"
	case strings.TrimSpace(m.Prompt) == "" && len(m.Attachments) == 0:
		return "the prompt is empty"
	case len(m.Attachments) > wire.MaxAttachments:
		return fmt.Sprintf("a turn takes at most %d attachments", wire.MaxAttachments)
	}
	for _, a := range m.Attachments {
		switch a.Kind {
		case "image", "audio", "video", "file", "sticker":
		default:
			return fmt.Sprintf("%.40q is not a kind of attachment", a.Kind)
		}
	}
	return ""
}

func (c *conn) noSession(id wire.RequestID) error {
	return c.refuse(id, &wire.Error{
		Code: wire.CodeSessionNotFound, Reason: wire.ReasonNotFound,
		Message: "this connection has no session of that id", Hint: "start one with session.start",
	})
}

// uuid draws a random version 4 uuid.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
