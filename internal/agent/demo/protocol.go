package demo

import (
	"encoding/json"

	"scv/internal/agent"
)

// Argument is the reserved first argument that makes this program the demo agent.
const Argument = "__demo-agent"

// LiveFlag makes the process serve several turns, hear what is said during them, and ask.
const LiveFlag = "--live"

// TerminalFlag makes the process show its session on a terminal, for the owner.
const TerminalFlag = "--terminal"

// The types of a Message. A prompt has none.
const (
	Steer  = "steer"  // Text for the running turn: Key
	Answer = "answer" // ID, Verdict and, with a denial, Text as the reason
	Cancel = "cancel" // the running turn ends
)

// The values of an answer's Verdict.
const (
	Allow  = "allow"
	Deny   = "deny"
	Revoke = "cancelled" // the question went away with its turn
)

// Message is a line that the agent reads.
type Message struct {
	Type    string `json:"type,omitempty"`
	Key     string `json:"key,omitempty"`
	ID      string `json:"id,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Text    string `json:"text"`
}

// The types of an Event.
const (
	Hello   = "hello" // first line: Session
	Turn    = "turn"  // a prompt was taken: Key
	Think   = "think"
	Text    = "text" // a whole message
	Plan    = "plan"
	Tool    = "tool" // ID, and Text is the command
	ToolEnd = "tool_end"
	Retry   = "retry"
	End     = "end" // Status, and Text when something went wrong
	// Of a live process only.
	Ask       = "ask"       // ID, Tool, Risk, Paths, and Text is the whole command
	Withdrawn = "withdrawn" // ID is asked no more
	Steered   = "steered"   // Key was taken into the running turn
	Unsteered = "unsteered" // Key was not, and Text says why
)

// The values of an end's Status.
const (
	Completed = "completed"
	Failed    = "failed"
	Declined  = "declined"
	Cancelled = "cancelled"
)

// Event is a line that the agent writes.
type Event struct {
	Type         string   `json:"type"`
	Session      string   `json:"session,omitempty"`
	Key          string   `json:"key,omitempty"`
	ID           string   `json:"id,omitempty"`
	Text         string   `json:"text,omitempty"`
	Tool         string   `json:"tool,omitempty"`
	Risk         string   `json:"risk,omitempty"`
	Paths        []string `json:"paths,omitempty"`
	Exit         int      `json:"exit,omitzero"`
	Status       string   `json:"status,omitempty"`
	Class        string   `json:"class,omitempty"`
	InputTokens  uint64   `json:"input_tokens,omitzero"`
	OutputTokens uint64   `json:"output_tokens,omitzero"`
}

// readEvent reads a line of the player as an event; false for one that is none.
func readEvent(line []byte) (Event, bool) {
	var read struct {
		Event
		Text agent.Text `json:"text"`
	}
	err := json.Unmarshal(line, &read)
	read.Event.Text = string(read.Text)
	return read.Event, err == nil && read.Type != ""
}
