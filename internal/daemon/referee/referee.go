// Package referee lets reviewed jobs go on: it does what the machine (package workbench/review) says is next, as a client
// of the hub like any other, and adds what came of it to the job's row. It keeps nothing of its own: a daemon that starts
// goes on from the rows, and a step that was cut off is done again or found done. Package daemon owns the one Referee.
//
// Delivery: a turn is a job below the reviewed one, made in the same commit as the fact that it began, so it is never
// started twice. While nothing changes in the workbench, nothing is done here.
package referee

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"scv/internal/repo/work"
	"scv/internal/safe/redact"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// A Ground is the repositories that reviews need.
type Ground interface {
	Record(ctx context.Context, j row.Job, round uint32) (work.Record, error)
	Landed(ctx context.Context, j row.Job, r *wire.LandingReport, approved string) (yes, known bool, words string)
	ReviewTree(ctx context.Context, builder, agent string, of wire.JobID, head string) (*row.Tree, error)
	Touched(ctx context.Context, j row.Job) string
	Sweep(ctx context.Context, j row.Job) error
	Facts(ctx context.Context, j row.Job) *wire.JobFacts
}

// Records is what is read of the ledger.
type Records interface {
	Job(ctx context.Context, session wire.SessionID, job wire.JobID) (row.Job, bool, error)
	Result(ctx context.Context, job wire.JobID) (row.Result, bool, error)
	Prompt(ctx context.Context, job wire.JobID) (string, bool, error)
	Original(job wire.JobID) (string, error)
}

// Config is what a Referee is made of; all fields are required.
type Config struct {
	Hub     *hub.Hub
	Records Records
	Ground  Ground
	Mask    func() *redact.Masker
	Log     *slog.Logger
	Now     func() time.Time
}

// A Referee serves all reviewed jobs of a home. Run is called once.
type Referee struct {
	Config
	wg    sync.WaitGroup
	games map[wire.JobRef]*game // owned by Run
}

// New makes a referee. Nothing happens before Run.
func New(c Config) *Referee { return &Referee{Config: c, games: map[wire.JobRef]*game{}} }

// Run goes on with every reviewed job until ctx ends, and returns when what was begun is left.
func (r *Referee) Run(ctx context.Context) {
	defer r.wg.Wait()
	w := r.Hub.Watch()
	defer w.Close()
	for _, j := range r.Hub.Reviews().Open() {
		r.attend(ctx, j.Ref())
	}
	epoch, after := "", uint64(0)
	for {
		delta, _, gen := w.Next(epoch, after)
		epoch, after = r.Hub.Epoch(), gen
		for i := range delta.Jobs {
			j := &delta.Jobs[i]
			if j.Reviewed && !j.State.Final() {
				r.attend(ctx, j.Ref())
			}
			if g := r.games[j.Ref()]; g != nil {
				g.poke()
			}
			if j.Part != nil && j.Parent != nil && r.games[*j.Parent] != nil {
				r.games[*j.Parent].poke()
			}
		}
		if len(delta.Runs) > 0 || delta.Storage != nil { // a process has left, or the ledger can be written again
			for _, g := range r.games {
				g.poke()
			}
		}
		for ref, g := range r.games {
			if g.over() {
				delete(r.games, ref)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-w.Wake():
		}
	}
}

// attend sees that a review is gone on with.
func (r *Referee) attend(ctx context.Context, ref wire.JobRef) {
	if r.games[ref] != nil {
		return
	}
	g := &game{Referee: r, ref: ref, wake: make(chan struct{}, 1), done: make(chan struct{}), swept: map[wire.JobID]bool{}}
	r.games[ref] = g
	r.wg.Go(func() {
		defer close(g.done)
		g.play(ctx)
	})
}

// A game is one reviewed job that goes on. Its goroutine owns what follows done.
type game struct {
	*Referee
	ref  wire.JobRef
	wake chan struct{}
	done chan struct{}

	swept  map[wire.JobID]bool // reviewers whose worktree was seen to
	killed map[wire.RunHandle]bool
	rings  *time.Timer // when a reviewer's time is up
}

func (g *game) poke() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *game) over() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}
