package wire

// WorkbenchCommand asks for a snapshot.
type WorkbenchCommand struct {
	Watch bool `json:"watch,omitzero" need:"K"` // the owner is present

	// Finished is how many of the newest ended jobs to list at most, without the ended runs of others; nil lists what a
	// snapshot holds (ours).
	Finished *uint32 `json:"finished,omitzero" need:"O"`
}

// RunLogCommand asks for a part of a run log.
type RunLogCommand struct {
	Handle RunHandle `json:"handle"`
	After  uint64    `json:"after" need:"D"`          // a byte position, from RunLogPage.Next
	Limit  *uint32   `json:"limit,omitzero" need:"O"` // forced into 1 to MaxRunLogPageEvents

	// Tail asks for the newest activity that the log itself no longer holds (ours).
	Tail bool `json:"tail,omitzero" need:"K"`
}

// JobResultCommand asks where a job stands and what it said.
type JobResultCommand struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`

	// After is the byte offset in the reply from which the page starts (ours).
	After uint64 `json:"after,omitzero" need:"K"`
}

// JobsPage asks for jobs beyond what a snapshot lists, newest first (ours).
type JobsPage struct {
	After *string `json:"after,omitzero" need:"O"` // JobHistory.Next of the page before
	Limit *uint32 `json:"limit,omitzero" need:"O"`
}

// WorktreesCommand lists the worktrees that SCV made.
type WorktreesCommand struct{}

// WorktreeRemove removes a worktree that nobody works in.
type WorktreeRemove struct {
	Path  string `json:"path"`
	Force bool   `json:"force,omitzero" need:"K"` // uncommitted changes too
	Key   string `json:"key,omitempty" need:"K"`  // ours
}

// WorkbenchStart starts a job.
type WorkbenchStart struct {
	Workspace string  `json:"workspace"` // absolute
	Agent     string  `json:"agent"`
	Prompt    string  `json:"prompt"` // at most MaxPromptBytes
	Cwd       *string `json:"cwd,omitzero" need:"O"`
	Model     *string `json:"model,omitzero" need:"O"`
	Effort    *string `json:"effort,omitzero" need:"O"`
	Worktree  bool    `json:"worktree,omitzero" need:"K"`

	// Mode is the permission mode (ours); absent: as configured.
	Mode *PermissionMode `json:"mode,omitzero" need:"O"`
	Key  string          `json:"key,omitempty" need:"K"` // ours
	// Transport is TransportLive or TransportCLI (ours); absent: as configured. The conversation keeps it.
	Transport *string `json:"transport,omitzero" need:"O"`
	// Check marks a job that is to find out whether its agent works (ours): no hold keeps it back, and what is held goes
	// on when it completes.
	Check bool `json:"check,omitzero" need:"K"`

	// Base, Branch and WithChanges say more of a Worktree (ours): the branch, tag or commit that it starts from, absent for
	// what the checkout has; the name of its branch; and that what is not committed in the checkout comes along.
	Base        *string `json:"base,omitzero" need:"O"`
	Branch      *string `json:"branch,omitzero" need:"O"`
	WithChanges bool    `json:"with_changes,omitzero" need:"K"`
	// Review makes it a reviewed job (ours), which always works in a worktree.
	Review *ReviewRequest `json:"review,omitzero" need:"O"`
}

// TransportLive asks for one process that serves several turns, whatever its protocol (ours); such a run's transport is
// then TransportACP.
const TransportLive = "live"

// WorkbenchSend hands a further prompt to a conversation.
type WorkbenchSend struct {
	Session      SessionID      `json:"session"`
	Conversation ConversationID `json:"conversation"`
	Prompt       string         `json:"prompt"` // at most MaxPromptBytes
	Mode         SendMode       `json:"mode" need:"D=auto"`
	Key          string         `json:"key,omitempty" need:"K"` // ours
}

// WorkbenchCancel stops a job.
type WorkbenchCancel struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
	Waiting bool      `json:"waiting,omitzero" need:"K"` // only while it is queued (ours)
	Key     string    `json:"key,omitempty" need:"K"`    // ours
}

// WorkbenchApprove answers an approval.
type WorkbenchApprove struct {
	ID       ApprovalID `json:"id"`
	Approved bool       `json:"approved"`

	// Digest is Approval.Digest of what was shown; given, it must match (ours).
	Digest *string `json:"digest,omitzero" need:"O"`
	Key    string  `json:"key,omitempty" need:"K"` // ours
	// Reason goes to who asked, with a denial (ours).
	Reason string `json:"reason,omitempty" need:"K"`
	// Equal answers all that wait and have the same digest (ours).
	Equal    bool      `json:"equal,omitzero" need:"K"`
	Remember *Remember `json:"remember,omitzero" need:"O"` // ours
}

// WorkbenchResume starts a new job that goes on with an interrupted one.
type WorkbenchResume struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
	Key     string    `json:"key,omitempty" need:"K"` // ours
}

// WorkbenchDismiss removes the record of a finished job.
type WorkbenchDismiss struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
	Key     string    `json:"key,omitempty" need:"K"` // ours
}

// AttachCommand takes a conversation over in its agent's own terminal.
type AttachCommand struct {
	Session      SessionID      `json:"session"`
	Conversation ConversationID `json:"conversation"`
	Cols         *uint16        `json:"cols,omitzero" need:"O"`
	Rows         *uint16        `json:"rows,omitzero" need:"O"`
	Interrupt    bool           `json:"interrupt,omitzero" need:"K"`
	InterruptJob *JobID         `json:"interrupt_job,omitzero" need:"O"` // means nothing without Interrupt
	Shell        bool           `json:"shell,omitzero" need:"K"`         // the owner's shell where the conversation works (ours)
	Run          *RunHandle     `json:"run,omitzero" need:"O"`           // only this run's terminal: none is opened (ours)
	Key          string         `json:"key,omitempty" need:"K"`          // ours
}

// AttachIO types, then resizes, then reads.
type AttachIO struct {
	ID    HoldID  `json:"id"`
	After uint64  `json:"after" need:"D"`           // AttachPage.Generation
	Input string  `json:"input,omitempty" need:"K"` // at most MaxInputBytes
	Cols  *uint16 `json:"cols,omitzero" need:"O"`
	Rows  *uint16 `json:"rows,omitzero" need:"O"`
	// Typist is drawn by who types, at most MaxKeyBytes. Input then stands at position From, in bytes, of all that is typed
	// under it, and reaches the terminal once, however often it is sent (ours).
	Typist string `json:"typist,omitempty" need:"K"`
	From   uint64 `json:"from,omitzero" need:"K"`
	Again  bool   `json:"again,omitzero" need:"K"` // it may have been sent before
}

// AttachDetach lets go of a taken-over terminal, which goes on.
type AttachDetach struct {
	ID HoldID `json:"id"`
}

// AttachEnd closes a taken-over terminal; it needs no hold.
type AttachEnd struct {
	Session      SessionID      `json:"session"`
	Conversation ConversationID `json:"conversation"`
	Shell        bool           `json:"shell,omitzero" need:"K"` // the shell that is open there (ours)
	Key          string         `json:"key,omitempty" need:"K"`  // ours
}

// WorkbenchWatch asks for a snapshot and then for what changes, as WatchPage events (ours).
type WorkbenchWatch struct {
	Epoch *string `json:"epoch,omitzero" need:"O"` // of the last page seen
	After *uint64 `json:"after,omitzero" need:"O"` // generation of the last page seen
}

// RunLogWatch asks for a run log from a position on, and then for what is added (ours).
type RunLogWatch struct {
	Handle RunHandle `json:"handle"`
	After  uint64    `json:"after" need:"D"`
	// Tail asks for the newest activity that the log itself no longer holds.
	Tail bool `json:"tail,omitzero" need:"K"`
}

// AttachWatch asks for the screen of a hold, and then for what changes (ours). With Run in place of a hold it only looks
// at the terminal of that run.
type AttachWatch struct {
	ID    HoldID     `json:"id,omitempty" need:"K"`
	Run   *RunHandle `json:"run,omitzero" need:"O"`
	After uint64     `json:"after" need:"D"`
}

// AttachHistory asks for lines that went up over the top of a run's terminal (ours). The answer is a page whose Lines are
// these, numbered from the oldest that is kept (0), and whose History says how many there are. The owner may ask.
type AttachHistory struct {
	Run   RunHandle `json:"run"`
	First uint16    `json:"first,omitzero" need:"K"`
	Lines uint16    `json:"lines"` // at most MaxHistoryLines
}

// Action returns workbench.
func (WorkbenchCommand) Action() string { return "workbench" }

// Action returns run_log.
func (RunLogCommand) Action() string { return "run_log" }

// Action returns job_result.
func (JobResultCommand) Action() string { return "job_result" }

// Action returns jobs_page.
func (JobsPage) Action() string { return "jobs_page" }

// Action returns worktrees.
func (WorktreesCommand) Action() string { return "worktrees" }

// Action returns worktree_remove.
func (WorktreeRemove) Action() string { return "worktree_remove" }

// Action returns workbench_start.
func (WorkbenchStart) Action() string { return "workbench_start" }

// Action returns workbench_send.
func (WorkbenchSend) Action() string { return "workbench_send" }

// Action returns workbench_cancel.
func (WorkbenchCancel) Action() string { return "workbench_cancel" }

// Action returns workbench_approve.
func (WorkbenchApprove) Action() string { return "workbench_approve" }

// Action returns workbench_resume.
func (WorkbenchResume) Action() string { return "workbench_resume" }

// Action returns workbench_dismiss.
func (WorkbenchDismiss) Action() string { return "workbench_dismiss" }

// Action returns attach.
func (AttachCommand) Action() string { return "attach" }

// Action returns attach_io.
func (AttachIO) Action() string { return "attach_io" }

// Action returns attach_detach.
func (AttachDetach) Action() string { return "attach_detach" }

// Action returns attach_end.
func (AttachEnd) Action() string { return "attach_end" }

// Action returns workbench_watch.
func (WorkbenchWatch) Action() string { return "workbench_watch" }

// Action returns run_log_watch.
func (RunLogWatch) Action() string { return "run_log_watch" }

// Action returns attach_history.
func (AttachHistory) Action() string { return "attach_history" }

// Action returns attach_watch.
func (AttachWatch) Action() string { return "attach_watch" }

// ClientKey returns the key.
func (c WorktreeRemove) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c WorkbenchStart) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c WorkbenchSend) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c WorkbenchCancel) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c WorkbenchApprove) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c WorkbenchResume) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c WorkbenchDismiss) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c AttachCommand) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c AttachEnd) ClientKey() string { return c.Key }
