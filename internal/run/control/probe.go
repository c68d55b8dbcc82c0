package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"scv/internal/run/proc"
)

// Life is what the lock on spec.json and the records beside it say of a run.
type Life string

// The lives of a run. There is no word for "cannot tell": that is an error of Probe.
const (
	LifeNone       Life = "none"        // there is no spec.json: no such run
	LifeHeld       Life = "held"        // the lock is held: the shim lives, or its start is on the way
	LifeEnded      Life = "ended"       // lock free, exit.json there: over, nothing left
	LifeBroken     Life = "broken"      // lock free, shim.json and no exit.json: the shim died; sweep
	LifeNotStarted Life = "not_started" // lock free, spec.json only; sweep, since the shim may have died just after the start
)

// Liveness is the result of Probe. The records are those found after the lock was looked at; a record that is not
// there, or is damaged, is nil.
type Liveness struct {
	Life Life
	Spec *Spec
	Shim *Shim
	Exit *Exit
	// Damage says in words which records are there and are not what was written; empty for none.
	Damage string
}

// Probe tells whether the run in runDir lives. It asks the lock and never a process number, takes the lock for an
// instant in shared mode (which disturbs neither another Probe nor a start), and changes nothing. An error means
// that it is not known, and no caller may take it for an end; a record of a newer version is one. A damaged record is
// as good as none: without a readable exit.json a run whose lock is free is LifeBroken, and its spool tells the rest.
// An agent can put another file in the place of spec.json, so that a free lock is worth little then: who acts on an end
// asks the control socket as well.
func Probe(runDir string) (Liveness, error) {
	held, err := lockHeld(filepath.Join(runDir, SpecName))
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing && !errors.Is(err, errDamaged) {
		return Liveness{}, fmt.Errorf("probe run: %w", err)
	}
	var l Liveness
	var shim, exit bool
	var errs [3]error
	l.Spec, _, errs[0] = readable(&l, SpecName, ReadSpec, runDir)
	l.Shim, shim, errs[1] = readable(&l, ShimName, ReadShim, runDir)
	l.Exit, exit, errs[2] = readable(&l, ExitName, ReadExit, runDir)
	switch {
	case held:
		l.Life = LifeHeld
		return l, nil // what cannot be read does not make a held lock unknown
	case l.Exit != nil:
		l.Life = LifeEnded
		return l, nil // nothing of the run is left, whatever its other records say
	case shim, exit:
		l.Life = LifeBroken
	case missing:
		l.Life = LifeNone
	default:
		l.Life = LifeNotStarted
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Liveness{}, fmt.Errorf("probe run: %w", err)
	}
	return l, nil
}

// readable reads a record and tells whether there is one. A crash of the machine may leave the name of one that is not
// flushed without its content; what else is damaged was changed by somebody, or by the disk.
func readable[T any](l *Liveness, name string, read func(runDir string) (*T, error), runDir string) (_ *T, there bool, _ error) {
	v, err := read(runDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case errors.Is(err, errDamaged):
		if l.Damage != "" {
			l.Damage += ", "
		}
		l.Damage += name
		return nil, true, nil
	}
	return v, err == nil, err
}

func lockHeld(path string) (held bool, err error) {
	f, err := openRecord(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Answers asks what a free lock cannot tell when somebody put another file in the place of spec.json: whether the shim
// of the run lives all the same. It returns the link to a shim that says so, nil when there is surely none, and an error
// when that is not known, as when somebody listens and does not answer, or the process that shim.json names still runs.
func Answers(ctx context.Context, l Liveness, run, socket string) (*Link, error) {
	link, err := Dial(ctx, socket)
	if err == nil {
		if _, err = link.Hello(ctx, run); err == nil {
			return link, nil
		}
		err = errors.Join(err, link.Close())
	}
	_, another := errors.AsType[*RefusedError](err)
	if !another && !errors.Is(err, ErrWrongShim) && !NobodyListens(err) {
		return nil, fmt.Errorf("the lock of the run is free, and at its socket somebody listens: %w", err)
	}
	if l.Shim == nil {
		return nil, nil
	}
	switch alive, err := proc.Alive(l.Shim.ShimIdentity()); {
	case err != nil:
		return nil, fmt.Errorf("the lock of the run is free, and it is not known whether its shim runs: %w", err)
	case alive:
		return nil, fmt.Errorf("the lock of the run is free, and its shim, process %d, runs", l.Shim.PID)
	}
	return nil, nil
}

// NobodyListens reports whether an error of Dial says that there is surely no listener at the path: it is missing, or is
// a socket that was left, or something else.
func NobodyListens(err error) bool {
	for _, none := range []error{fs.ErrNotExist, syscall.ECONNREFUSED, syscall.ENOTDIR, syscall.ENOTSOCK, syscall.EPROTOTYPE} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// Summon tells the shim of a run whose lock is held, and at whose socket NobodyListens, to make that anew. It is SIGHUP,
// which the shims of earlier releases ignore and which would end a stranger: nothing is sent to a process that does not
// show itself as a shim, whatever shim.json says.
func Summon(s *Shim) error {
	p, err := proc.Lookup(s.PID)
	if err != nil {
		return err
	}
	if runtime.GOOS == "linux" && !strings.HasPrefix(p.Name, Arg0+" ") {
		return fmt.Errorf("process %d, which %s names, is no shim", s.PID, ShimName)
	}
	return proc.Signal(s.ShimIdentity(), syscall.SIGHUP)
}

// AwaitGone returns when the lock of the run is free, which is the only proof that its shim is gone, or with the
// error of ctx. It watches the shim's process where that is known and looks at the lock again at each end of a
// watch, else at rising intervals up to one second.
func AwaitGone(ctx context.Context, runDir string) (Liveness, error) {
	wait := 5 * time.Millisecond
	for {
		l, err := Probe(runDir)
		if err != nil || l.Life != LifeHeld {
			return l, err
		}
		if l.Shim != nil {
			_ = proc.Await(ctx, l.Shim.ShimIdentity()) // only a hint: the lock decides
			if l, err := Probe(runDir); err != nil || l.Life != LifeHeld {
				return l, err
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return l, ctx.Err()
		case <-timer.C:
		}
		wait = min(2*wait, time.Second)
	}
}

// HoldLock makes sure that the open file holds the lock on spec.json. A shim calls it for the descriptor that it was
// given, which shares the lock of the daemon that opened it; it fails when another process holds the lock.
func HoldLock(f *os.File) error {
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", SpecName, err)
	}
	return nil
}
