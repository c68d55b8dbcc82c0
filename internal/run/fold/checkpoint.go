package fold

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"scv/internal/agent"
	"scv/internal/run/spool"
)

// Version is the number of the checkpoint's own layout.
const Version = 1

// maxOpenLine is the longest unfinished line in bytes that a checkpoint carries. A longer one stays in the spool
// alone, and so pins its segments until it is finished.
const maxOpenLine = 64 << 10

// A Checkpoint is a fold's state between two frames, so that the segments before it can go. It holds raw text and is
// private as the spool is.
type Checkpoint struct {
	Version int             `json:"v"`
	Dialect string          `json:"dialect"`
	Format  uint32          `json:"format"` // version of the dialect's own state
	Seq     uint64          `json:"seq"`    // number of the last frame folded
	Read    spool.Pos       `json:"read"`   // where the frame after it begins
	At      time.Time       `json:"at"`
	Out     openLine        `json:"out,omitzero"`
	Err     openLine        `json:"err,omitzero"`
	Turn    turnState       `json:"turn"`
	Exited  bool            `json:"exited,omitzero"`
	Stopped bool            `json:"stopped,omitzero"`
	State   json.RawMessage `json:"state"`
}

type openLine struct {
	Text []byte `json:"text,omitempty"`
	Cut  uint64 `json:"cut,omitzero"`
}

// ErrUnknownCheckpoint says that a checkpoint was made by a version that this build cannot read, or by another
// agent's dialect. The run's state is then unknown, and nothing of it is touched.
var ErrUnknownCheckpoint = errors.New("the checkpoint is of a version that this build cannot read")

// Checkpoint returns the state after the last frame; false when an unfinished line is too long to carry.
func (f *Fold) Checkpoint() (*Checkpoint, bool, error) {
	if f.out.size() > maxOpenLine || f.err.size() > maxOpenLine {
		return nil, false, nil
	}
	state, err := f.o.Dialect.Checkpoint()
	if err != nil {
		return nil, false, fmt.Errorf("make a checkpoint of %s: %w", f.o.Run, err)
	}
	return &Checkpoint{
		Version: Version, Dialect: f.dialect(), Format: f.o.Kind.Version, Seq: f.frame, Read: f.read, At: f.at,
		Out: openLine{f.out.buf, f.out.cut}, Err: openLine{f.err.buf, f.err.cut},
		Turn: f.turn, Exited: f.exited, Stopped: f.stopped, State: state,
	}, true, nil
}

// dialect is the name that a checkpoint carries: one agent may be spoken to in several ways.
func (f *Fold) dialect() string { return agent.Choose(f.o.Kind.Dialect, f.o.Kind.Name) }

// Restore puts a fresh fold where a checkpoint was made. It reads its own version and the one before.
func (f *Fold) Restore(c *Checkpoint) error {
	old := c.Format == f.o.Kind.Version || c.Format+1 == f.o.Kind.Version
	if c.Version != Version || c.Dialect != f.dialect() || !old {
		return fmt.Errorf("%w: it is version %d of %s %d, known are version %d of %s %d", ErrUnknownCheckpoint,
			c.Version, c.Dialect, c.Format, Version, f.dialect(), f.o.Kind.Version)
	}
	if err := f.o.Dialect.Restore(c.State); err != nil {
		return fmt.Errorf("restore a checkpoint of %s: %w", f.o.Run, err)
	}
	f.frame, f.read, f.at, f.turn, f.exited, f.stopped = c.Seq, c.Read, c.At, c.Turn, c.Exited, c.Stopped
	f.out, f.err = line{buf: c.Out.Text, cut: c.Out.Cut}, line{buf: c.Err.Text, cut: c.Err.Cut}
	return nil
}
