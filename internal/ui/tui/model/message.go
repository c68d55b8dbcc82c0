package model

import (
	"time"

	"scv/internal/ui/tui/keys"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// A Msg is something that happened. The loop of package tui hands each to Update, one at a time.
type Msg interface{ isMsg() }

// Key is a key that was pressed. Name is that of the key table, such as enter or ctrl-l, and for a printable character
// the character itself (a space is space); Text is what typing it adds to a text, empty for other keys.
// Shift and Ctrl were held with a key that writes nothing, such as an arrow; the dashboard's own keys do not look at them.
type Key struct {
	Name, Text  string
	Shift, Ctrl bool
}

// Pasted is text from the clipboard, whole. Cut says that it was longer than what is taken.
type Pasted struct {
	Text string
	Cut  bool
}

// Resized is the size of the terminal, in cells.
type Resized struct{ Cols, Rows int }

// Watched says whether the terminal's window has the owner's attention: its focus came, or went. It is told between FocusOn and
// FocusOff.
type Watched struct{ In bool }

// Clicked is what the mouse did in a cell, counted from 0: Button is the number of keys.Mouse, Up says that it was let go, and
// with Wheel it is a turn by so many lines.
type Clicked struct {
	Row, Col, Wheel, Button int
	Up                      bool
}

// pressed reports whether it is a press of the left button.
func (c Clicked) pressed() bool { return !c.Up && c.Wheel == 0 && c.Button&(3|32|64) == 0 }

// Connected says that a daemon answers, and what it can do.
type Connected struct {
	Server   wire.PeerInfo
	Features []string
}

// Lost says that no daemon answers, and why, as a sentence without its end. It comes again with each failed attempt.
type Lost struct{ Why string }

// Listed is what the workbench shows. Disk says that it was read from the disk, because no daemon answers.
type Listed struct {
	View *wire.Snapshot
	Disk bool
}

// Logged is a part of the log that Follow asked for under that number. Ended says that nothing will follow.
type Logged struct {
	Source uint64
	Events []wire.RunEvent
	Ended  bool
	Err    error
}

// Called is the answer to a Call.
type Called struct {
	Then   func(*Model, *wire.DaemonStatus, error) []Effect
	Status *wire.DaemonStatus
	Err    error
}

// Found lists the agents of this machine.
type Found struct {
	Agents []Agent
	Err    error
}

// Screened is what the terminal that is taken over shows, or what changed on it.
type Screened struct {
	Source uint64
	Page   wire.AttachPage
}

// Noted is a sentence about the terminal that is taken over; 0 stands for the one that is.
type Noted struct {
	Source uint64
	Text   string
}

// Released says that the terminal is not followed any more: it is over, was taken by another client, or Err.
type Released struct {
	Source uint64
	Err    error
}

// Compared is the answer to a Compare.
type Compared struct {
	Then func(*Model, *Difference, error) []Effect
	Diff *Difference
	Err  error
}

// A Difference is what a job has changed since its commit Base, as text for display; Left is how many bytes of Patch are
// left out.
type Difference struct {
	Base, Stat, Patch string
	Left              uint64
}

// Joined is the session that Join asked for under that number, as it is now; it comes again when the daemon was away. History
// is newest first; More says that there is an older part.
type Joined struct {
	Source  uint64
	Started wire.SessionStarted
	History []wire.SessionMessage
	More    bool
}

// Heard is what the session tells, in its order.
type Heard struct {
	Source uint64
	Events []wire.ServerEvent
}

// Parted says that the session cannot be reached, or with Over that it will not be again.
type Parted struct {
	Source uint64
	Err    error
	Over   bool
}

// Probed is the answer to a Probe.
type Probed struct {
	Then func(*Model, wire.Attachment, error) []Effect
	File wire.Attachment
	Err  error
}

// Completed is the answer to a Complete: the path as far as it is clear, and the names that fit.
type Completed struct {
	Then  func(*Model, string, []string) []Effect
	Path  string
	Names []string
}

// Kept is the answer to Prompts and KeepPrompt: the prompts that were listed, or the one that was kept.
type Kept struct {
	Then    func(*Model, []Prompt, error) []Effect
	Prompts []Prompt
	Err     error
}

// Edited is a text that comes back from the owner's editor.
type Edited struct {
	Then func(*Model, string, error) []Effect
	Text string
	Err  error
}

// Told is something to say in the last row.
type Told struct {
	Text string
	Bad  bool
}

func (Key) isMsg()       {}
func (Pasted) isMsg()    {}
func (Resized) isMsg()   {}
func (Clicked) isMsg()   {}
func (Watched) isMsg()   {}
func (Connected) isMsg() {}
func (Lost) isMsg()      {}
func (Listed) isMsg()    {}
func (Logged) isMsg()    {}
func (Called) isMsg()    {}
func (Found) isMsg()     {}
func (Screened) isMsg()  {}
func (Noted) isMsg()     {}
func (Released) isMsg()  {}
func (Compared) isMsg()  {}
func (Joined) isMsg()    {}
func (Heard) isMsg()     {}
func (Parted) isMsg()    {}
func (Probed) isMsg()    {}
func (Completed) isMsg() {}
func (Kept) isMsg()      {}
func (Edited) isMsg()    {}
func (Told) isMsg()      {}

// An Effect is something to be done outside of the model. It is a value; nothing has happened when Update returns it.
type Effect interface{ isEffect() }

// Call is a question to the daemon; its answer comes back as Called with the same Then.
type Call struct {
	Cmd  wire.Command
	Then func(*Model, *wire.DaemonStatus, error) []Effect
}

// Start is a Call whose directory is still to be looked up: Cmd.Cwd is as typed.
type Start struct {
	Cmd  wire.WorkbenchStart
	Then func(*Model, *wire.DaemonStatus, error) []Effect
}

// Compare asks what a job has changed; its answer comes back as Compared with the same Then.
type Compare struct {
	Session wire.SessionID
	Job     wire.JobID
	Then    func(*Model, *Difference, error) []Effect
}

// Attach takes a terminal over under a number, or with Run only looks at one; the daemon sends its screen.
type Attach struct {
	Source       uint64
	Session      wire.SessionID
	Conversation wire.ConversationID
	Shell        bool
	Interrupt    bool            // a running turn is stopped for it
	Run          *wire.RunHandle // only look at this run's terminal
	Cols, Rows   int
}

// Type is what the owner types into the terminal that is taken over.
type Type struct{ Text string }

// Window is the size that the terminal that is taken over should have.
type Window struct{ Cols, Rows int }

// Follow asks for a run's log, in place of what was followed before. An empty Run follows nothing.
type Follow struct {
	Source uint64
	Run    wire.RunHandle
}

// Join opens a session of SCV's own model under a number: that one, or a new one in the directory Cwd, which with Restore
// takes over what another one left. It is joined again whenever the daemon was away, until Part.
type Join struct {
	Source  uint64
	Session wire.SessionID
	Cwd     string
	Restore *wire.SessionID
}

// Utter hands the joined session a request.
type Utter struct{ Message wire.ClientMessage }

// Part leaves the joined session.
type Part struct{}

// Probe looks at a file that is to be attached; a path that does not begin at the root begins at Dir. It is answered by
// Probed with the same Then.
type Probe struct {
	Dir, Path string
	Then      func(*Model, wire.Attachment, error) []Effect
}

// Complete looks how a path may go on; it is answered by Completed with the same Then.
type Complete struct {
	Dir, Path string
	Then      func(*Model, string, []string) []Effect
}

// Prompts lists the prompts that the owner keeps to begin with; it is answered by Kept with the same Then.
type Prompts struct {
	Then func(*Model, []Prompt, error) []Effect
}

// KeepPrompt keeps one, in place of one of the same name; it is answered by Kept with the same Then.
type KeepPrompt struct {
	Prompt Prompt
	Then   func(*Model, []Prompt, error) []Effect
}

// A Prompt is one that the owner keeps: a name of letters, digits and dashes, and its text.
type Prompt struct{ Name, Text string }

// A Place is where a person is in the dashboard, kept from one time to the next: the list, what narrows it, and what is
// chosen in each list.
type Place struct {
	View   View     `json:"view"`
	Filter string   `json:"filter,omitempty"`
	Mine   bool     `json:"mine,omitzero"`
	Chosen []string `json:"chosen,omitempty"` // keys of items, by list
}

// Edit opens a text in the owner's editor; the terminal is the editor's meanwhile. What comes of it comes back as Edited
// with the same Then.
type Edit struct {
	Text string
	Then func(*Model, string, error) []Effect
}

// Copy puts a text on the clipboard. What is a name for it in the report.
type Copy struct{ What, Text string }

// Page shows a text in the owner's pager.
type Page struct{ Text string }

// Do is an effect without values.
type Do uint8

// What Do can be.
const (
	Quit       Do = iota // leave; the daemon and its jobs stay
	Suspend              // stop this process, as ctrl-z does
	Redraw               // draw everything anew
	Plain                // go on in lines without cursor movement
	MouseOn              // take the mouse: its buttons and wheel
	MouseAll             // take the mouse with its moves
	MouseOff             // leave the mouse to the terminal
	FocusOn              // be told of the focus of the terminal's window
	FocusOff             // be told of it no more
	StartThere           // start the daemon
	FindAgents           // look for agents
	LetGo                // of the terminal that is taken over; it goes on
)

func (Call) isEffect()       {}
func (Start) isEffect()      {}
func (Compare) isEffect()    {}
func (Attach) isEffect()     {}
func (Type) isEffect()       {}
func (Window) isEffect()     {}
func (Follow) isEffect()     {}
func (Prompts) isEffect()    {}
func (KeepPrompt) isEffect() {}
func (Join) isEffect()       {}
func (Utter) isEffect()      {}
func (Part) isEffect()       {}
func (Probe) isEffect()      {}
func (Complete) isEffect()   {}
func (Edit) isEffect()       {}
func (Copy) isEffect()       {}
func (Page) isEffect()       {}
func (Do) isEffect()         {}

// An Agent is one kind of agent as this machine has it.
type Agent struct {
	Name, Mode, Model string
	Path              string // empty when it was not found
	Install, SignIn   string // what to do to get it, and to sign in
	Problem           string
	Offers            wire.AgentOffer // what it said at its last start that it takes
}

// BuiltIn reports whether the agent comes with SCV, so that nobody need install it (wording.Aside).
func (a *Agent) BuiltIn() bool { return wording.Aside(a.Name) }

// Options are what the model is told at its start.
type Options struct {
	Zone   *time.Location // of all times shown
	NewKey func() string  // draws the key of a request that changes something
	Cwd    string         // where a new job works unless it is said otherwise
	Home   string         // of SCV, as people name it
	Quiet  bool           // this is the demo's home: no hint about agents
	Detach string         // key that lets go of a terminal; empty: ctrl-]
	Place  Place          // where the person was
	Keys   keys.Remap     // other keys that the owner wants
}
