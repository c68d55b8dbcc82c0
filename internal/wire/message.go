package wire

import "encoding/json"

// ClientMessage is a message from client to daemon; the types below, as values, are all of them.
type ClientMessage interface {
	// MessageType returns the protocol's tag, such as turn.start.
	MessageType() string
	// Request returns the client's name for the request.
	Request() RequestID
}

// Initialize opens a connection; it must be the first message and come once.
type Initialize struct {
	RequestID       RequestID `json:"request_id"`
	ProtocolVersion uint32    `json:"protocol_version"`
	Client          PeerInfo  `json:"client"`
}

// DaemonControl asks the daemon for something; it is answered by one DaemonStatusEvent or ErrorEvent.
type DaemonControl struct {
	RequestID RequestID `json:"request_id"`
	Command   Command   `json:"command"`
}

// SessionStart opens the connection's session.
type SessionStart struct {
	RequestID       RequestID  `json:"request_id"`
	Cwd             string     `json:"cwd"`
	Provider        *string    `json:"provider,omitzero" need:"O"`
	Model           *string    `json:"model,omitzero" need:"O"`
	BaseURL         *string    `json:"base_url,omitzero" need:"O"`
	NoTools         *bool      `json:"no_tools,omitzero" need:"O"`
	DelegationDepth *uint32    `json:"delegation_depth,omitzero" need:"O"`
	Channel         *string    `json:"channel,omitzero" need:"O"` // 1 to MaxChannelBytes
	AutoApprove     *bool      `json:"auto_approve,omitzero" need:"O"`
	Chat            *ChatLog   `json:"chat,omitzero" need:"O"`
	SystemPrompt    *string    `json:"system_prompt,omitzero" need:"O"` // needs NoTools; at most MaxSystemPromptBytes
	PersistQueue    *bool      `json:"persist_queue,omitzero" need:"O"`
	Restore         *SessionID `json:"restore,omitzero" need:"O"`

	// Keep leaves the session when its client goes, and lets further clients attach (ours).
	Keep *bool `json:"keep,omitzero" need:"O"`
	// Name is the owner's name for a session that is kept, at most MaxSessionNameBytes (ours).
	Name *string `json:"name,omitzero" need:"O"`
}

// SessionAttach joins a session that was started with keep (ours); upstream refuses it always.
type SessionAttach struct {
	RequestID RequestID `json:"request_id"`
	SessionID SessionID `json:"session_id"`
	Cwd       string    `json:"cwd"`
}

// TurnStart starts a turn, or queues its prompt while one runs.
type TurnStart struct {
	RequestID   RequestID    `json:"request_id"`
	SessionID   SessionID    `json:"session_id"`
	Prompt      string       `json:"prompt"`                         // at most MaxPromptBytes
	Attachments []Attachment `json:"attachments,omitempty" need:"K"` // at most MaxAttachments

	// Schema is the JSON schema that the final answer follows, at most MaxSchemaBytes (ours).
	Schema json.RawMessage `json:"schema,omitzero" need:"K"`
}

// QueueUpdate gives a waiting prompt a new text.
type QueueUpdate struct {
	RequestID RequestID `json:"request_id"`
	SessionID SessionID `json:"session_id"`
	QueueID   QueueID   `json:"queue_id"`
	Revision  uint64    `json:"revision"`
	Prompt    string    `json:"prompt"`
}

// QueueMove moves a waiting prompt before another one, or to the end.
type QueueMove struct {
	RequestID     RequestID `json:"request_id"`
	SessionID     SessionID `json:"session_id"`
	QueueID       QueueID   `json:"queue_id"`
	Revision      uint64    `json:"revision"`
	BeforeQueueID *QueueID  `json:"before_queue_id" need:"N"`
}

// QueueRemove drops a waiting prompt.
type QueueRemove struct {
	RequestID RequestID `json:"request_id"`
	SessionID SessionID `json:"session_id"`
	QueueID   QueueID   `json:"queue_id"`
	Revision  uint64    `json:"revision"`
}

// SessionPause holds or releases a session's queue.
type SessionPause struct {
	RequestID RequestID `json:"request_id"`
	SessionID SessionID `json:"session_id"`
	Paused    bool      `json:"paused"`
}

// TurnCancel ends a running turn; it has no reply of its own.
type TurnCancel struct {
	RequestID RequestID `json:"request_id"`
	SessionID SessionID `json:"session_id"`
	TurnID    TurnID    `json:"turn_id"`
}

// ApprovalResolve answers a question of the session's own turn; it has no reply.
type ApprovalResolve struct {
	RequestID  RequestID  `json:"request_id"`
	SessionID  SessionID  `json:"session_id"`
	ApprovalID ApprovalID `json:"approval_id"`
	Approved   bool       `json:"approved"`
}

// SessionClear forgets the history of an idle session.
type SessionClear struct {
	RequestID RequestID `json:"request_id"`
	SessionID SessionID `json:"session_id"`
}

// SessionPin says what the model of a session is never to forget, all of it anew (ours).
type SessionPin struct {
	RequestID RequestID    `json:"request_id"`
	SessionID SessionID    `json:"session_id"`
	Pins      List[string] `json:"pins"` // at most MaxPins of MaxPinBytes each
}

// MessageType returns initialize.
func (Initialize) MessageType() string { return "initialize" }

// MessageType returns daemon.control.
func (DaemonControl) MessageType() string { return "daemon.control" }

// MessageType returns session.start.
func (SessionStart) MessageType() string { return "session.start" }

// MessageType returns session.attach.
func (SessionAttach) MessageType() string { return "session.attach" }

// MessageType returns turn.start.
func (TurnStart) MessageType() string { return "turn.start" }

// MessageType returns queue.update.
func (QueueUpdate) MessageType() string { return "queue.update" }

// MessageType returns queue.move.
func (QueueMove) MessageType() string { return "queue.move" }

// MessageType returns queue.remove.
func (QueueRemove) MessageType() string { return "queue.remove" }

// MessageType returns session.pause.
func (SessionPause) MessageType() string { return "session.pause" }

// MessageType returns turn.cancel.
func (TurnCancel) MessageType() string { return "turn.cancel" }

// MessageType returns approval.resolve.
func (ApprovalResolve) MessageType() string { return "approval.resolve" }

// MessageType returns session.clear.
func (SessionClear) MessageType() string { return "session.clear" }

// Request returns the request id.
func (m Initialize) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m DaemonControl) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m SessionStart) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m SessionAttach) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m TurnStart) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m QueueUpdate) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m QueueMove) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m QueueRemove) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m SessionPause) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m TurnCancel) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m ApprovalResolve) Request() RequestID { return m.RequestID }

// Request returns the request id.
func (m SessionClear) Request() RequestID { return m.RequestID }

// MessageType returns session.pin.
func (SessionPin) MessageType() string { return "session.pin" }

// Request returns the request id.
func (m SessionPin) Request() RequestID { return m.RequestID }
