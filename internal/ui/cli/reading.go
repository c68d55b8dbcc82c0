package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"scv/internal/client"
	"scv/internal/client/offline"
	"scv/internal/home"
	"scv/internal/wire"
)

// A reading answers questions that change nothing: from the daemon, or from disk when no daemon answers, and it says
// so once on standard error. One goroutine uses it.
type reading struct {
	f    *factory
	h    *home.Home
	conn *client.Conn    // nil once the daemon was given up
	disk *offline.Reader // nil until it is needed
}

// read opens a reading. No daemon is started for it.
func (f *factory) read(ctx context.Context) (*reading, error) {
	h, err := f.openHome()
	if err != nil {
		return nil, err
	}
	r := &reading{f: f, h: h}
	asked, cancel := context.WithTimeoutCause(ctx, readPatience, client.ErrSilent)
	defer cancel()
	c, err := f.connect(asked, h)
	if err != nil {
		return r, r.fallBack(ctx, err)
	}
	r.conn = c
	return r, nil
}

// view opens a reading and takes a look at the whole workbench. The caller closes it.
func (f *factory) view(ctx context.Context) (*reading, *wire.Snapshot, error) {
	return f.look(ctx, wire.WorkbenchCommand{})
}

// look is view by a question of its own. What the daemon does not know of it is left out, and the answer has more.
func (f *factory) look(ctx context.Context, cmd wire.WorkbenchCommand) (*reading, *wire.Snapshot, error) {
	r, err := f.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	if r.conn != nil && !r.conn.Has(wire.FeatureFinished) {
		cmd.Finished = nil
	}
	view, err := r.workbench(ctx, cmd)
	if err != nil {
		r.close()
		return nil, nil, err
	}
	return r, view, nil
}

func (r *reading) close() {
	if r.conn != nil {
		r.conn.Close()
	}
	if r.disk != nil {
		r.disk.Close()
	}
}

// fallBack goes to the disk when the daemon is not there or says nothing; other errors stay.
func (r *reading) fallBack(ctx context.Context, err error) error {
	note := ""
	switch {
	case errors.Is(err, client.ErrNoDaemon):
		note = "the daemon is not running; this is what lies on disk. Start it: scv start"
	case errors.Is(err, client.ErrSilent), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		note = fmt.Sprintf("the daemon%s does not answer, last sign of it at %s; this is what lies on disk. Look at it: scv status",
			process(lockPID(r.h)), lastSign(r.h).Local().Format("15:04:05"))
	default:
		return err
	}
	if r.conn != nil {
		r.conn.Close()
		r.conn = nil
	}
	disk, openErr := offline.Open(r.h)
	if openErr != nil {
		return openErr
	}
	r.disk = disk
	fmt.Fprintln(r.f.sys.Err, "scv: "+note)
	return nil
}

func process(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// lastSign is when the daemon last wrote anything of its own.
func lastSign(h *home.Home) time.Time {
	var last time.Time
	for _, path := range []string{h.LockPath(), h.Socket(), h.LedgerPath(), h.LedgerPath() + "-wal", h.LogPath()} {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// call is one question. A daemon that goes away in that moment, as in a restart, is asked again: nothing is changed by it.
func (r *reading) call(ctx context.Context, cmd wire.Command) (*wire.DaemonStatus, error) {
	for tries := 0; ; tries++ {
		st, err := r.conn.Call(ctx, cmd)
		if !errors.Is(err, client.ErrBroken) || tries == brokenTries {
			return st, err
		}
		c, err := r.f.connect(ctx, r.h)
		if err != nil {
			return nil, err
		}
		r.conn.Close()
		r.conn = c
	}
}

// ask puts a question to the daemon, or to the disk.
func ask[T any](ctx context.Context, r *reading, cmd wire.Command, take func(*wire.DaemonStatus) *T, disk func(*offline.Reader) (T, error)) (*T, error) {
	if r.conn != nil {
		asked, cancel := context.WithTimeoutCause(ctx, readPatience, client.ErrSilent)
		st, err := r.call(asked, cmd)
		cancel()
		if err == nil {
			if v := take(st); v != nil {
				return v, nil
			}
			return nil, errors.New("the daemon answered " + cmd.Action() + " without what was asked for")
		}
		if err := r.fallBack(ctx, err); err != nil {
			return nil, err
		}
	}
	v, err := disk(r.disk)
	if err != nil {
		return nil, err
	}
	return &v, nil
}

func (r *reading) snapshot(ctx context.Context) (*wire.Snapshot, error) {
	return r.workbench(ctx, wire.WorkbenchCommand{})
}

func (r *reading) workbench(ctx context.Context, cmd wire.WorkbenchCommand) (*wire.Snapshot, error) {
	return ask(ctx, r, cmd, func(st *wire.DaemonStatus) *wire.Snapshot { return st.Workbench },
		func(d *offline.Reader) (wire.Snapshot, error) { return d.Snapshot(ctx) })
}

func (r *reading) result(ctx context.Context, ref wire.JobRef, after uint64) (*wire.JobResult, error) {
	session, job, _ := ref.Split()
	return ask(ctx, r, wire.JobResultCommand{Session: session, Job: job, After: after},
		func(st *wire.DaemonStatus) *wire.JobResult { return st.JobResult },
		func(d *offline.Reader) (wire.JobResult, error) { return d.JobResult(ctx, session, job, after) })
}

func (r *reading) log(ctx context.Context, handle wire.RunHandle, at client.LogPosition) (*wire.RunLogPage, error) {
	return ask(ctx, r, wire.RunLogCommand{Handle: handle, After: at.After, Tail: at.Tail, Limit: new(uint32(wire.MaxRunLogPageEvents))},
		func(st *wire.DaemonStatus) *wire.RunLogPage { return st.RunLog },
		func(d *offline.Reader) (wire.RunLogPage, error) {
			return d.RunLog(ctx, handle, at.After, wire.MaxRunLogPageEvents, at.Tail)
		})
}

// hasTail reports whether the newest activity of a log beyond its bound can be asked for.
func (r *reading) hasTail() bool { return r.conn == nil || r.conn.Has(wire.FeatureTail) }

// history is a page of jobs beyond the snapshot.
func (r *reading) history(ctx context.Context, after *string) (*wire.JobHistory, error) {
	return ask(ctx, r, wire.JobsPage{After: after}, func(st *wire.DaemonStatus) *wire.JobHistory { return st.JobsPage },
		func(d *offline.Reader) (wire.JobHistory, error) { return d.Jobs(ctx, after, 0) })
}

// why is what a job's state rests on.
func (r *reading) why(ctx context.Context, ref wire.JobRef) (*wire.WhyReport, error) {
	session, job, _ := ref.Split()
	return ask(ctx, r, wire.Why{Session: session, Job: job}, func(st *wire.DaemonStatus) *wire.WhyReport { return st.Why },
		func(d *offline.Reader) (wire.WhyReport, error) { return d.Why(ctx, session, job) })
}
