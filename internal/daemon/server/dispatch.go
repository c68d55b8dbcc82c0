package server

import (
	"strings"
	"unicode"

	"scv/internal/wire"
)

// maxLabel bounds the part of a client's name that is shown, in characters.
const maxLabel = 32

// features is what this daemon adds to protocol 3 (design.md section 8).
func features() []string {
	return []string{
		wire.FeatureWatch, wire.FeatureKey, wire.FeatureReason, wire.FeatureWhy, wire.FeatureResultPage,
		wire.FeatureJobsPage, wire.FeatureStop, wire.FeatureMode, wire.FeatureTail, wire.FeatureFinished,
		wire.FeatureRestart, wire.FeatureTransport,
		wire.FeatureQueue, wire.FeatureFollow, wire.FeatureHolds,
		wire.FeatureTerminal, wire.FeatureTyped,
		wire.FeatureDigest, wire.FeatureApprovals,
		wire.FeatureWorktree, wire.FeatureClean, wire.FeatureDiff, wire.FeatureForecast, wire.FeatureReview,
		wire.FeatureKeep, wire.FeatureSessions,
	}
}

// dispatch answers a message that could be read. Its error ends the connection.
func (c *conn) dispatch(msg wire.ClientMessage) error {
	if init, ok := msg.(wire.Initialize); ok {
		return c.initialize(init)
	}
	if c.client == nil {
		return c.refuse(msg.Request(), &wire.Error{
			Code: wire.CodeNotInitialized, Reason: wire.ReasonRefused,
			Message: "the connection begins with an initialize message", Hint: "send initialize with protocol_version 3 first",
		})
	}
	switch m := msg.(type) {
	case wire.DaemonControl:
		return c.control(m)
	case wire.SessionStart:
		return c.sessionStart(m)
	case wire.SessionAttach:
		return c.sessionAttach(m)
	default:
		return c.sessionRequest(msg)
	}
}

// initialize answers the handshake once the daemon knows its home. Another version ends the connection.
func (c *conn) initialize(m wire.Initialize) error {
	if m.ProtocolVersion != wire.ProtocolVersion {
		refusal := &wire.Error{
			Code: wire.CodeVersionMismatch, Reason: wire.ReasonRefused,
			Message: versionSentence(m.ProtocolVersion), Hint: "use a client of the same release",
		}
		return joinClosed(c.refuse(m.RequestID, refusal))
	}
	if c.client != nil {
		return c.refuse(m.RequestID, &wire.Error{
			Code: wire.CodeInvalidRequest, Reason: wire.ReasonInvalid,
			Message: "the connection is initialized already", Hint: "send initialize once, as the first message",
		})
	}
	w, err := c.srv.workbench(c.ctx)
	if err != nil {
		return err
	}
	answer := wire.Initialized{
		RequestID: m.RequestID, ProtocolVersion: wire.ProtocolVersion,
		Server: wire.PeerInfo{Name: Name, Version: c.srv.opt.Version}, Features: features(),
	}
	if w.HomeID != "" {
		answer.Home = &w.HomeID
	}
	client := m.Client
	client.Name = label(client.Name)
	c.client = &client
	return c.send(answer)
}

// label is a client's name as it may be shown: without control characters, at most 32 characters, and never empty.
func label(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > maxLabel {
		name = string(runes[:maxLabel])
	}
	if name == "" {
		return "client"
	}
	return name
}
