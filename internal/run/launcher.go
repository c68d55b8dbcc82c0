package run

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Launcher runs one goroutine per live run. It is the hub's Launcher; Launch and Wake return at once.
type Launcher struct {
	c     Config
	leave context.Context // ends when the daemon goes; agents stay
	quit  context.CancelFunc
	last  context.Context // ends when the daemon waits no longer for what is under way
	drop  context.CancelFunc
	gate  gate

	mu    sync.Mutex
	wakes map[wire.RunHandle]chan struct{}
	gone  bool
	wg    sync.WaitGroup
}

// New returns a Launcher that serves until Shutdown. The context carries values only; its end is not waited for.
func New(ctx context.Context, c Config) *Launcher {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Terminals == nil {
		c.Terminals = noTerminals{}
	}
	if c.Ground == nil {
		c.Ground = noGround{}
	}
	c.Timing = c.Timing.withDefaults()
	l := &Launcher{c: c, gate: newGate(), wakes: make(map[wire.RunHandle]chan struct{})}
	ctx = context.WithoutCancel(ctx)
	l.last, l.drop = context.WithCancel(ctx)
	l.leave, l.quit = context.WithCancel(l.last)
	return l
}

// Launch serves an order until its run is over or the daemon leaves. An order for a run that is served already does
// nothing, and so does one after Shutdown: the run's row brings it back at the next start.
func (l *Launcher) Launch(o row.Order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone || l.wakes[o.Run.Handle] != nil {
		return
	}
	wake := make(chan struct{}, 1)
	l.wakes[o.Run.Handle] = wake
	l.wg.Go(func() {
		l.serve(o, wake)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.wakes, o.Run.Handle)
	})
}

// Wake makes a run ask for its wishes again.
func (l *Launcher) Wake(h wire.RunHandle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wake := l.wakes[h]; wake != nil {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// WakeAll makes every run ask for its wishes again.
func (l *Launcher) WakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, wake := range l.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// Shutdown leaves the runs: it stops following them, flushes their logs and waits for that until ctx ends. Agents and
// shims stay.
func (l *Launcher) Shutdown(ctx context.Context) {
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	l.quit()
	stop := context.AfterFunc(ctx, l.drop)
	defer stop()
	l.wg.Wait()
	l.drop()
}

// Tidy removes the raw text that a daemon which was killed at the wrong moment left of runs that are over. The runs are
// those that ended lately, as the ledger told at the start: an older one cannot have been left. It is for once after a
// start, and may run beside everything else.
func (l *Launcher) Tidy(ended []wire.RunHandle) {
	var err error
	for _, h := range ended {
		if l.leave.Err() != nil {
			return
		}
		spool := "runs/" + string(h) + "/" + control.SpoolName
		if _, statErr := l.c.Home.Root().Lstat(spool); statErr != nil || l.serves(h) {
			continue
		}
		if was, probeErr := control.Probe(l.c.Home.RunDir(h)); probeErr == nil && was.Life == control.LifeEnded {
			err = errors.Join(err, l.c.Home.Root().RemoveAll(spool))
		}
	}
	if err != nil {
		l.c.Log.Warn("raw text of ended runs was not removed", "error", err)
	}
}

func (l *Launcher) serves(h wire.RunHandle) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wakes[h] != nil
}

// gateTime is how long a run that is looked for keeps its place at the gate at most: longer than a shim that lives needs,
// and short enough that a hundred which do not answer keep nobody from being found.
const gateTime = 50 * time.Millisecond

// A gate lets few of the runs that a daemon finds at its start do their first work at once: all at once they would take
// every processor from whoever asks the daemon something just then.
type gate chan struct{}

func newGate() gate { return make(gate, 2*runtime.GOMAXPROCS(0)) }

// enter waits for a place. What it returns gives it back, early when it is called and in any case after gateTime.
func (g gate) enter(ctx context.Context) (leave func()) {
	select {
	case g <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	once := sync.OnceFunc(func() { <-g })
	timer := time.AfterFunc(gateTime, once)
	return func() {
		timer.Stop()
		once()
	}
}
