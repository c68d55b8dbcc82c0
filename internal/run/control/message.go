// Package control is what a daemon and the shims say to each other: the files of a run directory, the start of a
// shim, and the messages on its control socket, with the daemon's side of each. The shim's side is package shim.
//
// Whether a run lives is told by the lock on its spec.json alone (Probe). A closed socket means "dial again", an
// error means "not known". Any number of daemons may be connected to one shim; none is in charge. What is accepted
// by Write is in the spool once and for ever; what got no answer may or may not be, and the same call with the same
// key repeated finds out.
package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"scv/internal/run/spool"
)

const (
	// Protocol is the version of the messages and of spec.json. It changes only when an older peer would
	// misunderstand; what is unknown is answered "unknown" and ignored.
	Protocol = 1
	// oldest is the oldest version that is understood: the one before this.
	oldest = max(1, Protocol-1)
	// MaxMessage is the most bytes of one message to the agent, key and number not counted.
	MaxMessage = spool.MaxPayload - spool.MaxKey - 8
	// MaxLine is the longest line on the control socket in bytes: a message with every byte escaped.
	MaxLine = 6*MaxMessage + 4096
)

// The types of requests and replies. A nudge is sent without being asked for.
const (
	TypeHello   = "hello"
	TypeWrite   = "write"
	TypeFolded  = "folded"
	TypeStop    = "stop"
	TypeStatus  = "status"
	TypeLook    = "look"
	TypeOK      = "ok"
	TypeDone    = "done"
	TypeStale   = "stale"
	TypeUnknown = "unknown"
	TypeError   = "error"
	TypeNudge   = "n"
	// Of runs with a terminal: see Link.Type, Link.Typed, Link.Resize, Link.Keep and DialTerminal.
	TypeType   = "type"
	TypeTyped  = "typed"
	TypeResize = "size"
	TypeKeep   = "keep"
	TypeWatch  = "watch"
)

// A Step is one step of the stop ladder. Steps only go forward.
type Step string

// The steps in their order, and what is waited for after each.
const (
	StepInterrupt Step = "interrupt" // SIGINT to the agent's process, then 2 s
	StepEOF       Step = "eof"       // its standard input is closed
	StepTerminate Step = "terminate" // SIGTERM to its group, then 2 s
	StepKill      Step = "kill"      // SIGKILL to everything of the run
)

// Request is one line from a daemon to a shim.
type Request struct {
	Type    string  `json:"t"`
	Version int     `json:"v,omitempty"`    // hello
	Run     string  `json:"run,omitempty"`  // hello
	N       uint64  `json:"n,omitempty"`    // write: the message's number, last+1
	Key     string  `json:"key,omitempty"`  // write: the wish it carries; typed: who types
	Text    *string `json:"s,omitempty"`    // write: the bytes, when they are text
	Bytes   []byte  `json:"b64,omitempty"`  // write: the bytes, when they are not
	EOF     bool    `json:"eof,omitempty"`  // write: close the agent's standard input after it
	Seq     uint64  `json:"seq,omitempty"`  // folded: the last frame that was folded
	Step    Step    `json:"step,omitempty"` // stop: where to begin, empty = StepInterrupt
	Size    *Size   `json:"size,omitempty"` // size: the terminal's new one
	At      uint64  `json:"at,omitempty"`   // keep, watch: a position in the terminal's output, in bytes; typed: in what Key types
}

// Payload is the message that a write carries.
func (r *Request) Payload() []byte {
	if r.Text != nil {
		return []byte(*r.Text)
	}
	return r.Bytes
}

// Reply is one line from a shim to a daemon: the answer to the oldest request not yet answered, or a nudge.
type Reply struct {
	Type  string `json:"t"`
	N     uint64 `json:"n,omitempty"`     // ok: the number; done: the number it has; stale, hello, status: the last
	What  string `json:"what,omitempty"`  // unknown: the type that is not known
	Error string `json:"error,omitempty"` // error: a sentence
	Class string `json:"class,omitempty"` // error: see Refusal
	At    uint64 `json:"at,omitempty"`    // watch: where the kept screen was taken
	To    uint64 `json:"to,omitempty"`    // watch: how far the output has come
	Kept  int    `json:"kept,omitempty"`  // watch: its size in bytes; it follows this line, and then the output
	*Hello
}

// Hello is what a shim says of itself, in reply to hello and status. Frames up to Seq are in the spool: fold to
// there before the first Write.
type Hello struct {
	Version  int    `json:"v"`
	Run      string `json:"run"`
	PID      int    `json:"pid"`
	Start    uint64 `json:"start"`              // start time of PID, see proc.Identity
	Agent    int    `json:"agent"`              // process of the agent, 0 when it was not started
	Last     uint64 `json:"-"`                  // number of the last message to the agent, 0 = none; the reply's N
	Seq      uint64 `json:"seq"`                // number of the last frame
	Exited   bool   `json:"exited,omitempty"`   // the agent was reaped; what it left is being ended
	Step     Step   `json:"step,omitempty"`     // the last step of the stop ladder that was taken
	Unfolded int64  `json:"unfolded,omitempty"` // bytes of spool not yet acknowledged by Folded
	Waiting  string `json:"waiting,omitempty"`  // why the agent's output is not being read: "folded" or the disk's error
	Size     *Size  `json:"size,omitempty"`     // of the agent's terminal, when it has one
	Output   uint64 `json:"output,omitempty"`   // bytes that the terminal put out so far
}

// Size is that of a terminal in cells.
type Size struct {
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// A Refusal is why a shim did not accept a message for good reason.
type Refusal string

// The classes of refused messages. After any of them nothing was written.
const (
	RefusedClosed Refusal = "closed" // the agent's input is closed, or the agent has ended
	RefusedFull   Refusal = "full"   // the agent does not read: too much waits for it
	RefusedDisk   Refusal = "disk"   // the spool cannot be written; the same call may be repeated
	RefusedBad    Refusal = "bad"    // the request makes no sense
)

// RefusedError is a refusal with its sentence.
type RefusedError struct {
	Class Refusal
	Text  string
}

// Error is the shim's sentence.
func (e *RefusedError) Error() string { return "the shim refused the message: " + e.Text }

// WriteRequest makes the request that carries one message.
func WriteRequest(n uint64, key string, data []byte, eof bool) Request {
	r := Request{Type: TypeWrite, N: n, Key: key, EOF: eof}
	if utf8.Valid(data) {
		text := string(data)
		r.Text = &text
	} else {
		r.Bytes = data
	}
	return r
}

// EncodeLine is v as one JSON line with its line feed.
func EncodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode control message: %w", err)
	}
	return b.Bytes(), nil
}
