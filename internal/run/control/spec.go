package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"scv/internal/failpoint"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

// The names in a run directory that belong to this package and to the shim.
const (
	SpecName  = "spec.json" // locked while the shim lives; written once, before the shim exists
	ShimName  = "shim.json" // written when the agent was started
	ExitName  = "exit.json" // written when nothing of the run is left
	LogName   = "shim.log"  // the shim's own complaints, at most 64 KiB
	SpoolName = "spool"     // directory of package spool
)

// MarkerName is the variable in the environment of an agent, and so of what it starts, that holds the run's handle.
const MarkerName = "SCV_RUN"

const maxRecord = 4 << 20

// Spec is spec.json: how a run was meant to be started. It is readable by whoever may read the home, so it holds no
// values of the environment, and arguments only as the caller lets them be seen.
type Spec struct {
	Version      int             `json:"v"`
	Run          string          `json:"run"` // the handle, such as codex-3f9a2c
	Session      string          `json:"session,omitempty"`
	Job          string          `json:"job,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Key          string          `json:"key,omitempty"` // the client's idempotency key
	Home         string          `json:"home,omitempty"`
	Machine      string          `json:"machine,omitempty"` // on which it was started, see proc.MachineID; empty where that has none
	Assignment   uint64          `json:"assignment,omitempty"`
	Host         string          `json:"host,omitempty"`     // that machine's name, for people
	Boot         string          `json:"boot_id"`            // of the machine's start, see proc.BootID
	Binary       string          `json:"binary,omitempty"`   // version of the program that started it
	Argv         []string        `json:"argv"`               // masked; the real ones go over the start pipe
	Env          []string        `json:"env"`                // names only
	Cwd          string          `json:"cwd"`                // absolute
	Stdin        StdinKind       `json:"stdin"`              //
	Terminal     *Size           `json:"terminal,omitempty"` // the agent gets a terminal of this size for all three streams
	OOMScore     int             `json:"oom_score,omitzero"` // of the shim; its agent gets a higher one
	Socket       string          `json:"socket"`             // path of the control socket
	Timing       Timing          `json:"timing,omitzero"`    //
	CreatedUnix  int64           `json:"created_unix_nanos"` //
	Meta         json.RawMessage `json:"meta,omitempty"`     // the daemon's own, for rebuilding; the shim ignores it
}

// StdinKind is what an agent gets as standard input.
type StdinKind string

// The kinds of standard input.
const (
	StdinPipe StdinKind = "pipe" // messages by Write
	StdinNull StdinKind = "null" // nothing: end of file at once
)

// Timing replaces the waits and sizes of the shim; a zero field is the documented value.
type Timing struct {
	Drain        time.Duration `json:"drain,omitempty"`         // 2 s for output still open after the agent's exit
	Interrupt    time.Duration `json:"interrupt,omitempty"`     // 2 s after SIGINT
	Terminate    time.Duration `json:"terminate,omitempty"`     // 2 s after end of file and SIGTERM
	Grace        time.Duration `json:"grace,omitempty"`         // 5 s for processes left behind, after SIGTERM
	Retry        time.Duration `json:"retry,omitempty"`         // 1 s between tries to write a full disk
	Flush        time.Duration `json:"flush,omitempty"`         // 50 ms until the spool is flushed while nobody folds
	Deliver      time.Duration `json:"deliver,omitempty"`       // 2 s for what was typed to be read; the rest is dropped
	Unfolded     int64         `json:"unfolded,omitempty"`      // 64 MiB of spool that may wait for Folded
	SegmentBytes int64         `json:"segment_bytes,omitempty"` // see spool.SegmentBytes
}

// WithDefaults fills the zero fields.
func (t Timing) WithDefaults() Timing {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&t.Drain, 2*time.Second)
	set(&t.Interrupt, 2*time.Second)
	set(&t.Terminate, 2*time.Second)
	set(&t.Grace, 5*time.Second)
	set(&t.Retry, time.Second)
	set(&t.Flush, 50*time.Millisecond)
	set(&t.Deliver, 2*time.Second)
	if t.Unfolded <= 0 {
		t.Unfolded = failpoint.Size("unfolded", 64<<20)
	}
	if t.SegmentBytes <= 0 {
		t.SegmentBytes = failpoint.Size("segment", spool.SegmentBytes)
	}
	return t
}

// Shim is shim.json: the processes of a run.
type Shim struct {
	Version int    `json:"v"`
	Run     string `json:"run"`
	Boot    string `json:"boot_id"`
	PID     int    `json:"shim_pid"`
	Start   uint64 `json:"shim_start"`
	Agent   int    `json:"agent_pid"`
	Born    uint64 `json:"agent_start"`
	Group   int    `json:"pgid"`
	Binary  string `json:"binary,omitempty"`
}

// ShimIdentity is the shim as a process.
func (s *Shim) ShimIdentity() proc.Identity {
	return proc.Identity{Boot: s.Boot, PID: s.PID, Start: s.Start}
}

// AgentIdentity is the agent as a process.
func (s *Shim) AgentIdentity() proc.Identity {
	return proc.Identity{Boot: s.Boot, PID: s.Agent, Start: s.Born}
}

// Exit is exit.json: how a run ended. It is there only when no process of the run is left.
type Exit struct {
	Version     int                `json:"v"`
	Run         string             `json:"run"`
	Code        int                `json:"code"`             // -1 when a signal ended the agent, or it was never started
	Signal      string             `json:"signal,omitempty"` // such as "SIGSEGV"
	OOM         bool               `json:"oom,omitempty"`
	StartFailed *spool.StartFailed `json:"start_failed,omitempty"`
	At          time.Time          `json:"at"`
	LastSeq     uint64             `json:"last_seq"` // number of the last frame of the spool
}

// ReadSpec reads spec.json of a run directory; fs.ErrNotExist when there is none.
func ReadSpec(runDir string) (*Spec, error) { return readRecord[Spec](runDir, SpecName) }

// ReadShim reads shim.json of a run directory; fs.ErrNotExist when there is none.
func ReadShim(runDir string) (*Shim, error) { return readRecord[Shim](runDir, ShimName) }

// ReadExit reads exit.json of a run directory; fs.ErrNotExist when there is none.
func ReadExit(runDir string) (*Exit, error) { return readRecord[Exit](runDir, ExitName) }

// errDamaged says that a record is there and not what was written.
var errDamaged = errors.New("it is damaged")

// A NewerError says that a record, or a shim, is of a version that this program does not know. Nothing may be made of it.
type NewerError struct {
	What         string
	Found, Known int
}

// Error names both numbers.
func (e *NewerError) Error() string {
	return fmt.Sprintf("%s is of version %d, and this program knows up to %d", e.What, e.Found, e.Known)
}

func readRecord[T any](runDir, name string) (*T, error) {
	f, err := openRecord(filepath.Join(runDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	v, err := decodeRecord[T](f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return v, nil
}

// openRecord opens what stands at a record's place. An agent can write there: a pipe makes nobody wait, no link is
// followed, and what is no plain file is damaged.
func openRecord(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) { // a link, or a socket
		return nil, fmt.Errorf("%w: it is no plain file", errDamaged)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no plain file", errDamaged)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func decodeRecord[T any](r io.Reader) (*T, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxRecord))
	if err != nil {
		return nil, err
	}
	var of struct {
		Version int `json:"v"`
	}
	v := new(T)
	text := bytes.TrimSpace(b)
	if err := json.Unmarshal(text, &of); err == nil && of.Version > Protocol {
		return nil, &NewerError{"it", of.Version, Protocol}
	}
	if err := json.Unmarshal(text, v); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return v, nil
}

// DecodeSpec reads a spec from the locked descriptor, from its beginning.
func DecodeSpec(f *os.File) (*Spec, error) {
	s, err := decodeRecord[Spec](io.NewSectionReader(f, 0, maxRecord))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", SpecName, err)
	}
	if s.Version < oldest {
		return nil, fmt.Errorf("read %s: it is of version %d, and this program knows %d and later", SpecName, s.Version, oldest)
	}
	return s, nil
}

// WriteRecord puts v as JSON at name in a run directory, whole or not at all; durable also flushes the file and its
// directory before it returns.
func WriteRecord(runDir, name string, v any, durable bool) error {
	line, err := EncodeLine(v)
	if err != nil {
		return err
	}
	path := filepath.Join(runDir, name)
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = failpoint.Write(failpoint.RecordWrite, line, f.Write)
	if err == nil && durable {
		err = failpoint.Do(failpoint.RecordSync, f.Sync)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = failpoint.Do(failpoint.RecordRename, func() error { return os.Rename(path+".tmp", path) })
	}
	if err != nil {
		removeErr := os.Remove(path + ".tmp")
		if errors.Is(removeErr, fs.ErrNotExist) {
			removeErr = nil
		}
		return errors.Join(fmt.Errorf("write %s: %w", name, err), removeErr)
	}
	if durable {
		if err := syncDir(runDir); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
