package referee_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"scv/internal/daemon/referee"
	"scv/internal/home"
	"scv/internal/repo/work"
	"scv/internal/safe/redact"
	"scv/internal/testkit/census"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

const secret = "hunter2-hunter2-hunter2"

// A stage is a home with a real ledger, and agents that live longer than a daemon.
type stage struct {
	t      *testing.T
	home   *home.Home
	review row.Review
	// answer is what the agent of a turn says; nil: it says nothing until it is cancelled or the stage ends.
	answer func(j row.Job, prompt string) *row.End
	ground ground
	late   atomic.Int64 // seconds that the clock is ahead

	mu    sync.Mutex
	procs map[wire.RunHandle][]row.Step
	given []string // the turns that an agent was given, as "round phase seat agent"
	heard map[string]string
}

func newStage(t *testing.T, q wire.ReviewRequest, candidates ...string) *stage {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	if q.Rounds == 0 {
		q.Rounds = 3
	}
	s := &stage{t: t, home: h, procs: map[wire.RunHandle][]row.Step{}, heard: map[string]string{}}
	s.review = row.Review{Request: q, Candidates: candidates, Journal: "rev-1-abcdef"}
	s.answer = func(j row.Job, _ string) *row.End { return fine(j) }
	return s
}

// fine is what everybody says when all goes well: the reviewer is content from the second round on.
func fine(j row.Job) *row.End {
	e := &row.End{State: wire.StateCompleted, Reply: "done"}
	switch {
	case j.Part.Phase == wire.PhaseReviewer && j.Part.Round == 1:
		e.Reply = changes("the change has no test")
	case j.Part.Phase == wire.PhaseReviewer, j.Part.Phase == wire.PhaseRepair:
		e.Reply = approval
	}
	return e
}

const approval = "I looked.\n```scv-verdict\n{\"verdict\":\"approve\",\"summary\":\"good\",\"evidence\":[\"I ran the tests\"],\"prior\":[{\"id\":\"1.1\",\"status\":\"resolved\"}]}\n```\n"

func changes(title string) string {
	quoted, _ := json.Marshal(title)
	return fmt.Sprintf("I looked.\n```scv-verdict\n{\"verdict\":\"changes\",\"summary\":\"not yet\",\"findings\":[{\"severity\":\"blocking\",\"title\":%s}]}\n```\n", quoted)
}

func (s *stage) now() time.Time { return time.Now().Add(time.Duration(s.late.Load()) * time.Second) }

// A ground has every commit that is asked for.
type ground struct {
	mu      sync.Mutex
	refuses error // of Record
	touched string
	swept   map[string]int
}

func (g *ground) Record(_ context.Context, _ row.Job, round uint32) (work.Record, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return work.Record{Base: strings.Repeat("0", 40), Head: strings.Repeat(fmt.Sprint(round), 40), Files: 1}, g.refuses
}

func (g *ground) Landed(context.Context, row.Job, *wire.LandingReport, string) (bool, bool, string) {
	return true, true, "git has it"
}

func (g *ground) ReviewTree(_ context.Context, _, agent string, of wire.JobID, head string) (*row.Tree, error) {
	path := fmt.Sprintf("/trees/%s-%s-%.4s", agent, of, head)
	return &row.Tree{Ref: wire.WorktreeRef{Path: path, Branch: "scv/" + agent, Repo: "/w"}, Cwd: path, Base: head, Plan: "{}"}, nil
}

func (g *ground) Touched(context.Context, row.Job) string { return g.touched }

func (g *ground) Sweep(_ context.Context, j row.Job) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.swept == nil {
		g.swept = map[string]int{}
	}
	g.swept[j.Worktree.Path]++
	return nil
}

func (g *ground) Facts(context.Context, row.Job) *wire.JobFacts { return nil }

// A life is one daemon: it ends by close, or when its disk takes no more commits.
type life struct {
	*stage
	*hub.Hub
	store *ledger.Store
	disk  *disk
	wg    sync.WaitGroup
	woken chan struct{}
	stop  context.CancelFunc
	ctx   context.Context
}

// A disk lets so many commits through, and then none. Written says that the one after them reaches the ledger all the
// same, which the daemon does not learn.
type disk struct {
	*archive
	left    int
	written bool
	cut     chan struct{}
}

// archive is the ledger under another name, so that the disk has its methods and one of its own.
type archive = ledger.Store

var errCut = errors.New("the machine went down")

func (d *disk) Store(ctx context.Context, b row.Batch) error {
	if d.left--; d.left >= 0 {
		return d.inner(ctx, b)
	}
	if d.left == -1 {
		if d.written {
			_ = d.inner(ctx, b)
		}
		close(d.cut)
	}
	return errCut
}

func (d *disk) inner(ctx context.Context, b row.Batch) error { return d.archive.Store(ctx, b) }

// live starts a daemon whose disk takes so many commits.
func (s *stage) live(commits int, written bool) *life {
	s.t.Helper()
	store, err := ledger.Open(s.t.Context(), s.home, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	loaded, err := store.Load(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	l := &life{stage: s, store: store, woken: make(chan struct{}, 1), disk: &disk{archive: store, left: commits, written: written, cut: make(chan struct{})}}
	l.ctx, l.stop = context.WithCancel(s.t.Context())
	n := 0
	l.Hub = hub.New(hub.Options{
		Journal: l.disk, Launcher: l, Loaded: loaded, Now: s.now,
		Random:    func(digits int) string { n++; return fmt.Sprintf("%0*x", digits, loaded.Starts<<12+uint64(n)) },
		UUID:      func() string { return "uuid" },
		Transport: func(string, string) string { return wire.TransportCLI },
	})
	masker := redact.New(redact.Secret(secret))
	r := referee.New(referee.Config{
		Hub: l.Hub, Records: store, Ground: &s.ground, Mask: func() *redact.Masker { return masker }, Log: slog.New(slog.DiscardHandler), Now: s.now,
	})
	l.wg.Go(func() { _ = l.Run(l.ctx) })
	l.wg.Go(func() { r.Run(l.ctx) })
	return l
}

func (l *life) close() {
	l.t.Helper()
	l.stop()
	l.wg.Wait()
	if err := l.store.Close(context.WithoutCancel(l.ctx)); err != nil {
		l.t.Error(err)
	}
}

// Launch serves a run of an agent that has one turn, or finds what it said while no daemon was there.
func (l *life) Launch(o row.Order) { l.wg.Go(func() { l.serve(o) }) }

// Wake lets a turn that waits look whether it is cancelled.
func (l *life) Wake(wire.RunHandle) {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

func (l *life) serve(o row.Order) {
	h := o.Run.Handle
	l.mu.Lock()
	spool, known := l.procs[h]
	l.mu.Unlock()
	switch {
	case o.Adopt && !known:
		l.Runs().Life(h, row.Life{Kind: row.LifeNotStarted, Class: "lost", At: l.now()})
		return
	case o.Adopt:
		l.Runs().Life(h, row.Life{Kind: row.LifeAdopted, PID: 1, At: l.now()})
	default:
		l.Runs().Life(h, row.Life{Kind: row.LifeStarted, PID: 1, At: l.now()})
		w := l.Runs().Wishes(h).Turn
		if w == nil {
			l.Runs().Life(h, row.Life{Kind: row.LifeEnded, Status: "exited", At: l.now()})
			return
		}
		j, _ := l.Jobs().Find(w.Session, w.Job)
		if j.Part == nil { // the daemon is going down
			return
		}
		spool = l.plays(h, j, w)
	}
	l.Runs().Report(h, spool)
	l.Runs().Life(h, row.Life{Kind: row.LifeEnded, Status: "exited", At: l.now(), Given: spool[0].Turn})
}

// plays is a turn of an agent: it is over once it is begun, unless it hangs.
func (l *life) plays(h wire.RunHandle, j row.Job, w *row.TurnWish) []row.Step {
	step := func(n uint64, s row.Step) row.Step {
		s.Turn, s.Pos, s.At = w.Number, row.Pos{Frame: n}, l.now()
		return s
	}
	turn := fmt.Sprintf("%d %s %d %s", j.Part.Round, j.Part.Phase, j.Part.Seat, j.Agent)
	begun := step(1, row.Step{Kind: row.StepTurnStarted})
	l.mu.Lock()
	l.given = append(l.given, turn)
	l.heard[turn] = w.Prompt
	end := l.answer(j, w.Prompt)
	l.mu.Unlock()
	if end == nil {
		l.Runs().Report(h, []row.Step{begun})
		for wish := l.Runs().Wishes(h); wish.Cancel != w.Number && !wish.Stop && l.ctx.Err() == nil; wish = l.Runs().Wishes(h) {
			select {
			case <-l.woken:
			case <-l.ctx.Done():
			}
		}
		end = &row.End{State: wire.StateCancelled}
	}
	spool := []row.Step{begun, step(2, row.Step{Kind: row.StepTurnEnded, End: end})}
	l.mu.Lock()
	l.procs[h] = spool
	l.mu.Unlock()
	return spool
}

// begin asks for the reviewed job; asked again it is the same.
func (l *life) begin() error {
	_, t, err := l.Jobs().Start(hub.StartRequest{
		Key: "key", Workspace: "/w", Agent: "codex", Prompt: row.Prompt{Text: "add a retry"}, Task: "add a retry", Review: &l.review,
		Principal: row.Principal{Who: "owner", Way: "cli"},
		Tree:      &row.Tree{Ref: wire.WorktreeRef{Path: "/trees/codex", Branch: "scv/codex", Repo: "/w"}, Cwd: "/trees/codex", Base: strings.Repeat("0", 40), Plan: "{}"},
	})
	if err == nil {
		err = t.Wait(l.ctx)
	}
	return err
}

// until follows the reviewed job until it is as wanted; false when the disk is cut before.
func (l *life) until(want func(j row.Job) bool) (row.Job, bool) {
	l.t.Helper()
	w := l.Watch()
	defer w.Close()
	after := uint64(0)
	for {
		_, _, after = w.Next(l.Epoch(), after)
		if open := l.Snapshot().Jobs; len(open) > 0 {
			if j, ok := l.Jobs().Find(open[0].Session, "job-1"); ok && want(j) {
				return j, true
			}
		}
		select {
		case <-w.Wake():
		case <-l.disk.cut:
			return row.Job{}, false
		case <-l.t.Context().Done():
			l.t.Fatal("it never comes so far")
		}
	}
}

func over(j row.Job) bool { return j.State.Final() }

// play begins the review and returns how it ends.
func (s *stage) play() row.Job {
	s.t.Helper()
	l := s.live(1<<30, false)
	defer l.close()
	if err := l.begin(); err != nil {
		s.t.Fatal(err)
	}
	j, _ := l.until(over)
	return j
}
