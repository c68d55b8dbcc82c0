package wire

// words is the vocabulary of an enum. An open one reads a word it does not know as unknown; a closed one refuses
// it, and with it the whole message.
type words struct {
	open bool
	list []string
}

// worded is an enum kept as a string; the decoder reads its vocabulary when it makes a plan.
type worded interface{ words() words }

const unknownWord = "unknown"

func openWords(list ...string) words   { return words{open: true, list: append(list, unknownWord)} }
func closedWords(list ...string) words { return words{list: list} }

// JobOrigin is who started a job; open.
type JobOrigin string

// The origins of protocol 3.
const (
	// OriginModel is the session's model, through a tool call.
	OriginModel JobOrigin = "model"
	// OriginOwner is the owner, from a surface of the workbench.
	OriginOwner JobOrigin = "owner"
	// OriginUnknown is an origin that this build does not know.
	OriginUnknown JobOrigin = unknownWord
)

func (JobOrigin) words() words { return openWords("model", "owner") }

// AttachState says whether a takeover would go ahead; open.
type AttachState string

// The takeover states of protocol 3; a takeover without interrupt goes ahead only for the first two.
const (
	AttachReady      AttachState = "ready"
	AttachTakenOver  AttachState = "taken_over"
	AttachBusy       AttachState = "busy"
	AttachIneligible AttachState = "ineligible"
	AttachNoSession  AttachState = "no_session"
	AttachReviewed   AttachState = "reviewed"
	AttachFull       AttachState = "full"
	AttachUnknown    AttachState = unknownWord
)

func (AttachState) words() words {
	return openWords("ready", "taken_over", "busy", "ineligible", "no_session", "reviewed", "full")
}

// RunEventKind is what a line of a run log records; open.
type RunEventKind string

// The kinds of protocol 3.
const (
	EventRunStarted        RunEventKind = "run_started"
	EventTurnStarted       RunEventKind = "turn_started"
	EventText              RunEventKind = "text"
	EventTool              RunEventKind = "tool"
	EventToolFailed        RunEventKind = "tool_failed"
	EventPlan              RunEventKind = "plan"
	EventApprovalRequested RunEventKind = "approval_requested"
	EventApprovalResolved  RunEventKind = "approval_resolved"
	EventSteered           RunEventKind = "steered"
	EventTurnEnded         RunEventKind = "turn_ended"
	EventRunEnded          RunEventKind = "run_ended"
	EventNote              RunEventKind = "note"
	EventTruncated         RunEventKind = "truncated"
	EventUnknown           RunEventKind = unknownWord
)

func (RunEventKind) words() words {
	return openWords("run_started", "turn_started", "text", "tool", "tool_failed", "plan", "approval_requested",
		"approval_resolved", "steered", "turn_ended", "run_ended", "note", "truncated")
}

// SendMode is how workbench_send treats a conversation whose turn runs; closed. In an idle conversation all
// three start a turn. The zero value is written as auto.
type SendMode string

// The modes of protocol 3.
const (
	// SendAuto steers the running turn if the agent can, else queues.
	SendAuto SendMode = "auto"
	// SendQueue always queues behind the running turn.
	SendQueue SendMode = "queue"
	// SendSteer steers the running turn or fails.
	SendSteer SendMode = "steer"
)

func (SendMode) words() words { return closedWords("auto", "queue", "steer") }

// MarshalText writes the mode, the zero value as auto.
func (m SendMode) MarshalText() ([]byte, error) {
	if m == "" {
		m = SendAuto
	}
	return []byte(m), nil
}

// JobStatus is a job as a session client sees it; open, and not AgentState: nothing is queued or interrupted.
type JobStatus string

// The statuses of protocol 3.
const (
	JobRunning   JobStatus = "running"
	JobCompleted JobStatus = "completed"
	JobFailed    JobStatus = "failed"
	JobDeclined  JobStatus = "declined"
	JobTimeout   JobStatus = "timeout"
	JobCancelled JobStatus = "cancelled"
	JobUnknown   JobStatus = unknownWord
)

func (JobStatus) words() words {
	return openWords("running", "completed", "failed", "declined", "timeout", "cancelled")
}

// OriginKind says why a daemon started a turn by itself; open.
type OriginKind string

// The kinds of protocol 3.
const (
	OriginKindBackground OriginKind = "background"
	OriginKindUnknown    OriginKind = unknownWord
)

func (OriginKind) words() words { return openWords("background") }

// ToolErrorKind says why a tool call failed; open.
type ToolErrorKind string

// The kinds of protocol 3.
const (
	ToolDenied           ToolErrorKind = "denied"
	ToolCancelled        ToolErrorKind = "cancelled"
	ToolInvalidArguments ToolErrorKind = "invalid_arguments"
	ToolUnavailable      ToolErrorKind = "unavailable"
	ToolLimit            ToolErrorKind = "limit"
	ToolErrorFailed      ToolErrorKind = "failed"
	ToolUnknownTool      ToolErrorKind = "unknown_tool"
	ToolErrorUnknown     ToolErrorKind = unknownWord
)

func (ToolErrorKind) words() words {
	return openWords("denied", "cancelled", "invalid_arguments", "unavailable", "limit", "failed", "unknown_tool")
}

// PermissionMode is how freely a job's agent may act (ours): upstream's words. It is a plain string to the
// decoder, so that a wrong one can be refused with a sentence.
type PermissionMode string

// The permission modes.
const (
	// ModeAuto asks nothing.
	ModeAuto PermissionMode = "auto"
	// ModeOnRisk asks the owner for what is risky; the default.
	ModeOnRisk PermissionMode = "on-risk"
	// ModeAlways asks for everything that changes something.
	ModeAlways PermissionMode = "always"
	// ModeReadOnly lets the agent change nothing.
	ModeReadOnly PermissionMode = "read-only"
)

// Valid reports whether the mode is one of the four words.
func (m PermissionMode) Valid() bool {
	switch m {
	case ModeAuto, ModeOnRisk, ModeAlways, ModeReadOnly:
		return true
	}
	return false
}

// Class is the machine-readable kind of a failure beside its sentence (ours); other words may come.
type Class string

// The classes this program gives.
const (
	ClassAuth    Class = "auth"
	ClassQuota   Class = "quota"
	ClassModel   Class = "model"
	ClassNetwork Class = "network"
	ClassStart   Class = "start"
	ClassAgent   Class = "agent"
	ClassLimit   Class = "limit"
	ClassRefused Class = "refused"
	// ClassMissing: the agent's program was not found or cannot be executed.
	ClassMissing Class = "missing"
	// ClassSession: the conversation to go on with does not exist or is in use.
	ClassSession Class = "session"
	// ClassBudget: what the owner allowed to be spent is spent.
	ClassBudget Class = "budget"
)

// Delivery is what became of a prompt that was sent to a conversation (ours).
type Delivery string

// The deliveries; a refusal is an error.
const (
	DeliverySteered Delivery = "steered"
	DeliveryQueued  Delivery = "queued"
	DeliveryStarted Delivery = "started"
)
