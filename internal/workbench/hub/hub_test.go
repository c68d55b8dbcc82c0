package hub_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a journal in memory, and an archive of what it holds. Hold makes Store wait; Break makes it fail.
type disk struct {
	mu       sync.Mutex
	sessions map[wire.SessionID]row.Session
	convs    map[wire.ConversationID]row.Conversation
	jobs     map[wire.JobID]row.Job
	runs     map[wire.RunHandle]row.Run
	prompts  map[wire.JobID]row.Prompt
	results  map[wire.JobID]row.Result
	accepted []row.Accepted
	counters row.Counters
	broken   error
	gate     chan struct{} // Store takes one before it stores; nil: never waits
	entered  chan struct{} // gets one when Store was entered
	stores   int
	starts   uint64

	approvals map[wire.ApprovalID]row.Approval
	rules     map[string]row.Rule
	holds     map[string]row.Hold
}

func newDisk() *disk {
	return &disk{
		sessions: map[wire.SessionID]row.Session{}, convs: map[wire.ConversationID]row.Conversation{},
		jobs: map[wire.JobID]row.Job{}, runs: map[wire.RunHandle]row.Run{}, prompts: map[wire.JobID]row.Prompt{},
		results: map[wire.JobID]row.Result{}, entered: make(chan struct{}, 1000),
		approvals: map[wire.ApprovalID]row.Approval{}, rules: map[string]row.Rule{}, holds: map[string]row.Hold{},
	}
}

func (d *disk) Store(ctx context.Context, b row.Batch) error {
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		d.entered <- struct{}{}
		<-gate
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return d.broken
	}
	d.stores++
	for _, s := range b.Sessions {
		d.sessions[s.ID] = s
	}
	for _, c := range b.Conversations {
		d.convs[c.ID] = c
	}
	for _, j := range b.Jobs {
		if old, ok := d.jobs[j.Job.Job]; ok && old.State.Final() && old.State != j.State {
			panic(fmt.Sprintf("%s: final %s became %s", j.Job.Job, old.State, j.State))
		}
		if old, ok := d.jobs[j.Job.Job]; ok && old.Rev > j.Rev {
			panic(fmt.Sprintf("%s: rev fell from %d to %d", j.Job.Job, old.Rev, j.Rev))
		}
		d.jobs[j.Job.Job] = j
	}
	for _, r := range b.Runs {
		d.runs[r.Handle] = r
	}
	maps.Copy(d.prompts, b.Prompts)
	maps.Copy(d.results, b.Results)
	d.accepted = append(d.accepted, b.Accepted...)
	for _, a := range b.Approvals {
		if old, ok := d.approvals[a.ID]; ok && (old.Over() && !a.Over() || old.Digest != nil && *old.Digest != *a.Digest) {
			panic(fmt.Sprintf("%s: %s became %s, or stands for another text", a.ID, old.State, a.State))
		}
		d.approvals[a.ID] = a
	}
	for _, r := range b.Rules {
		d.rules[r.ID] = r
	}
	for _, h := range b.Holds {
		d.holds[h.ID()] = h
	}
	d.counters = b.Counters
	return nil
}

func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = err
}

func (d *disk) hold() (release func()) {
	gate := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = gate
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.gate = nil
		d.mu.Unlock()
		close(gate)
	})
}

func (d *disk) job(id wire.JobID) row.Job {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.jobs[id]
}

func (d *disk) hasRun(h wire.RunHandle) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.runs[h]
	return ok
}

func (d *disk) prompt(id wire.JobID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.prompts[id].Text
}

func (d *disk) result(id wire.JobID) row.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.results[id]
}

// load is what a ledger would find: it is told in hub.Loaded's words.
func (d *disk) load() row.Loaded {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starts++
	l := row.Loaded{HomeID: "home", Starts: d.starts, Counters: d.counters, Prompts: map[wire.JobID]row.Prompt{}}
	l.Counters.Conversations = maps.Clone(d.counters.Conversations)
	for _, a := range d.approvals {
		l.Approvals = append(l.Approvals, a)
	}
	for _, r := range d.rules {
		if !r.Removed {
			l.Rules = append(l.Rules, r)
		}
	}
	for _, h := range d.holds {
		if !h.Over {
			l.Holds = append(l.Holds, h)
		}
	}
	l.Sessions = slices.Collect(maps.Values(d.sessions))
	l.Conversations = slices.Collect(maps.Values(d.convs))
	for id, j := range d.jobs {
		if !j.Dismissed {
			l.Jobs = append(l.Jobs, j)
		}
		if !j.State.Final() {
			l.Prompts[id] = d.prompts[id]
		}
	}
	l.Runs = slices.Collect(maps.Values(d.runs))
	return l
}

func (d *disk) JobByKey(_ context.Context, key string) (row.Job, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.Key == key {
			return j, true, nil
		}
	}
	return row.Job{}, false, nil
}

func (d *disk) Job(_ context.Context, s wire.SessionID, id wire.JobID) (row.Job, bool, error) {
	j := d.job(id)
	return j, j.Session == s && j.Num > 0, nil
}

func (d *disk) Conversation(_ context.Context, s wire.SessionID, id wire.ConversationID) (row.Conversation, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.convs[id]
	return c, ok && c.Session == s, nil
}

func (d *disk) Session(_ context.Context, id wire.SessionID) (row.Session, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.sessions[id]
	return s, ok, nil
}

func (d *disk) approval(id wire.ApprovalID) row.Approval {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.approvals[id]
}

func (d *disk) Approval(_ context.Context, id wire.ApprovalID) (row.Approval, bool, error) {
	a := d.approval(id)
	return a, a.Num > 0, nil
}

// crew is a launcher that only remembers.
type crew struct {
	mu       sync.Mutex
	orders   []row.Order
	launched chan row.Order
	woken    chan wire.RunHandle
}

func newCrew() *crew {
	return &crew{launched: make(chan row.Order, 5000), woken: make(chan wire.RunHandle, 5000)}
}

func (c *crew) Launch(o row.Order) {
	c.mu.Lock()
	c.orders = append(c.orders, o)
	c.mu.Unlock()
	c.launched <- o
}

func (c *crew) Wake(h wire.RunHandle) { c.woken <- h }

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
