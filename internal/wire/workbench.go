package wire

// Snapshot is everything the workbench shows, at one moment.
type Snapshot struct {
	GeneratedUnixSeconds uint64              `json:"generated_unix_seconds"`
	Sessions             []Session           `json:"sessions,omitempty" need:"K"`
	Jobs                 []Job               `json:"jobs,omitempty" need:"K"`      // newest first
	Runs                 []Run               `json:"runs,omitempty" need:"K"`      // last active first
	Approvals            []Approval          `json:"approvals,omitempty" need:"K"` // waiting for the owner
	Restorable           []RestorableSession `json:"restorable,omitempty" need:"K"`

	// Epoch is new with each daemon (ours): a generation means something only inside it.
	Epoch string `json:"epoch,omitempty" need:"K"`
	// Generation rises with every change (ours); pass it to workbench_watch.
	Generation uint64 `json:"generation,omitzero" need:"K"`
	// Storage is a sentence when the ledger cannot be written, and mutations are refused (ours).
	Storage string `json:"storage,omitempty" need:"K"`
	// Forecast tells which jobs would conflict, as of the end of the last turn in a worktree (ours).
	Forecast *Forecast `json:"forecast,omitzero" need:"O"`
	// Omitted counts the ended jobs that were left out because the question wanted fewer (ours).
	Omitted uint64 `json:"omitted,omitzero" need:"K"`
}

// Session is one session: live in this daemon, of another process, or ended.
type Session struct {
	ID        SessionID  `json:"id"`
	Label     string     `json:"label"` // whom it serves, such as TUI or workbench
	Workspace string     `json:"workspace"`
	Live      bool       `json:"live"`
	State     AgentState `json:"state"`
	Detail    *string    `json:"detail,omitzero" need:"O"`

	// Rev only rises, over restarts too; the higher one wins (ours).
	Rev uint64 `json:"rev,omitzero" need:"K"`
	// Name is the owner's name for a session that is kept (ours).
	Name *string `json:"name,omitzero" need:"O"`
	// Kept says that a client may attach to it (ours).
	Kept bool `json:"kept,omitzero" need:"K"`
}

// Job is one background job: a prompt for an agent and what became of it.
type Job struct {
	Session            SessionID       `json:"session"`
	Job                JobID           `json:"job"`
	Agent              string          `json:"agent"`
	Task               string          `json:"task"` // first line of the prompt, at most MaxTaskRunes
	Workspace          string          `json:"workspace"`
	Cwd                string          `json:"cwd"`
	State              AgentState      `json:"state"`
	Detail             *string         `json:"detail,omitzero" need:"O"`
	StartedBy          JobOrigin       `json:"started_by"`
	Conversation       *ConversationID `json:"conversation,omitzero" need:"O"`
	Run                *RunHandle      `json:"run,omitzero" need:"O"` // serves it, or served it last
	Worktree           *WorktreeRef    `json:"worktree,omitzero" need:"O"`
	Reviewed           bool            `json:"reviewed,omitzero" need:"K"`
	Resumable          bool            `json:"resumable,omitzero" need:"K"`
	ResumedAs          *JobRef         `json:"resumed_as,omitzero" need:"O"`
	CreatedUnixSeconds uint64          `json:"created_unix_seconds"`
	UpdatedUnixSeconds uint64          `json:"updated_unix_seconds"`
	Attach             *AttachOffer    `json:"attach,omitzero" need:"O"`

	// Class is the kind of the failure beside its sentence in Detail (ours).
	Class *Class `json:"class,omitzero" need:"O"`
	// Rev only rises, over restarts too; the higher one wins (ours).
	Rev uint64 `json:"rev,omitzero" need:"K"`
	// Mode is the permission mode it was started with (ours).
	Mode *PermissionMode `json:"mode,omitzero" need:"O"`
	// Place is where a queued job stands in its conversation, beside the numbers of the others; absent: its own number (ours).
	Place uint64 `json:"place,omitzero" need:"K"`
	// Revision counts the changes of a queued job's prompt or place (ours); job_edit and job_move may name it.
	Revision uint64 `json:"revision,omitzero" need:"K"`
	// Resumes is the interrupted job that it goes on with (ours).
	Resumes *JobRef `json:"resumes,omitzero" need:"O"`
	// Retries is the job whose prompt it gives anew (ours).
	Retries *JobRef `json:"retries,omitzero" need:"O"`
	// Forks is the job whose conversation it goes on with in another one (ours).
	Forks *JobRef `json:"forks,omitzero" need:"O"`
	// Models is what model was asked for and what its agent says that it uses (ours); absent: neither is known.
	Models *JobModels `json:"models,omitzero" need:"O"`
	// Parent is the job from inside which its agent started this one (ours); absent: the owner's own.
	Parent *JobRef `json:"parent,omitzero" need:"O"`
	// Depth counts the jobs above it (ours); the owner's own have 0.
	Depth uint32 `json:"depth,omitzero" need:"K"`
	// Usage is what its turns cost, as far as the agent said (ours).
	Usage *JobUsage `json:"usage,omitzero" need:"O"`
	// Base is the commit that its directory had when it began, which job_diff compares with (ours); absent: no repository.
	Base *string `json:"base,omitzero" need:"O"`
	// Facts is what git and exit codes say of it, once it has ended (ours).
	Facts *JobFacts `json:"facts,omitzero" need:"O"`
	// Review is where a reviewed job stands (ours).
	Review *ReviewStatus `json:"review,omitzero" need:"O"`
	// Part is which turn of the reviewed job Parent it is (ours); absent: none.
	Part *ReviewPart `json:"part,omitzero" need:"O"`
}

// Ref returns the job's wide name.
func (j *Job) Ref() JobRef { return j.Session.Ref(j.Job) }

// JobModels names the model of a job twice (ours); an absent name is not known.
type JobModels struct {
	Requested *string `json:"requested,omitzero" need:"O"`
	Reported  *string `json:"reported,omitzero" need:"O"`
}

// JobUsage is what a job used, as far as its agent said (ours); an absent figure is not known.
type JobUsage struct {
	InputTokens  *uint64  `json:"input_tokens,omitzero" need:"O"`
	OutputTokens *uint64  `json:"output_tokens,omitzero" need:"O"`
	CostUSD      *float64 `json:"cost_usd,omitzero" need:"O"`
}

// Run is one agent process, live connection or takeover terminal.
type Run struct {
	Handle                  RunHandle       `json:"handle"`
	Agent                   string          `json:"agent"`
	Session                 SessionID       `json:"session"`
	Transport               string          `json:"transport"` // cli, acp, scv or terminal
	Conversation            *ConversationID `json:"conversation,omitzero" need:"O"`
	Turn                    *uint32         `json:"turn,omitzero" need:"O"`
	Job                     *JobID          `json:"job,omitzero" need:"O"`   // being served
	Jobs                    []JobID         `json:"jobs,omitempty" need:"K"` // ever served, oldest first
	Cwd                     string          `json:"cwd"`
	State                   AgentState      `json:"state"`
	Detail                  *string         `json:"detail,omitzero" need:"O"`
	StartedUnixSeconds      uint64          `json:"started_unix_seconds"`
	LastActivityUnixSeconds uint64          `json:"last_activity_unix_seconds"`
	Live                    bool            `json:"live"`
	Steerable               bool            `json:"steerable,omitzero" need:"K"`
	Attach                  *AttachOffer    `json:"attach,omitzero" need:"O"`

	// ContextTokens is how much of its model's context was full after the last turn (ours); absent: the agent did not say.
	ContextTokens *uint64 `json:"context_tokens,omitzero" need:"O"`
	// ContextWindow is how much fits, in tokens (ours); absent: the agent did not say.
	ContextWindow *uint64 `json:"context_window,omitzero" need:"O"`
	// Rev only rises, over restarts too; the higher one wins (ours).
	Rev uint64 `json:"rev,omitzero" need:"K"`
}

// The transports of Run.Transport; a reader must expect other words.
const (
	// TransportCLI is one process a turn.
	TransportCLI = "cli"
	// TransportACP is a live agent, whatever its protocol.
	TransportACP = "acp"
	// TransportSCV is a nested scv.
	TransportSCV = "scv"
	// TransportTerminal is a takeover.
	TransportTerminal = "terminal"
)

// ShellAgent is the agent that a run of the owner's own shell names.
const ShellAgent = "shell"

// RestorableSession is a session of a process that is gone, whose waiting prompts can be taken over.
type RestorableSession struct {
	ID               SessionID `json:"id"`
	Label            string    `json:"label"`
	Workspace        string    `json:"workspace"`
	Queued           uint32    `json:"queued"`
	Interrupted      *string   `json:"interrupted,omitzero" need:"O"` // start of the prompt that was cut off
	SavedUnixSeconds uint64    `json:"saved_unix_seconds"`
}

// RestoredQueue is what session.start took over.
type RestoredQueue struct {
	From        SessionID `json:"from"`
	Queued      uint32    `json:"queued"`
	Interrupted *string   `json:"interrupted,omitzero" need:"O"` // never sent again by itself
	Dropped     uint32    `json:"dropped,omitzero" need:"K"`     // too long, or an attachment is gone
}

// WorktreeRef is a git worktree that SCV made for a job.
type WorktreeRef struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Repo   string `json:"repo"`
}

// WorktreeInfo is a worktree as worktrees lists it; the fields of WorktreeRef stand in the same object.
type WorktreeInfo struct {
	WorktreeRef
	Dirty *bool    `json:"dirty,omitzero" need:"O"` // absent: git could not tell, which is not false
	Jobs  []JobRef `json:"jobs,omitempty" need:"K"`

	// All below is ours, and absent where it is not known.

	// Merged says that nothing on it is missing in what it started from.
	Merged *bool `json:"merged,omitzero" need:"O"`
	// Ahead and Behind count commits that its base lacks, and that it lacks of its base.
	Ahead  *uint64 `json:"ahead,omitzero" need:"O"`
	Behind *uint64 `json:"behind,omitzero" need:"O"`
	// TrackedBytes and IgnoredBytes are the sizes of its files by whether git ignores them.
	TrackedBytes *uint64 `json:"tracked_bytes,omitzero" need:"O"`
	IgnoredBytes *uint64 `json:"ignored_bytes,omitzero" need:"O"`
	// LastUseUnixSeconds is the newest change that was seen in it.
	LastUseUnixSeconds *uint64 `json:"last_use_unix_seconds,omitzero" need:"O"`
	// Now is the branch that is checked out, where it is another one.
	Now *string `json:"now,omitzero" need:"O"`
	// Base is the commit that it started from.
	Base *string `json:"base,omitzero" need:"O"`
	// Problem is a sentence on what could not be told.
	Problem *string `json:"problem,omitzero" need:"O"`
}

// RunEvent is one line of a run log. Text is masked and for display only.
type RunEvent struct {
	Seq    uint64       `json:"seq"`   // counts lines, from 1
	TsMs   uint64       `json:"ts_ms"` // Unix milliseconds, the only time that is not in seconds
	Kind   RunEventKind `json:"kind"`
	Text   string       `json:"text,omitempty" need:"K"`
	Turn   *uint32      `json:"turn,omitzero" need:"O"`
	Status *string      `json:"status,omitzero" need:"O"` // how a turn or run ended, or approved or denied
	Job    *JobID       `json:"job,omitzero" need:"O"`
	Risk   *string      `json:"risk,omitzero" need:"O"`
	By     *string      `json:"by,omitzero" need:"O"` // model, owner or policy
	// Approval is the one that was requested or resolved (ours).
	Approval *ApprovalID `json:"approval,omitzero" need:"O"`
}

// RunLogPage is a part of a run log.
type RunLogPage struct {
	Handle RunHandle  `json:"handle"`
	Events []RunEvent `json:"events,omitempty" need:"K"` // oldest first
	Next   uint64     `json:"next"`                      // a byte position in the log; pass it as after
	Ended  bool       `json:"ended,omitzero" need:"K"`   // nothing will follow
	More   bool       `json:"more,omitzero" need:"K"`    // the limit cut the page
}

// JobResult is where a job stands and what it said; reply and error are untrusted text of the agent.
type JobResult struct {
	Session             SessionID   `json:"session"`
	Job                 JobID       `json:"job"`
	Agent               string      `json:"agent"`
	State               AgentState  `json:"state"`
	Detail              *string     `json:"detail,omitzero" need:"O"`
	Reply               *string     `json:"reply,omitzero" need:"O"` // at most MaxJobResultBytes
	Error               *string     `json:"error,omitzero" need:"O"` // at most MaxJobResultBytes
	Truncated           bool        `json:"truncated,omitzero" need:"K"`
	Outcome             *JobOutcome `json:"outcome,omitzero" need:"O"`
	FinishedUnixSeconds *uint64     `json:"finished_unix_seconds,omitzero" need:"O"`

	// Next is the byte offset of the rest of the reply, absent at its end (ours); pass it as after.
	Next *uint64 `json:"next,omitzero" need:"O"`
	// Size is the length of the whole reply, in bytes (ours).
	Size *uint64 `json:"size,omitzero" need:"O"`
	// Facts is Job.Facts, on the first page (ours).
	Facts *JobFacts `json:"facts,omitzero" need:"O"`
}

// JobHistory is a page of jobs beyond what a snapshot lists, newest first (ours).
type JobHistory struct {
	Jobs []Job   `json:"jobs,omitempty" need:"K"`
	Next *string `json:"next,omitzero" need:"O"` // opaque; pass it as after; absent at the end
}
