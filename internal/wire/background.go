package wire

import (
	"encoding/json"
	"strings"
)

// TurnOrigin says why the daemon started a turn by itself; a client's own turn has none.
type TurnOrigin struct {
	Kind         OriginKind   `json:"kind"`
	Jobs         []JobID      `json:"jobs,omitempty" need:"K"`
	RetrySeconds *uint64      `json:"retry_seconds,omitzero" need:"O"`
	Outcomes     []JobOutcome `json:"outcomes,omitempty" need:"K"`
}

// JobChange is a job that a tool call started or settled.
type JobChange struct {
	Job     JobID       `json:"job"`
	Tool    string      `json:"tool"`
	Agent   string      `json:"agent,omitempty" need:"K"`
	Status  JobStatus   `json:"status"`
	Task    string      `json:"task,omitempty" need:"K"`
	Journal *string     `json:"journal,omitzero" need:"O"`
	Outcome *JobOutcome `json:"outcome,omitzero" need:"O"`
}

// AgentName returns the agent: the field, else the tool after agent_, else the tool.
func (c *JobChange) AgentName() string {
	if c.Agent != "" {
		return c.Agent
	}
	return strings.TrimPrefix(c.Tool, "agent_")
}

// JobReport is a finished job that the model could not report.
type JobReport struct {
	Job     JobID           `json:"job"`
	Agent   string          `json:"agent"`
	Task    string          `json:"task,omitempty" need:"K"`
	Status  JobStatus       `json:"status"`
	Session *ConversationID `json:"session,omitzero" need:"O"` // a conversation, in spite of its name
	Reply   string          `json:"reply"`
	Outcome *JobOutcome     `json:"outcome,omitzero" need:"O"`
}

// Attachment is a file that goes with a prompt.
type Attachment struct {
	Kind       string  `json:"kind"` // image, audio, video, file or sticker; others are refused later
	Path       string  `json:"path"` // absolute; a regular file and no link
	Name       string  `json:"name,omitempty" need:"K"`
	Mime       string  `json:"mime,omitempty" need:"K"`
	Size       uint64  `json:"size"` // bytes, as the client says
	Transcript *string `json:"transcript,omitzero" need:"O"`
}

// ReplyAttachment is a file that a chat_attach call gave; it stands in the output of that call, not in an event.
type ReplyAttachment struct {
	Path    string `json:"path"`
	Name    string `json:"name"`
	Mime    string `json:"mime,omitempty" need:"K"`
	Size    uint64 `json:"size"`
	Caption string `json:"caption,omitempty" need:"K"`
}

// QueueEntry is a prompt that waits in a session's own queue.
type QueueEntry struct {
	QueueID     QueueID      `json:"queue_id"`
	Revision    uint64       `json:"revision"` // from 1; up by one on update and move
	Prompt      string       `json:"prompt"`
	Submitter   string       `json:"submitter"` // the request id of the turn.start that queued it
	Attachments []Attachment `json:"attachments,omitempty" need:"K"`

	// Schema is that of TurnStart (ours).
	Schema json.RawMessage `json:"schema,omitzero" need:"K"`
}

// PeerInfo is who is at the other end.
type PeerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Usage is what a turn used; an absent figure is not known.
type Usage struct {
	InputTokens  *uint64 `json:"input_tokens,omitzero" need:"O"`
	OutputTokens *uint64 `json:"output_tokens,omitzero" need:"O"`
}

// ChatLog names the chat that a session belongs to; each part is 1 to 64 ASCII letters, digits, - and _.
type ChatLog struct {
	Channel      string `json:"channel"`
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
}
