package wire

import "encoding/json"

// TurnStarted opens a turn.
type TurnStarted struct {
	TurnFields
	Origin *TurnOrigin `json:"origin,omitzero" need:"O"`

	// Prompt is what the turn was begun with, for the clients that did not send it (ours); absent with an Origin.
	Prompt *string `json:"prompt,omitzero" need:"O"`
}

// AssistantDelta adds to the message of a step.
type AssistantDelta struct {
	TurnFields
	Content string `json:"content"`
}

// AssistantCompleted is the whole message of a step; it may be empty.
type AssistantCompleted struct {
	TurnFields
	Content string `json:"content"`
}

// ToolProposed is a call that the model wants; arguments is any JSON value, null too.
type ToolProposed struct {
	TurnFields
	CallID    CallID          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ApprovalRequested asks the client of the session whether a call may run.
type ApprovalRequested struct {
	TurnFields
	ApprovalID ApprovalID `json:"approval_id"`
	CallID     CallID     `json:"call_id"`
	Name       string     `json:"name"`
	Risk       string     `json:"risk"`
	Cwd        string     `json:"cwd"`
	Summary    string     `json:"summary"`
}

// ToolStarted says that a call runs; only after its approval.
type ToolStarted struct {
	TurnFields
	CallID CallID `json:"call_id"`
	Name   string `json:"name"`
}

// ToolProgress is what a running call shows, at most 512 bytes.
type ToolProgress struct {
	TurnFields
	CallID CallID `json:"call_id"`
	Text   string `json:"text"`
}

// ToolCompleted ends a call.
type ToolCompleted struct {
	TurnFields
	CallID    CallID         `json:"call_id"`
	Name      string         `json:"name"`
	Success   bool           `json:"success"`
	Output    string         `json:"output"`
	Truncated bool           `json:"truncated"`
	Error     *ToolErrorKind `json:"error,omitzero" need:"O"`
	Jobs      []JobChange    `json:"jobs,omitempty" need:"K"`
}

// ContextCompacted says that the history was made shorter.
type ContextCompacted struct {
	TurnFields
	BeforeTokens    uint64 `json:"before_tokens"`
	AfterTokens     uint64 `json:"after_tokens"`
	RemovedMessages uint64 `json:"removed_messages"`
}

// TurnCompleted ends a turn well.
type TurnCompleted struct {
	TurnFields
	Steps  uint64      `json:"steps"`
	Usage  Usage       `json:"usage"`
	Origin *TurnOrigin `json:"origin,omitzero" need:"O"`
}

// TurnCancelled ends a turn on request.
type TurnCancelled struct {
	TurnFields
	Origin *TurnOrigin `json:"origin,omitzero" need:"O"`
}

// TurnFailed ends a turn in trouble; the only report of trouble after TurnStarted.
type TurnFailed struct {
	TurnFields
	Code    ErrorCode   `json:"code"`
	Message string      `json:"message"`
	Origin  *TurnOrigin `json:"origin,omitzero" need:"O"`

	// Class is the kind of a provider's failure (ours).
	Class *Class `json:"class,omitzero" need:"O"`
}

// EventType returns turn.started.
func (TurnStarted) EventType() string { return "turn.started" }

// EventType returns assistant.delta.
func (AssistantDelta) EventType() string { return "assistant.delta" }

// EventType returns assistant.completed.
func (AssistantCompleted) EventType() string { return "assistant.completed" }

// EventType returns tool.proposed.
func (ToolProposed) EventType() string { return "tool.proposed" }

// EventType returns approval.requested.
func (ApprovalRequested) EventType() string { return "approval.requested" }

// EventType returns tool.started.
func (ToolStarted) EventType() string { return "tool.started" }

// EventType returns tool.progress.
func (ToolProgress) EventType() string { return "tool.progress" }

// EventType returns tool.completed.
func (ToolCompleted) EventType() string { return "tool.completed" }

// EventType returns context.compacted.
func (ContextCompacted) EventType() string { return "context.compacted" }

// EventType returns turn.completed.
func (TurnCompleted) EventType() string { return "turn.completed" }

// EventType returns turn.cancelled.
func (TurnCancelled) EventType() string { return "turn.cancelled" }

// EventType returns turn.failed.
func (TurnFailed) EventType() string { return "turn.failed" }
