package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// crew launches nothing and remembers what it was asked.
type crew struct{ launched chan row.Order }

func (c crew) Launch(o row.Order)    { c.launched <- o }
func (c crew) Wake(h wire.RunHandle) {}

// workbench is a hub over a real ledger.
func workbench(t *testing.T, h *home.Home) (*hub.Hub, crew, *ledger.Store, func()) {
	t.Helper()
	s := open(t, h)
	c := crew{make(chan row.Order, 1000)}
	b := hub.New(hub.Options{Journal: s, Launcher: c, Loaded: load(t, s), Random: func(n int) string { return fmt.Sprintf("%0*d", n, 1) }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Close(context.WithoutCancel(t.Context()))
	})
	t.Cleanup(stop)
	return b, c, s, stop
}

func startJob(t *testing.T, b *hub.Hub, prompt row.Prompt, key string) hub.Accepted {
	t.Helper()
	a, ticket, err := b.Jobs().Start(hub.StartRequest{Workspace: "/w", Agent: "codex", Prompt: prompt, Task: prompt.Text, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if err := ticket.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

func endJob(b *hub.Hub, o row.Order, reply string) {
	h := o.Run.Handle
	b.Runs().Report(h, []row.Step{
		{Kind: row.StepTurnStarted, Turn: 1, Pos: row.Pos{Frame: 1}, At: time.Now()},
		{Kind: row.StepTurnEnded, Turn: 1, Pos: row.Pos{Frame: 2}, At: time.Now(), End: &row.End{State: wire.StateCompleted, Reply: reply}},
	})
	b.Runs().Life(h, row.Life{Kind: row.LifeEnded, Status: "exited", At: time.Now()})
}

// TestRestartIsAFoldOfTheRows: what a hub shows after a clean stop is what the next one begins with.
func TestRestartIsAFoldOfTheRows(t *testing.T) {
	h := newHome(t, t.TempDir())
	b, c, _, stop := workbench(t, h)
	for n := range 12 {
		startJob(t, b, row.Prompt{Text: fmt.Sprint("p", n)}, "")
		if o := <-c.launched; n != 11 {
			endJob(b, o, "reply")
		}
	}
	before := b.Snapshot()
	stop()
	b, c, s, _ := workbench(t, h)
	after := *b.Snapshot()
	for i := range before.Jobs { // live rows are observed again
		if !before.Jobs[i].State.Final() {
			if after.Jobs[i].State != wire.StateUnknown {
				t.Errorf("%s is %s before it was found", after.Jobs[i].Job, after.Jobs[i].State)
			}
			after.Jobs[i] = before.Jobs[i]
		}
	}
	if diff := cmp.Diff(before.Jobs, after.Jobs); diff != "" {
		t.Error(diff)
	}
	if o := <-c.launched; !o.Adopt || *o.Run.Job != "job-12" {
		t.Errorf("order %+v", o)
	}
	if n := len(after.Runs); n != 12 {
		t.Errorf("%d runs", n)
	}
	if r, ok, err := s.Result(t.Context(), "job-3"); err != nil || !ok || r.Reply != "reply" {
		t.Errorf("%+v %v %v", r, ok, err)
	}
	if a := startJob(t, b, row.Prompt{Text: "next"}, ""); a.Job.Num != 13 || *a.Job.Conversation != "codex-13" {
		t.Errorf("next is %s in %s", a.Ref, *a.Job.Conversation)
	}
}

// TestKeyOverTheLedger: a key answers with its job after that has left memory, and after a restart.
func TestKeyOverTheLedger(t *testing.T) {
	h := newHome(t, t.TempDir())
	b, c, _, stop := workbench(t, h)
	first := startJob(t, b, row.Prompt{Text: "p"}, "k")
	endJob(b, <-c.launched, "r")
	for range 205 {
		startJob(t, b, row.Prompt{Text: "q"}, "")
		endJob(b, <-c.launched, "r")
	}
	for range 2 {
		if _, there := b.Jobs().Find(first.Job.Session, "job-1"); there {
			t.Fatal("job-1 is still in memory")
		}
		if again := startJob(t, b, row.Prompt{Text: "p"}, "k"); !again.Repeated || again.Ref != first.Ref {
			t.Fatalf("the key made %s", again.Ref)
		}
		a, ticket, err := b.Jobs().Send(hub.SendRequest{Session: first.Job.Session, Conversation: "codex-1", Prompt: row.Prompt{Text: "m", Original: "secret"}, Task: "m"})
		if err != nil || ticket.Wait(t.Context()) != nil || a.Job.Workspace != "/w" {
			t.Fatalf("%+v, %v", a.Job, err)
		}
		o := <-c.launched
		for o.Adopt || *o.Run.Job != a.Job.Job.Job {
			o = <-c.launched
		}
		if w := b.Runs().Wishes(o.Run.Handle); !w.Turn.Private || w.Turn.Prompt != "m" {
			t.Fatalf("wish %+v", w.Turn)
		}
		b.Runs().Report(o.Run.Handle, []row.Step{{Kind: row.StepTurnEnded, Turn: w1(b, o), Pos: row.Pos{Frame: 9}, At: time.Now(), End: &row.End{State: wire.StateCompleted}}})
		b.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeEnded, Status: "exited", At: time.Now()})
		stop()
		b, c, _, stop = workbench(t, h)
	}
}

func w1(b *hub.Hub, o row.Order) uint32 { return b.Runs().Wishes(o.Run.Handle).Turn.Number }
