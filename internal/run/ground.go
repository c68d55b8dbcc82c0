package run

import (
	"context"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Ground is the repository that runs work in. It is called by the goroutine of a run, and by several at once.
type Ground interface {
	// Prepare makes the worktree of an order's conversation, or takes hold of the one that was made. What could not be
	// brought along is a sentence each; an error, a *wire.Error where a person can do something, says that there is none.
	Prepare(ctx context.Context, o row.Order) (notes []string, err error)
	// Begin looks at what a turn begins on, before its prompt is given. It never fails a turn.
	Begin(ctx context.Context, o row.Order, job wire.JobID, cwd string)
	// Caches are variables, with their values, that the agent gets beside its own, which win.
	Caches(o row.Order) map[string]string
	// Leave lets go of a worktree after the process in it has ended.
	Leave(ctx context.Context, o row.Order)
}

// noGround is that of a launcher which knows no repositories.
type noGround struct{}

func (noGround) Prepare(context.Context, row.Order) ([]string, error) { return nil, nil }
func (noGround) Begin(context.Context, row.Order, wire.JobID, string) {}
func (noGround) Caches(row.Order) map[string]string                   { return nil }
func (noGround) Leave(context.Context, row.Order)                     {}

// ready sees to the ground of a run that starts, and returns what is to be remarked.
func (r beginning) ready(ctx context.Context, w row.TurnWish) (string, error) {
	notes, err := r.c.Ground.Prepare(ctx, r.o)
	if err != nil {
		return "", err
	}
	r.c.Ground.Begin(ctx, r.o, w.Job, w.Cwd)
	return r.c.Mask().Text(strings.Join(notes, " ")), nil
}

// begins looks at the ground of a further turn before its prompt is written.
func (r talk) begins(ctx context.Context, m agent.Message) {
	if w := r.c.Hub.Wishes(r.h); w.Turn != nil && w.Turn.Number != r.first && m.Key == turnKey(w.Turn.Number) {
		r.c.Ground.Begin(ctx, r.o, w.Turn.Job, w.Turn.Cwd)
	}
}
