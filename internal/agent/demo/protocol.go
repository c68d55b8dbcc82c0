package demo

// Argument is the reserved first argument that makes this program the demo agent.
const Argument = "__demo-agent"

// Prompt is a line that the agent reads.
type Prompt struct {
	Key  string `json:"key,omitempty"`
	Text string `json:"text"`
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
)

// The values of an end's Status.
const (
	Completed = "completed"
	Failed    = "failed"
	Declined  = "declined"
)

// Event is a line that the agent writes.
type Event struct {
	Type         string `json:"type"`
	Session      string `json:"session,omitempty"`
	Key          string `json:"key,omitempty"`
	ID           string `json:"id,omitempty"`
	Text         string `json:"text,omitempty"`
	Exit         int    `json:"exit,omitzero"`
	Status       string `json:"status,omitempty"`
	Class        string `json:"class,omitempty"`
	InputTokens  uint64 `json:"input_tokens,omitzero"`
	OutputTokens uint64 `json:"output_tokens,omitzero"`
}
