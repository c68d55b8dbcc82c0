// Package agent says how a coding agent is started, spoken to and understood. It holds the Dialect interface, the
// nouns that cross it, and what the dialects share. A dialect is pure: it does no I/O and reads no clock, so a
// recording of a real agent tests it whole. Only internal/run drives dialects; dialects never import each other.
//
// The rule that makes a dialect survive its daemon is "level, not edge": inputs from the spool change state only,
// and what to write next is asked of that state and of the owner's open wishes, again after every fold to the end.
// A message of ours changes state when it comes back through the spool, not when it is decided.
package agent

import (
	"encoding/json"
	"time"

	"scv/internal/wire"
)

// A Dialect folds what one agent process says and decides what to say to it. One value serves one run, from one
// goroutine. Given the same inputs in the same order it gives the same facts, whole or from any checkpoint.
type Dialect interface {
	// Plan says how the process of a run starts for its first turn. It refuses a turn that the agent cannot take
	// with a *wire.Error that names what is wrong and what to do.
	Plan(turn Turn) (Launch, error)
	// Feed takes the next input of the spool and returns what it means. The input's bytes are valid during the
	// call only.
	Feed(in Input) []Fact
	// Next returns the message that should be written now, with n as its number (and JSON-RPC id), or false when
	// nothing should be. It changes nothing: asked twice, it answers the same.
	Next(wishes Wishes, n uint64) (Message, bool)
	// Checkpoint returns the folded state as JSON that Restore of the same version reads.
	Checkpoint() (json.RawMessage, error)
	// Restore replaces the folded state by a checkpoint's. A checkpoint that it cannot read is an error, and the
	// run is then unknown: it is never guessed.
	Restore(state json.RawMessage) error
}

// Restore is what a dialect whose folded state is data restores it by: the whole of it, or, when the checkpoint cannot be
// read, nothing of it.
func Restore[State any](into *State, checkpoint json.RawMessage) error {
	var s State
	if err := json.Unmarshal(checkpoint, &s); err != nil {
		return err
	}
	*into = s
	return nil
}

// A Kind is one agent that can be asked for by name.
type Kind struct {
	Name      string // such as "codex"
	Command   string // the program looked for in PATH when the owner names none
	Transport Transport
	Dialect   string   // name of the dialect in checkpoints; Name when empty
	Version   uint32   // of the dialect's checkpoint
	Pass      []string // names of environment variables that the agent may inherit, beside the common ones; a trailing * matches a prefix
	SignIn    string   // the one command that signs in
	Install   string   // the one command that installs it
	New       func(Settings) Dialect

	Env     map[string]string // set in the agent's environment by the owner's configuration
	Granted []string          // further names that the owner lets through, as in Pass
	Account SignIn
	// Endpoint names the variable that says which service the agent speaks to, where there is one.
	Endpoint string
	Private  func(dir string) PrivateHome // nil: it is not known how to give the agent a home of its own
	Home     map[string]string            // set in its environment: where its private home is; nil for the owner's own
	Apart    bool                         // credentials of the environment stay behind, but for Granted
	// Serves names the process of the agent that opens a server on a loopback port which lets in nobody but the agent; empty
	// for none. What else waits for connections is told in the run's log.
	Serves string
	// Terminal says how the agent goes on with the turn's Session in a terminal of its own, with every question answered
	// beforehand that SCV may answer; the turn's Mode holds. Nil: the agent cannot be taken over.
	Terminal func(Settings, Turn) (Launch, error)
	// Reopen says from when on another process may open a conversation without harm, when its Session was learnt at known,
	// and why not before, as a clause. Nil: at once.
	Reopen func(known time.Time) (from time.Time, why string)
}

// Transport is how an agent is reached, as the wire names it.
type Transport string

const (
	TransportCLI Transport = "cli" // one process per turn
	TransportACP Transport = "acp" // one live process for several turns, whatever its protocol
	TransportSCV Transport = "scv" // a nested scv
)

// Mode is a job's permission mode, in upstream's words.
type Mode string

const (
	ModeAuto     Mode = "auto"      // everything is allowed
	ModeOnRisk   Mode = "on-risk"   // the default: what the agent holds to be harmless runs, the rest is asked or refused
	ModeAlways   Mode = "always"    // every tool that changes something is asked for or refused
	ModeReadOnly Mode = "read-only" // nothing is changed
)

// Settings is what the owner's configuration says of an agent.
type Settings struct {
	Command    string   // program to run; the kind's own when empty
	Args       []string // put before everything that the dialect adds
	OwnCommand bool     // the owner set Command: the prompt is then the last argument
	Model      string
	Effort     string
	Quiet      time.Duration // without a report for so long a running turn is said to be silent; 0 for the default
	// Of an owner's own command: how it takes a model and an effort, which {model} and {effort} stand for, in place of the
	// dialect's own options, and what comes right before the prompt.
	ModelArgs, EffortArgs, PromptArgs []string
}

// A Turn is one prompt and all that a process needs to know to serve it.
type Turn struct {
	Number  uint32         // in the conversation, from 1
	Key     string         // of the message that carries the prompt: "turn:4"
	Prompt  string         // the owner's text, unmasked
	Session string         // the agent's own session to go on with; empty for a new one
	NewID   string         // a uuid drawn for this run, for agents that take their session's id from us
	Run     wire.RunHandle // the run that serves it
	RunDir  string         // absolute path of the run's directory, for files of ours
	Cwd     string         // absolute
	Model   string         // the job's; empty for the agent's own
	Effort  string         // the job's; empty for the agent's own
	Mode    Mode
}

// A Launch says how a process is started.
type Launch struct {
	Argv  []string          // program first, as named or found; never the prompt, unless the owner's own command takes it
	Env   map[string]string // set in the agent's environment, beside what is passed on
	Files []File            // placed in the run's directory before the start
	Note  string            // a sentence for the run's log, such as what the mode could not forbid; may be empty
}

// A File is placed in the run's directory before the agent starts, with mode 0600.
type File struct {
	Name string // one path element
	Data []byte
}

// InputKind tells what an Input is.
type InputKind uint8

const (
	InputStarted     InputKind = iota + 1 // the process was started
	InputStartFailed                      // it could not be: Text says why, Class is start or missing
	InputOut                              // a line of its standard output
	InputErr                              // a line of its standard error
	InputSent                             // a message of ours, accepted by the shim: Key, N and Line
	InputStdin                            // its standard input is gone: Text says why
	InputEOF                              // its standard output ended
	InputExit                             // the process ended: Exit
)

// An Input is one thing learnt from the spool, in its order.
type Input struct {
	Kind  InputKind
	At    time.Time
	Line  []byte // without its line ending; at most MaxLine bytes
	Cut   uint64 // bytes of the line beyond MaxLine, thrown away
	Key   string
	N     uint64
	Text  string
	Class Class
	Exit  Exit
}

// MaxLine bounds a line of an agent in bytes; the rest of a longer one is dropped with a note (agents.md 1.5).
const MaxLine = 64 << 20

// Exit is how a process ended.
type Exit struct {
	Code   int    `json:"code"`             // 0 to 255; -1 when a signal ended it
	Signal string `json:"signal,omitempty"` // such as "SIGKILL"
	OOM    bool   `json:"oom,omitempty"`
}

// Class is the machine-readable class that stands beside a state's sentence.
type Class string

const (
	ClassNone    Class = ""
	ClassAuth    Class = "auth"    // the agent needs a sign-in
	ClassQuota   Class = "quota"   // a usage or rate limit was reached
	ClassModel   Class = "model"   // the model or its service failed or does not exist
	ClassNetwork Class = "network" // the service could not be reached
	ClassRefusal Class = "refusal" // the model refused
	ClassLimit   Class = "limit"   // a limit of the agent's own, such as its number of steps
	ClassMissing Class = "missing" // the program was not found or cannot be executed
	ClassStart   Class = "start"   // the process could not be started or ended before it spoke
	ClassSession Class = "session" // the conversation to go on with does not exist
	ClassAgent   Class = "agent"   // the agent failed in a way of its own
	ClassLost    Class = "lost"    // the shim or the machine went away
)

// FactKind tells what a Fact is.
type FactKind uint8

const (
	FactReady          FactKind = iota + 1 // the handshake is through
	FactSession                            // Session is the agent's own id of the conversation
	FactTurnStarted                        // the turn's prompt was taken
	FactText                               // Text is a whole message or a whole part of one; it may hold line feeds
	FactTool                               // Text is one line on a tool call that started
	FactToolFailed                         // Text is one line on a tool call that failed
	FactPlan                               // Text is the plan step in hand
	FactNote                               // Text is a remark of ours for the log
	FactRetry                              // as FactNote, and the state's detail until the next activity: Class says what is wrong
	FactActivity                           // the agent gave a sign of life that is not logged
	FactApprovalAsked                      // Approval
	FactApprovalClosed                     // Approval's Request and Status, one of the Closed words
	FactSteered                            // Key is the steer that the running turn took
	FactSteerRefused                       // Key is a steer that it did not take: Text says why
	FactSteerHeld                          // Key is a steer that the agent's process has, and that its turn takes at its next step
	FactOffer                              // Offer is what the agent can do
	FactUsage                              // Usage so far of the running turn
	FactTurnEnded                          // Outcome; the process may still have to leave
)

// A Fact is one thing learnt about a run. Its text is as the agent wrote it: the fold masks it.
type Fact struct {
	Kind     FactKind
	Turn     uint32 // 0 stands for the turn that the run was started for, while its prompt has not come back yet
	Text     string
	Key      string
	Status   string
	Session  string
	Class    Class
	Outcome  *Outcome
	Approval *Approval
	Offer    *Offer
	Usage    *Usage
}

// An Offer is what an agent says of itself at its handshake. Empty fields were not said.
type Offer struct {
	Version string   `json:"version,omitempty"`
	Models  []Choice `json:"models,omitempty"`
	Whole   bool     `json:"whole,omitzero"` // Models is all of them: no other is taken
	Modes   []Choice `json:"modes,omitempty"`
	Efforts []Choice `json:"efforts,omitempty"`
	SignIn  string   `json:"sign_in,omitempty"` // a sentence on who is signed in, or that nobody is
	Steer   bool     `json:"steer,omitzero"`    // a running turn takes further prompts
}

// A Choice is one value of a setting that an agent offers.
type Choice struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Used bool   `json:"used,omitzero"` // it is in force
	// Efforts are those that a model takes; empty where the agent did not say.
	Efforts []string `json:"efforts,omitempty"`
}

// An Outcome is how a turn ended and what came of it (agents.md section 3). State is final.
type Outcome struct {
	State  wire.AgentState
	Class  Class
	Detail string // one sentence; empty for a plain success
	Reply  string // the agent's last message, whole up to MaxReply
	Error  string // what the agent said went wrong
	Usage  Usage
	Denied []string // tool calls that the mode refused, one line each
	Resets int64    // of ClassQuota: when the limit is renewed, in seconds of Unix time; 0 where the agent did not say
	NoEnd  bool     // the process left without a final event: after a stop of ours that is what a stop looks like
}

// MaxReply bounds a kept reply in bytes; a longer one is cut at a character and says so in the outcome's detail.
const MaxReply = 4 << 20

// Usage is what a turn cost. Cumulative figures are sums over the agent's session, and the hub subtracts the
// conversation's last ones (agents.md section 5).
type Usage struct {
	InputTokens      uint64   `json:"input_tokens,omitzero"`
	OutputTokens     uint64   `json:"output_tokens,omitzero"`
	CostUSD          *float64 `json:"cost_usd,omitempty"`
	CumulativeTokens bool     `json:"cumulative_tokens,omitzero"`
	CumulativeCost   bool     `json:"cumulative_cost,omitzero"`
	// How full the model's context is, in tokens, after the last call; 0 where the agent does not say.
	ContextTokens uint64 `json:"context_tokens,omitzero"`
	ContextWindow uint64 `json:"context_window,omitzero"`
}

// An Approval is a request that the agent made and waits for. Its texts are as the agent wrote them, whole.
type Approval struct {
	ID      wire.ApprovalID // made by the fold from run and position
	Request string          // the agent's own id of the request
	Name    string          // what is asked for, in the agent's word, for people
	Risk    Risk
	Cwd     string
	Summary string   // every byte of what will run or change
	Tool    string   // the agent's name of the tool, for rules
	Command string   // the literal command of a process, for rules; empty for none
	Paths   []string // files that it reads or changes, as the agent named them
	Diff    string   // of a change, unified where the agent gives one
	Options []Option // the answers that the agent offers
}

// Risk is what an approved request could do, in upstream's words.
type Risk string

const (
	RiskReadOnly   Risk = "read_only"
	RiskFilesystem Risk = "filesystem"
	RiskProcess    Risk = "process"
	RiskDelegate   Risk = "delegate"
	RiskNetwork    Risk = "network"
)

// An Option is an answer that an agent offers. Kind is one of ACP's words: allow_once, allow_always, reject_once,
// reject_always; only the first and the third are ever chosen by SCV.
type Option struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

// Wishes is all that the owner wants of a run and that is not fulfilled yet, as committed in the ledger.
type Wishes struct {
	Turn    *Turn // the turn that should run
	Steers  []Steer
	Answers []Answer
	Cancel  uint32 // the turn that should be cancelled; 0 for none
	Close   bool   // the process should leave once it is idle
}

// A Steer is a text for the running turn.
type Steer struct {
	Key  string // "steer:7"
	Turn uint32
	Text string
}

// An Answer answers an approval.
type Answer struct {
	Key      string // "answer:ap-0123456789ab"
	ID       wire.ApprovalID
	Request  string // the agent's own id of the request, as Approval had it: a dialect does not know the ID
	Approved bool
	Reason   string
}

// A Message is bytes for the agent under a key. The shim takes a key once.
type Message struct {
	Key   string
	Bytes []byte
	EOF   bool // close the agent's standard input after it
}
