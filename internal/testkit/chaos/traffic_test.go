//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
)

// A wish is a job as its client asked for it, and what was acknowledged of it. It belongs to its client until that ends.
type wish struct {
	tag    string
	agent  transport
	ending ending
	n      int // messages that it will say

	ref       wire.JobRef
	run       wire.RunHandle // as last seen
	cancelled bool           // an end of it was acknowledged: cancel of the job, or kill of the run
	dismissed bool
	repeat    func(ctx context.Context) (*wire.DaemonStatus, error) // asks for it once more, under the same key
}

// A visitor is a client that asks for things until it is told to stop, each again and again until it has an answer.
// It keeps what was acknowledged.
type visitor struct {
	l      *lab
	name   string
	random *rand.Rand
	load   load
	wishes []*wish
	acks   map[string]int
	last   *wish     // that the last operation was about
	said   func(ack) // called at each acknowledgement
}

// An ack is what a client was told is done.
type ack struct {
	op, tag string
	ref     wire.JobRef
}

// load says how much visitors ask for.
type load struct {
	messages, ms, pad int
	open              int    // jobs of one visitor that are not over
	secret            string // in some prompts, so that there is something to mask
	cancels           int    // how much more often than usual a job is cancelled
}

// An operation is one thing that a client may want. It returns errSkip when there is nothing to do it to.
type operation struct {
	name   string
	weight int
	do     func(v *visitor, ctx context.Context) error
}

var errSkip = errors.New("there is nothing to do it to")

// operations is the table that the approvals and the edits of a queue join with a line each.
func operations() []operation {
	return []operation{
		{"start", 6, (*visitor).start},
		{"send", 3, (*visitor).send},
		{"cancel", 1, (*visitor).cancel},
		{"kill", 1, (*visitor).kill},
		{"dismiss", 2, (*visitor).dismiss},
	}
}

// visit asks until ctx ends, and finishes what it has begun to ask: what it gets no answer to is asked for until finish
// ends.
func (v *visitor) visit(ctx, finish context.Context) error {
	table := operations()
	total := 0
	for i, op := range table {
		if op.name == "cancel" {
			table[i].weight += v.load.cancels
		}
		total += table[i].weight
	}
	for ctx.Err() == nil {
		pick := v.random.IntN(total)
		i := slices.IndexFunc(table, func(op operation) bool { pick -= op.weight; return pick < 0 })
		err := table[i].do(v, finish)
		switch {
		case errors.Is(err, errSkip):
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		case err != nil:
			return fmt.Errorf("%s, %s: %w", v.name, table[i].name, err)
		default:
			v.acks[table[i].name]++
			v.said(ack{table[i].name, v.last.tag, v.last.ref})
		}
	}
	return nil
}

func (v *visitor) view(ctx context.Context) (*wire.Snapshot, error) {
	st, err := v.l.insist(ctx, wire.WorkbenchCommand{})
	if err != nil {
		return nil, err
	}
	for _, w := range v.wishes {
		if j := jobOf(st.Workbench, w.ref); j != nil && j.Run != nil {
			w.run = *j.Run
		}
	}
	return st.Workbench, nil
}

func (v *visitor) newWish() (*wish, string) {
	all := transports()
	w := &wish{tag: fmt.Sprintf("%s-%d", v.name, len(v.wishes)), agent: all[v.random.IntN(len(all))]}
	return w, v.prompt(w)
}

func (v *visitor) prompt(w *wish) string {
	w.ending = w.agent.ends[v.random.IntN(len(w.agent.ends))]
	w.n = v.load.messages/2 + v.random.IntN(v.load.messages)
	text := w.agent.prompt(w.tag, w.n, v.random.IntN(2*v.load.ms+1), v.load.pad, w.ending)
	if v.load.secret != "" && v.random.IntN(3) == 0 {
		text += "\n" + v.load.secret // behind the script's line
	}
	return text
}

func (v *visitor) start(ctx context.Context) error {
	view, err := v.view(ctx)
	if err != nil {
		return err
	}
	open := 0
	for _, w := range v.wishes {
		if j := jobOf(view, w.ref); j != nil && !j.State.Final() && !paused(j) {
			open++
		}
	}
	if open >= v.load.open {
		return errSkip
	}
	w, prompt := v.newWish()
	return v.accept(ctx, w, wire.WorkbenchStart{Workspace: v.l.work, Agent: w.agent.agent, Prompt: prompt, Key: client.NewKey()})
}

// accept asks for a job and keeps its name.
func (v *visitor) accept(ctx context.Context, w *wish, cmd wire.Command) error {
	w.repeat = func(ctx context.Context) (*wire.DaemonStatus, error) { return v.l.insist(ctx, cmd) }
	st, err := w.repeat(ctx)
	if err != nil {
		return err
	}
	if st.WorkbenchJob == nil {
		return fmt.Errorf("%s was accepted without a name", w.tag)
	}
	w.ref, v.last = *st.WorkbenchJob, w
	v.wishes = append(v.wishes, w)
	return nil
}

// one draws one of the visitor's jobs that fits; errSkip when none does.
func (v *visitor) one(ctx context.Context, fits func(w *wish, j *wire.Job) bool) (*wish, *wire.Job, error) {
	view, err := v.view(ctx)
	if err != nil {
		return nil, nil, err
	}
	var fitting []*wish
	for _, w := range v.wishes {
		if j := jobOf(view, w.ref); j != nil && fits(w, j) {
			fitting = append(fitting, w)
		}
	}
	if len(fitting) == 0 {
		return nil, nil, errSkip
	}
	w := fitting[v.random.IntN(len(fitting))]
	v.last = w
	return w, jobOf(view, w.ref), nil
}

func (v *visitor) send(ctx context.Context) error {
	old, j, err := v.one(ctx, func(w *wish, j *wire.Job) bool { return j.State == wire.StateCompleted || j.State == wire.StateWorking })
	if err != nil {
		return err
	}
	w, _ := v.newWish()
	w.agent = old.agent
	cmd := wire.WorkbenchSend{
		Session: j.Session, Conversation: *j.Conversation, Prompt: v.prompt(w), Mode: wire.SendQueue, Key: client.NewKey(),
	}
	return v.accept(ctx, w, cmd)
}

// refused tells whether an action found that what it is about was over, or done already by an attempt without an answer.
func refused(err error, reasons ...wire.Reason) bool {
	we, ok := errors.AsType[*wire.Error](err)
	return ok && slices.Contains(reasons, we.Reason)
}

func (v *visitor) cancel(ctx context.Context) error {
	w, j, err := v.one(ctx, func(w *wish, j *wire.Job) bool { return !j.State.Final() && !w.cancelled })
	if err != nil {
		return err
	}
	_, err = v.l.insist(ctx, wire.WorkbenchCancel{Session: j.Session, Job: j.Job, Key: client.NewKey()})
	if refused(err, wire.ReasonConflict) { // it has ended meanwhile, by this or by itself
		w.cancelled = true
		return errSkip
	}
	w.cancelled = w.cancelled || err == nil
	return err
}

func (v *visitor) kill(ctx context.Context) error {
	w, j, err := v.one(ctx, func(w *wish, j *wire.Job) bool { return j.State == wire.StateWorking && j.Run != nil && !w.cancelled })
	if err != nil {
		return err
	}
	_, err = v.l.insist(ctx, wire.DelegationKillCommand{Handle: j.Run})
	if refused(err, wire.ReasonConflict, wire.ReasonNotFound) {
		w.cancelled = true
		return errSkip
	}
	w.cancelled = w.cancelled || err == nil
	return err
}

func (v *visitor) dismiss(ctx context.Context) error {
	w, j, err := v.one(ctx, func(w *wish, j *wire.Job) bool { return j.State.Final() && !w.dismissed })
	if err != nil {
		return err
	}
	if len(v.wishes)%3 != 0 { // most stay, to be looked at
		return errSkip
	}
	_, err = v.l.insist(ctx, wire.WorkbenchDismiss{Session: j.Session, Job: j.Job, Key: client.NewKey()})
	switch {
	case refused(err, wire.ReasonNotFound): // done by an attempt that got no answer
		err = nil
	case refused(err, wire.ReasonBusy): // its end was seen before it was on disk, and is found again
		return errSkip
	}
	w.dismissed = w.dismissed || err == nil
	return err
}

// A crowd is several visitors at once.
type crowd struct {
	visitors []*visitor
	wg       sync.WaitGroup
	stop     context.CancelFunc
	mu       sync.Mutex
	errs     []error
}

// crowd lets n visitors in; said is told of each acknowledgement.
func (l *lab) crowd(seed uint64, n int, load load, said func(ack)) *crowd {
	ctx, stop := context.WithCancel(l.ctx)
	c := &crowd{stop: stop}
	for i := range n {
		v := &visitor{l: l, name: fmt.Sprintf("v%d", i), random: random(seed, uint64(100+i)), load: load, acks: map[string]int{}, said: said}
		c.visitors = append(c.visitors, v)
		c.wg.Go(func() {
			if err := v.visit(ctx, l.ctx); err != nil && l.ctx.Err() == nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.errs = append(c.errs, err)
			}
		})
	}
	return c
}

// leave stops the visitors, once each has the answer to what it asked.
func (c *crowd) leave() error {
	c.stop()
	c.wg.Wait()
	return errors.Join(c.errs...)
}

func (c *crowd) wishes() (all []*wish) {
	for _, v := range c.visitors {
		all = append(all, v.wishes...)
	}
	return all
}

func (c *crowd) acks() map[string]int {
	sum := map[string]int{}
	for _, v := range c.visitors {
		for name, n := range v.acks {
			sum[name] += n
		}
	}
	return sum
}
