package spool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MaxNote is the largest encoded note in bytes.
const MaxNote = 4096

// Note is what a KindNote frame tells about the process; one field is set. Fields a reader does not know are
// ignored.
type Note struct {
	Started     *Started     `json:"started,omitempty"`
	StartFailed *StartFailed `json:"start_failed,omitempty"`
	AgentExit   *AgentExit   `json:"agent_exit,omitempty"`
	Stdin       *Stdin       `json:"stdin,omitempty"`
	EOF         *EOF         `json:"eof,omitempty"`
	Stop        *Stop        `json:"stop,omitempty"`
	Strays      *Strays      `json:"strays,omitempty"`
	Undelivered *Undelivered `json:"undelivered,omitempty"`
	Ports       *Ports       `json:"ports,omitempty"`
}

// Started is the first frame of a run whose agent process was started.
type Started struct {
	PID int `json:"pid"`
}

// StartClass tells why an agent could not be started.
type StartClass string

// The classes of a failed start.
const (
	StartNotFound      StartClass = "not_found"      // no such program
	StartNotExecutable StartClass = "not_executable" // it is there and cannot be run
	StartCwd           StartClass = "cwd"            // the working directory is not there
	StartOther         StartClass = "other"
)

// StartFailed is the only frame of a run whose agent could not be started.
type StartFailed struct {
	Error string     `json:"error"`
	Class StartClass `json:"class"`
}

// AgentExit says that the agent process was reaped. Every byte that the agent itself wrote stands before it;
// what a process it left behind still writes may follow.
type AgentExit struct {
	Code   int    `json:"code"`             // -1 when a signal ended it
	Signal string `json:"signal,omitempty"` // such as "SIGKILL"
	OOM    bool   `json:"oom,omitempty"`    // the kernel killed it for want of memory
}

// Undelivered says that bytes typed into the agent's terminal were dropped, since it did not read them in time.
type Undelivered struct {
	Bytes int `json:"bytes"`
}

// Stdin says that the agent's standard input broke; what was not yet read by the agent is lost.
type Stdin struct {
	Error string `json:"error"`
}

// EOF says that an output stream ("out" or "err") ended, or that the shim stopped reading it (Cut).
type EOF struct {
	Stream string `json:"stream"`
	Cut    bool   `json:"cut,omitempty"` // still open in a process left behind when the wait for it ended
}

// Stop journals a step of the stop ladder before it is done: interrupt, eof, terminate or kill.
type Stop struct {
	Step string `json:"step"`
}

// Strays lists processes that the agent left behind and that the shim ended.
type Strays struct {
	Names []string `json:"names"`
	More  int      `json:"more,omitempty"` // how many names were left out
}

// Ports lists where processes of the run were seen to wait for connections, each once in the life of its shim.
type Ports struct {
	List []Port `json:"list"`
}

// A Port is one of them.
type Port struct {
	Name string `json:"name"` // of the process
	PID  int    `json:"pid"`
	Addr string `json:"addr"` // address:port
}

// maxPorts bounds the ports of one note.
const maxPorts = 16

// EncodeNote returns the note as JSON of at most MaxNote bytes; texts and lists that are too long are cut.
func EncodeNote(n Note) ([]byte, error) {
	if n.StartFailed != nil {
		c := *n.StartFailed
		c.Error = cut(c.Error, MaxNote/8)
		n.StartFailed = &c
	}
	if n.Stdin != nil {
		n.Stdin = &Stdin{Error: cut(n.Stdin.Error, MaxNote/8)}
	}
	if n.Ports != nil {
		n.Ports = &Ports{List: slices.Clone(n.Ports.List[:min(len(n.Ports.List), maxPorts)])}
		for i := range n.Ports.List {
			n.Ports.List[i].Name = cut(n.Ports.List[i].Name, 16)
		}
	}
	if n.Strays != nil {
		n.Strays = cutStrays(n.Strays)
	}
	b, err := encodeJSON(n)
	if err != nil {
		return nil, fmt.Errorf("encode note: %w", err)
	}
	return b, nil
}

// DecodeNote reads the payload of a KindNote frame.
func DecodeNote(payload []byte) (Note, error) {
	var n Note
	if err := json.Unmarshal(payload, &n); err != nil {
		return Note{}, fmt.Errorf("decode note: %w", err)
	}
	return n, nil
}

// cut keeps the first max bytes; an escaped byte takes at most six in JSON, so max is chosen with room.
func cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + ".."
}

func cutStrays(s *Strays) *Strays {
	out := Strays{More: s.More}
	room := MaxNote / 8
	for i, name := range s.Names {
		name = cut(name, 64)
		if room -= len(name); room < 0 {
			out.More += len(s.Names) - i
			break
		}
		out.Names = append(out.Names, name)
	}
	return &out
}

func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
