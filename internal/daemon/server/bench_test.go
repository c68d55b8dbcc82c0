package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/run/runlog"
	"scv/internal/safe/redact"
	"scv/internal/session"
	"scv/internal/testkit/census"
	"scv/internal/testkit/scripted"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

func TestMain(m *testing.M) {
	if socket := os.Getenv("SCV_TEST_PEER"); socket != "" {
		os.Exit(peerMain(socket))
	}
	os.Exit(census.Main(m))
}

// journal keeps rows in memory, as the ledger does on disk.
type journal struct {
	mu      sync.Mutex
	jobs    map[wire.JobID]row.Job
	results map[wire.JobID]row.Result
	prompts map[wire.JobID]row.Prompt

	approvals map[uint64]row.Approval
}

func (j *journal) prompt(id wire.JobID) row.Prompt {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.prompts[id]
}

func (j *journal) Store(_ context.Context, b row.Batch) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range b.Jobs {
		j.jobs[r.Job.Job] = r
	}
	maps.Copy(j.results, b.Results)
	maps.Copy(j.prompts, b.Prompts)
	for _, a := range b.Approvals {
		j.approvals[a.Num] = a
	}
	return nil
}

func (j *journal) Approvals(_ context.Context, before uint64, limit int) ([]row.Approval, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []row.Approval
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(j.approvals))) {
		if (before == 0 || n < before) && len(out) < limit {
			out = append(out, j.approvals[n])
		}
	}
	return out, nil
}

func (j *journal) Job(_ context.Context, session wire.SessionID, id wire.JobID) (row.Job, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r, ok := j.jobs[id]
	return r, ok && r.Session == session, nil
}

func (j *journal) Jobs(_ context.Context, before uint64, limit int) ([]row.Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []row.Job
	for _, r := range j.jobs {
		if before == 0 || r.Num < before {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b row.Job) int { return int(b.Num) - int(a.Num) })
	return out[:min(limit, len(out))], nil
}

func (j *journal) Prompt(_ context.Context, id wire.JobID) (string, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p, ok := j.prompts[id]
	return p.Text, ok, nil
}

func (j *journal) Original(id wire.JobID) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p := j.prompts[id]; p.Original != "" {
		return p.Original, nil
	}
	return "", fs.ErrNotExist
}

func (j *journal) Thread(ctx context.Context, c wire.ConversationID, upTo wire.JobID, limit int) ([]row.Job, error) {
	all, err := j.Jobs(ctx, upTo.Number()+1, 1000)
	all = slices.DeleteFunc(all, func(r row.Job) bool { return r.Conversation == nil || *r.Conversation != c })
	return all[:min(limit, len(all))], err
}

func (j *journal) Result(_ context.Context, id wire.JobID) (row.Result, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r, ok := j.results[id]
	return r, ok, nil
}

// launcher takes orders and lets the test play the runs.
type launcher struct {
	orders chan row.Order
	wakes  chan wire.RunHandle
}

func (l *launcher) Launch(o row.Order)    { l.orders <- o }
func (l *launcher) Wake(h wire.RunHandle) { l.wakes <- h }

// bench is a server over a real hub.
type bench struct {
	t       *testing.T
	srv     *Server
	hub     *hub.Hub
	journal *journal
	orders  chan row.Order
	wakes   chan wire.RunHandle
	home    *home.Home
	notify  *runlog.Notifier
	socket  string
	log     *syncBuffer
	dir     string // a workspace
	stopped chan bool
	stage   *stage
	talks   talks // of the model loop, as the ledger would keep them
	model   *scripted.Model
	host    *session.Host
}

type setup struct {
	stall  time.Duration
	loaded row.Loaded
	late   bool // Ready is left to the test
	own    bool // what the test starts counts as started by the daemon; else it plays the owner
}

func newBench(t *testing.T, s setup) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "scv")
	if err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(filepath.Join(dir, "h"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, home: h, journal: &journal{jobs: map[wire.JobID]row.Job{}, results: map[wire.JobID]row.Result{}, prompts: map[wire.JobID]row.Prompt{}, approvals: map[uint64]row.Approval{}},
		orders: make(chan row.Order, 100), wakes: make(chan wire.RunHandle, 100), notify: runlog.NewNotifier(), socket: filepath.Join(dir, "s"), log: newSyncBuffer(),
		dir: filepath.Join(dir, "work"), stopped: make(chan bool, 1),
		stage: newStage(),
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, j := range s.loaded.Jobs {
		b.journal.jobs[j.Job.Job] = j
	}
	b.begin(s)
	return b
}

// begin starts hub and server, until the test ends.
func (b *bench) begin(s setup) {
	b.t.Helper()
	t := b.t
	drawn := 0
	s.loaded.HomeID = "home-1"
	log := slog.New(slog.NewTextHandler(b.log, nil))
	b.hub = hub.New(hub.Options{
		Journal: b.journal, Launcher: &launcher{b.orders, b.wakes}, Loaded: s.loaded, Log: log, Terminal: func(agent string) bool { return agent == "codex" },
		Random: func(n int) string { drawn++; return fmt.Sprintf("%0*x", n, drawn) },
	})
	b.srv = New(Options{Version: "9.9", Log: log, Now: time.Now, Stall: s.stall, Stop: func(all bool) { b.stopped <- all }})
	if !s.own {
		b.srv.kin.daemon = 0
	}
	l, err := net.Listen("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	hubCtx, endHub := context.WithCancel(context.Background())
	var wg, hubs sync.WaitGroup
	wg.Go(func() {
		if err := b.srv.Serve(ctx, l); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	hubs.Go(func() {
		if err := b.hub.Run(hubCtx); err != nil {
			t.Errorf("hub: %v", err)
		}
	})
	if !s.late {
		b.ready()
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if b.host != nil {
			b.host.Close(context.Background())
		}
		endHub()
		hubs.Wait()
		b.home.Close()
		os.RemoveAll(filepath.Dir(b.socket))
	})
}

func (b *bench) ready() {
	masker := redact.New(redact.Secret("known-secret-value-1234567890"))
	b.srv.Ready(Workbench{
		Hub: b.hub, Records: b.journal, Home: b.home, HomeID: "home-1", Notify: b.notify,
		Mask: func() *redact.Masker { return masker }, Agents: func() []string { return []string{"claude", "codex", "demo"} }, Screens: b.stage,
		Sessions: b.sessions(masker),
	})
}

// raw is a client that writes bytes and reads lines.
type raw struct {
	t  *testing.T
	nc net.Conn
	in *json.Decoder
}

func (b *bench) dial() *raw {
	b.t.Helper()
	nc, err := net.Dial("unix", b.socket)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { nc.Close() })
	dec := json.NewDecoder(nc)
	dec.UseNumber()
	return &raw{t: b.t, nc: nc, in: dec}
}

// client is a raw client after its handshake.
func (b *bench) client(name string) *raw {
	b.t.Helper()
	c := b.dial()
	c.write(`{"type":"initialize","request_id":"init","protocol_version":3,"client":{"name":%q,"version":"1"}}`, name)
	if got := c.read(); got["type"] != "initialized" {
		b.t.Fatalf("handshake: %v", got)
	}
	return c
}

func (c *raw) write(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.nc, format+"\n", args...); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

func (c *raw) read() map[string]any {
	c.t.Helper()
	var m map[string]any
	if err := c.in.Decode(&m); err != nil {
		c.t.Fatalf("read: %v", err)
	}
	return m
}

// closed waits for the end of the connection.
func (c *raw) closed() {
	c.t.Helper()
	var m map[string]any
	if err := c.in.Decode(&m); err != io.EOF {
		c.t.Fatalf("the connection goes on: %v, %v", m, err)
	}
}

// ask sends a command and returns the answer.
func (c *raw) ask(id, command string) map[string]any {
	c.t.Helper()
	c.write(`{"type":"daemon.control","request_id":%q,"command":%s}`, id, command)
	got := c.read()
	if got["request_id"] != id {
		c.t.Errorf("answer to %q carries %v", id, got["request_id"])
	}
	return got
}

// status is ask for a command that succeeds.
func (c *raw) status(command string) map[string]any {
	c.t.Helper()
	got := c.ask("r", command)
	st, ok := got["status"].(map[string]any)
	if !ok {
		c.t.Fatalf("%s: %v", command, got)
	}
	return st
}

// refused is ask for a command that is refused with a code.
func (c *raw) refused(command, code string) map[string]any {
	c.t.Helper()
	got := c.ask("r", command)
	if got["type"] != "error" || got["code"] != code || got["fatal"] != false {
		c.t.Errorf("%s: got %v, want code %s", command, got, code)
	}
	if s, _ := got["message"].(string); s == "" {
		c.t.Errorf("%s: no sentence", command)
	}
	return got
}

// start starts a job and returns its names.
func (b *bench) start(c *raw, prompt string) (session, job string) {
	b.t.Helper()
	st := c.status(fmt.Sprintf(`{"action":"workbench_start","workspace":%q,"agent":"codex","prompt":%q}`, b.dir, prompt))
	ref, _ := st["workbench_job"].(string)
	s, j, ok := wire.JobRef(ref).Split()
	if !ok {
		b.t.Fatalf("started %q", ref)
	}
	return string(s), string(j)
}

// finish plays the run of an order to its end.
func (b *bench) finish(o row.Order, reply string) {
	b.t.Helper()
	h, at := o.Run.Handle, time.Now()
	runs := b.hub.Runs()
	turn := runs.Wishes(h).Turn
	if turn == nil {
		b.t.Errorf("%s has no turn", h)
		return
	}
	runs.Life(h, row.Life{Kind: row.LifeStarted, At: at, PID: 7})
	runs.Report(h, []row.Step{
		{Kind: row.StepReady, Pos: row.Pos{Frame: 1}, At: at},
		{Kind: row.StepTurnStarted, Pos: row.Pos{Frame: 2}, At: at, Turn: turn.Number},
		{Kind: row.StepTurnEnded, Pos: row.Pos{Frame: 3}, At: at, Turn: turn.Number, End: &row.End{State: wire.StateCompleted, Reply: reply}},
	})
	runs.Life(h, row.Life{Kind: row.LifeEnded, At: at, Status: "exited"})
}
