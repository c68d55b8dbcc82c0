// Package takeover is an agent's own terminal as its owner sees and holds it: what the terminal puts out goes through the
// emulator (package screen), rows are masked, and pages of what changed go to the one who holds it and to those who
// watch. The terminal itself lives in the run's shim and outlives this side: a new daemon draws the same screen again from
// what the shim kept, or lets the agent paint it anew and says so (design.md section 6).
//
// One goroutine owns a Terminal (Run); every method is a command to it. It does nothing while nothing is drawn and
// nobody asks. It belongs to the daemon and reaches the shim by the interface Shim.
package takeover

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"scv/internal/terminal/screen"
	"scv/internal/wire"
)

// A Shim is the side that owns the terminal. Its methods may block; a Terminal calls Watch from one goroutine and the
// others from another.
type Shim interface {
	// Watch opens the output from a position on. ErrEnded says that there is no terminal any more.
	Watch(ctx context.Context, after uint64) (Output, error)
	Type(ctx context.Context, in Input) error
	Resize(ctx context.Context, cols, rows uint16) error
	Keep(ctx context.Context, at uint64, screen []byte) error
}

// An Input is what somebody typed.
type Input struct {
	Bytes []byte
	// Typist, From and Again are those of wire.AttachIO. With a Typist, a shim that is asked twice types once.
	Typist string
	From   uint64
	Again  bool
}

// An Output is what a terminal puts out from From on. At the end of it, which may be only that of a connection, Read
// gives io.EOF.
type Output struct {
	io.ReadCloser
	From   uint64 // position of the first byte, in bytes since the start
	To     uint64 // how far the output had come when it was opened
	Screen []byte // kept by an earlier daemon; nil for none
	At     uint64 // position up to which that screen is drawn
}

// ErrEnded is what a Shim answers when its terminal is gone for good.
var ErrEnded = errors.New("the terminal has ended")

// Sizes in cells; others are clamped (behaviour/takeover.md section 3).
const (
	MinCols, MinRows         = 20, 5
	MaxCols, MaxRows         = 400, 200
	DefaultCols, DefaultRows = 100, 30
)

// Options are what a Terminal is made of. Shim, Mask and NewHold are required.
type Options struct {
	Shim       Shim
	Mask       screen.Mask
	NewHold    func() wire.HoldID
	About      wire.AttachPage // session, conversation, agent and run, for every page
	Cols, Rows uint16          // of the terminal as it was started
	Fresh      bool            // it was started by this daemon: nobody has answered its questions yet
	Log        *slog.Logger
	Timing     Timing
}

// Timing replaces waits; a zero field is the documented value.
type Timing struct {
	Frame time.Duration // 33 ms at least between two pages that are pushed
	Hold  time.Duration // 150 ms at most for a program that draws a frame in pieces
	Lease time.Duration // 30 s without a read, after which a hold is nobody's
	Again time.Duration // 100 ms, at first, between two tries to reach the shim
	Call  time.Duration // 5 s for the shim to answer
	// Deliver is 2 s for a program to read what was typed before more is dropped.
	Deliver time.Duration
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&t.Frame, 33*time.Millisecond)
	set(&t.Hold, 150*time.Millisecond)
	set(&t.Lease, 30*time.Second)
	set(&t.Again, 100*time.Millisecond)
	set(&t.Call, 5*time.Second)
	set(&t.Deliver, 2*time.Second)
	return t
}

// A Terminal is one takeover. Make it with New, then Run it once.
type Terminal struct {
	o        Options
	commands chan func()
	gone     chan struct{}
	reader   *reader
	sender   *sender

	// Owned by Run.
	picture  picture
	hold     hold
	watchers map[*Watcher]struct{}
	pace     pace
	drained  bool // all that the program put out was drawn
	ended    bool
	exit     string
	note     string
}

// New makes a terminal that shows nothing until Run.
func New(o Options) *Terminal {
	o.Timing = o.Timing.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Terminal{
		o: o, commands: make(chan func()), gone: make(chan struct{}), watchers: map[*Watcher]struct{}{},
		reader: newReader(o.Shim, o.Timing.Again, o.Log), sender: newSender(o.Shim, o.Timing.Call),
	}
	cols, rows := Clamp(o.Cols, o.Rows)
	t.picture = picture{sender: t.sender, mask: o.Mask, log: o.Log, fresh: o.Fresh, cols: cols, rows: rows}
	t.picture.draw(screen.New(int(cols), int(rows)))
	return t
}

// Clamp brings a size within its bounds; 0 is the default.
func Clamp(cols, rows uint16) (uint16, uint16) {
	if cols == 0 {
		cols = DefaultCols
	}
	if rows == 0 {
		rows = DefaultRows
	}
	return min(max(cols, MinCols), MaxCols), min(max(rows, MinRows), MaxRows)
}

// Run serves the terminal until it has ended and ctx ends, or until ctx ends. What the shim owns goes on.
func (t *Terminal) Run(ctx context.Context) {
	defer close(t.gone)
	ctx, cancel := context.WithCancel(ctx)
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		if t.reader.run(ctx) {
			t.do(func() {
				t.drained = true
				t.over()
			})
		}
	}()
	sending := make(chan struct{})
	go func() {
		defer close(sending)
		t.sender.run(ctx)
	}()
	defer func() {
		cancel()
		<-reading
		<-sending
		t.pace.stop()
		for w := range t.watchers {
			close(w.wake)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case do := <-t.commands:
			do()
		case out := <-t.reader.opened:
			t.tell(t.picture.open(out))
		case p := <-t.reader.chunks:
			t.picture.take(p)
			t.reader.free <- p
			t.dirty()
		case <-t.pace.due():
			t.pace.passed()
			t.refresh()
		case why := <-t.sender.failed:
			t.tell(why)
		}
	}
}

// do runs a command in the goroutine that owns the terminal; false when that is gone.
func (t *Terminal) do(run func()) bool {
	done := make(chan struct{})
	select {
	case t.commands <- func() { run(); close(done) }:
		<-done
		return true
	case <-t.gone:
		return false
	}
}

// tell notes a sentence for the owner; an empty one is none.
func (t *Terminal) tell(note string) {
	if note != "" {
		t.note = note
		t.wake()
	}
}

// over marks the terminal as ended once its last output is drawn and it is known how the program ended. The last screen
// stays readable until Run ends.
func (t *Terminal) over() {
	if !t.drained || t.exit == "" {
		return
	}
	t.ended = true
	t.picture.view.Refresh()
	t.wake()
}
