// Package hub owns all that changes in the workbench: sessions, conversations, their queues, jobs, runs and watchers.
// One goroutine (Run) owns the state; every method is a command to it, and all of them go through one helper. Nothing
// in the loop blocks: no disk, no process, no socket, no context. Anyone on the server side may call it, from any
// goroutine.
//
// Delivery and loss. A change may be seen a moment before it is on disk, but nothing that cannot be undone happens
// before its row is: a Ticket resolves, and the Launcher is called, only after the Journal returned. What a run is
// observed to do (working, activity, its last line) causes no commit of its own: it goes along with the next one, and
// after a crash the fold reports it again from the run's Pos. Watchers get no queue: they are woken and read what is
// current, so nothing can be dropped; intermediate values may be skipped, final ones never are.
package hub

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Journal makes a batch of rows durable. Store returns nil only when all of it is on disk, and otherwise none of it
// counts. It is called from one goroutine at a time.
type Journal interface {
	Store(ctx context.Context, b row.Batch) error
}

// An Archive finds what is no longer in memory. A Journal that is an Archive too is asked, outside the loop, about
// keys, jobs and conversations that the hub does not hold; without one they are not found.
type Archive interface {
	JobByKey(ctx context.Context, key string) (row.Job, bool, error)
	Job(ctx context.Context, session wire.SessionID, job wire.JobID) (row.Job, bool, error)
	Conversation(ctx context.Context, session wire.SessionID, id wire.ConversationID) (row.Conversation, bool, error)
	Session(ctx context.Context, id wire.SessionID) (row.Session, bool, error)
	// Namesake is another conversation with the same agent that has the agent's own name vendor.
	Namesake(ctx context.Context, agent, vendor string, but wire.ConversationID) (row.Conversation, bool, error)
}

// A Launcher starts and wakes runs. Both methods return at once and are called after the rows they rest on are on disk.
type Launcher interface {
	Launch(o row.Order)
	Wake(h wire.RunHandle)
}

// Limits bounds what runs and what is kept in memory. A zero field takes its default.
type Limits struct {
	Running        int           // turns that run at once; 16
	Unfinished     int           // jobs that are not finished; 1,000
	MemoryFloor    uint64        // bytes of free memory below which no turn is started; 0: not looked at
	Depth          int           // levels of jobs that start jobs, the owner's own being the first; 2, and below 0 none but the first
	Idle           time.Duration // a live run without a turn for so long is closed; 15 min
	FinishedListed int           // finished jobs in memory and in the snapshot; 200
	EndedListed    int           // ended runs likewise; 200
}

// Options is what a Hub is made of. Journal and Launcher are required.
type Options struct {
	Journal     Journal
	Launcher    Launcher
	Loaded      row.Loaded
	Limits      Limits
	Now         func() time.Time
	Random      func(n int) string               // n lower-case hex digits
	UUID        func() string                    // a new uuid for a run
	Known       func(handle wire.RunHandle) bool // beside the hub's own count: a handle that must not be used; must not block
	Log         *slog.Logger
	Budget      func(agent string) float64        // what an agent may spend a day, in US dollars; of the empty name: all together; 0: no bound
	AfterLimit  func(agent string) bool           // the owner lets it go on by itself once a usage limit is renewed
	DefaultMode func(agent string) string         // permission mode of a job that names none
	Live        func(agent string) bool           // one process of it serves several turns
	Transport   func(agent, forced string) string // as Run.Transport names it; forced is the conversation's
	Terminal    func(agent string) bool           // it can be taken over in its own terminal; nil: nobody is told of takeovers
	Machine     string                            // that this is; empty where it has no name. What an agent calls a conversation counts on its own only
	// ApprovalWait is how long a request of an agent waits for the owner; then silence is a no. 0: as long as its turn.
	ApprovalWait time.Duration
}

// A Hub is the workbench of one home. Make it with New, then Run it once.
type Hub struct {
	o        Options
	m        *model // owned by the loop
	epoch    string
	commands chan command
	gone     chan struct{} // closed when the loop has ended
	work     chan struct{} // wakes the writer
	wants    chan struct{} // asks for a reading of the free memory
	gen      atomic.Uint64
	snap     atomic.Pointer[wire.Snapshot]
	ctx      context.Context // of Run, for the Archive; set before the loop begins
}

type command struct {
	run  func()
	done chan struct{}
}

// New makes a hub of what was loaded. Nothing happens before Run.
func New(o Options) *Hub {
	h := &Hub{
		o: withDefaults(o), commands: make(chan command), gone: make(chan struct{}),
		work: make(chan struct{}, 1), wants: make(chan struct{}, 1),
	}
	h.epoch = h.o.Random(16)
	h.m = newModel(h)
	loader{h.m}.rows(h.o.Loaded)
	h.o.Loaded = row.Loaded{}
	h.m.settle()
	h.gen.Store(h.m.gen)
	h.snap.Store(h.m.snapshot())
	return h
}

func withDefaults(o Options) Options {
	o.Limits = o.Limits.withDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Random == nil {
		o.Random = func(n int) string { return "0123456789abcdef0123456789abcdef"[:min(n, 32)] }
	}
	if o.UUID == nil {
		o.UUID = func() string { return "" }
	}
	if o.Budget == nil {
		o.Budget = func(string) float64 { return 0 }
	}
	if o.AfterLimit == nil {
		o.AfterLimit = func(string) bool { return false }
	}
	if o.DefaultMode == nil {
		o.DefaultMode = func(string) string { return string(wire.ModeOnRisk) }
	}
	if o.Live == nil {
		o.Live = func(string) bool { return false }
	}
	if o.Transport == nil {
		o.Transport = func(string, string) string { return wire.TransportCLI }
	}
	return o
}

func (l Limits) withDefaults() Limits {
	l.Running = positive(l.Running, 16)
	l.Unfinished = positive(l.Unfinished, 1000)
	l.Depth = positive(l.Depth, map[bool]int{true: 2, false: 1}[l.Depth == 0])
	l.Idle = positive(l.Idle, 15*time.Minute)
	l.FinishedListed = positive(l.FinishedListed, wire.MaxFinishedJobs)
	l.EndedListed = positive(l.EndedListed, wire.MaxEndedRuns)
	return l
}

func positive[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}

// Run owns the state until ctx ends; then it takes no more commands, makes what is pending durable (one attempt) and
// returns. The error says what could not be saved.
func (h *Hub) Run(ctx context.Context) error {
	h.ctx = ctx
	w := &writer{h: h, ctx: context.WithoutCancel(ctx)}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() { failed = w.run(stop) })
	h.askMemory()
	h.wake()
	go func() { // the writer needs the loop for its last batch
		<-ctx.Done()
		close(stop)
		wg.Wait()
		h.do(func() { h.m.close() })
		close(h.gone)
	}()
	h.loop()
	return failed
}

func (h *Hub) loop() {
	for {
		select {
		case c := <-h.commands:
			h.serve(c)
		case <-h.gone:
			return
		}
	}
}

// serve runs a command and those that wait behind it, then publishes once for all of them.
func (h *Hub) serve(c command) {
	done := make([]chan struct{}, 0, 8)
	for {
		c.run()
		h.m.settle()
		done = append(done, c.done)
		if len(done) < 64 {
			select {
			case c = <-h.commands:
				continue
			default:
			}
		}
		break
	}
	if h.gen.Swap(h.m.gen) != h.m.gen {
		h.m.wakeWatchers()
	}
	if h.m.urgent {
		h.wake()
	}
	for _, d := range done {
		close(d)
	}
}

// errGone is what a command gets after the hub has ended.
var errGone = errors.New("the workbench has stopped")

// do hands a command to the loop and waits until it ran. It is the only way in.
func (h *Hub) do(run func()) error {
	c := command{run, make(chan struct{})}
	select {
	case h.commands <- c:
		<-c.done
		return nil
	case <-h.gone:
		return errGone
	}
}

// ask is do for a command that can refuse.
func (h *Hub) ask(run func() error) error {
	var err error
	if gone := h.do(func() { err = run() }); gone != nil {
		return wire.Refuse(wire.ReasonUnavailable, "scv status", "The SCV daemon is stopping and takes no more requests.")
	}
	return err
}

func (h *Hub) wake() { nudge(h.work) }

func (h *Hub) askMemory() {
	if h.o.Limits.MemoryFloor > 0 {
		nudge(h.wants)
	}
}

// nudge sets a one-slot signal; one that is set already stands for both.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Epoch names this hub's life: another one means that generations start anew.
func (h *Hub) Epoch() string { return h.epoch }

// Memory tells how many bytes of memory are free. The server may tell it before a start; the daemon tells it whenever
// WantsMemory asks. Without any reading the floor stops nothing.
func (h *Hub) Memory(free uint64) {
	h.do(func() {
		h.m.memory.tell(free)
		h.m.requeue = true
	})
}

// WantsMemory gets a signal when a reading of the free memory is wanted: at the start, after each start of a turn, and
// every 5 s while a job waits for memory. Never without Limits.MemoryFloor.
func (h *Hub) WantsMemory() <-chan struct{} { return h.wants }

// Idle returns a channel that is closed once no run is alive.
func (h *Hub) Idle() <-chan struct{} {
	c := make(chan struct{})
	if h.do(func() { h.m.idlers = append(h.m.idlers, c) }) != nil {
		close(c)
	}
	return c
}

// Rest begins no further turn and returns once every run that was given one was handed to the launcher, or ctx ended.
// It is for the end of a daemon: what was begun before is then started, and not cut off.
func (h *Hub) Rest(ctx context.Context) {
	c := make(chan struct{})
	if h.do(func() {
		h.m.draining, h.m.requeue = true, true
		h.m.rests = append(h.m.rests, c)
	}) != nil {
		return
	}
	select {
	case <-c:
	case <-ctx.Done():
	case <-h.gone:
	}
}

// StopAll asks every live run to stop and starts nothing more until the hub ends; queued jobs stay queued. It returns
// how many runs were asked.
func (h *Hub) StopAll(p row.Principal) (n int) {
	h.do(func() { n = h.m.stopAll(p) })
	return n
}
