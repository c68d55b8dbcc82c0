package ground

import (
	"context"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Run follows the workbench until ctx ends: of each job that ended on ground that is known, the facts are told, and when
// it worked in a worktree, what would conflict. It does nothing while nothing ends.
func (g *Ground) Run(ctx context.Context) {
	w := g.Hub().Watch()
	defer w.Close()
	epoch, after := "", uint64(0)
	for {
		delta, _, gen := w.Next(epoch, after)
		epoch, after = g.Hub().Epoch(), gen
		for i := range delta.Jobs {
			if ctx.Err() != nil {
				return
			}
			g.ended(ctx, &delta.Jobs[i])
		}
		select {
		case <-ctx.Done():
			return
		case <-w.Wake():
		}
	}
}

// factsTime bounds how long Facts waits.
const factsTime = 3 * time.Second

// Facts is what is known of a job that has ended. While it is being told it is waited for, for at most 3 s; nil where
// nothing is known.
func (g *Ground) Facts(ctx context.Context, job row.Job) *wire.JobFacts {
	if !job.State.Final() || job.Facts != nil || job.Base == nil || job.Ground == nil || job.Untouched {
		return job.Facts
	}
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	w := g.Hub().Watch()
	defer w.Close()
	for {
		now, ok := g.Hub().Jobs().Find(job.Session, job.Job.Job)
		if !ok || now.Facts != nil {
			return now.Facts
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.Wake():
		}
	}
}

// ended looks at a job that changed, and once at each that has ended.
func (g *Ground) ended(ctx context.Context, j *wire.Job) {
	if !j.State.Final() || j.Facts != nil || j.Base == nil {
		return
	}
	full, ok := g.Hub().Jobs().Find(j.Session, j.Job)
	if !ok || full.Ground == nil || full.Facts != nil || full.Untouched {
		return
	}
	g.prove(ctx, full)
	if j.Worktree != nil {
		g.foretell(ctx, full)
	}
}

// foretell makes the forecast anew after a turn in a worktree.
func (g *Ground) foretell(ctx context.Context, j row.Job) {
	ctx, cancel := context.WithTimeout(ctx, forecastTime)
	defer cancel()
	f, err := g.cast.make(ctx, g, j.Worktree.Path)
	if err != nil {
		g.Log.Warn("no forecast was made", "error", err)
		return
	}
	g.Hub().Jobs().Foretell(f)
}
