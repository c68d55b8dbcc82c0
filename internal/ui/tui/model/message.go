package model

import (
	"strings"
	"time"

	"scv/internal/wire"
)

// A Msg is something that happened. The loop of package tui hands each to Update, one at a time.
type Msg interface{ isMsg() }

// Key is a key that was pressed. Name is that of the key table, such as enter or ctrl-l, and for a printable character
// the character itself (a space is space); Text is what typing it adds to a text, empty for other keys.
type Key struct{ Name, Text string }

// Pasted is text from the clipboard, whole. Cut says that it was longer than what is taken.
type Pasted struct {
	Text string
	Cut  bool
}

// Resized is the size of the terminal, in cells.
type Resized struct{ Cols, Rows int }

// Clicked is a press of the left button, or with Wheel a turn by so many lines.
type Clicked struct{ Row, Col, Wheel int }

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
func (Connected) isMsg() {}
func (Lost) isMsg()      {}
func (Listed) isMsg()    {}
func (Logged) isMsg()    {}
func (Called) isMsg()    {}
func (Found) isMsg()     {}
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

// Follow asks for a run's log, in place of what was followed before. An empty Run follows nothing.
type Follow struct {
	Source uint64
	Run    wire.RunHandle
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
	MouseOn              // take the mouse
	MouseOff             // leave the mouse to the terminal
	StartThere           // start the daemon
	FindAgents           // look for agents
)

func (Call) isEffect()   {}
func (Start) isEffect()  {}
func (Follow) isEffect() {}
func (Edit) isEffect()   {}
func (Copy) isEffect()   {}
func (Page) isEffect()   {}
func (Do) isEffect()     {}

// An Agent is one kind of agent as this machine has it.
type Agent struct {
	Name, Mode, Model string
	Path              string // empty when it was not found
	Install, SignIn   string // what to do to get it, and to sign in
	Problem           string
}

// BuiltIn reports whether the agent is a demo that comes with SCV and not one that works.
func (a *Agent) BuiltIn() bool { return strings.HasPrefix(a.Name, "demo") }

// Options are what the model is told at its start.
type Options struct {
	Zone   *time.Location // of all times shown
	NewKey func() string  // draws the key of a request that changes something
	Cwd    string         // where a new job works unless it is said otherwise
	Home   string         // of SCV, as people name it
	Quiet  bool           // this is the demo's home: no hint about agents
}
