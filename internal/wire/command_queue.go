package wire

// JobPrompt asks for the whole prompt of a job, as it is kept (ours).
type JobPrompt struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
}

// JobEdit gives a queued job another prompt (ours).
type JobEdit struct {
	Session  SessionID `json:"session"`
	Job      JobID     `json:"job"`
	Prompt   string    `json:"prompt"`                     // at most MaxPromptBytes
	Revision *uint64   `json:"revision,omitzero" need:"O"` // Job.Revision of what was edited; given, it must match
	Key      string    `json:"key,omitempty" need:"K"`
}

// JobMove puts a queued job beside another one of its conversation, or without either to the end of its queue (ours).
type JobMove struct {
	Session  SessionID `json:"session"`
	Job      JobID     `json:"job"`
	Before   *JobID    `json:"before,omitzero" need:"O"`
	After    *JobID    `json:"after,omitzero" need:"O"`
	Revision *uint64   `json:"revision,omitzero" need:"O"` // as in JobEdit
	Key      string    `json:"key,omitempty" need:"K"`
}

// ConversationPause holds what waits in a conversation; a turn that runs goes on (ours).
type ConversationPause struct {
	Session      SessionID      `json:"session"`
	Conversation ConversationID `json:"conversation"`
	Key          string         `json:"key,omitempty" need:"K"`
}

// ConversationResume lets a paused queue go on (ours).
type ConversationResume struct {
	Session      SessionID      `json:"session"`
	Conversation ConversationID `json:"conversation"`
	Key          string         `json:"key,omitempty" need:"K"`
}

// AgentResume lets what is held for an agent's sign-in or usage limit try again (ours): one job first.
type AgentResume struct {
	Agent string `json:"agent"`
	Key   string `json:"key,omitempty" need:"K"`
}

// WorkbenchRetry gives the prompt of a job that has ended anew, as a new job (ours).
type WorkbenchRetry struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
	Same    bool      `json:"same,omitzero" need:"K"` // in the same conversation, which knows of the first try
	Key     string    `json:"key,omitempty" need:"K"`
}

// WorkbenchFork goes on with what a conversation came to in another one, of the same agent or another (ours). It begins
// with a summary made of the prompts and replies up to the job.
type WorkbenchFork struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
	Prompt  string    `json:"prompt,omitempty" need:"K"` // what is to be done next; empty: to go on
	Agent   *string   `json:"agent,omitzero" need:"O"`   // absent: the same
	// Share lets it work in the job's own worktree; else it gets one that begins with all that that one has.
	Share bool   `json:"share,omitzero" need:"K"`
	Key   string `json:"key,omitempty" need:"K"`
}

// PromptText is a whole prompt (ours).
type PromptText struct {
	Session  SessionID `json:"session"`
	Job      JobID     `json:"job"`
	Text     string    `json:"text"`
	Masked   bool      `json:"masked,omitzero" need:"K"` // something in it is hidden; the agent gets the original
	Revision uint64    `json:"revision,omitzero" need:"K"`
}

// Action returns job_prompt.
func (JobPrompt) Action() string { return "job_prompt" }

// Action returns job_edit.
func (JobEdit) Action() string { return "job_edit" }

// Action returns job_move.
func (JobMove) Action() string { return "job_move" }

// Action returns conversation_pause.
func (ConversationPause) Action() string { return "conversation_pause" }

// Action returns conversation_resume.
func (ConversationResume) Action() string { return "conversation_resume" }

// Action returns agent_resume.
func (AgentResume) Action() string { return "agent_resume" }

// ClientKey returns the key.
func (c AgentResume) ClientKey() string { return c.Key }

// Action returns workbench_retry.
func (WorkbenchRetry) Action() string { return "workbench_retry" }

// Action returns workbench_fork.
func (WorkbenchFork) Action() string { return "workbench_fork" }

// ClientKey returns the key.
func (c JobEdit) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c JobMove) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c ConversationPause) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c ConversationResume) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c WorkbenchRetry) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c WorkbenchFork) ClientKey() string { return c.Key }
