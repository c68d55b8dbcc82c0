// Package daemon puts the workbench together and keeps it alive: the log, start-up, handover and shutdown; its seat, the
// lock and the socket, is a room of its own. Only cmd and ui/cli may import it. It listens first and recovers after, so
// a client that comes early waits instead of failing. A shutdown ends the daemon and not the work: runs go on in their
// shims and the next daemon finds them again.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"scv/internal/daemon/seat"
	"scv/internal/daemon/server"
	"scv/internal/workbench/ledger"
)

// patience bounds how long a shutdown waits for what should take no time: letting go of the runs.
const patience = 5 * time.Second

// gcPercent keeps the heap of a daemon, which is small and mostly idle, close to what is live: a collection costs well
// under a millisecond, and resident memory is what a person sees.
const gcPercent = 50

var (
	// errAsked is the cause of a stop that a client asked for.
	errAsked = errors.New("a client asked for the daemon's end")
	// errRemoved is the cause of the end of a daemon whose home was removed: nobody can reach it or its runs any more.
	errRemoved = errors.New("the home was removed")
	// errUnheard is the cause of the end of a term whose socket was removed: the next one listens anew, with the same runs.
	errUnheard = errors.New("the socket was removed")
	// errReplaced is the cause of the end of a term whose daemon hands over.
	errReplaced = errors.New("another program takes over")
)

// Run is the daemon of one home. It returns nil when ctx ended, a client asked for its end, or another program took
// over, after what was accepted is on disk; but for the last case the socket is gone then. A refusal to start is a
// *wire.Error with a sentence, and nothing was touched then.
func Run(ctx context.Context, opt Options) error {
	opt = opt.withDefaults()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	if opt.TakeOver == 0 {
		return reign(ctx, opt, nil)
	}
	legacy, err := seat.Inherit(opt.TakeOver)
	if err != nil {
		return err
	}
	err = reign(ctx, opt, legacy)
	if err != nil {
		legacy.Refuse(err)
	}
	return err
}

// Refuse tells the daemon that started this program to take over why it cannot even begin.
func Refuse(takeOver int, err error) {
	if legacy, lineErr := seat.Inherit(takeOver); lineErr == nil {
		legacy.Refuse(err)
	}
}

// reign takes the seat, from a daemon that hands it over or from nobody, and serves.
func reign(ctx context.Context, opt Options, legacy *seat.Legacy) error {
	if err := opt.Home.Check(); err != nil {
		return err
	}
	d := &dynasty{opt: opt, legacy: legacy, heirs: make(chan *seat.Heir, 1)}
	if err := d.sit(ctx); err != nil {
		return err
	}
	defer d.lock.Release()
	log, closeLog, err := d.opt.logger()
	if err != nil {
		return errors.Join(err, d.socket.Close())
	}
	defer closeLog()
	d.log = log
	if err := seat.LeaveInherited(opt.Foreground); err != nil {
		log.Warn("descriptors of the starting program may be kept open", "error", err)
	}
	log.Info("listening", "socket", d.socket.Path(), "pid", os.Getpid(), "version", opt.Version)
	err = d.serve(ctx)
	if err != nil {
		log.Error("ended", "error", err)
		return err
	}
	log.Info("ended")
	return nil
}

// sit takes lock and socket. Before another daemon hands them over, it is made sure that this program can serve.
func (d *dynasty) sit(ctx context.Context) (err error) {
	if d.legacy != nil {
		if err := ledger.CheckLayout(ctx, d.opt.Home); err != nil {
			return err
		}
		d.socket, d.lock, err = d.legacy.Await(ctx, d.opt.Home, d.opt.Version)
		return err
	}
	if d.lock, err = seat.TakeLock(d.opt.Home); err != nil {
		return err
	}
	if d.socket, err = seat.Listen(d.opt.Home); err != nil {
		d.lock.Release()
	}
	return err
}

// serve goes on, term after term, until the daemon ends or has handed over: each term begins with an opened ledger, and
// all but the last end with a successor that could not take over.
func (d *dynasty) serve(ctx context.Context) error {
	for {
		heir, err := d.term(ctx)
		if errors.Is(err, errUnheard) && ctx.Err() == nil {
			if err = d.listenAnew(err); err == nil {
				continue
			}
		}
		if heir == nil {
			d.notify("STOPPING=1")
			err = errors.Join(err, d.socket.Close())
			d.rest(context.WithoutCancel(ctx), err)
			return err
		}
		if err != nil {
			d.log.Error("a term ended badly", "error", err)
		}
		if err := heir.Take(ctx, d.socket, d.lock); err != nil {
			d.failed(err)
			continue
		}
		d.log.Info("handed over", "pid", heir.PID, "version", heir.Version)
		d.passed(heir)
		return d.socket.Leave()
	}
}

// listenAnew makes the socket again that somebody removed: without it nobody could reach the daemon, and its lock would
// keep another one from starting.
func (d *dynasty) listenAnew(why error) error {
	socket, err := seat.Listen(d.opt.Home)
	if err != nil {
		return err
	}
	d.log.Warn("listening anew", "cause", why)
	old := d.socket
	d.socket = socket
	return old.Close()
}

// term answers from the first moment on, recovers, and then goes on until ctx ends, a client asks for the end, or a
// successor is ready, which it returns.
func (d *dynasty) term(ctx context.Context) (*seat.Heir, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	listener, err := d.socket.Listener()
	if err != nil {
		return nil, err
	}
	srv := server.New(server.Options{
		Version: d.opt.Version, Log: d.log, Now: d.opt.Now, Started: d.opt.Now(),
		Stop: func(bool) { end(errAsked) }, Succession: d,
	})
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Serve(ctx, listener); err != nil {
			failed = fmt.Errorf("accept connections: %w", err)
			end(err)
		}
	})
	w, err := recovered(ctx, d.opt, d.log, d.problem)
	if err != nil {
		stopped := ctx.Err() != nil && errors.Is(err, context.Canceled)
		end(err)
		wg.Wait()
		if stopped {
			return nil, failed // asked to end before it had begun
		}
		return nil, err
	}
	srv.Ready(w.served)
	d.log.Info("serving", "runs", w.adopted, "took", d.opt.Now().Sub(w.began))
	d.seated()
	wg.Go(func() {
		lost := awaitLoss(ctx, d.opt.Home)
		if errors.Is(lost, errRemoved) {
			d.log.Error("the home was removed: its runs are ended, and so is the daemon")
			w.stopAll(ctx)
		}
		if lost != nil {
			end(lost)
		}
	})
	var heir *seat.Heir
	select {
	case <-ctx.Done():
	case <-w.broke:
		end(errors.New("the workbench ended"))
	case heir = <-d.heirs:
		end(errReplaced)
	}
	d.log.Info("ending", "cause", context.Cause(ctx))
	wg.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errUnheard) {
		failed = errors.Join(failed, cause)
	}
	return heir, errors.Join(failed, w.close(context.WithoutCancel(ctx)))
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	return o
}

// value reads a variable of the daemon's environment; the last one of a name counts.
func (o Options) value(name string) (value string) {
	for _, entry := range o.Environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// logger is where the daemon's own log goes, masked. What there is to mask is told to logged as it is known.
func (o *Options) logger() (*slog.Logger, func(), error) {
	if o.Foreground {
		return o.logTo(o.Stderr, slog.LevelInfo), func() {}, nil
	}
	file, err := openLog(o.Home.Root())
	if err != nil {
		return nil, nil, err
	}
	return o.logTo(file, slog.LevelInfo), file.close, nil
}

func (o *Options) logTo(w io.Writer, least slog.Level) *slog.Logger {
	o.logged = newMaskedLog(w, newMasker(slices.Concat(o.Environ, o.Config.Hidden())))
	return slog.New(slog.NewTextHandler(o.logged, &slog.HandlerOptions{Level: least}))
}
