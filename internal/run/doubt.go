package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"scv/internal/run/control"
	"scv/internal/run/proc"
)

// A doubt is a run of which the lock alone does not tell enough: its shim may not answer, or not sensibly; somebody may
// have put another file in the place of spec.json; or the home came here from another machine.
type doubt struct{ *run }

// reached makes the link to a run's shim. It reports that the run is surely over, or returns why neither is known: then
// nothing of it may be touched.
func (r doubt) reached(ctx context.Context, life control.Liveness) (over bool, err error) {
	switch life.Life {
	case control.LifeEnded:
		return true, nil
	case control.LifeHeld:
		if err = r.odd; err == nil {
			err = r.reach(ctx)
		}
	case control.LifeNone, control.LifeBroken, control.LifeNotStarted:
		if r.elsewhere(life) {
			return true, r.awaitGivenUp(ctx, life)
		}
		bounded, cancel := context.WithTimeout(ctx, r.c.Timing.Dial)
		defer cancel()
		if r.link, err = control.Answers(bounded, life, string(r.h), r.c.Home.CtlSocket(r.h)); err == nil && r.link == nil {
			return true, nil
		}
	}
	if err != nil {
		r.summon(life, err)
		r.endUnheard(life, err)
		return false, err
	}
	r.found(life)
	return false, nil
}

// lost reports whether a shim lives and cannot be reached since its socket was removed, or something else was put there.
func lost(life control.Liveness, err error) bool {
	return life.Life == control.LifeHeld && control.NobodyListens(err)
}

// summon has a shim whose socket is gone make it anew; the next try then finds it.
func (r doubt) summon(life control.Liveness, err error) {
	if !lost(life, err) || life.Shim == nil {
		return
	}
	if err := control.Summon(life.Shim); err != nil && !errors.Is(err, proc.ErrGone) {
		r.log.Warn("a shim whose socket is gone was not told to make it anew", "error", err)
		return
	}
	r.summoned++
}

// sentence is what is said of a run that is not reached.
func (r doubt) sentence(life control.Liveness, err error) string {
	_, newer := errors.AsType[*control.NewerError](err)
	socket := r.c.Home.CtlSocket(r.h)
	if at, statErr := os.Lstat(socket); lost(life, err) && statErr == nil && at.IsDir() {
		return fmt.Sprintf("its shim lives, and where its socket was there is a folder, %s, which is not removed; move it away, "+
			"and the run is found again", socket)
	}
	switch {
	case lost(life, err) && life.Shim == nil:
		return fmt.Sprintf("its shim lives and its socket %s is gone, and %s, by which it would be told to make that anew, is "+
			"missing or damaged; its end will be seen", socket, control.ShimName)
	case lost(life, err):
		return fmt.Sprintf("its shim lives and its socket %s is gone; it was told to make that anew, which one of an earlier "+
			"release does not; its end will be seen; to end it: scv agents kill %s", socket, r.h)
	case life.Life != control.LifeHeld:
		return err.Error()
	case newer && life.Spec != nil && life.Spec.Binary != "":
		return fmt.Sprintf("%v; scv %s started it, and can go on with it", err, life.Spec.Binary)
	case newer, errors.Is(err, control.ErrNonsense):
		return fmt.Sprintf("%v; it is asked nothing more, and its end will be seen; to end it: scv agents kill %s", err, r.h)
	}
	return "its shim holds the lock and does not answer: " + err.Error()
}

// endUnheard ends a run whose owner wants that and whose shim is not understood, or does not come back to its socket:
// SIGTERM to a shim is an order to stop.
func (r doubt) endUnheard(life control.Liveness, err error) {
	_, newer := errors.AsType[*control.NewerError](err)
	deaf := lost(life, err) && r.summoned > patience
	w := r.c.Hub.Wishes(r.h)
	if life.Shim == nil || !newer && !deaf && !errors.Is(err, control.ErrNonsense) || !w.Stop && w.Cancel == 0 {
		return
	}
	if err := proc.Signal(life.Shim.ShimIdentity(), syscall.SIGTERM); err != nil && !errors.Is(err, proc.ErrGone) {
		r.log.Warn("a shim that is not understood was not told to stop", "error", err)
	}
}

// elsewhere reports whether a run was started on another machine, from which this home was copied or moved: a lock says
// nothing of it then. Within one start of a system the lock tells, whatever the machine calls itself.
func (r doubt) elsewhere(life control.Liveness) bool {
	here := proc.MachineID()
	if life.Spec == nil || life.Spec.Machine == "" || here == "" || life.Spec.Machine == here {
		return false
	}
	boot, err := proc.BootID()
	return err == nil && boot != life.Spec.Boot
}

// awaitGivenUp keeps a run of another machine as unknown until its owner gives it up, since nothing else will be learnt
// of it here.
func (r doubt) awaitGivenUp(ctx context.Context, life control.Liveness) error {
	if r.reader != nil { // and its spool can be read
		if err := r.advance(ctx); err != nil {
			return err
		}
	}
	host := "another machine"
	if life.Spec.Host != "" {
		host = "the machine " + life.Spec.Host
	}
	r.unreachable(fmt.Sprintf("it was started on %s, from which this home was copied or moved, and may run there still; "+
		"when it does not, or is not wanted here: scv agents kill %s", host, r.h))
	for {
		if w := r.c.Hub.Wishes(r.h); w.Stop || w.Cancel != 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
		}
	}
}
