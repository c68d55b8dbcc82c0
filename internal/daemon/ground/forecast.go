package ground

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"scv/internal/repo/work"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

const (
	// forecastTime bounds one forecast.
	forecastTime = time.Minute
	// castFiles bounds how many files of a conflict are named.
	castFiles = 50
)

// A cast keeps what was found out for forecasts, so that only what has changed since is asked of git.
type cast struct {
	mu    sync.Mutex
	works map[string]*looked // by path of the worktree
	pairs map[[2]string][]string
}

// looked is one work as it was last seen.
type looked struct {
	tip  string // what it stood at
	work work.Branch
	base []string // files in conflict with what it started from
	note string
}

// Forecast tells which works would conflict, with all that changed since the last one looked at.
func (g *Ground) Forecast(ctx context.Context) (wire.Forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, forecastTime)
	defer cancel()
	f, err := g.cast.make(ctx, g, "")
	if err == nil {
		g.Hub().Jobs().Foretell(f)
	}
	return f, err
}

// make makes a forecast. With a path only that worktree is looked at anew; the others are taken as they were last seen,
// unless they were never.
func (c *cast) make(ctx context.Context, g *Ground, only string) (wire.Forecast, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	jobs := newest(g.Hub().Snapshot().Jobs)
	maps.DeleteFunc(c.works, func(path string, _ *looked) bool { return jobs[path] == nil })
	trial := g.Work.Trial()
	for path, job := range jobs {
		if old := c.works[path]; old != nil && only != "" && path != only {
			continue
		}
		if ctx.Err() != nil {
			return wire.Forecast{}, context.Cause(ctx)
		}
		c.look(ctx, g.Work, trial, job, only == "")
	}
	c.meet(ctx, trial)
	return c.tell(jobs, g.Now()), nil
}

// newest is the newest job of each worktree.
func newest(jobs []wire.Job) map[string]*wire.Job {
	all := map[string]*wire.Job{}
	for i := range jobs {
		j := &jobs[i]
		if j.Worktree != nil && (all[j.Worktree.Path] == nil || all[j.Worktree.Path].Job.Number() < j.Job.Number()) {
			all[j.Worktree.Path] = j
		}
	}
	return all
}

// look brings what is known of a work up to date; what is not committed there is only looked at anew where it is asked
// for, or something else changed.
func (c *cast) look(ctx context.Context, b *work.Bench, t work.Trial, job *wire.Job, loose bool) {
	path := job.Worktree.Path
	tip, err := b.Tip(ctx, *job.Worktree)
	old := c.works[path]
	if err == nil && old != nil && old.tip == tip && old.note == "" {
		old.work.Loose, err = c.loose(ctx, b, job, loose)
		old.note = note(err)
		return
	}
	seen := &looked{tip: tip}
	if err == nil {
		seen.work, err = b.Branch(ctx, *job.Worktree)
	}
	if err == nil {
		seen.base, err = t.Conflicts(ctx, seen.work)
	}
	if err == nil {
		seen.work.Loose, err = c.loose(ctx, b, job, loose)
	}
	seen.note = note(err)
	c.works[path] = seen
}

// loose counts what is not committed. At the end of a turn its facts have that already.
func (c *cast) loose(ctx context.Context, b *work.Bench, job *wire.Job, look bool) (int, error) {
	if !look && job.Facts != nil && job.Facts.Problem == nil {
		return int(job.Facts.Uncommitted), nil
	}
	return b.Loose(ctx, *job.Worktree)
}

func note(err error) string {
	if err == nil {
		return ""
	}
	return plain.Line(err.Error())
}

// meet tries each pair of works of one repository whose files meet, once for each two commits.
func (c *cast) meet(ctx context.Context, t work.Trial) {
	used := map[[2]string][]string{}
	all := slices.Sorted(maps.Keys(c.works))
	for i, one := range all {
		for _, other := range all[i+1:] {
			x, y := c.works[one], c.works[other]
			if x.note+y.note != "" || !x.work.Meets(y.work) {
				continue
			}
			key := [2]string{x.work.Head, y.work.Head}
			files, ok := c.pairs[key]
			if !ok {
				var err error
				if files, err = t.Meet(ctx, x.work, y.work); err != nil {
					x.note = note(err)
					continue
				}
			}
			used[key] = files
		}
	}
	c.pairs = used
}

// tell writes the forecast, in the order to land the works in.
func (c *cast) tell(jobs map[string]*wire.Job, now time.Time) wire.Forecast {
	f := wire.Forecast{UnixSeconds: uint64(max(now.Unix(), 0))}
	against := map[string][]string{} // by path: the paths that it conflicts with
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(c.works)) {
		if w := c.works[path]; len(w.work.Files) > 0 || w.work.Loose > 0 {
			paths = append(paths, path)
		}
	}
	for i, one := range paths {
		for _, other := range paths[i+1:] {
			files := c.pairs[[2]string{c.works[one].work.Head, c.works[other].work.Head}]
			if len(files) == 0 {
				continue
			}
			against[one], against[other] = append(against[one], other), append(against[other], one)
			f.Conflicts = append(f.Conflicts, wire.ForecastConflict{One: jobs[one].Ref(), Other: jobs[other].Ref(), Files: files[:min(len(files), castFiles)]})
		}
	}
	for _, path := range c.order(paths, against) {
		w := c.works[path]
		f.Branches = append(f.Branches, wire.ForecastBranch{
			Job: jobs[path].Ref(), Repo: w.work.Repo, Branch: w.work.Name, Files: uint32(len(w.work.Files)), Loose: uint32(w.work.Loose),
			Base: w.base[:min(len(w.base), castFiles)], Onto: w.work.Onto, Note: text(w.note),
		})
	}
	return f
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// order puts first the works that can land one after the other without a conflict, as many as a simple choice finds:
// always the one with the fewest conflicts left, which puts those it conflicts with behind. What conflicts with its own
// base comes last.
func (c *cast) order(paths []string, against map[string][]string) []string {
	var clean, behind []string
	rest := slices.Clone(paths)
	left := func(p string) (n int) {
		for _, q := range against[p] {
			if slices.Contains(rest, q) {
				n++
			}
		}
		return n
	}
	rest = slices.DeleteFunc(rest, func(p string) bool {
		if len(c.works[p].base) > 0 {
			behind = append(behind, p)
			return true
		}
		return false
	})
	for len(rest) > 0 {
		best := slices.MinFunc(rest, func(a, b string) int { return cmp.Or(cmp.Compare(left(a), left(b)), cmp.Compare(a, b)) })
		clean = append(clean, best)
		rest = slices.DeleteFunc(rest, func(p string) bool {
			if p != best && slices.Contains(against[best], p) {
				behind = append(behind, p)
				return true
			}
			return p == best
		})
	}
	slices.SortStableFunc(behind, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(c.works[a].base), len(c.works[b].base)), cmp.Compare(len(against[a]), len(against[b])), cmp.Compare(a, b))
	})
	return append(clean, behind...)
}
