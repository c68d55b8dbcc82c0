package wire

// ServerEvent is a message from daemon to client; the types of the event files, as values, are all of them.
type ServerEvent interface {
	// EventType returns the protocol's tag, such as turn.started.
	EventType() string
}

// SessionFields stand in every event of a session.
type SessionFields struct {
	RequestID RequestID `json:"request_id"`
	SessionID SessionID `json:"session_id"`
	Seq       uint64    `json:"seq"` // per session, from 1, up by one
}

// TurnFields stand in every event of a turn.
type TurnFields struct {
	RequestID RequestID `json:"request_id"`
	SessionID SessionID `json:"session_id"`
	TurnID    TurnID    `json:"turn_id"`
	Seq       uint64    `json:"seq"` // per session, from 1, up by one
}

// Initialized answers Initialize.
type Initialized struct {
	RequestID       RequestID `json:"request_id"`
	ProtocolVersion uint32    `json:"protocol_version"`
	Server          PeerInfo  `json:"server"`

	// Features are the additions that this daemon offers (ours).
	Features []string `json:"features,omitempty" need:"K"`
	// Home is the id of the home (ours): a uuid, drawn once.
	Home *string `json:"home,omitzero" need:"O"`
}

// DaemonStatusEvent answers DaemonControl.
type DaemonStatusEvent struct {
	RequestID RequestID    `json:"request_id"`
	Status    DaemonStatus `json:"status"`
}

// SessionStarted answers SessionStart; it carries no seq.
type SessionStarted struct {
	RequestID             RequestID         `json:"request_id"`
	SessionID             SessionID         `json:"session_id"`
	Cwd                   string            `json:"cwd"` // resolved
	Model                 string            `json:"model"`
	ContextMaxTokens      uint64            `json:"context_max_tokens"`
	MaxServerFrameBytes   uint64            `json:"max_server_frame_bytes"`
	MaxTranscriptBytes    uint64            `json:"max_transcript_bytes"`
	MaxTranscriptItems    uint64            `json:"max_transcript_items"`
	MaxPromptHistoryBytes uint64            `json:"max_prompt_history_bytes"`
	MaxPromptHistoryItems uint64            `json:"max_prompt_history_items"`
	Keys                  map[string]string `json:"keys,omitempty" need:"K"` // key bindings
	Restored              *RestoredQueue    `json:"restored,omitzero" need:"O"`

	// Name is the owner's name for the session (ours).
	Name *string `json:"name,omitzero" need:"O"`
	// Mode is what its tools may do unasked (ours).
	Mode *PermissionMode `json:"mode,omitzero" need:"O"`
	// Pins are what its model never forgets (ours).
	Pins []string `json:"pins,omitempty" need:"K"`
	// Turn is the turn that runs when a client attaches (ours); absent: none does.
	Turn *TurnView `json:"turn,omitzero" need:"O"`
	// History is the number of the first message that its history on disk does not hold yet (ours): those before are read
	// with session_history, and what comes after is told by events.
	History *uint64 `json:"history,omitzero" need:"O"`
}

// TurnView is a turn in its middle, for a client that attaches (ours): what follows goes on from here.
type TurnView struct {
	TurnID    TurnID              `json:"turn_id"`
	RequestID RequestID           `json:"request_id"`
	Prompt    string              `json:"prompt"`
	Text      string              `json:"text"` // of the step under way
	Origin    *TurnOrigin         `json:"origin,omitzero" need:"O"`
	Approvals []ApprovalRequested `json:"approvals,omitempty" need:"K"` // that wait, as they were asked
	Results   []SessionResult     `json:"results,omitempty" need:"K"`   // of its calls that are over and not yet in the history
}

// QueueSnapshot is a session's whole queue.
type QueueSnapshot struct {
	RequestID *RequestID       `json:"request_id" need:"N"`
	SessionID SessionID        `json:"session_id"`
	Seq       uint64           `json:"seq"`
	Entries   List[QueueEntry] `json:"entries"` // in running order
	Paused    bool             `json:"paused"`
}

// QueueEnqueued answers a TurnStart whose prompt waits.
type QueueEnqueued struct {
	SessionFields
	Entry    QueueEntry `json:"entry"`
	Position uint64     `json:"position"` // from 0
}

// QueueUpdated answers QueueUpdate.
type QueueUpdated struct {
	SessionFields
	Entry QueueEntry `json:"entry"`
}

// QueueMoved answers QueueMove.
type QueueMoved struct {
	SessionFields
	QueueID  QueueID `json:"queue_id"`
	Position uint64  `json:"position"` // from 0
	Revision uint64  `json:"revision"` // the new one
}

// QueueRemoved answers QueueRemove.
type QueueRemoved struct {
	SessionFields
	QueueID  QueueID `json:"queue_id"`
	Revision uint64  `json:"revision"` // the one it had
}

// QueueDequeued comes right before the TurnStarted of a prompt that waited.
type QueueDequeued struct {
	SessionFields         // the request id is that of the TurnStart
	QueueID       QueueID `json:"queue_id"`
	TurnID        TurnID  `json:"turn_id"`
}

// SessionPaused answers SessionPause.
type SessionPaused struct {
	SessionFields
	Paused bool `json:"paused"`
}

// SessionTrimmed says that history was dropped.
type SessionTrimmed struct {
	SessionFields
	RemovedMessages uint64 `json:"removed_messages"`
	HistoryBytes    uint64 `json:"history_bytes"`
}

// SessionCleared answers SessionClear.
type SessionCleared struct {
	SessionFields
}

// SessionPinned answers SessionPin (ours).
type SessionPinned struct {
	SessionFields
	Pins []string `json:"pins,omitempty" need:"K"`
}

// BackgroundReported lists finished jobs that the model could not report.
type BackgroundReported struct {
	SessionID SessionID       `json:"session_id"`
	Seq       uint64          `json:"seq"`
	Code      ErrorCode       `json:"code"`
	Message   string          `json:"message"`
	Attempts  uint32          `json:"attempts"`
	Reports   List[JobReport] `json:"reports"`
}

// BackgroundUpdated repeats outcomes with their final journal flags.
type BackgroundUpdated struct {
	SessionID SessionID        `json:"session_id"`
	Seq       uint64           `json:"seq"`
	Outcomes  List[JobOutcome] `json:"outcomes"`
}

// ErrorEvent answers a request that was refused, or reports a frame that could not be read.
type ErrorEvent struct {
	RequestID *RequestID `json:"request_id,omitzero" need:"O"`
	Code      ErrorCode  `json:"code"`
	Message   string     `json:"message"`
	Fatal     bool       `json:"fatal"` // the connection ends

	// Reason is a finer word, from which exit codes come (ours).
	Reason *Reason `json:"reason,omitzero" need:"O"`
	// Hint is the next command (ours).
	Hint *string `json:"hint,omitzero" need:"O"`
}

// UnknownEvent is an event of a type that this build does not know; skip it and allow one gap in seq.
type UnknownEvent struct{ Type string }

// EventType returns initialized.
func (Initialized) EventType() string { return "initialized" }

// EventType returns daemon.status.
func (DaemonStatusEvent) EventType() string { return "daemon.status" }

// EventType returns session.started.
func (SessionStarted) EventType() string { return "session.started" }

// EventType returns queue.snapshot.
func (QueueSnapshot) EventType() string { return "queue.snapshot" }

// EventType returns queue.enqueued.
func (QueueEnqueued) EventType() string { return "queue.enqueued" }

// EventType returns queue.updated.
func (QueueUpdated) EventType() string { return "queue.updated" }

// EventType returns queue.moved.
func (QueueMoved) EventType() string { return "queue.moved" }

// EventType returns queue.removed.
func (QueueRemoved) EventType() string { return "queue.removed" }

// EventType returns queue.dequeued.
func (QueueDequeued) EventType() string { return "queue.dequeued" }

// EventType returns session.paused.
func (SessionPaused) EventType() string { return "session.paused" }

// EventType returns session.trimmed.
func (SessionTrimmed) EventType() string { return "session.trimmed" }

// EventType returns session.cleared.
func (SessionCleared) EventType() string { return "session.cleared" }

// EventType returns session.pinned.
func (SessionPinned) EventType() string { return "session.pinned" }

// EventType returns background.reported.
func (BackgroundReported) EventType() string { return "background.reported" }

// EventType returns background.updated.
func (BackgroundUpdated) EventType() string { return "background.updated" }

// EventType returns error.
func (ErrorEvent) EventType() string { return "error" }

// EventType returns the type that came.
func (e UnknownEvent) EventType() string { return e.Type }
