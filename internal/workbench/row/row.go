// Package row holds the durable nouns of the workbench as hub, ledger and run share them: what is written is what is
// kept in memory, and what a client sees of it is the wire type inside. Rows are values; whoever changes one copies
// it first. Rev rises with every change of a row, over restarts too (a generation does not), so of two copies the
// higher wins.
package row

import (
	"time"

	"scv/internal/wire"
)

// A Pos is how far a run's spool is reflected: the frame's number and the count of facts taken from it, so a cut
// between two facts of one frame is seen.
type Pos struct {
	Frame uint64 `json:"frame"`
	Index uint32 `json:"index"`
}

// Less reports whether p lies before q.
func (p Pos) Less(q Pos) bool {
	return p.Frame < q.Frame || p.Frame == q.Frame && p.Index < q.Index
}

// A Ground is what a turn began on, as far as it is in a repository: what it leaves is measured against it.
type Ground struct {
	Head   string `json:"head"`             // commit of its directory
	Loose  uint32 `json:"loose,omitzero"`   // files there that were not committed
	Source string `json:"source,omitempty"` // of the checkout that its worktree comes from: a digest of its state
}

// A Tree is the worktree that a conversation is to have. Its making is planned, and nothing is made yet.
type Tree struct {
	Ref  wire.WorktreeRef
	Cwd  string // where its agent starts
	Base string // commit
	Plan string // for who makes it
}

// A Principal is who asks for a change and by which way; the server makes it at its edge.
type Principal struct {
	Who string `json:"who"` // "owner", "model"
	Way string `json:"way"` // "cli", "tui", "web", or the client's name
}

// A Session hosts conversations of one workspace.
type Session struct {
	wire.Session
	CreatedUnixSeconds uint64 `json:"created_unix_seconds"`
}

// A Conversation is a thread with one agent; one turn at a time.
type Conversation struct {
	ID       wire.ConversationID `json:"id"`
	Session  wire.SessionID      `json:"session"`
	Agent    string              `json:"agent"`
	Cwd      string              `json:"cwd"`
	Worktree *wire.WorktreeRef   `json:"worktree,omitempty"`
	Plan     string              `json:"plan,omitempty"`      // what its worktree is made by, as the room of repositories wrote it
	Base     string              `json:"base,omitempty"`      // commit that its worktree starts from
	Vendor   string              `json:"vendor,omitempty"`    // the agent's own session id, once known
	VendorAt uint64              `json:"vendor_at,omitzero"`  // when Vendor was learnt, in seconds of Unix time; 0 where that is not known
	VendorOn string              `json:"vendor_on,omitempty"` // the machine on which; empty where that is not known
	Turns    uint32              `json:"turns"`               // turns begun
	Paused   string              `json:"paused,omitempty"`    // why its queue waits for the owner; empty when it goes on
	Model    string              `json:"model,omitempty"`     // of its last job, which a further prompt takes over
	Effort   string              `json:"effort,omitempty"`    // likewise
	Mode     string              `json:"mode,omitempty"`      // likewise
	Worked   bool                `json:"worked,omitzero"`     // the owner worked in the agent's own terminal since the last turn
	// Transport is what the owner asked for, wire.TransportLive or wire.TransportCLI; empty for the configured one.
	Transport string `json:"transport,omitempty"`
	// The agent's last cumulative figures, to take differences from.
	InputTokens  uint64  `json:"input_tokens,omitzero"`
	OutputTokens uint64  `json:"output_tokens,omitzero"`
	CostUSD      float64 `json:"cost_usd,omitzero"`
	Rev          uint64  `json:"rev"`
}

// A Job is one prompt for an agent and what became of it.
type Job struct {
	wire.Job                  // as clients see it; Rev is in it
	Num       uint64          `json:"num"` // of this home; the n of job-n
	Key       string          `json:"key,omitempty"`
	Principal Principal       `json:"principal"`
	Turn      uint32          `json:"turn,omitzero"` // of the conversation; 0 until it is its turn
	Model     string          `json:"model,omitempty"`
	Effort    string          `json:"effort,omitempty"`
	Private   bool            `json:"private,omitzero"`   // masking changed the prompt; the original is in private/<job>
	Cancelled bool            `json:"cancelled,omitzero"` // the owner asked for its end
	Dismissed bool            `json:"dismissed,omitzero"`
	Untouched bool            `json:"untouched,omitzero"` // it ended and nothing of it was run
	Yielded   bool            `json:"yielded,omitzero"`   // its turn was asked to end because the owner takes the conversation over
	Handback  bool            `json:"handback,omitzero"`  // its turn is the first after a takeover, and the agent is told so
	Finished  uint64          `json:"finished_unix_seconds,omitzero"`
	Evidence  []wire.Evidence `json:"evidence,omitempty"` // the last steps and what caused them, for `why`
	Home      string          `json:"home"`
	Machine   string          `json:"machine"`
	Assigned  uint32          `json:"assigned"`       // how often the job was given to a machine
	Check     bool            `json:"check,omitzero"` // it is to find out whether its agent works, so no hold keeps it back
	Steer     *Steer          `json:"steer,omitempty"`
	EditKey   string          `json:"edit_key,omitempty"` // the client's, of the last edit or move
	Ground    *Ground         `json:"ground,omitempty"`
	Review    *Review         `json:"reviewed_job,omitempty"` // of a reviewed job, which no process serves: its parts are jobs

	PromptRevision uint64 `json:"prompt_revision,omitzero"` // Revision when the prompt was last changed
}

// A Prompt is the text of a job: masked for keeping and showing. Original is set only when masking changed it, lives
// in memory until the private copy is written, and is never encoded.
type Prompt struct {
	Text     string
	Original string
	Revision uint64 // of the job's prompt: originals of different revisions lie beside each other
}

// A Result is what a job left: the whole reply and error, masked.
type Result struct {
	Reply string
	Error string
}

// A Run is one agent process, or live connection.
type Run struct {
	wire.Run        // as clients see it; Rev is in it
	PID      int    `json:"pid,omitzero"`    // of the agent while it lives
	Stop     bool   `json:"stop,omitzero"`   // the owner asked for its end
	Steers   bool   `json:"steers,omitzero"` // its agent takes prompts into a running turn
	Pos      Pos    `json:"pos"`             // of the last fact it reflects
	Next     uint64 `json:"next,omitzero"`   // reserved number of its next message; informative
	NewID    string `json:"new_id"`          // uuid for agents that take their session's id from us
	Ended    uint64 `json:"ended_unix_seconds,omitzero"`
	// Terminal is set of a takeover, whose agent has a terminal and serves no turns.
	Terminal *Terminal `json:"terminal,omitempty"`
}

// A Terminal is what a takeover was asked for.
type Terminal struct {
	Cols  uint16 `json:"cols"` // at the start; 0 for the default
	Rows  uint16 `json:"rows"`
	Shell bool   `json:"shell,omitzero"` // the owner's shell, which holds no conversation
}

// A Batch is what one commit makes durable together. The newest value of a row stands for all before it.
type Batch struct {
	Sessions      []Session
	Conversations []Conversation
	Jobs          []Job
	Runs          []Run
	Prompts       map[wire.JobID]Prompt // of jobs that are new in this batch, or whose prompt is
	Results       map[wire.JobID]Result
	Approvals     []Approval
	Rules         []Rule
	Holds         []Hold
	Counters      Counters
	Accepted      []Accepted // what the owner asked for, for accepted.jsonl
}

// Empty reports whether nothing would be written.
func (b *Batch) Empty() bool {
	return len(b.Sessions)+len(b.Conversations)+len(b.Jobs)+len(b.Runs)+len(b.Prompts)+len(b.Results)+
		len(b.Approvals)+len(b.Rules)+len(b.Holds)+len(b.Accepted) == 0
}

// Counters are drawn once per home and never used again.
type Counters struct {
	Job           uint64            `json:"job"`           // last number given
	Runs          uint64            `json:"runs"`          // last number given; a handle's digits are made from it
	Conversations map[string]uint64 `json:"conversations"` // last number given, by agent
	Approvals     uint64            `json:"approvals,omitzero"`
	Rules         uint64            `json:"rules,omitzero"`
}

// An Accepted is one wish of the owner, or the end of a job, as accepted.jsonl keeps it.
type Accepted struct {
	At     time.Time
	What   string // "start", "send", "steer", "edit", "move", "pause", "go-on", "cancel", "dismiss", "kill", "answer", "rule"; "end" when the job has ended
	Job    Job    // empty for what concerns a conversation
	Prompt string // of start, send, steer and edit

	Conversation *Conversation // of pause and go-on, and of an end as far as it was stored with it
	// Of an answer the question as it stands then, and of a rule the rule.
	Approval *Approval
	Rule     *Rule
	// Of an end, as far as they were stored with it:
	Result *Result
	Run    *Run
}

// Loaded is what a start of the daemon finds: all that is live or unfinished, what ended lately, and the counters.
type Loaded struct {
	Lost          string // a sentence when an earlier ledger was lost and its jobs are not here
	HomeID        string
	Starts        uint64 // how often the ledger was opened for writing, this time included; 0 when not known
	Counters      Counters
	Sessions      []Session
	Conversations []Conversation
	Jobs          []Job                 // unfinished ones and the newest 200 finished
	Runs          []Run                 // live ones and the newest 200 ended
	Prompts       map[wire.JobID]Prompt // of unfinished jobs
	Approvals     []Approval            // that are not over, and the newest 200 that are
	Rules         []Rule                // that were not removed
	Holds         []Hold                // that are not over
	SpentToday    map[string]float64    // by agent, in US dollars, as far as agents said
}
