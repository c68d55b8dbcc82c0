package daemon

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"scv/internal/daemon/seat"
	"scv/internal/daemon/server"
	"scv/internal/wire"
)

// A dynasty is this process's time as a home's daemon, with who came before and who may come after. It is the server's
// Succession, so its methods for that may be called from any goroutine.
type dynasty struct {
	opt    Options
	log    *slog.Logger
	legacy *seat.Legacy // nil when nobody handed over, and once it is known that this daemon serves
	lock   *seat.Lock
	socket *seat.Socket
	heirs  chan *seat.Heir // holds the one that is ready to take over
	told   bool            // the service manager knows that this daemon serves

	mu      sync.Mutex
	pending uint32 // process of the program that is to take over; 0 for none
	busy    bool   // one is being started
	failure string // why the last one did not
}

// Prepare starts the program that is to take over and returns when it is ready. Nothing changes for anybody before Go.
func (d *dynasty) Prepare(ctx context.Context, ask wire.DaemonRestart) (server.Successor, error) {
	if err := d.reserve(); err != nil {
		return server.Successor{}, err
	}
	program, err := d.program(ask)
	var heir *seat.Heir
	if err == nil {
		heir, err = seat.Begin(ctx, program)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = false
	if err != nil {
		d.log.Warn("the program that was to take over did not", "error", err)
		return server.Successor{}, err
	}
	d.pending, d.failure = uint32(heir.PID), ""
	return server.Successor{
		PID: d.pending, Version: heir.Version,
		Go: func() { d.heirs <- heir }, // has room: there is one at a time
	}, nil
}

// Pending is the process that is to take over, 0 for none.
func (d *dynasty) Pending() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pending
}

// reserve lets one program at a time get ready.
func (d *dynasty) reserve() error {
	if os.Getpid() == 1 {
		return wire.Refuse(wire.ReasonRefused, "restart what runs it, such as the container",
			"the daemon is process 1 here, whose end would end everything beside it")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy || d.pending != 0 {
		return wire.Refuse(wire.ReasonConflict, "wait for it: scv status", "a restart is under way")
	}
	d.busy = true
	return nil
}

// program is what is started: the file that the client names, or else the one that this daemon was started from, which
// may have been replaced. A service manager's environment is its own; else that of the client's shell counts.
func (d *dynasty) program(ask wire.DaemonRestart) (seat.Program, error) {
	p := seat.Program{
		Exe: ask.Exe, Args: d.opt.Args, Env: d.opt.Environ, Dir: d.opt.Home.Path(), Version: d.opt.Version, Wait: d.opt.HandoverWait,
	}
	if p.Exe == "" {
		p.Exe = d.opt.Exe
	}
	if !filepath.IsAbs(p.Exe) {
		return p, wire.Refuse(wire.ReasonInvalid, "give its full path", "the program to restart with is no full path")
	}
	info, err := os.Stat(p.Exe)
	if err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0) {
		err = fs.ErrPermission
	}
	if err != nil {
		return p, wire.Refuse(wire.ReasonUnavailable, "put it back, then: scv restart   The daemon that ran goes on",
			"there is no program at %s to restart with (%v)", p.Exe, err)
	}
	if len(ask.Environ) > 0 && d.manager() == "" {
		p.Env = ask.Environ
	}
	return p, nil
}

// seated tells the daemon that handed over, and a service manager, that this one serves.
func (d *dynasty) seated() {
	if d.legacy != nil {
		d.legacy.Serving()
		d.legacy, d.told = nil, true // the manager hears it from the daemon that handed over
	}
	if !d.told {
		d.told = true
		d.notify("READY=1")
	}
}

// failed takes the seat back from a successor that could not serve.
func (d *dynasty) failed(err error) {
	d.log.Error("the program that took over did not serve; this one goes on", "error", err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending, d.failure = 0, wire.RestartFailed+err.Error()
}

// passed tells the service manager which process is the daemon from here on.
func (d *dynasty) passed(heir *seat.Heir) {
	d.notify("MAINPID=" + strconv.Itoa(heir.PID))
	if err := seat.Settle(d.manager()); err != nil {
		d.log.Warn("the service manager may not know the new process", "error", err)
	}
}

// manager is the socket of the service manager whose main process this is. A daemon in the background is nobody's, but
// may have the variable from a program far above it.
func (d *dynasty) manager() string {
	if !d.opt.Foreground {
		return ""
	}
	return d.opt.value(seat.NotifyVariable)
}

func (d *dynasty) notify(state string) {
	if err := seat.Notify(d.manager(), state); err != nil {
		d.log.Warn("the service manager was not told", "state", state, "error", err)
	}
}

// problem is what there is to say of the last restart, or empty.
func (d *dynasty) problem() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}
