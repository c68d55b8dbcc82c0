package wire

// DaemonStatus is the reply to every daemon.control; beside the base, the field that the action fills.
type DaemonStatus struct {
	Version       string                `json:"version"`
	PID           uint32                `json:"pid"`
	Components    List[ComponentHealth] `json:"components"`
	Delegations   DelegationSummary     `json:"delegations" need:"D"`
	Restart       *RestartInfo          `json:"restart,omitzero" need:"O"`
	Confirm       *ConfirmInfo          `json:"confirm,omitzero" need:"O"`
	Project       *ProjectResponse      `json:"project,omitzero" need:"O"`
	MailActions   []MailAction          `json:"mail_actions,omitempty" need:"K"`
	MailNote      *string               `json:"mail_note,omitzero" need:"O"`
	Workbench     *Snapshot             `json:"workbench,omitzero" need:"O"`
	RunLog        *RunLogPage           `json:"run_log,omitzero" need:"O"`
	JobResult     *JobResult            `json:"job_result,omitzero" need:"O"`
	WorkbenchNote *string               `json:"workbench_note,omitzero" need:"O"` // what an action did, for people
	WorkbenchJob  *JobRef               `json:"workbench_job,omitzero" need:"O"`  // the job that was started
	Worktrees     []WorktreeInfo        `json:"worktrees,omitempty" need:"K"`
	Attach        *AttachPage           `json:"attach,omitzero" need:"O"`

	// Why answers the action why (ours).
	Why *WhyReport `json:"why,omitzero" need:"O"`
	// JobsPage answers the action jobs_page (ours).
	JobsPage *JobHistory `json:"jobs_page,omitzero" need:"O"`
	// Sessions is filled by sessions_page (ours).
	Sessions *SessionRecords `json:"sessions,omitzero" need:"O"`
	// SessionHistory is filled by session_history (ours).
	SessionHistory *SessionHistory `json:"session_history,omitzero" need:"O"`
	// ApprovalsPage answers the action approvals_page (ours).
	ApprovalsPage *ApprovalHistory `json:"approvals_page,omitzero" need:"O"`
	// ApprovalRules answers the actions on rules (ours): the rules that hold now.
	ApprovalRules *List[ApprovalRule] `json:"approval_rules,omitzero" need:"O"`
	// ApprovalTest answers the action approval_test (ours).
	ApprovalTest *ApprovalVerdict `json:"approval_test,omitzero" need:"O"`
	// Prompt answers the action job_prompt (ours).
	Prompt *PromptText `json:"prompt,omitzero" need:"O"`
	// Prune answers the action worktree_prune (ours).
	Prune *List[PruneEntry] `json:"prune,omitzero" need:"O"`
	// Clean answers the action worktree_clean (ours).
	Clean *List[CleanEntry] `json:"clean,omitzero" need:"O"`
	// Setup answers the action worktree_trust (ours).
	Setup *SetupScript `json:"setup,omitzero" need:"O"`
	// Diff answers the action job_diff (ours).
	Diff *DiffPage `json:"diff,omitzero" need:"O"`
	// Forecast answers the action forecast (ours).
	Forecast *Forecast `json:"forecast,omitzero" need:"O"`
	// Review answers the action job_review (ours).
	Review *ReviewReport `json:"review,omitzero" need:"O"`
	// Delivery says what became of a prompt of workbench_send (ours).
	Delivery *Delivery `json:"delivery,omitzero" need:"O"`
	// Home is the id of this home (ours); full base only.
	Home *string `json:"home,omitzero" need:"O"`
	// StartedUnixSeconds is when the daemon started (ours); full base only.
	StartedUnixSeconds *uint64 `json:"started_unix_seconds,omitzero" need:"O"`
	// Successor is the process that takes this daemon's place at the moment (ours); full base only.
	Successor *uint32 `json:"successor,omitzero" need:"O"`
	// Held is what keeps queued jobs back, one for each agent and reason (ours); full base only.
	Held []HeldAgent `json:"held,omitempty" need:"K"`
	// Problems are sentences about what is wrong with the daemon, such as a bad configuration (ours).
	Problems []string `json:"problems,omitempty" need:"K"`
}

// HeldAgent is what keeps an agent's queued jobs back (ours).
type HeldAgent struct {
	Agent string `json:"agent"` // empty: all
	Class Class  `json:"class"`
	Text  string `json:"text"` // what it is and what lets them go on
	// UntilUnixSeconds is when what was reached is renewed; absent: nobody said.
	UntilUnixSeconds *uint64 `json:"until_unix_seconds,omitzero" need:"O"`
}

// DelegationSummary counts runs. Takeover replies leave it zero whatever runs.
type DelegationSummary struct {
	Active  uint64           `json:"active"`
	Idle    *uint64          `json:"idle,omitzero" need:"O"` // absent: not told, which is not 0
	Reaped  uint64           `json:"reaped"`
	Entries []DelegationInfo `json:"entries,omitempty" need:"K"`
	Killed  []RunHandle      `json:"killed,omitempty" need:"K"`
}

// DelegationInfo is a run as delegations lists it.
type DelegationInfo struct {
	Handle               RunHandle       `json:"handle"`
	Agent                string          `json:"agent"`
	Session              SessionID       `json:"session"`
	Cwd                  string          `json:"cwd"`
	Depth                uint32          `json:"depth"`
	PID                  uint32          `json:"pid"`
	OwnerPID             uint32          `json:"owner_pid"`
	Processes            uint32          `json:"processes"`
	StartedUnixSeconds   uint64          `json:"started_unix_seconds"`
	Orphaned             bool            `json:"orphaned"`
	Conversation         *ConversationID `json:"conversation,omitzero" need:"O"`
	Turn                 *uint32         `json:"turn,omitzero" need:"O"`
	IdleSinceUnixSeconds *uint64         `json:"idle_since_unix_seconds,omitzero" need:"O"`
	BackgroundJobs       *uint32         `json:"background_jobs,omitzero" need:"O"`
}

// RestartInfo is a planned restart.
type RestartInfo struct {
	ToVersion           string  `json:"to_version"`
	WaitingFor          *string `json:"waiting_for,omitzero" need:"O"`
	Requester           *string `json:"requester,omitzero" need:"O"`
	Origin              *string `json:"origin,omitzero" need:"O"`
	DeadlineUnixSeconds uint64  `json:"deadline_unix_seconds"`
}

// ConfirmInfo is a question in the owner's chat.
type ConfirmInfo struct {
	ID                  string       `json:"id"`
	State               ConfirmState `json:"state"`
	Chat                string       `json:"chat"`
	DeadlineUnixSeconds uint64       `json:"deadline_unix_seconds"`
}

// ConfirmState is where a question stands; open. Only ConfirmYes is a yes.
type ConfirmState string

// The states of protocol 3.
const (
	ConfirmPending   ConfirmState = "pending"
	ConfirmYes       ConfirmState = "yes"
	ConfirmNo        ConfirmState = "no"
	ConfirmExpired   ConfirmState = "expired"
	ConfirmWithdrawn ConfirmState = "withdrawn"
	ConfirmFailed    ConfirmState = "failed"
	ConfirmUnknown   ConfirmState = unknownWord
)

func (ConfirmState) words() words {
	return openWords("pending", "yes", "no", "expired", "withdrawn", "failed")
}

// WhyReport lists what the state of a job rests on (ours).
type WhyReport struct {
	Session          SessionID      `json:"session"`
	Job              JobID          `json:"job"`
	State            AgentState     `json:"state"`
	SinceUnixSeconds uint64         `json:"since_unix_seconds"`
	Evidence         List[Evidence] `json:"evidence"` // oldest first
}

// Evidence is one fact about a job (ours).
type Evidence struct {
	AtMs   uint64 `json:"at_ms"`  // Unix milliseconds
	Source string `json:"source"` // who says so, such as agent, shim, owner or daemon
	Fact   string `json:"fact"`   // a sentence
}
