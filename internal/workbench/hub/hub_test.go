package hub_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/internal/testkit/census"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

// bench is a hub with its disk and crew.
type bench struct {
	*hub.Hub
	t    *testing.T
	disk *disk
	crew *crew
	stop func()
	pos  uint64
}

func open(t *testing.T, d *disk, change func(*hub.Options)) *bench {
	t.Helper()
	b := &bench{t: t, disk: d, crew: newCrew()}
	uuids := 0
	o := hub.Options{
		Journal: d, Launcher: b.crew, Loaded: d.load(), Now: time.Now,
		Random: func(n int) string { return fmt.Sprintf("%0*x", n, d.starts) },
		UUID:   func() string { uuids++; return fmt.Sprintf("uuid-%d", uuids) },
		Live:   func(agent string) bool { return agent == "live" },
		Transport: func(agent, forced string) string {
			if agent == "live" && forced != wire.TransportCLI {
				return wire.TransportACP
			}
			return wire.TransportCLI
		},
	}
	if change != nil {
		change(&o)
	}
	b.Hub = hub.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(b.stop)
	return b
}

func request(prompt string) hub.StartRequest {
	return hub.StartRequest{Workspace: "/w", Agent: "codex", Prompt: row.Prompt{Text: prompt}, Task: prompt, Principal: row.Principal{Who: "owner", Way: "cli"}}
}

// start starts a job and waits until it is on disk.
func (b *bench) start(prompt string) hub.Accepted {
	b.t.Helper()
	return b.startAs(request(prompt))
}

func (b *bench) startAs(q hub.StartRequest) hub.Accepted {
	b.t.Helper()
	a, ticket, err := b.Jobs().Start(q)
	if err != nil {
		b.t.Fatal(err)
	}
	b.wait(ticket)
	return a
}

func (b *bench) send(to row.Job, prompt string) hub.Accepted {
	b.t.Helper()
	a, ticket, err := b.Jobs().Send(hub.SendRequest{Session: to.Session, Conversation: *to.Conversation, Prompt: row.Prompt{Text: prompt}, Task: prompt, Mode: wire.SendAuto})
	if err != nil {
		b.t.Fatal(err)
	}
	b.wait(ticket)
	return a
}

// changed waits until a change is on disk.
func (b *bench) changed(_ string, t *hub.Ticket, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	b.wait(t)
}

func (b *bench) wait(t *hub.Ticket) {
	b.t.Helper()
	if err := t.Wait(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) launched() row.Order {
	b.t.Helper()
	select {
	case o := <-b.crew.launched:
		return o
	case <-b.t.Context().Done():
		b.t.Fatal("nothing was launched")
	}
	return row.Order{}
}

func (b *bench) report(h wire.RunHandle, steps ...row.Step) {
	for i := range steps {
		if steps[i].Pos == (row.Pos{}) {
			b.pos++
			steps[i].Pos = row.Pos{Frame: b.pos}
		}
		steps[i].At = time.Now()
	}
	b.Runs().Report(h, steps)
}

func ended(turn uint32, s wire.AgentState, reply string) row.Step {
	return row.Step{Kind: row.StepTurnEnded, Turn: turn, End: &row.End{State: s, Reply: reply}}
}

func (b *bench) leave(h wire.RunHandle) {
	b.Runs().Life(h, row.Life{Kind: row.LifeEnded, At: time.Now(), Status: "exited"})
}

func (b *bench) state(a hub.Accepted) wire.AgentState {
	b.t.Helper()
	j, ok := b.Jobs().Find(a.Job.Session, a.Job.Job.Job)
	if !ok {
		b.t.Fatalf("%s is gone", a.Ref)
	}
	return j.State
}

func (b *bench) job(a hub.Accepted) row.Job {
	b.t.Helper()
	j, ok := b.Jobs().Find(a.Job.Session, a.Job.Job.Job)
	if !ok {
		b.t.Fatalf("%s is gone", a.Ref)
	}
	return j
}

func reason(err error) wire.Reason {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Reason
	}
	return ""
}

func detail(j row.Job) string {
	if j.Detail == nil {
		return ""
	}
	return *j.Detail
}

func has(t *testing.T, s, want string) {
	t.Helper()
	if !strings.Contains(s, want) {
		t.Errorf("%q does not say %q", s, want)
	}
}

var errFull = errors.New("database or disk is full")

// contextDone is a context that has ended.
func contextDone(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}
