package wire

import "fmt"

// ErrorCode is the protocol's word for a refusal; open.
type ErrorCode string

// The codes of protocol 3.
const (
	CodeInvalidJSON      ErrorCode = "invalid_json"
	CodeNotInitialized   ErrorCode = "not_initialized"
	CodeVersionMismatch  ErrorCode = "version_mismatch"
	CodeInvalidRequest   ErrorCode = "invalid_request"
	CodeUnsupported      ErrorCode = "unsupported"
	CodeSessionNotFound  ErrorCode = "session_not_found"
	CodeTurnActive       ErrorCode = "turn_active"
	CodeTurnNotFound     ErrorCode = "turn_not_found"
	CodeApprovalNotFound ErrorCode = "approval_not_found"
	CodeQueueLimit       ErrorCode = "queue_limit"
	CodeQueueNotFound    ErrorCode = "queue_not_found"
	CodeQueueConflict    ErrorCode = "queue_conflict"
	CodeComponentError   ErrorCode = "component_error"
	CodeDelegationError  ErrorCode = "delegation_error"
	CodeRestartError     ErrorCode = "restart_error"
	CodeConfirmError     ErrorCode = "confirm_error"
	CodeWorkbenchError   ErrorCode = "workbench_error"
	CodeProviderError    ErrorCode = "provider_error"
	CodeContextLimit     ErrorCode = "context_limit"
	CodeStepLimit        ErrorCode = "step_limit"
	CodeHistoryLimit     ErrorCode = "history_limit"
	CodeResponseLimit    ErrorCode = "response_limit"
	CodeToolLimit        ErrorCode = "tool_limit"
	CodeInternalError    ErrorCode = "internal_error"
	CodeUnknown          ErrorCode = unknownWord
)

func (ErrorCode) words() words {
	return openWords("invalid_json", "not_initialized", "version_mismatch", "invalid_request", "unsupported",
		"session_not_found", "turn_active", "turn_not_found", "approval_not_found", "queue_limit",
		"queue_not_found", "queue_conflict", "component_error", "delegation_error", "restart_error",
		"confirm_error", "workbench_error", "provider_error", "context_limit", "step_limit", "history_limit",
		"response_limit", "tool_limit", "internal_error")
}

// Reason is a finer word beside the code (ours); exit codes come from it. A reader must expect other words.
type Reason string

// The reasons that this program gives.
const (
	// ReasonInvalid: the request's values are wrong.
	ReasonInvalid Reason = "invalid"
	// ReasonNotFound: nothing has that name.
	ReasonNotFound Reason = "not_found"
	// ReasonBusy: it is in use; later may do.
	ReasonBusy Reason = "busy"
	// ReasonNotSteerable: the running turn takes no further prompt.
	ReasonNotSteerable Reason = "not_steerable"
	// ReasonRefused: it is not allowed in this state, or not at all.
	ReasonRefused Reason = "refused"
	// ReasonConflict: it changed meanwhile, or a key was used for something else.
	ReasonConflict Reason = "conflict"
	// ReasonExpired: its time is over.
	ReasonExpired Reason = "expired"
	// ReasonFull: a limit of number is reached.
	ReasonFull Reason = "full"
	// ReasonTooLarge: a limit of size is passed.
	ReasonTooLarge Reason = "too_large"
	// ReasonUnavailable: something outside is missing or does not answer.
	ReasonUnavailable Reason = "unavailable"
	// ReasonSignIn: the agent is not signed in.
	ReasonSignIn Reason = "sign_in"
	// ReasonInternal: something that should not happen.
	ReasonInternal Reason = "internal"
)

// Error is a refusal as every room returns it at the edge. Message is a sentence for the owner, safe to show;
// Hint is the next command, or empty.
type Error struct {
	Code    ErrorCode
	Message string
	Reason  Reason
	Hint    string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Refuse returns a refusal of a workbench action (CodeWorkbenchError), which most refusals are.
func Refuse(reason Reason, hint, format string, args ...any) *Error {
	return &Error{Code: CodeWorkbenchError, Reason: reason, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// Event returns the error event that answers a request; an empty id is left out, as the protocol says.
func (e *Error) Event(request RequestID) ErrorEvent {
	event := ErrorEvent{Code: e.Code, Message: e.Message, Fatal: e.Code == CodeVersionMismatch}
	if request != "" {
		event.RequestID = &request
	}
	if e.Reason != "" {
		event.Reason = &e.Reason
	}
	if e.Hint != "" {
		event.Hint = &e.Hint
	}
	return event
}

// Err returns the refusal that an error event carries.
func (e ErrorEvent) Err() *Error {
	out := &Error{Code: e.Code, Message: e.Message}
	if e.Reason != nil {
		out.Reason = *e.Reason
	}
	if e.Hint != nil {
		out.Hint = *e.Hint
	}
	return out
}
