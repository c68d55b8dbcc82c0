package row

import (
	"time"

	"scv/internal/wire"
)

// An Order is what the hub hands to the launcher once the run's row is on disk: start this run, or go on with it.
type Order struct {
	Run          Run
	Conversation Conversation
	Adopt        bool // the run's directory exists from an earlier daemon
}

// Wishes is what the owner wants of one run and what is committed. It is a value: asked again after every fold.
type Wishes struct {
	Turn    *TurnWish   // the turn that should run or runs; nil for none
	Steers  []SteerWish // for that turn, in their order
	Answers []Answer    // that are not known to have reached the agent, in the order of asking
	Cancel  uint32      // the turn that should be cancelled; 0 for none
	Stop    bool        // the stop ladder should be run at once
	Close   bool        // the process should leave once it is idle
	// Tell asks for LifeCaughtUp: something is decided by what was not written or not said, which only who reads the spool
	// to its end knows.
	Tell bool
}

// A SteerWish is a prompt for a turn that runs.
type SteerWish struct {
	Job     wire.JobID
	Turn    uint32
	Text    string // masked
	Private bool   // the original is in private/<job>
}

// An Answer is what was decided on a request of the agent.
type Answer struct {
	ID       wire.ApprovalID
	Request  string // the agent's own id of it
	Approved bool
	By       string // who decided, as the log says it: owner or policy
	Reason   string
}

// A TurnWish is a prompt to be served as a turn of the run's conversation.
type TurnWish struct {
	Job     wire.JobID
	Session wire.SessionID
	Number  uint32
	Prompt  string // masked
	Private bool   // the original is in private/<job>
	Model   string
	Effort  string
	Mode    string
	Cwd     string
	Vendor  string   // the agent's own session to go on with
	Depth   uint32   // levels above it: 0 for the owner's own job
	Above   []string // the runs that it was started from inside of, outermost first, as session/run
	// Handback says that the owner worked in the agent's own terminal since the last turn, which the agent is told.
	Handback bool
}

// StepKind tells what a Step reports.
type StepKind uint8

// The steps that a fold reports to the hub, in the order of the spool.
const (
	StepReady          StepKind = iota + 1 // the agent can take turns
	StepSession                            // Vendor is the agent's own session id
	StepTurnStarted                        // the prompt of Turn was taken
	StepActivity                           // a sign of life; Detail is its line
	StepRetry                              // the agent tries something again: Detail and Class say what
	StepTurnEnded                          // End
	StepOffer                              // Steers: whether a running turn takes prompts; Model: in force, as far as it was said
	StepSteerSent                          // the steer Job is in the spool
	StepSteered                            // the running turn took the steer Job
	StepSteerRefused                       // it did not take the steer Job: Detail says why
	StepApprovalAsked                      // Asked, which waits from here on
	StepApprovalClosed                     // Closed and its Status
	StepSteerHeld                          // the agent's process has the steer Job, and its turn takes it at its next step
)

// A Step is one thing that a run's fold learnt, already masked.
type Step struct {
	Kind   StepKind
	Pos    Pos
	At     time.Time
	Turn   uint32
	Vendor string
	Detail string
	Class  string
	Job    wire.JobID
	Steers bool
	Model  string
	Offer  *wire.AgentOffer // of StepOffer; the hub needs none of it
	End    *End
	Asked  *Asked
	Closed wire.ApprovalID
	Status string // of Closed: answered, cancelled or void
}

// An Asked is a request of the agent that waits for the owner, masked and whole up to MaxApprovalText.
type Asked struct {
	ID       wire.ApprovalID
	Request  string // the agent's own id of it
	Name     string
	Risk     string
	Cwd      string // empty for the run's
	Summary  string
	Tool     string
	Command  string
	Paths    []string
	Diff     string
	Options  []wire.ApprovalOption
	Warnings []string  // what to look at twice
	Hidden   bool      // a text is not as the agent wrote it: masked or cut
	Operands []Operand // files that Command runs
}

// The ways in which a request of an agent closes, as Step.Status has them.
const (
	ClosedAnswered  = "answered"
	ClosedCancelled = "cancelled"
	ClosedVoid      = "void"
)

// An End is how a turn ended: State is final and, with its reply, becomes visible in one step.
type End struct {
	State wire.AgentState
	// Untouched: nothing of it was run, so that it may begin anew.
	Untouched bool

	Class  string
	Detail string
	Reply  string
	Error  string
	// Figures of the turn, or sums over the agent's session where Cumulative says so.
	InputTokens      uint64
	OutputTokens     uint64
	CostUSD          *float64
	CumulativeTokens bool
	CumulativeCost   bool
	// How full the model's context is, in tokens; 0 where the agent did not say.
	ContextTokens, ContextWindow uint64
	Resets                       uint64 // of a reached usage limit: when it is renewed, in seconds of Unix time; 0 where nobody said
}

// LifeKind tells what a Life reports.
type LifeKind uint8

// What the launcher observes of a run's process, beside its spool.
const (
	LifeStarted     LifeKind = iota + 1 // the shim has it; PID is the agent's
	LifeAdopted                         // an earlier daemon's run was found alive
	LifeUnreachable                     // its lock is held and it does not answer: unknown, and kept
	LifeEnded                           // exit.json or a free lock: Exit says how
	LifeLost                            // its shim is gone without an exit record
	LifeNotStarted                      // nothing was started: Detail says which step failed
	LifeHeldUp                          // nothing was started for want of what comes back by itself: Detail says of what
	LifeWaits                           // nothing was started yet: Detail says until when and why
	LifeCaughtUp                        // all of its spool is folded and reported, and nothing is on its way to it
)

// A Life is one observation of a run's process.
type Life struct {
	Kind   LifeKind
	At     time.Time
	PID    int
	Detail string // a sentence
	Class  string
	Status string // of LifeEnded: "exited", "killed" or "lost"
	Given  uint32 // of LifeEnded: the last turn whose prompt it was given, as its whole spool proves; 0 where it does not
}
