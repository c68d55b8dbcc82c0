package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/wire"
)

// Bounds of waiting for a daemon.
const (
	startPatience = 15 * time.Second        // from its start to its first answer
	readPatience  = 1500 * time.Millisecond // of a reading command, which has the disk to fall back on (U18)
	callPatience  = 90 * time.Second        // of a command that changes something, as upstream's client has it
)

// brokenTries is how often a daemon that goes away in the middle of an answer is asked again.
const brokenTries = 3

// target is where the home's daemon listens.
func (f *service) target(h *home.Home) client.Target {
	return client.Target{Socket: h.Socket(), Client: f.peer()}
}

func (f *service) peer() wire.PeerInfo {
	return wire.PeerInfo{Name: "scv-cli", Version: f.sys.Version}
}

// connect shakes hands with the home's daemon. One that goes away in that moment is not there: the answer is asked for
// again, and then nobody listens.
func (f *service) connect(ctx context.Context, h *home.Home) (*client.Conn, error) {
	for range 20 {
		c, err := client.Dial(ctx, f.target(h), f.peer())
		if !errors.Is(err, client.ErrBroken) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil, client.ErrBroken
}

// dial connects to the home's daemon and starts it when it does not run, unless --no-start says otherwise.
func (f *service) dial(ctx context.Context) (*client.Conn, error) {
	h, err := f.openHome()
	if err != nil {
		return nil, err
	}
	c, err := f.connect(ctx, h)
	switch {
	case errors.Is(err, client.ErrNoDaemon) && f.noStart:
		return nil, noDaemon(h)
	case errors.Is(err, client.ErrNoDaemon):
		return f.startDaemon(ctx, h)
	case errors.Is(err, client.ErrSilent):
		return nil, silent(h)
	}
	return c, err
}

// dialAs is dial under the name of another client: the daemon tells by it whom a session serves.
func dialAs(ctx context.Context, f *factory, name string) (*client.Conn, error) {
	if c, err := f.dial(ctx); err != nil {
		return nil, err
	} else if err := c.Close(); err != nil {
		return nil, err
	}
	h, err := f.openHome()
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, f.target(h), wire.PeerInfo{Name: name, Version: f.sys.Version})
}

// call is one question that may change something. A daemon that goes away in that moment, as in a restart, is asked
// again under the same key.
func (f *service) call(ctx context.Context, cmd wire.Command) (*wire.DaemonStatus, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callPatience, client.ErrSilent)
	defer cancel()
	st, again, err := f.callOnce(ctx, cmd)
	if errors.Is(err, client.ErrBroken) && again {
		st, _, err = f.callOnce(ctx, cmd)
	}
	return st, err
}

// callOnce reports also whether the daemon would do the command once, however often it is asked.
func (f *service) callOnce(ctx context.Context, cmd wire.Command) (st *wire.DaemonStatus, again bool, err error) {
	c, err := f.dial(ctx)
	if err != nil {
		return nil, false, err
	}
	defer c.Close()
	k, keyed := cmd.(wire.Keyed)
	st, err = c.Call(ctx, cmd)
	return st, keyed && k.ClientKey() != "" && c.Has(wire.FeatureKey), err
}

func noDaemon(h *home.Home) error {
	return &fault{
		code: exitUnreachable, message: fmt.Sprintf("no daemon at %s (it is not running)", home.Pretty(h.Socket())),
		next: "start it: scv start   Or try without installing anything: scv demo",
	}
}

// silent is a daemon that takes a connection and says nothing.
func silent(h *home.Home) error {
	who, end := "the daemon", "kill -9 of its process"
	if pid := lockPID(h); pid > 0 {
		who, end = fmt.Sprintf("the daemon (process %d)", pid), fmt.Sprintf("kill -9 %d", pid)
	}
	return &fault{
		code: exitUnreachable, message: fmt.Sprintf("%s at %s does not answer", who, home.Pretty(h.Socket())),
		next: "wait for it, or end it: " + end + "   Then: scv start   Runs survive that",
	}
}

// lockPID is the process that wrote the daemon's lock, 0 when nobody knows. It is for people and for nothing else.
func lockPID(h *home.Home) int {
	data, err := h.Root().ReadFile("state/server.lock")
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

// ownRun is the refusal to start a home's daemon from inside one of its own runs: at the run's end its shim would end
// the daemon, and every shim that it had started, with the rest of what the agent left behind. Nil outside of them.
func (f *service) ownRun(h *home.Home) error {
	if !insideRun(f.sys.Environ, h) {
		return nil
	}
	return &fault{
		code: exitUnreachable,
		message: fmt.Sprintf("no daemon at %s (it is not running), and one that is started inside an agent's run would end with it",
			home.Pretty(h.Socket())),
		next: "leave it to the owner, who starts it from a shell outside: scv start",
	}
}

// insideRun reports whether an environment is that of a process inside a run of the home.
func insideRun(environ []string, h *home.Home) bool {
	var chain string
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, "SCV_PARENT="); ok {
			chain = value
		}
	}
	for link := range strings.SplitSeq(chain, ";") {
		if strings.HasPrefix(link, h.Instance()+"/") {
			return true
		}
	}
	return false
}

// ownersAlone refuses to a program inside of an agent's run what changes the owner's settings, his account or his home:
// what a daemon is not asked for, it cannot refuse. What says what is refused, as after "may".
func ownersAlone(environ []string, h *home.Home, what string) error {
	if !insideRun(environ, h) {
		return nil
	}
	return &fault{
		code: exitRefused, message: "only the owner may " + what + ", and this client runs inside an agent's run",
		next: "do it from a shell of your own",
	}
}

// startDaemon starts this program as the home's daemon and returns a connection once it answers. The daemon belongs to
// a session of its own, so that the end of this terminal does not reach it.
func (f *service) startDaemon(ctx context.Context, h *home.Home) (*client.Conn, error) {
	if err := f.ownRun(h); err != nil {
		return nil, err
	}
	log, err := h.Root().OpenFile("state/daemon.log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, home.FileMode)
	if err != nil {
		return nil, fmt.Errorf("open the daemon's log %s: %w", home.Pretty(h.LogPath()), err)
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read the daemon's log: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, client.ErrSilent)
	defer cancel()
	for {
		cmd := exec.Command(f.sys.Exe, "run", "--background")
		cmd.Dir, cmd.Env, cmd.Stderr = h.Path(), f.daemonEnviron(h), log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("start the daemon: %w", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		c, err := f.await(ctx, h, ended, before)
		if !errors.Is(err, errDying) {
			return c, err
		}
	}
}

// errDying says that the daemon which had the lock listens nowhere: it was killed and is on its way out.
var errDying = errors.New("the daemon that holds the lock does not listen")

// dyingPatience is how long the holder of the lock may listen nowhere before another start is tried.
const dyingPatience = 300 * time.Millisecond

// await asks until the daemon answers. When the process that was started ends because another one has the lock already,
// that one is waited for; another end is a failure. One that listens and is silent may be busy starting on a machine
// that has much to do: it has the same time.
func (f *service) await(ctx context.Context, h *home.Home, ended <-chan error, before int64) (*client.Conn, error) {
	pause := 2 * time.Millisecond
	failed := false
	var dying <-chan time.Time
	for {
		c, err := f.connect(ctx, h)
		if err == nil || !errors.Is(err, client.ErrNoDaemon) && !errors.Is(err, client.ErrSilent) {
			return c, err
		}
		if failed {
			return nil, f.notStarted(h, before)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-ended:
			ended = nil
			e, ok := errors.AsType[*exec.ExitError](err)
			failed = !ok || e.ExitCode() != exitConflict
			dying = time.After(dyingPatience)
		case <-dying:
			if dying = nil; errors.Is(err, client.ErrNoDaemon) {
				return nil, errDying
			}
		case <-time.After(pause):
			pause = min(2*pause, 50*time.Millisecond)
		}
	}
}

// notStarted tells what the daemon wrote before it ended.
func (f *service) notStarted(h *home.Home, before int64) error {
	said := strings.TrimSpace(string(logSince(h, before)))
	if said == "" {
		if err := writable(h); err != nil { // nor could its log be
			return fmt.Errorf("the daemon did not start: %w", err)
		}
		return &fault{
			code: exitFailed, message: "the daemon ended at once and wrote nothing",
			next: "run it in the foreground to see why: scv run",
		}
	}
	// The last thing is the sentence of the daemon's own command line, next step included.
	if _, text, ok := strings.Cut("\n"+said, "\nscv: "); ok {
		fmt.Fprintln(f.sys.Err, "scv: the daemon did not start: "+text)
		return status(exitFailed)
	}
	return &fault{code: exitFailed, message: "the daemon did not start: " + said, next: "run it in the foreground: scv run"}
}

// writable tries whether the home's disk takes a file.
func writable(h *home.Home) error {
	const name = "state/daemon.log.try"
	err := h.Root().WriteFile(name, make([]byte, 4<<10), home.FileMode)
	removeErr := h.Root().Remove(name)
	if err != nil {
		return err
	}
	return removeErr
}

// logSince reads at most 8 KiB of the daemon's log from a position on.
func logSince(h *home.Home, at int64) []byte {
	log, err := h.Root().Open("state/daemon.log")
	if err != nil {
		return nil
	}
	defer log.Close()
	data, err := io.ReadAll(io.NewSectionReader(log, at, 8<<10))
	if err != nil {
		return nil
	}
	return data
}

// daemonEnviron is this process's environment without the marks of a run: a daemon that works on behalf of a run of
// another home is nobody's child there.
func (f *service) daemonEnviron(h *home.Home) []string {
	var out []string
	for _, pair := range f.sys.Environ {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "SCV_HOME", "SCV_RUN", "SCV_PARENT", "SCV_DELEGATION_DEPTH", "SCV_FORCE_TTY":
			continue
		}
		out = append(out, pair)
	}
	return append(out, "SCV_HOME="+h.Path())
}

// listening reports whether the socket of the home's daemon is there.
func listening(h *home.Home) bool {
	_, err := os.Lstat(h.Socket())
	return !errors.Is(err, fs.ErrNotExist)
}
