package run

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"scv/internal/agent"
	"scv/internal/run/control"
	"scv/internal/run/fold"
	"scv/internal/run/runlog"
	"scv/internal/run/spool"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A run is one order being served. Its goroutine owns it.
type run struct {
	c     *Config
	o     row.Order
	h     wire.RunHandle
	dir   string
	wake  <-chan struct{}
	last  context.Context // see Launcher
	log   *slog.Logger
	kind  agent.Kind
	set   agent.Settings
	root  *os.Root
	link  *control.Link // nil while the shim is out of reach
	first uint32        // the turn that the process was started for

	events *runlog.Log
	reader *spool.Reader
	fold   *fold.Fold
	number uint64     // of the last message to the agent, as folded
	steps  []row.Step // not reported yet
	kept   []row.Step // reported, and needed again should the spool go before the hub has stored them
	wrote  bool       // events were appended that nobody was told of

	unfolded int64  // bytes folded since the shim was told
	segment  uint64 // of the last checkpoint
	prompts  map[wire.JobID]string
	clocks   clocks
	launched bool   // this daemon told the shim to start the agent, or tried to
	seen     bool   // the shim was reached since it was last reported unreachable
	told     string // why it was reported unreachable
	spoke    bool   // steps were reported since
	stopping bool   // the shim was told to stop, over this link
	limit    string // the sentence on a limit that ended the run
	held     held   // what the shim did not take
	quiet    uint32 // notices of silence
	deaf     bool   // its shim is of a release that cannot look where processes listen
	summoned int    // times the shim was told to make its socket anew since it was reached
	leave    func() // gives back the place at the gate; nil for none
	odd      error  // what the shim said that no shim says; it is asked nothing more then
}

// patience is how many tries to reach a shim fail before that is said.
const patience = 3

// errBlind says that a run's spool or state cannot be read by this build: the run is unknown, kept and not retried.
var errBlind = errors.New("what the run has said cannot be read")

// serve is the life of one run in this daemon.
func (l *Launcher) serve(o row.Order, wake <-chan struct{}) {
	ctx := l.leave
	r := &run{
		c: &l.c, o: o, h: o.Run.Handle, dir: l.c.Home.RunDir(o.Run.Handle), wake: wake, last: l.last,
		log: l.c.Log.With("run", string(o.Run.Handle)), prompts: make(map[wire.JobID]string),
	}
	defer r.letGo()
	if o.Adopt {
		r.leave = l.gate.enter(ctx)
		defer r.settle()
	}
	if err := r.prepare(); err != nil && o.Adopt {
		vigil{r}.watchBlindly(ctx, err)
		return
	} else if err != nil {
		r.notStarted(err)
		return
	}
	if !r.begin(ctx) {
		return
	}
	wait := retry{most: l.c.Timing.Backoff}
	for {
		err := r.follow(ctx)
		r.letGo()
		if err == nil || ctx.Err() != nil {
			return
		}
		r.log.Warn("a run cannot be followed", "error", err)
		if errors.Is(err, errBlind) || errors.Is(err, fold.ErrUnknownCheckpoint) {
			vigil{r}.watchBlindly(ctx, err)
			return
		}
		r.unreachable("it cannot be followed, and this is tried again: " + sentence(err))
		if !wait.pause(ctx) {
			return
		}
	}
}

// begin starts what is new, and looks whether there is anything of what is not; false when there is nothing to follow.
func (r *run) begin(ctx context.Context) bool {
	var err error
	if !r.o.Adopt {
		if err = (beginning{r}).ripen(ctx); err == nil {
			err = beginning{r}.start(r.last) // what was begun is started, even when the daemon leaves
		}
	} else if r.root, err = r.c.Home.RunRoot(r.h); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return true // what it is stays to be seen
	} else {
		err = errors.New(cutDetail)
	}
	if err != nil && ctx.Err() == nil {
		r.notStarted(err)
		r.c.Ground.Leave(r.last, r.o)
	}
	return err == nil
}

// follow goes on with a run from where its log and checkpoint stand until it is over. An error means that it could
// not be followed further: all is read anew then.
func (r *run) follow(ctx context.Context) error {
	if err := r.open(); err != nil {
		return err
	}
	wait := retry{most: r.c.Timing.Backoff}
	for {
		life, err := control.Probe(r.dir)
		if err != nil {
			return err
		}
		over, err := doubt{r}.reached(ctx, life)
		begun := time.Now()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case over && err == nil:
			return farewell{r}.finish(ctx, life)
		case err != nil:
			if err := r.advance(ctx); err != nil {
				return err
			}
			// A shim that just ends needs a moment for its lock, and one that was told to make its socket anew for that.
			if wait.tries >= patience || r.o.Adopt && !r.seen && r.summoned == 0 {
				r.unreachable(doubt{r}.sentence(life, err))
			}
		default:
			link := r.link
			err := talk{r}.converse(ctx)
			r.hangUp()
			if err == nil && r.odd == nil {
				r.odd = link.Odd()
			}
			if err != nil {
				return err
			}
		}
		// A link that ends as soon as it was made is no reason to make it all the time.
		if time.Since(begun) > r.c.Timing.Backoff {
			wait.reset()
		}
		if !wait.again(ctx, r.dir, life.Life) {
			return ctx.Err()
		}
	}
}

// prepare finds out what the order speaks of.
func (r *run) prepare() error {
	var ok bool
	if r.kind, r.set, ok = r.c.Kinds(r.o.Run.Agent, r.o.Run.Transport); !ok {
		return wire.Refuse(wire.ReasonNotFound, "scv agents list", "There is no agent %q any more.", r.o.Run.Agent)
	}
	if r.o.Run.Terminal != nil {
		r.kind = muted(r.kind)
	}
	if r.o.Run.Turn != nil {
		r.first = *r.o.Run.Turn
	}
	if w := r.c.Hub.Wishes(r.h); w.Turn != nil && r.first == 0 {
		r.first = w.Turn.Number
	}
	return nil
}

// open reads where the run's log, checkpoint and spool stand.
func (r *run) open() (err error) {
	if r.root == nil {
		if r.root, err = r.c.Home.RunRoot(r.h); err != nil {
			return err
		}
	}
	if r.events, err = runlog.Open(r.root); err != nil {
		return err
	}
	if damage := r.events.Damage(); damage != "" {
		r.log.Error("a run's log is damaged", "what", damage)
	}
	note, err := r.readNote()
	if err != nil {
		return err
	}
	r.fold = fold.New(fold.Options{
		Kind: r.kind, Dialect: r.kind.New(r.set), Mask: r.c.Mask(), Run: r.h, Cwd: r.o.Run.Cwd, Note: note,
		First: r.first, Prompt: r.promptOf, Steer: talk{r}.steerOf, Wanted: r.reason, Answer: talk{r}.answerOf,
	})
	r.number, r.segment, r.unfolded, r.steps, r.kept = 0, 0, 0, nil, nil
	r.clocks = clocks{}
	if err := r.restore(); err != nil {
		return err
	}
	at, _ := r.fold.Read()
	r.segment = at.Segment
	r.reader, err = spool.OpenReader(r.spoolDir(), at)
	return err
}

func (r *run) spoolDir() string { return filepath.Join(r.dir, control.SpoolName) }

// letGo closes all that is open. The agent and its shim are not touched.
func (r *run) letGo() {
	r.hangUp()
	var err error
	if r.reader != nil {
		err = r.reader.Close()
	}
	if r.events != nil {
		err = errors.Join(err, r.events.Close())
	}
	if r.root != nil {
		err = errors.Join(err, r.root.Close())
	}
	r.reader, r.events, r.root = nil, nil, nil
	if err != nil {
		r.log.Warn("a run's files were not closed cleanly", "error", err)
	}
}

func (r *run) hangUp() {
	if r.link != nil {
		_ = r.link.Close() // what is lost with it is asked again
		r.link, r.stopping = nil, false
	}
}

func (r *run) report(l row.Life) {
	l.At = r.c.Now()
	r.c.Hub.Life(r.h, l)
}

// settle gives a run's place at the gate to the next one: it was found, or it will not be so soon.
func (r *run) settle() {
	if r.leave != nil {
		r.leave()
		r.leave = nil
	}
}

// unreachable reports once that the run cannot be told to live or not, and again when something that it had said before
// made it look alive.
func (r *run) unreachable(detail string) {
	r.settle()
	if r.seen || r.told != detail || r.spoke {
		r.seen, r.told, r.spoke = false, detail, false
		r.report(row.Life{Kind: row.LifeUnreachable, Detail: detail})
	}
}

// notStarted reports that nothing was started and why.
func (r *run) notStarted(err error) {
	class := agent.ClassStart
	if refused, ok := errors.AsType[*wire.Error](err); ok && refused.Reason == wire.ReasonNotFound {
		class = agent.ClassMissing
	}
	if r.o.Adopt {
		class = agent.ClassLost
	}
	r.log.Warn("a run was not started", "error", err)
	r.c.Terminals.Close(r.h, "it was not started: "+sentence(err))
	if lack := lacking(err); lack != "" && !r.o.Adopt {
		r.report(row.Life{Kind: row.LifeHeldUp, Detail: lack})
		return
	}
	r.report(row.Life{Kind: row.LifeNotStarted, Detail: sentence(err), Class: string(class)})
}

// lacking names what was missing for a start that failed for want of what comes back by itself; empty for any other.
func lacking(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "there is no file descriptor left"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return "the system gives no further process or memory"
	}
	return ""
}

// sentence is an error as a person reads it.
func sentence(err error) string {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		if refused.Hint != "" {
			return strings.TrimSuffix(refused.Message, ".") + " (" + refused.Hint + ")"
		}
		return refused.Message
	}
	return err.Error()
}

// A retry waits ever longer between tries, and never longer than most.
type retry struct {
	most  time.Duration
	tries int
}

func (t *retry) reset() { t.tries = 0 }

func (t *retry) next() time.Duration {
	t.tries++
	return min(2*time.Millisecond<<min(t.tries, 16), t.most)
}

// pause waits; false when ctx ended.
func (t *retry) pause(ctx context.Context) bool {
	timer := time.NewTimer(t.next())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// again waits the same, but no longer than the run holds its lock, when it does.
func (t *retry) again(ctx context.Context, dir string, life control.Life) bool {
	if life != control.LifeHeld {
		return t.pause(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, t.next())
	defer cancel()
	if _, err := control.AwaitGone(bounded, dir); err != nil && bounded.Err() == nil {
		<-bounded.Done() // it could not be asked, which says nothing
	}
	return ctx.Err() == nil
}
