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
	Type(ctx context.Context, p []byte) error
	Resize(ctx context.Context, cols, rows uint16) error
	Keep(ctx context.Context, at uint64, screen []byte) error
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
	return t
}

// A Terminal is one takeover. Make it with New, then Run it once.
type Terminal struct {
	o        Options
	commands chan func()
	opened   chan Output
	chunks   chan []byte
	free     chan []byte // the chunk that was taken, to be filled again
	gone     chan struct{}
	sender   *sender

	// Owned by Run.
	screen   *screen.Screen
	view     *screen.View
	begun    bool   // an output was opened
	at       uint64 // position in the output up to which it was read
	kept     uint64 // likewise, of the screen that the shim keeps
	skip     uint64 // bytes to come that the kept screen shows already
	quiet    uint64 // questions before this position were asked of another daemon, or of nobody: no answers
	inexact  bool   // output was not seen: the program has to paint anew
	cols     uint16
	rows     uint16
	hold     hold
	watchers map[*Watcher]struct{}
	pace     pace
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
		o: o, commands: make(chan func()), opened: make(chan Output), chunks: make(chan []byte), free: make(chan []byte, 1),
		gone: make(chan struct{}), watchers: map[*Watcher]struct{}{},
	}
	t.sender = newSender(o.Shim, o.Timing.Call)
	t.cols, t.rows = clamp(o.Cols, o.Rows)
	t.draw(screen.New(int(t.cols), int(t.rows)))
	t.free <- make([]byte, 32<<10)
	return t
}

// clamp brings a size within its bounds; 0 is the default.
func clamp(cols, rows uint16) (uint16, uint16) {
	if cols == 0 {
		cols = DefaultCols
	}
	if rows == 0 {
		rows = DefaultRows
	}
	return min(max(cols, MinCols), MaxCols), min(max(rows, MinRows), MaxRows)
}

func (t *Terminal) draw(s *screen.Screen) { t.screen, t.view = s, screen.NewView(s, t.o.Mask) }

// Run serves the terminal until it has ended and ctx ends, or until ctx ends. What the shim owns goes on.
func (t *Terminal) Run(ctx context.Context) {
	defer close(t.gone)
	ctx, cancel := context.WithCancel(ctx)
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		t.read(ctx)
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
		case out := <-t.opened:
			t.open(out)
		case p := <-t.chunks:
			t.take(p)
			t.free <- p
		case <-t.pace.due():
			t.pace.passed()
			t.refresh()
		case why := <-t.sender.failed:
			t.note = why
			t.wake()
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

// read follows the output over every lost connection, until the terminal has ended.
func (t *Terminal) read(ctx context.Context) {
	at, wait := uint64(0), t.o.Timing.Again
	for ctx.Err() == nil {
		out, err := t.o.Shim.Watch(ctx, at)
		if errors.Is(err, ErrEnded) {
			t.do(t.over)
			return
		}
		if err != nil {
			t.o.Log.Debug("a terminal is out of reach", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			wait = min(2*wait, 20*t.o.Timing.Again)
			continue
		}
		wait = t.o.Timing.Again
		at = t.copy(ctx, out)
	}
}

// copy hands over what one connection gives and returns how far that came.
func (t *Terminal) copy(ctx context.Context, out Output) uint64 {
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer func() {
		stop()
		_ = out.Close()
	}()
	at := out.From
	select {
	case t.opened <- out:
	case <-ctx.Done():
		return at
	}
	for {
		var p []byte
		select {
		case p = <-t.free:
		case <-ctx.Done():
			return at
		}
		n, err := out.Read(p[:cap(p)])
		at += uint64(n)
		select {
		case t.chunks <- p[:n]:
		case <-ctx.Done():
			return at
		}
		if err != nil {
			return at
		}
	}
}

// open takes up the output where a connection begins.
func (t *Terminal) open(out Output) {
	first := !t.begun
	t.begun = true
	if !first || !t.o.Fresh {
		t.quiet = out.To
	}
	switch {
	case first && len(out.Screen) > 0 && out.At >= out.From && t.restore(out):
	case out.From != t.at:
		t.lose(out.From)
	}
	t.settle()
}

// restore draws the kept screen; what it shows already is skipped.
func (t *Terminal) restore(out Output) bool {
	s, err := screen.Restore(out.Screen)
	if err != nil {
		t.o.Log.Warn("a kept screen cannot be read", "error", err)
		return false
	}
	t.at, t.skip, t.kept = out.From, out.At-out.From, out.At
	t.draw(s)
	cols, rows := s.Size()
	t.cols, t.rows = uint16(cols), uint16(rows)
	return true
}

// lose begins with a blank screen at a position, and has the program paint it once all that is there was read.
func (t *Terminal) lose(from uint64) {
	t.at, t.inexact = from, true
	t.draw(screen.New(int(t.cols), int(t.rows)))
	t.note = "a part of the output was not seen, so the program was asked to draw its screen again"
}

// take draws output.
func (t *Terminal) take(p []byte) {
	t.at += uint64(len(p))
	if n := min(t.skip, uint64(len(p))); n > 0 {
		t.skip -= n
		p = p[n:]
	}
	_, _ = t.screen.Write(p)
	t.settle()
	if a := t.screen.Answers(); len(a) > 0 {
		t.sender.send(message{typed: a})
	}
	if t.at-t.kept >= keepStep && t.skip == 0 {
		t.keep()
	}
	t.dirty()
}

// settle lets questions be answered once the output has come to where this daemon took over, and makes the program
// paint what was not seen.
func (t *Terminal) settle() {
	if t.at < t.quiet {
		return
	}
	t.screen.Answer(true)
	if t.inexact {
		t.inexact = false
		t.sender.send(message{cols: t.cols, rows: t.rows - 1}) // it is told of a size only when that is another one
		t.sender.send(message{cols: t.cols, rows: t.rows})
	}
}

// keepStep is after how many bytes of output the screen is left with the shim anew.
const keepStep = 512 << 10

func (t *Terminal) keep() {
	data, err := t.screen.Serialize()
	if err != nil {
		t.o.Log.Warn("a screen was not kept", "error", err)
		return
	}
	t.kept = t.at
	t.sender.send(message{screen: data, at: t.at})
}

// over marks the terminal as ended: its last screen stays readable until Run ends.
func (t *Terminal) over() {
	t.ended = true
	t.view.Refresh()
	t.wake()
}
