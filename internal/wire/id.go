package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// SessionID names a session: a uuid, or WorkbenchSessionID for the daemon's own.
type SessionID string

// JobID names a job inside its session, such as job-3; in this program the number is unique in the whole home.
type JobID string

// JobRef names a job anywhere, as <session>/<job>.
type JobRef string

// RunHandle names a run and its log: an agent name, a dash and six lower-case hex digits.
type RunHandle string

// ConversationID names a thread with one agent: an agent name, a dash and a decimal number.
type ConversationID string

// ApprovalID names one question to the owner; an id never stands for two texts.
type ApprovalID string

// HoldID names one client's hold on a taken-over terminal.
type HoldID string

// RequestID is the client's own name for a request, echoed in its replies; any string.
type RequestID string

// TurnID names a turn of a session of the model loop.
type TurnID string

// QueueID names a waiting prompt of a session of the model loop.
type QueueID string

// CallID names one tool call of a turn.
type CallID string

const (
	maxAgentNameBytes = 32
	maxHandleBytes    = 64
	runSuffixDigits   = 6
)

// Ref returns the wide name of a job of this session.
func (s SessionID) Ref(job JobID) JobRef { return JobRef(string(s) + "/" + string(job)) }

// Split returns the session and the job of a wide name; ok is false unless both halves are there.
func (r JobRef) Split() (session SessionID, job JobID, ok bool) {
	s, j, found := strings.Cut(string(r), "/")
	if !found || s == "" || !ValidJobID(j) {
		return "", "", false
	}
	return SessionID(s), JobID(j), true
}

// NewJobID returns the handle of the job with this number.
func NewJobID(number uint64) JobID { return JobID("job-" + strconv.FormatUint(number, 10)) }

// Number returns the job's number, or 0 when the handle is malformed.
func (j JobID) Number() uint64 {
	digits, ok := strings.CutPrefix(string(j), "job-")
	if !ok {
		return 0
	}
	return decimal(digits)
}

// ValidJobID reports whether text is a job handle: job- and a number from 1, without leading zeros.
func ValidJobID(text string) bool { return JobID(text).Number() > 0 }

// ParseJobID checks a job handle that came from outside.
func ParseJobID(text string) (JobID, error) {
	if !ValidJobID(text) {
		return "", fmt.Errorf("%.80q is not a job handle such as job-3", text)
	}
	return JobID(text), nil
}

// ParseJobRef checks a wide job name that came from outside.
func ParseJobRef(text string) (JobRef, error) {
	if _, _, ok := JobRef(text).Split(); !ok {
		return "", fmt.Errorf("%.160q is not a job name such as SESSION/job-3", text)
	}
	return JobRef(text), nil
}

// NewRunHandle joins an agent name and six lower-case hex digits.
func NewRunHandle(agent, suffix string) RunHandle { return RunHandle(agent + "-" + suffix) }

// ParseRunHandle checks a run handle that came from outside; at most 64 bytes.
func ParseRunHandle(text string) (RunHandle, error) {
	agent, suffix, ok := cutLast(text)
	if !ok || len(text) > maxHandleBytes || !agentWord(agent) || !lowerHex(suffix, runSuffixDigits) {
		return "", fmt.Errorf("%.80q is not a run handle such as codex-3f9a2c", text)
	}
	return RunHandle(text), nil
}

// Agent returns the agent part of the handle, empty when the handle is malformed.
func (h RunHandle) Agent() string {
	agent, _, _ := cutLast(string(h))
	return agent
}

// Suffix returns the six hex digits of the handle, empty when the handle is malformed.
func (h RunHandle) Suffix() string {
	_, suffix, _ := cutLast(string(h))
	return suffix
}

// NewConversationID joins an agent name and the conversation's number.
func NewConversationID(agent string, number uint64) ConversationID {
	return ConversationID(agent + "-" + strconv.FormatUint(number, 10))
}

// ParseConversationID checks a conversation handle that came from outside; at most 64 bytes, number from 1.
func ParseConversationID(text string) (ConversationID, error) {
	agent, number, ok := cutLast(text)
	if !ok || len(text) > maxHandleBytes || !agentWord(agent) || decimal(number) == 0 {
		return "", fmt.Errorf("%.80q is not a conversation handle such as codex-2", text)
	}
	return ConversationID(text), nil
}

// Agent returns the agent part of the handle, empty when the handle is malformed.
func (c ConversationID) Agent() string {
	agent, _, _ := cutLast(string(c))
	return agent
}

// Number returns the conversation's number for its agent, or 0 when the handle is malformed.
func (c ConversationID) Number() uint64 {
	_, number, _ := cutLast(string(c))
	return decimal(number)
}

// ValidAgentName reports whether name may be an agent's: a lower-case letter, then lower-case letters, digits and
// dashes, at most 32 bytes, not ending in a dash and digits only, which a conversation handle could not tell apart.
func ValidAgentName(name string) bool {
	if len(name) > maxAgentNameBytes || !agentWord(name) {
		return false
	}
	_, tail, cut := cutLast(name)
	return !cut || strings.Trim(tail, "0123456789") != ""
}

// WorkbenchSessionID returns the id of the daemon's own session for a workspace, given the resolved path of it:
// workbench- and the first 16 hex digits of the SHA-256 of the path, as upstream makes it.
func WorkbenchSessionID(resolvedPath string) SessionID {
	sum := sha256.Sum256([]byte(resolvedPath))
	return SessionID("workbench-" + hex.EncodeToString(sum[:8]))
}

func cutLast(text string) (head, tail string, ok bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

func agentWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return text != ""
}

func lowerHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}

// decimal reads a number without sign and leading zeros; 0 stands for anything else.
func decimal(text string) uint64 {
	if text == "" || text[0] < '1' || text[0] > '9' {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
