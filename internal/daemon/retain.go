package daemon

import (
	"context"
	"log/slog"
	"time"

	"scv/internal/home"
	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// retainEvery is the least time between two looks for what has become old.
const retainEvery = 24 * time.Hour

// A journal is the ledger as the hub writes it; ended gets a value when a job has ended, and rest is put off by each write.
type journal struct {
	*archive
	ended chan struct{}
	rest  *time.Timer
}

// archive is the ledger under a name that leaves Store free.
type archive = ledger.Store

// Store stores a batch.
func (j journal) Store(ctx context.Context, b row.Batch) error {
	err := j.archive.Store(ctx, b)
	j.rest.Reset(restAfter)
	for i := range b.Jobs {
		if err == nil && b.Jobs[i].State.Final() {
			select {
			case j.ended <- struct{}{}:
			default:
			}
			break
		}
	}
	return err
}

// A retainer lets jobs go that ended long ago, with the directories of their runs, and sessions of the model loop. It looks
// once after a start, when that is over, and then at the end of a job, at most daily: it has no clock of its own that ticks.
type retainer struct {
	home  *home.Home
	store *ledger.Store
	hub   *hub.Hub
	log   *slog.Logger
	now   func() time.Time
	keep  func() time.Duration // as the settings say now; 0: for ever
}

// run looks when the start is over, and whenever a job has ended and the last look is a day old, until ctx ends.
func (r retainer) run(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(settleAfter / 2): // the first requests come first
	}
	for {
		last := r.now()
		if keep := r.keep(); keep > 0 {
			r.look(ctx, last.Add(-keep))
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-ended:
			}
			if r.now().Sub(last) >= retainEvery {
				break
			}
		}
	}
}

// look lets go what was over before a time.
func (r retainer) look(ctx context.Context, before time.Time) {
	if n, err := r.pass(ctx, before); err != nil && ctx.Err() == nil {
		r.log.Warn("old jobs could not be removed", "error", err)
	} else if n > 0 {
		r.log.Info("old jobs were removed", "jobs", n)
	}
	if n, err := ledger.TalksOf(r.store).RetireTalks(ctx, uint64(max(before.Unix(), 0))); err != nil && ctx.Err() == nil {
		r.log.Warn("old sessions could not be removed", "error", err)
	} else if n > 0 {
		r.log.Info("old sessions were removed", "sessions", n)
	}
}

// pass removes all that is old. The directory of a run goes first: rows without one are found again, a directory without
// rows is not.
func (r retainer) pass(ctx context.Context, before time.Time) (n int, err error) {
	for after := uint64(0); ; {
		l, next, err := ledger.LeavingOf(ctx, r.store, before, after)
		if err != nil {
			return n, err
		}
		runs := l.Runs[:0:0]
		for _, h := range l.Runs {
			if life, err := control.Probe(r.home.RunDir(h)); err == nil && life.Life != control.LifeHeld {
				if err := r.home.Root().RemoveAll("runs/" + string(h)); err != nil {
					return n, err
				}
				runs = append(runs, h)
			}
		}
		l.Runs = runs
		if len(l.Jobs) > 0 {
			if !r.hub.Jobs().Retire(ids(l.Jobs), l.Runs) {
				return n, nil // the next look finds them
			}
			if err := ledger.Retire(ctx, r.store, l); err != nil {
				return n, err
			}
		}
		n += len(l.Jobs)
		if next == 0 {
			return n, nil
		}
		after = next
	}
}

func ids(jobs []row.Job) []wire.JobID {
	out := make([]wire.JobID, 0, len(jobs))
	for i := range jobs {
		out = append(out, jobs[i].Job.Job)
	}
	return out
}
