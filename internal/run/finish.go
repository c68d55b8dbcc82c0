package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"scv/internal/agent"
	"scv/internal/failpoint"
	"scv/internal/run/control"
	"scv/internal/run/fold"
	"scv/internal/run/proc"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

const (
	lostDetail   = "the process that held the agent is gone and left no record of its end; what it did until then is in the log"
	spoiltDetail = "the record of its end is damaged, and so is not known; what it did until then is in the log"
	cutDetail    = "SCV ended while it was starting this; nothing was run"
)

// A farewell is a run whose lock is free.
type farewell struct{ *run }

// finish sees a run out whose lock is free: the rest of the spool, the end of the log, the last word to the hub, and
// then nothing raw is left.
func (r farewell) finish(ctx context.Context, life control.Liveness) error {
	if life.Life != control.LifeEnded {
		if err := r.sweep(ctx, life); err != nil {
			return err
		}
	}
	if err := r.advance(ctx); err != nil {
		return err
	}
	end := fold.Finish{At: r.c.Now(), Lost: lostDetail}
	_, seq := r.fold.Read()
	if x := life.Exit; x != nil {
		end.At, end.Exit = x.At, &agent.Exit{Code: x.Code, Signal: x.Signal, OOM: x.OOM}
	} else if seq == 0 && r.untouched(life) {
		end.Lost = cutDetail
	} else if strings.Contains(life.Damage, control.ExitName) {
		end.Lost = spoiltDetail
	}
	k := keeper{run: r.run}
	for _, item := range r.lastItems(end, seq) {
		if s := item.Step; s != nil && s.End != nil {
			s.End.Untouched = end.Lost == cutDetail
		}
		k.take(item)
	}
	if err := k.done(); err != nil {
		return err
	}
	if err := r.events.Sync(); err != nil {
		return err
	}
	r.tell()
	// What came of the spool is asked for before the end is told: it goes along with the end of the turn then, and
	// needs no commit of its own. The end itself is found again without a spool.
	stored := r.stored(r.c.Timing.Dial)
	last := r.ending(end)
	r.report(last)
	r.c.Terminals.Close(r.h, last.Detail)
	r.c.Ground.Leave(r.last, r.o)
	if stored || r.stored(0) {
		r.clean()
	}
	return nil
}

// lastItems are the records and steps of the end. When log or ledger know more than the spool they come behind that, and
// what the log holds already is not said there again.
func (r farewell) lastItems(end fold.Finish, seq uint64) []fold.Item {
	at, last := r.events.Last()
	end.After = max(at.Frame, r.o.Run.Pos.Frame)
	items := r.fold.Finish(end)
	if at.Frame <= seq+1 {
		return items
	}
	return slices.DeleteFunc(items, func(i fold.Item) bool {
		if i.Event == nil {
			return false
		}
		kind := i.Event.Kind
		return kind == wire.EventRunStarted || kind == wire.EventTurnStarted || kind == wire.EventTurnEnded && last == kind
	})
}

// untouched reports whether nothing speaks for it that the agent was started: this daemon did not say go, and the shim
// wrote no record of it. An agent may end its shim before a word of it is in the spool. After another start of the
// machine nothing is known: neither record nor word need have come to the disk.
func (r farewell) untouched(life control.Liveness) bool {
	if r.launched || life.Life == control.LifeBroken || life.Spec == nil && life.Life != control.LifeNone {
		return false
	}
	boot, err := proc.BootID()
	if err != nil || life.Spec != nil && life.Spec.Boot != boot {
		return false
	}
	_, err = control.ReadShim(r.dir)
	return errors.Is(err, fs.ErrNotExist)
}

// stored waits until all that was reported is on disk; for at most the given time when that is not 0.
func (r farewell) stored(most time.Duration) bool {
	if r.c.Saved == nil {
		return false
	}
	ctx := r.last
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	err := r.c.Saved(ctx, r.h)
	if err != nil {
		r.log.Warn("a run's spool is kept: what came of it is not stored yet", "error", err)
	}
	return err == nil
}

// ending is what the hub is told of a run's end.
func (r farewell) ending(end fold.Finish) row.Life {
	status := r.fold.Status(end)
	switch {
	case status != "lost" && end.Exit != nil && r.o.Run.Terminal != nil:
		return row.Life{Kind: row.LifeEnded, Status: status, Detail: takeover(r).exitWords(*end.Exit)}
	case status != "lost" && end.Exit != nil:
		return row.Life{Kind: row.LifeEnded, Status: status, Detail: exitSentence(*end.Exit), Given: r.fold.Given()}
	case status != "lost":
		return row.Life{Kind: row.LifeEnded, Status: status, Detail: "its agent has ended, and so has its shim, without a last record"}
	case end.Lost == cutDetail:
		return row.Life{Kind: row.LifeNotStarted, Class: string(agent.ClassLost), Detail: end.Lost}
	}
	return row.Life{Kind: row.LifeLost, Status: status, Class: string(agent.ClassLost), Detail: end.Lost}
}

func exitSentence(x agent.Exit) string {
	switch {
	case x.OOM:
		return "the agent was ended because memory ran out"
	case x.Signal != "":
		return "the agent was ended by " + x.Signal
	}
	return fmt.Sprintf("the agent left with exit code %d and did not say how its turn ended", x.Code)
}

// sweep ends what a shim that died may have left behind. After another start of the machine there is nothing.
func (r farewell) sweep(ctx context.Context, life control.Liveness) error {
	boot, err := proc.BootID()
	if err != nil {
		return err
	}
	if life.Life == control.LifeNone || life.Spec != nil && life.Spec.Boot != boot {
		return nil
	}
	killed, err := proc.KillMarked(ctx.Done(), control.MarkerName, string(r.h), r.stranger)
	if err != nil {
		return fmt.Errorf("end what the lost run left behind: %w", err)
	}
	if len(killed) > 0 {
		r.log.Warn("processes of a lost run were ended", "count", len(killed))
	}
	return nil
}

// stranger reports whether a process that carries the handle belongs to a run of another home: handles are unique in
// one home only.
func (r farewell) stranger(p proc.Process) bool {
	chain, found, err := proc.Environment(p.PID, "SCV_PARENT")
	return err == nil && found && !strings.Contains(chain, r.c.Home.Instance()+"/")
}

// clean removes the raw text: all that came of it is stored.
func (r farewell) clean() {
	remove := func() error { return r.root.RemoveAll(control.SpoolName) }
	if err := failpoint.Do(failpoint.SpoolRemove, remove); err != nil {
		r.log.Warn("a run's spool was not removed", "error", err)
	}
}

// A vigil is kept for a run that this build cannot read.
type vigil struct{ *run }

// watchBlindly keeps a run that this build cannot read: it is unknown, it can be stopped, and its end is seen.
func (r vigil) watchBlindly(ctx context.Context, why error) {
	r.unreachable(sentence(why))
	wait := retry{most: r.c.Timing.Backoff}
	for ctx.Err() == nil {
		life, err := control.Probe(r.dir)
		over := false
		if err == nil && life.Life != control.LifeHeld {
			over, err = doubt(r).reached(ctx, life)
			r.hangUp()
		}
		if over && err == nil {
			if life.Life != control.LifeEnded {
				err = farewell(r).sweep(ctx, life)
			}
			if err == nil {
				r.report(row.Life{
					Kind: row.LifeLost, Status: "lost", Class: string(agent.ClassLost),
					Detail: "it has ended, and what it said cannot be read: " + sentence(why),
				})
				r.c.Terminals.Close(r.h, "it has ended, and nobody can tell how")
				return
			}
			r.log.Warn("what a lost run left behind was not ended", "error", err)
		}
		if w := r.c.Hub.Wishes(r.h); w.Stop || w.Cancel != 0 {
			if err := r.reach(ctx); err == nil {
				_ = r.stop(ctx) // asked again at the next wake
				r.hangUp()
			}
		}
		if err == nil && life.Life == control.LifeHeld {
			r.untilWokenOrGone(ctx)
		} else {
			wait.pause(ctx)
		}
	}
}

func (r vigil) untilWokenOrGone(ctx context.Context) {
	bounded, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(gone)
		if _, err := control.AwaitGone(bounded, r.dir); err != nil {
			<-bounded.Done()
		}
	})
	select {
	case <-ctx.Done():
	case <-r.wake:
	case <-gone:
	}
	cancel()
	wg.Wait()
}
