package shim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/failpoint"
	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

// agent is the agent's process and, where orphans come to us, everything below it.
type agent struct {
	id    proc.Identity
	group proc.Group
	exit  chan spool.AgentExit // gets the one status
	empty chan struct{}        // closed when this process has no child left
	waits chan struct{}        // one slot: a child was waited for

	mu     sync.Mutex // held while a child is waited for or signalled: inside it a number keeps its meaning
	reaped bool       // the agent was waited for
	killed bool       // SIGKILL was sent by us

	kill    sync.Once
	oomBase uint64 // counter at the start
	oomSeen bool   // the kernel tells the counter
}

// pipes are our ends; in is nil when the agent has no input. With a terminal it is the master side, and there are no
// others.
type pipes struct{ in, out, err *os.File }

func (p pipes) close() {
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// startAgent starts the program of the launch. The thread that does it is kept until no child is left, because the
// agent is killed when that thread ends.
func startAgent(spec *control.Spec, launch control.Launch) (*agent, pipes, *spool.StartFailed) {
	argv, env := texts(launch.Argv), texts(launch.Env)
	path, failed := resolve(argv, env, spec.Cwd)
	if failed != nil {
		return nil, pipes{}, failed
	}
	attr, streams := proc.AgentAttr(), makePipes
	if spec.Terminal != nil {
		attr, streams = proc.TerminalAttr(), makeTerminal
	}
	ours, theirs, err := streams(spec)
	if err != nil {
		return nil, pipes{}, &spool.StartFailed{Class: spool.StartOther, Error: err.Error()}
	}
	a := &agent{exit: make(chan spool.AgentExit, 1), empty: make(chan struct{}), waits: make(chan struct{}, 1)}
	if n, err := proc.OOMKills(); err == nil {
		a.oomBase, a.oomSeen = n, true
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		var p *os.Process
		err := failpoint.Do(failpoint.AgentStart, func() (err error) {
			p, err = os.StartProcess(path, argv, &os.ProcAttr{
				Dir: spec.Cwd, Env: env, Files: theirs[:], Sys: attr,
			})
			return err
		})
		if err == nil {
			err = a.born(p, spec.Boot)
		}
		started <- err
		if err == nil {
			a.reap()
		}
	}()
	err = <-started
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		ours.close()
		return nil, pipes{}, classify(err, path)
	}
	return a, ours, nil
}

// born notes who the new child is. It was not waited for, so its number is its own.
func (a *agent) born(p *os.Process, boot string) error {
	pid := p.Pid
	if err := p.Release(); err != nil {
		return err
	}
	entry, err := proc.Lookup(pid)
	if err == nil {
		a.id = proc.Identity{Boot: boot, PID: pid, Start: entry.Start}
		a.group, err = proc.NewGroup(pid)
	}
	if err != nil { // a process table that cannot be read: better no agent than one that cannot be ended
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}

func texts(list [][]byte) []string {
	out := make([]string, 0, len(list))
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

func makePipes(spec *control.Spec) (ours pipes, theirs [3]*os.File, err error) {
	var made []*os.File
	defer func() {
		if err != nil {
			for _, f := range made {
				_ = f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			made = append(made, r, w)
		}
		return r, w
	}
	if spec.Stdin == control.StdinPipe {
		theirs[0], ours.in = pipe()
	} else if theirs[0], err = os.Open(os.DevNull); err == nil {
		made = append(made, theirs[0])
	}
	ours.out, theirs[1] = pipe()
	ours.err, theirs[2] = pipe()
	return ours, theirs, err
}

// resolve finds the program as the agent's own environment would, and tells a missing directory apart.
func resolve(argv, env []string, cwd string) (string, *spool.StartFailed) {
	if len(argv) == 0 {
		return "", &spool.StartFailed{Class: spool.StartOther, Error: "no program was named"}
	}
	if info, err := os.Stat(cwd); err != nil {
		return "", &spool.StartFailed{Class: spool.StartCwd, Error: "the working directory cannot be used: " + err.Error()}
	} else if !info.IsDir() {
		return "", &spool.StartFailed{Class: spool.StartCwd, Error: "the working directory is no directory: " + cwd}
	}
	name := argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		return name, nil
	}
	found := ""
	for _, entry := range env {
		path, isPath := strings.CutPrefix(entry, "PATH=")
		if !isPath {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if !filepath.IsAbs(dir) {
				continue // a program is not taken from wherever the agent works
			}
			candidate := filepath.Join(dir, name)
			if info, err := os.Stat(candidate); err != nil || info.IsDir() {
				continue
			}
			if unix.Access(candidate, unix.X_OK) == nil {
				return candidate, nil
			}
			found = candidate
		}
	}
	if found != "" {
		return "", &spool.StartFailed{Class: spool.StartNotExecutable, Error: found + " is not executable"}
	}
	return "", &spool.StartFailed{Class: spool.StartNotFound, Error: name + " was not found in PATH"}
}

func classify(err error, path string) *spool.StartFailed {
	failed := &spool.StartFailed{Class: spool.StartOther, Error: err.Error()}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		failed.Class = spool.StartNotFound
		if _, statErr := os.Stat(path); statErr == nil {
			failed.Class = spool.StartNotExecutable
			failed.Error += " (the program is there; the interpreter that it names is not)"
		}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.ENOTDIR):
		failed.Class = spool.StartNotExecutable
	}
	return failed
}

// reap waits for children until none is left.
func (a *agent) reap() {
	for {
		pid, status, err := a.nextChild()
		if errors.Is(err, syscall.ECHILD) {
			close(a.empty)
			return
		}
		if err == nil && pid == a.id.PID {
			exit := a.status(status)
			if a.childless() {
				close(a.empty)
				a.exit <- exit
				return
			}
			a.exit <- exit
		}
		select {
		case a.waits <- struct{}{}:
		default:
		}
	}
}

func (a *agent) status(ws syscall.WaitStatus) spool.AgentExit {
	if !ws.Signaled() {
		return spool.AgentExit{Code: ws.ExitStatus()}
	}
	e := spool.AgentExit{Code: -1, Signal: unix.SignalName(ws.Signal())}
	a.mu.Lock()
	ours := a.killed
	a.mu.Unlock()
	if ws.Signal() == syscall.SIGKILL && !ours && a.oomSeen {
		n, err := proc.OOMKills()
		e.OOM = err == nil && n > a.oomBase
	}
	return e
}

// signal sends sig to the agent's process; proc.ErrGone when it was waited for.
func (a *agent) signal(sig syscall.Signal) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reaped {
		return proc.ErrGone
	}
	return syscall.Kill(a.id.PID, sig)
}

// signalGroup sends sig to the agent's group; proc.ErrGone when the agent was waited for, since the number may then
// be another's.
func (a *agent) signalGroup(sig syscall.Signal) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reaped {
		return proc.ErrGone
	}
	return a.group.Signal(sig)
}

// killTree ends everything below this process with SIGKILL and returns when no child is left. It kills children
// only: the death of each makes its own children ours, so a tree is taken down from the top, and a process that
// forks and exits for ever is met when it comes to us.
func (a *agent) killTree(errs *complaints) {
	a.kill.Do(func() {
		if closed(a.empty) {
			return
		}
		go func() {
			for {
				if err := a.killChildren(); err != nil {
					errs.say("%v", err)
				}
				select {
				case <-a.empty:
					return
				case <-a.waits:
				case <-time.After(time.Second): // a child that may not be signalled, or that the kernel holds
				}
			}
		}()
	})
	<-a.empty
}

func (a *agent) killChildren() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.killed = true
	if !a.reaped {
		if err := a.group.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
			return err
		}
	}
	if !proc.Subreaper {
		return nil
	}
	children, err := proc.Children()
	var errs []error
	for _, pid := range children {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, err)...)
}
