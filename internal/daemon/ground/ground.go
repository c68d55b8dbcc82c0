// Package ground is the repository that runs work in, as the daemon sees it: it makes the worktree of a conversation
// before its first agent starts, keeps what each turn began on, and when a turn has ended says what git and exit codes
// tell of it. Package daemon owns the one Ground of a home. What git is asked is in the rooms of internal/repo; what is
// kept is kept by the hub.
//
// Loss: a worktree is never removed here. What a crash left half-made is taken back, since no agent was in it; all else
// is told.
package ground

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"scv/internal/home"
	"scv/internal/repo"
	"scv/internal/repo/work"
	"scv/internal/run/proc"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// Config is what a Ground is made of; all fields are required.
type Config struct {
	Home    *home.Home
	Environ []string                // of this process; git gets a few of it
	Random  func(digits int) string // lower-case hex
	// Variables are what an agent of this process inherits, without any credential; a set-up script gets them.
	Variables func() []string
	Room      func() repo.Room // as the settings say now
	// Caches are variables that name a folder which all worktrees share, as they are configured now.
	Caches func() []string
	Hub    func() *hub.Hub
	Log    *slog.Logger
	Now    func() time.Time
}

// A Ground serves runs and the server. All its methods may be called from any goroutine.
type Ground struct {
	Config
	Trees *repo.Trees
	Work  *work.Bench
	cast  cast
	trust sync.Mutex // of the file that says which set-up scripts are trusted
}

// New returns the ground of a home. It touches nothing. Without the id of the machine's boot, locks of an earlier start
// of the machine stay.
func New(c Config) *Ground {
	boot, err := proc.BootID()
	if err != nil {
		c.Log.Warn("the machine's boot id cannot be read", "error", err)
	}
	trees := repo.New(repo.Options{Home: c.Home, Environ: c.Environ, Random: c.Random, Now: c.Now, Boot: boot})
	return &Ground{Config: c, Trees: trees, Work: work.New(trees), cast: cast{works: map[string]*looked{}}}
}

// Plans are the worktrees that the ledger knows of.
func Plans(l row.Loaded) (plans []string) {
	for i := range l.Conversations {
		if p := l.Conversations[i].Plan; p != "" {
			plans = append(plans, p)
		}
	}
	return plans
}

// Plan decides about the worktree of a job that is asked for, and makes nothing. Refusals are *wire.Error.
func (g *Ground) Plan(ctx context.Context, w repo.Wish) (*row.Tree, error) {
	err := g.Trees.Ways().Enough(g.Room(), func() (uint64, error) {
		list, err := g.Trees.List(ctx)
		sum := int64(0)
		for _, t := range list {
			sum += t.Tracked + t.Ignored
		}
		return uint64(sum), err
	})
	if err != nil {
		return nil, err
	}
	in, err := g.Trees.Plan(ctx, w)
	if err != nil {
		return nil, err
	}
	plan, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return &row.Tree{Ref: in.Ref(), Cwd: in.Cwd(), Base: in.Commit, Plan: string(plan)}, nil
}

// Prepare makes the worktree of an order's conversation, or takes hold of it. It may be asked again after a crash.
func (g *Ground) Prepare(ctx context.Context, o row.Order) ([]string, error) {
	c := o.Conversation
	if c.Plan == "" {
		return nil, nil
	}
	var in repo.Intent
	if err := json.Unmarshal([]byte(c.Plan), &in); err != nil {
		return nil, wire.Refuse(wire.ReasonRefused, "start the job again", "the plan of its worktree cannot be read: %v.", err)
	}
	made, err := g.Trees.Create(ctx, in)
	if err == nil && !made.Fresh {
		err = g.Trees.Hold(ctx, in.Path)
	}
	if err == nil && made.Cwd != c.Cwd {
		err = wire.Refuse(wire.ReasonRefused, "start it in the top directory of the repository", "the worktree has no directory %s.", c.Cwd)
	}
	notes := made.Notes
	if err == nil {
		var left string
		if left, err = g.setUp(ctx, o, in); left != "" {
			notes = append(notes, left)
		}
	}
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Reason == wire.ReasonNotFound { // which would mean the agent's program
		err = wire.Refuse(wire.ReasonRefused, e.Hint, "%s", e.Message)
	}
	return notes, err
}

// Leave lets go of a worktree, so that its owner's git may move it.
func (g *Ground) Leave(ctx context.Context, o row.Order) {
	if o.Conversation.Plan == "" {
		return
	}
	err := g.Trees.Release(ctx, o.Conversation.Worktree.Path)
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Reason == wire.ReasonNotFound {
		return // it was never made, or is removed
	}
	if err != nil {
		g.Log.Warn("a worktree stays locked", "path", o.Conversation.Worktree.Path, "error", err)
	}
}

// Settle looks, once after a start, what does not fit between the ledger and the disk. What was half-made is taken back,
// locks of before the machine's start are undone, and all else is only told. Nothing is removed.
func (g *Ground) Settle(ctx context.Context, plans []string) {
	var intents []repo.Intent
	for _, p := range plans {
		var in repo.Intent
		if json.Unmarshal([]byte(p), &in) == nil {
			intents = append(intents, in)
		}
	}
	found, err := g.Trees.Reconcile(ctx, intents)
	if err != nil {
		g.Log.Warn("the worktrees were not looked through", "error", err)
		return
	}
	for _, f := range found {
		var err error
		switch {
		case f.Kind == repo.HalfMade && f.Intent != nil:
			err = g.Trees.Undo(ctx, *f.Intent)
		case f.Kind == repo.HeldBefore:
			err = g.Trees.Release(ctx, f.Path)
		case f.Kind == repo.NeverBegun, f.Kind == repo.Unlisted: // a queued job's; one whose jobs are old
			continue
		}
		g.Log.Info("a worktree does not fit", "path", f.Path, "kind", string(f.Kind), "what", f.Text, "error", err)
	}
	g.unlock(ctx, intents)
}

// unlock lets go of the worktrees that a daemon held which died between the end of a run and its last step. One whose
// run may live is let go of at that run's end.
func (g *Ground) unlock(ctx context.Context, intents []repo.Intent) {
	for _, in := range intents {
		held := slices.ContainsFunc(g.Hub().Snapshot().Runs, func(r wire.Run) bool { return r.Live && r.Cwd == in.Cwd() })
		if _, err := g.Trees.Ways().Open(in.Path); held || err != nil {
			continue
		}
		if err := g.Trees.Release(ctx, in.Path); err != nil {
			g.Log.Warn("a worktree stays locked", "path", in.Path, "error", err)
		}
	}
}
