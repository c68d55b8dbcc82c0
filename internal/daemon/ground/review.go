package ground

import (
	"context"
	"encoding/json"
	"path/filepath"

	"scv/internal/repo"
	"scv/internal/repo/work"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Record commits what the builder of a reviewed job left, for its reviewers.
func (g *Ground) Record(ctx context.Context, j row.Job, round uint32) (work.Record, error) {
	s, err := g.Work.Spot(ctx, j.Worktree, j.Cwd, j.Base)
	if err != nil {
		return work.Record{}, err
	}
	return work.Recorder{Bench: g.Work}.Record(ctx, s, round)
}

// Landed asks git about a landing that the builder of a reviewed job reports.
func (g *Ground) Landed(ctx context.Context, j row.Job, r *wire.LandingReport, approved string) (yes, known bool, words string) {
	s, err := g.Work.Spot(ctx, j.Worktree, j.Cwd, j.Base)
	if err != nil {
		return false, false, "git cannot tell: " + err.Error()
	}
	return work.Recorder{Bench: g.Work}.Landed(ctx, s, r.Ref, r.Commits, approved)
}

// ReviewTree plans the worktree of a reviewer: at the commit that it is to read, from the checkout that the builder's
// worktree comes from, whose plan is given.
func (g *Ground) ReviewTree(ctx context.Context, builder, agent string, of wire.JobID, head string) (*row.Tree, error) {
	var in repo.Intent
	if err := json.Unmarshal([]byte(builder), &in); err != nil {
		return nil, wire.Refuse(wire.ReasonRefused, "start the job again", "the plan of the builder's worktree cannot be read: %v.", err)
	}
	return g.Plan(ctx, repo.Wish{Cwd: filepath.Join(in.Repo, in.Sub), Agent: agent, Task: "review " + string(of), Base: head})
}

// ForkTree plans a worktree that begins with all that another one has, committed or not; once that one is removed, with
// its branch. The plan of the other one is given.
func (g *Ground) ForkTree(ctx context.Context, plan string, j row.Job, agent, task string) (*row.Tree, error) {
	var in repo.Intent
	if err := json.Unmarshal([]byte(plan), &in); err != nil {
		return nil, wire.Refuse(wire.ReasonRefused, "go on in the same place: --share", "the plan of its worktree cannot be read: %v.", err)
	}
	base := in.Branch
	if s, err := g.Work.Spot(ctx, j.Worktree, j.Cwd, j.Base); err == nil {
		if base, err = (work.Recorder{Bench: g.Work}).Whole(ctx, s); err != nil {
			return nil, err
		}
	}
	return g.Plan(ctx, repo.Wish{Cwd: filepath.Join(in.Repo, in.Sub), Agent: agent, Task: task, Base: base})
}

// Touched tells what a reviewer changed in its worktree; empty for nothing, or where it cannot be told.
func (g *Ground) Touched(ctx context.Context, j row.Job) string {
	s, err := g.Work.Spot(ctx, j.Worktree, j.Cwd, j.Base)
	if err != nil {
		return ""
	}
	n, err := work.Recorder{Bench: g.Work}.Touched(ctx, s)
	if err != nil || n == 0 {
		return ""
	}
	return plain.Count(n, "file") + " changed in its own worktree, which nobody takes over"
}

// Sweep removes the worktree of a reviewer that is done, with its branch, if nothing was left in it.
func (g *Ground) Sweep(ctx context.Context, j row.Job) error {
	if _, err := g.Trees.Ways().Open(j.Worktree.Path); err != nil {
		return nil //nolint:nilerr // it is gone already, or was never made
	}
	_, err := g.Trees.Remove(ctx, j.Worktree.Path, repo.Removal{Branch: true})
	return err
}
