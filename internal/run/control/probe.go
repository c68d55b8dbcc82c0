package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
// there is nil.
type Liveness struct {
	Life Life
	Spec *Spec
	Shim *Shim
	Exit *Exit
}

// Probe tells whether the run in runDir lives. It asks the lock and never a process number, takes the lock for an
// instant in shared mode (which disturbs neither another Probe nor a start), and changes nothing. An error means
// that it is not known, and no caller may take it for an end. Spec and Shim are nil as well when a crash of the machine
// took their content.
func Probe(runDir string) (Liveness, error) {
	held, err := lockHeld(filepath.Join(runDir, SpecName))
	if errors.Is(err, fs.ErrNotExist) {
		return Liveness{Life: LifeNone}, nil
	}
	if err != nil {
		return Liveness{}, fmt.Errorf("probe run: %w", err)
	}
	var l Liveness
	var errs [3]error
	var shim bool
	l.Spec, _, errs[0] = unflushed(ReadSpec(runDir))
	l.Shim, shim, errs[1] = unflushed(ReadShim(runDir))
	if l.Exit, errs[2] = ReadExit(runDir); errors.Is(errs[2], fs.ErrNotExist) {
		errs[2] = nil
	}
	switch {
	case held:
		l.Life = LifeHeld
		return l, nil // what cannot be read does not make a held lock unknown
	case l.Exit != nil:
		l.Life = LifeEnded
		return l, nil // nothing of the run is left, whatever its other records say
	case shim:
		l.Life = LifeBroken
	default:
		l.Life = LifeNotStarted
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Liveness{}, fmt.Errorf("probe run: %w", err)
	}
	return l, nil
}

// unflushed takes a record that is not flushed when it is written: a crash of the machine may leave its name without its
// content, which is as good as none. Of a record that is flushed, damage is an error.
func unflushed[T any](v *T, err error) (_ *T, there bool, _ error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case errors.Is(err, errDamaged):
		return nil, true, nil
	}
	return v, err == nil, err
}

func lockHeld(path string) (held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
