// Package desk keeps the terminals of the runs that were taken over: it makes one when the launcher says that its shim
// lives, connects it to that shim, finds it by its run or by a hold, and lets it go a while after its end. It belongs to
// the daemon; its methods may be called from any goroutine.
package desk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"scv/internal/home"
	"scv/internal/safe/redact"
	"scv/internal/terminal/takeover"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// kept is how long the last screen of a terminal that has ended can be read (behaviour/takeover.md section 3).
const kept = time.Minute

// maxHolds is how many holds of a terminal are remembered, so that one that was taken is told so.
const maxHolds = 64

// Options are what a Desk is made of. All fields are required.
type Options struct {
	Home *home.Home
	Mask func() *redact.Masker
	Log  *slog.Logger
}

// A Desk keeps terminals until Leave.
type Desk struct {
	o    Options
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex
	seats map[wire.RunHandle]*seat
	holds map[wire.HoldID]*seat
}

// A seat is a run's terminal, or the wait for it.
type seat struct {
	known chan struct{} // closed when term or exit is set
	term  *takeover.Terminal
	exit  string // how it ended, or why it never was
	stop  context.CancelFunc
	holds []wire.HoldID
}

// New makes a desk. The context carries values only; its end is not waited for.
func New(ctx context.Context, o Options) *Desk {
	d := &Desk{o: o, seats: map[wire.RunHandle]*seat{}, holds: map[wire.HoldID]*seat{}}
	d.ctx, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	return d
}

// Leave lets go of all terminals. The programs in them go on.
func (d *Desk) Leave() {
	d.stop()
	d.wg.Wait()
}

func (d *Desk) seat(h wire.RunHandle) *seat {
	s := d.seats[h]
	if s == nil {
		s = &seat{known: make(chan struct{})}
		d.seats[h] = s
	}
	return s
}

// Open serves the terminal of a run whose shim lives or lived.
func (d *Desk) Open(o row.Order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := o.Run.Handle
	s := d.seat(h)
	if s.term != nil || s.exit != "" || d.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(d.ctx)
	link := &shim{socket: d.o.Home.CtlSocket(h), dir: d.o.Home.RunDir(h)}
	s.stop = cancel
	s.term = takeover.New(takeover.Options{
		Shim: link, Mask: d.o.Mask().Find, NewHold: func() wire.HoldID { return d.newHold(s) },
		About: wire.AttachPage{Session: o.Run.Session, Conversation: o.Conversation.ID, Agent: o.Run.Agent, Run: &h},
		Cols:  o.Run.Terminal.Cols, Rows: o.Run.Terminal.Rows, Fresh: !o.Adopt, Log: d.o.Log.With("run", string(h)),
	})
	close(s.known)
	d.wg.Go(func() {
		defer cancel()
		defer link.close()
		s.term.Run(ctx)
	})
	d.wg.Go(func() { d.record(ctx, h, s.term) })
}

// record keeps a recording. Without one the terminal is as good.
func (d *Desk) record(ctx context.Context, h wire.RunHandle, term *takeover.Terminal) {
	r, err := newRecorder(d.o.Home, h)
	if err == nil {
		err = errors.Join(r.run(ctx, term), r.file.Close())
	}
	if err != nil {
		d.o.Log.Warn("a terminal is not recorded", "run", h, "error", err)
	}
}

// newHold draws a hold. It is called by the terminal's own goroutine.
func (d *Desk) newHold(s *seat) wire.HoldID {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	id := wire.HoldID("at-" + hex.EncodeToString(b[:]))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds[id] = s
	if s.holds = append(s.holds, id); len(s.holds) > maxHolds {
		delete(d.holds, s.holds[0])
		s.holds = s.holds[1:]
	}
	return id
}

// Note tells the one who holds a terminal.
func (d *Desk) Note(h wire.RunHandle, text string) {
	if term := d.find(h); term != nil {
		term.Note(text)
	}
}

func (d *Desk) find(h wire.RunHandle) *takeover.Terminal {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.seats[h]; s != nil {
		return s.term
	}
	return nil
}

// Close says how the run of a terminal ended, or why there never was one.
func (d *Desk) Close(h wire.RunHandle, exit string) {
	d.mu.Lock()
	s := d.seat(h)
	s.exit = exit
	term := s.term
	if term == nil && !isClosed(s.known) {
		close(s.known)
	}
	d.mu.Unlock()
	if term != nil {
		term.End(exit)
	}
	d.wg.Go(func() {
		timer := time.NewTimer(kept)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-d.ctx.Done():
		}
		d.forget(h, s)
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (d *Desk) forget(h wire.RunHandle, s *seat) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seats[h] == s {
		delete(d.seats, h)
	}
	for _, id := range s.holds {
		delete(d.holds, id)
	}
	if s.stop != nil {
		s.stop()
	}
}

// Await returns the terminal of a run once it is served. An error is why there is none, or ctx's.
func (d *Desk) Await(ctx context.Context, h wire.RunHandle) (*takeover.Terminal, error) {
	d.mu.Lock()
	s := d.seat(h)
	d.mu.Unlock()
	select {
	case <-s.known:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.term == nil {
		return nil, wire.Refuse(wire.ReasonUnavailable, "scv agents check", "There is no terminal: %s.", s.exit)
	}
	return s.term, nil
}

// Held returns the terminal of a hold, which may have been taken or have lapsed.
func (d *Desk) Held(id wire.HoldID) (*takeover.Terminal, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.holds[id]; s != nil {
		return s.term, nil
	}
	return nil, wire.Refuse(wire.ReasonNotFound, "attach again: scv jobs attach ID", "This hold of a terminal is not known: it has lapsed, or the terminal was closed.")
}
