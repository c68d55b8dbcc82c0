// Package daemon puts the workbench together and keeps it alive: the lock, the socket, the log, start-up and shutdown.
// Only cmd and ui/cli may import it. It listens first and recovers after, so a client that comes early waits instead of
// failing. A shutdown ends the daemon and not the work: runs go on in their shims and the next daemon finds them again.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"scv/internal/daemon/server"
)

// patience bounds how long a shutdown waits for what should take no time: letting go of the runs.
const patience = 5 * time.Second

// gcPercent keeps the heap of a daemon, which is small and mostly idle, close to what is live: a collection costs well
// under a millisecond, and resident memory is what a person sees.
const gcPercent = 50

// errAsked is the cause of a stop that a client asked for.
var errAsked = errors.New("a client asked for the daemon's end")

// Run is the daemon of one home. It returns nil when ctx ended or a client asked for its end, after what was accepted is
// on disk and the socket is gone. A refusal to start is a *wire.Error with a sentence, and nothing was touched then.
func Run(ctx context.Context, opt Options) error {
	opt = opt.withDefaults()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	if err := opt.Home.Check(); err != nil {
		return err
	}
	held, err := takeLock(opt.Home)
	if err != nil {
		return err
	}
	defer held.release()
	log, closeLog, err := opt.logger()
	if err != nil {
		return err
	}
	defer closeLog()
	if err := leaveInherited(opt.Foreground); err != nil {
		log.Warn("descriptors of the starting program may be kept open", "error", err)
	}
	sock, err := listen(opt.Home)
	if err != nil {
		return err
	}
	defer sock.close()
	log.Info("listening", "socket", sock.path, "pid", os.Getpid(), "version", opt.Version)
	err = serve(ctx, opt, log, sock)
	if err != nil {
		log.Error("ended", "error", err)
		return err
	}
	log.Info("ended")
	return nil
}

// serve answers from the first moment on, recovers, and then goes on until ctx ends or a client asks for the end.
func serve(ctx context.Context, opt Options, log *slog.Logger, sock *socket) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	srv := server.New(server.Options{
		Version: opt.Version, Log: log, Now: opt.Now, Started: opt.Now(),
		Stop: func(bool) { end(errAsked) },
	})
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Serve(ctx, sock); err != nil {
			failed = fmt.Errorf("accept connections: %w", err)
			end(err)
		}
	})
	w, err := recovered(ctx, opt, log)
	if err != nil {
		stopped := ctx.Err() != nil && errors.Is(err, context.Canceled)
		end(err)
		wg.Wait()
		if stopped {
			return failed // asked to end before it had begun
		}
		return err
	}
	srv.Ready(w.served)
	log.Info("serving", "runs", w.adopted, "took", opt.Now().Sub(w.began))
	select {
	case <-ctx.Done():
	case <-w.broke:
		end(errors.New("the workbench ended"))
	}
	log.Info("ending", "cause", context.Cause(ctx))
	wg.Wait()
	return errors.Join(failed, w.close(context.WithoutCancel(ctx)))
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

// logger is where the daemon's own log goes.
func (o Options) logger() (*slog.Logger, func(), error) {
	level := &slog.HandlerOptions{Level: slog.LevelInfo}
	if o.Foreground {
		return slog.New(slog.NewTextHandler(o.Stderr, level)), func() {}, nil
	}
	file, err := openLog(o.Home.Root())
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewTextHandler(file, level)), file.close, nil
}
