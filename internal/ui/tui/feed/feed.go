// Package feed turns what the daemon and the disk say into messages for the dashboard's model. It follows the workbench
// and one log, asks what the model wants to know, and goes on when the daemon dies, is another one, or was never there;
// what lies on disk is shown meanwhile.
//
// Each Feed has one goroutine that watches, one that follows a log, and one for each question. They end with the context
// and are joined by Wait. Messages of one source keep their order; nothing is dropped.
package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"scv/internal/client"
	"scv/internal/client/offline"
	"scv/internal/home"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

// Bounds of waiting.
const (
	retryPause   = time.Second           // between attempts to find a daemon that is not there
	callPatience = 90 * time.Second      // of a question that changes something
	settlePause  = 40 * time.Millisecond // of a selection that moves on: no log is followed that nobody looks at
)

// Options say where a feed gets what it tells.
type Options struct {
	Target client.Target
	Home   *home.Home
	// Start makes sure that a daemon runs; nil starts none. Its error is a sentence.
	Start func(ctx context.Context) error
	// Agents lists the agents of this machine.
	Agents func() ([]model.Agent, error)
	// Place resolves the directory of a new job: its real path, and the workspace that holds it.
	Place func(path string) (cwd, workspace string, err error)
	// Attach looks at a file that is to go with a prompt; its error is a sentence.
	Attach func(path string) (wire.Attachment, error)
}

// A Feed sends messages to one channel.
type Feed struct {
	opts Options
	ctx  context.Context //nolint:containedctx // of the whole feed, whose goroutines end with it
	out  chan model.Msg
	wg   sync.WaitGroup

	follow func()   // ends the log that is followed; used by the owner's goroutine
	held   *holding // terminal that is taken over, nil for none; likewise
	talk   *talking // session that is open, nil for none; likewise
	broken chan any
}

// New makes a feed that ends with ctx. One goroutine reads Messages and calls the other methods.
func New(ctx context.Context, opts Options) *Feed {
	return &Feed{opts: opts, ctx: ctx, out: make(chan model.Msg), follow: func() {}, broken: make(chan any, 1)}
}

// Messages gives what happened.
func (f *Feed) Messages() <-chan model.Msg { return f.out }

// Broken gives the panic of a goroutine of the feed, if there ever is one.
func (f *Feed) Broken() <-chan any { return f.broken }

// Wait waits until all goroutines have ended, which they do after the context.
func (f *Feed) Wait() { f.wg.Wait() }

// spawn runs a function whose panic ends the dashboard in order, with the terminal given back.
func (f *Feed) spawn(run func()) {
	f.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				select {
				case f.broken <- p:
				default:
				}
			}
		}()
		run()
	})
}

// send gives one message on, and reports false when the feed ends.
func (f *Feed) send(ctx context.Context, msg model.Msg) bool {
	select {
	case f.out <- msg:
		return true
	case <-ctx.Done():
		return false
	}
}

// Watch follows the workbench until the feed ends. At first it starts the daemon, if it may.
func (f *Feed) Watch() {
	f.spawn(func() {
		if f.opts.Start != nil {
			if err := f.opts.Start(f.ctx); err != nil {
				f.offline(err)
			}
		}
		for f.ctx.Err() == nil {
			target := f.opts.Target
			target.Connected = func(server wire.PeerInfo, features []string) {
				f.send(f.ctx, model.Connected{Server: server, Features: features})
			}
			target.Lost = func(err error) error {
				f.send(f.ctx, model.Lost{Why: why(err)})
				return nil
			}
			err := client.WatchWorkbench(f.ctx, target, func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
				if !f.send(f.ctx, model.Listed{View: view}) {
					return f.ctx.Err()
				}
				return nil
			})
			if f.ctx.Err() != nil {
				return
			}
			f.offline(err)
			pause(f.ctx, retryPause)
		}
	})
}

// offline tells that no daemon answers, and what lies on disk.
func (f *Feed) offline(err error) {
	f.send(f.ctx, model.Lost{Why: why(err)})
	if f.opts.Home == nil {
		return
	}
	disk, err := offline.Open(f.opts.Home)
	if err != nil {
		return
	}
	defer disk.Close()
	if view, err := disk.Snapshot(f.ctx); err == nil {
		f.send(f.ctx, model.Listed{View: &view, Disk: true})
	}
}

// why is the reason of a lost connection, as a part of a sentence.
func why(err error) string {
	switch {
	case err == nil:
		return "the daemon ended the connection"
	case errors.Is(err, client.ErrNoDaemon):
		return "no daemon runs"
	case errors.Is(err, client.ErrSilent):
		return "the daemon does not answer"
	case errors.Is(err, client.ErrBroken):
		return "the daemon went away"
	}
	return err.Error()
}

// pause waits, and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Call asks the daemon; the answer comes as a message.
func (f *Feed) Call(c model.Call) {
	f.spawn(func() {
		st, err := f.ask(c.Cmd)
		f.send(f.ctx, model.Called{Then: c.Then, Status: st, Err: err})
	})
}

// mostDiff is how many bytes of a difference are shown; nobody reads more on a screen.
const mostDiff = 512 << 10

// Compare asks what a job has changed.
func (f *Feed) Compare(c model.Compare) {
	f.spawn(func() {
		diff, err := f.compare(c)
		f.send(f.ctx, model.Compared{Then: c.Then, Diff: diff, Err: err})
	})
}

func (f *Feed) compare(c model.Compare) (*model.Difference, error) {
	ctx, cancel := context.WithTimeoutCause(f.ctx, callPatience, client.ErrSilent)
	defer cancel()
	conn, err := client.Dial(ctx, f.opts.Target, f.opts.Target.Client)
	if err != nil {
		return nil, fmt.Errorf("%s. Next: scv start", why(err))
	}
	defer conn.Close()
	stat, err := client.Diff(ctx, conn, wire.JobDiff{Session: c.Session, Job: c.Job, How: wire.DiffStat}, mostDiff)
	if err != nil {
		return nil, err
	}
	patch, err := client.Diff(ctx, conn, wire.JobDiff{Session: c.Session, Job: c.Job, How: wire.DiffPatch}, mostDiff)
	if err != nil {
		return nil, err
	}
	d := &model.Difference{Base: patch.Base, Stat: stat.Text, Patch: patch.Text}
	if patch.Next != nil {
		d.Left = patch.Size - min(*patch.Next, patch.Size)
	}
	return d, nil
}

// Start resolves a new job's directory and asks for the job.
func (f *Feed) Start(c model.Start) {
	f.spawn(func() {
		cmd := c.Cmd
		cwd, workspace, err := f.opts.Place(*cmd.Cwd)
		if err == nil && f.opts.Start != nil {
			err = f.opts.Start(f.ctx)
		}
		var st *wire.DaemonStatus
		if err == nil {
			cmd.Cwd, cmd.Workspace = &cwd, workspace
			st, err = f.ask(cmd)
		}
		f.send(f.ctx, model.Called{Then: c.Then, Status: st, Err: err})
	})
}

// StartDaemon starts the daemon, as the owner asked.
func (f *Feed) StartDaemon() {
	f.spawn(func() {
		if f.opts.Start == nil {
			f.send(f.ctx, model.Told{Text: "no daemon is started here (--no-start). Next: scv start", Bad: true})
			return
		}
		if err := f.opts.Start(f.ctx); err != nil {
			f.send(f.ctx, model.Told{Text: err.Error(), Bad: true})
		}
	})
}

// FindAgents looks for agents.
func (f *Feed) FindAgents() {
	if f.opts.Agents == nil {
		return
	}
	f.spawn(func() {
		agents, err := f.opts.Agents()
		f.send(f.ctx, model.Found{Agents: agents, Err: err})
	})
}

// ask puts one question on a connection of its own. What only reads is answered from disk when no daemon is there.
func (f *Feed) ask(cmd wire.Command) (*wire.DaemonStatus, error) {
	ctx, cancel := context.WithTimeoutCause(f.ctx, callPatience, client.ErrSilent)
	defer cancel()
	c, err := client.Dial(ctx, f.opts.Target, f.opts.Target.Client)
	if err != nil {
		return f.recall(cmd, err)
	}
	defer c.Close()
	return c.Call(ctx, cmd)
}

// recall answers from disk.
func (f *Feed) recall(cmd wire.Command, cause error) (*wire.DaemonStatus, error) {
	fail := fmt.Errorf("%s. Next: scv start", why(cause))
	if f.opts.Home == nil {
		return nil, fail
	}
	disk, err := offline.Open(f.opts.Home)
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	switch cmd := cmd.(type) {
	case wire.Why:
		report, err := disk.Why(f.ctx, cmd.Session, cmd.Job)
		return &wire.DaemonStatus{Why: &report}, err
	case wire.JobResultCommand:
		result, err := disk.JobResult(f.ctx, cmd.Session, cmd.Job, cmd.After)
		return &wire.DaemonStatus{JobResult: &result}, err
	}
	return nil, fail
}
