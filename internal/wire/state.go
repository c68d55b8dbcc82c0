package wire

// AgentState is what a run, a job or a session is doing, as far as SCV can tell. The numbers are fixed.
type AgentState uint8

// The states of protocol 3.
const (
	// StateUnknown means that SCV cannot tell, or that the word came from a newer peer; it is not final.
	StateUnknown AgentState = 0
	// StateStarting: the process, its handshake or its session is being made.
	StateStarting AgentState = 1
	// StateWorking: a turn runs.
	StateWorking AgentState = 2
	// StateAwaitingInput: a question to the owner is unanswered.
	StateAwaitingInput AgentState = 3
	// StateIdle: alive between turns.
	StateIdle AgentState = 4
	// StateQueued: waits for its conversation, for room or for the owner.
	StateQueued AgentState = 5
	// StateCompleted: the agent said that the turn ended well.
	StateCompleted AgentState = 6
	// StateFailed: the run or job failed.
	StateFailed AgentState = 7
	// StateDeclined: the agent's model refused.
	StateDeclined AgentState = 8
	// StateTimeout: a time limit of the owner was reached.
	StateTimeout AgentState = 9
	// StateCancelled: stopped on request.
	StateCancelled AgentState = 10
	// StateInterrupted: what ran it went away before it finished; the only state that can be resumed.
	StateInterrupted AgentState = 11
)

// AgentStates is the number of states: they are 0 to AgentStates-1.
const AgentStates = 12

// String returns the protocol's word for the state, such as awaiting_input.
func (s AgentState) String() string {
	switch s {
	case StateStarting:
		return "starting"
	case StateWorking:
		return "working"
	case StateAwaitingInput:
		return "awaiting_input"
	case StateIdle:
		return "idle"
	case StateQueued:
		return "queued"
	case StateCompleted:
		return "completed"
	case StateFailed:
		return "failed"
	case StateDeclined:
		return "declined"
	case StateTimeout:
		return "timeout"
	case StateCancelled:
		return "cancelled"
	case StateInterrupted:
		return "interrupted"
	case StateUnknown:
	}
	return "unknown"
}

// ParseAgentState returns the state of a word; known is false when the word is not of protocol 3, and the state
// is then StateUnknown.
func ParseAgentState(word string) (state AgentState, known bool) {
	for s := range AgentState(AgentStates) {
		if s.String() == word {
			return s, true
		}
	}
	return StateUnknown, false
}

// Final reports whether nothing more happens in this state by itself.
func (s AgentState) Final() bool { return s >= StateCompleted && s <= StateInterrupted }

// NeedsAttention reports whether a person is needed to go on.
func (s AgentState) NeedsAttention() bool { return s == StateAwaitingInput }

// MarshalText writes the protocol's word.
func (s AgentState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a word; one that is not known reads as StateUnknown and is no error.
func (s *AgentState) UnmarshalText(text []byte) error {
	*s, _ = ParseAgentState(string(text))
	return nil
}
