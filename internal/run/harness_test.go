package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/home"
	"scv/internal/run/control"
	"scv/internal/run/runlog"
	"scv/internal/run/shim"
	"scv/internal/safe/redact"
	"scv/internal/testkit/census"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// The test binary is also the shim, the agent and a daemon that can be killed.
func TestMain(m *testing.M) {
	switch {
	case shim.IsShim(os.Args):
		exit(shim.Main(os.Args))
	case len(os.Args) > 1 && os.Args[1] == "fake-agent":
		exit(fakeAgent(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	case len(os.Args) > 1 && os.Args[1] == "fake-daemon":
		exit(fakeDaemon(os.Args[2:]))
	}
	os.Exit(census.Main(m))
}

// exit leaves without the second that the race detector waits at an ordinary end.
func exit(code int) { syscall.Exit(code) }

// A fakeHub keeps what runs say and what is wished of them, as the hub does.
type fakeHub struct {
	delay func()
	mu    sync.Mutex
	bump  chan struct{}
	runs  map[wire.RunHandle]*hubRun
}

type hubRun struct {
	order  row.Order
	wishes row.Wishes
	steps  []row.Step
	lives  []row.Life
}

func newFakeHub() *fakeHub {
	return &fakeHub{bump: make(chan struct{}), runs: make(map[wire.RunHandle]*hubRun)}
}

func (h *fakeHub) change(handle wire.RunHandle, f func(r *hubRun)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs[handle] == nil {
		h.runs[handle] = &hubRun{}
	}
	f(h.runs[handle])
	close(h.bump)
	h.bump = make(chan struct{})
}

func (h *fakeHub) Report(handle wire.RunHandle, steps []row.Step) {
	if h.delay != nil {
		h.delay()
	}
	h.change(handle, func(r *hubRun) {
		for _, s := range steps {
			if !r.order.Run.Pos.Less(s.Pos) {
				continue
			}
			r.order.Run.Pos = s.Pos
			r.steps = append(r.steps, s)
			if s.Kind == row.StepTurnEnded && r.wishes.Turn != nil && r.wishes.Turn.Number == s.Turn {
				r.wishes.Turn, r.wishes.Cancel = nil, 0
			}
		}
	})
}

func (h *fakeHub) Life(handle wire.RunHandle, l row.Life) {
	h.change(handle, func(r *hubRun) { r.lives = append(r.lives, l) })
}

func (h *fakeHub) Wishes(handle wire.RunHandle) row.Wishes {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.runs[handle]; r != nil {
		return r.wishes
	}
	return row.Wishes{}
}

// await waits until what is known of a run satisfies ok.
func (h *fakeHub) await(t *testing.T, handle wire.RunHandle, what string, ok func(r *hubRun) bool) hubRun {
	t.Helper()
	var late <-chan time.Time
	if deadline, ok := t.Deadline(); ok {
		late = time.After(time.Until(deadline) - 5*time.Second)
	}
	for {
		h.mu.Lock()
		bump, r := h.bump, h.runs[handle]
		if r != nil && ok(r) {
			seen := *r
			h.mu.Unlock()
			return seen
		}
		h.mu.Unlock()
		select {
		case <-bump:
		case <-late:
			t.Fatalf("never: %s; known is %+v", what, r)
		}
	}
}

func life(kind row.LifeKind) func(r *hubRun) bool {
	return func(r *hubRun) bool {
		for _, l := range r.lives {
			if l.Kind == kind {
				return true
			}
		}
		return false
	}
}

func over(r *hubRun) bool {
	return life(row.LifeEnded)(r) || life(row.LifeLost)(r) || life(row.LifeNotStarted)(r)
}

func (r *hubRun) end() *row.End {
	for _, s := range r.steps {
		if s.Kind == row.StepTurnEnded {
			return s.End
		}
	}
	return nil
}

func (r *hubRun) lastLife() row.Life { return r.lives[len(r.lives)-1] }

// A bench is a home with a launcher over a fake hub.
type bench struct {
	t     *testing.T
	home  *home.Home
	hub   *fakeHub
	l     *Launcher
	c     Config
	cwd   string
	count int
}

func newBench(t *testing.T, change ...func(c *Config)) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h, err := home.Open(filepath.Join(dir, "h"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	b := &bench{t: t, home: h, hub: newFakeHub(), cwd: dir}
	b.c = config(h, b.hub, func(string) {})
	b.c.Saved = func(context.Context, wire.RunHandle) error { return nil }
	for _, f := range change {
		f(&b.c)
	}
	b.l = New(t.Context(), b.c)
	t.Cleanup(b.end)
	return b
}

func config(h *home.Home, hub HubPort, hook func(where string)) Config {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Config{
		Home: h, Hub: hub,
		Kinds: func(name, _ string) (agent.Kind, agent.Settings, bool) {
			k := agent.Kind{Name: name, Transport: agent.TransportCLI, Version: 1}
			if name == "live" {
				k.Transport = agent.TransportACP
			}
			k.New = func(agent.Settings) agent.Dialect { return &words{live: name == "live", hook: hook} }
			return k, agent.Settings{}, name == "fake" || name == "live"
		},
		Mask:     sync.OnceValue(func() *redact.Masker { return redact.New() }),
		Original: func(wire.JobID) (string, error) { return "", errors.New("there is no original") },
		Notify:   runlog.NewNotifier(), Exe: exe, Environ: os.Environ(),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
}

// end ends what is left of every run, as a test that failed half-way must too.
func (b *bench) end() {
	b.hub.mu.Lock()
	for _, r := range b.hub.runs {
		r.wishes.Stop = true
	}
	handles := make([]wire.RunHandle, 0, len(b.hub.runs))
	for h := range b.hub.runs {
		handles = append(handles, h)
	}
	b.hub.mu.Unlock()
	for _, h := range handles {
		if s, err := control.ReadShim(b.home.RunDir(h)); err == nil {
			if l, err := control.Probe(b.home.RunDir(h)); err == nil && l.Life == control.LifeHeld {
				_ = syscall.Kill(s.PID, syscall.SIGCONT)
			}
		}
		b.l.Wake(h)
	}
	for _, h := range handles {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), 30*time.Second)
		if _, err := control.AwaitGone(ctx, b.home.RunDir(h)); err != nil {
			b.t.Errorf("run %s is left: %v", h, err)
		}
		cancel()
	}
	b.leave()
}

func (b *bench) leave() { b.l.Shutdown(context.WithoutCancel(b.t.Context())) }

// again is the next daemon: it adopts every run that was not seen to end.
func (b *bench) again() {
	b.l = New(b.t.Context(), b.c)
	b.hub.mu.Lock()
	var orders []row.Order
	for _, r := range b.hub.runs {
		if !over(r) {
			r.order.Adopt, r.lives = true, nil
			orders = append(orders, r.order)
		}
	}
	b.hub.mu.Unlock()
	for _, o := range orders {
		b.l.Launch(o)
	}
}

func (b *bench) order(kind, prompt string) row.Order {
	b.count++
	// Processes are found by the handle in their environment, on the whole machine.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", b.cwd, os.Getpid(), b.count))
	h := wire.NewRunHandle(kind, hex.EncodeToString(sum[:3]))
	job := wire.NewJobID(uint64(b.count))
	o := row.Order{
		Run:          row.Run{Run: wire.Run{Handle: h, Agent: kind, Cwd: b.cwd, Turn: new(uint32(1))}},
		Conversation: row.Conversation{ID: wire.NewConversationID(kind, uint64(b.count)), Agent: kind},
	}
	b.hub.change(h, func(r *hubRun) {
		r.order = o
		r.wishes.Turn = &row.TurnWish{Job: job, Session: "workbench-0123456789abcdef", Number: 1, Prompt: prompt, Cwd: b.cwd}
	})
	return o
}

func (b *bench) launch(kind, prompt string) wire.RunHandle {
	o := b.order(kind, prompt)
	b.l.Launch(o)
	return o.Run.Handle
}

func (b *bench) wish(h wire.RunHandle, f func(w *row.Wishes)) {
	b.hub.change(h, func(r *hubRun) { f(&r.wishes) })
	b.l.Wake(h)
}

func (b *bench) log(h wire.RunHandle) []wire.RunEvent {
	b.t.Helper()
	root, err := b.home.RunRoot(h)
	if err != nil {
		b.t.Fatal(err)
	}
	defer root.Close()
	var events []wire.RunEvent
	for after := uint64(0); ; {
		p, err := runlog.ReadPage(root, h, after, 500, false)
		if err != nil {
			b.t.Fatal(err)
		}
		events = append(events, p.Events...)
		if after = p.Next; !p.More {
			return events
		}
	}
}

// shown is a log as lines, for comparing and reading.
func (b *bench) shown(h wire.RunHandle) string {
	var out strings.Builder
	for _, ev := range b.log(h) {
		fmt.Fprint(&out, ev.Kind)
		if ev.Status != nil {
			fmt.Fprint(&out, " ", *ev.Status)
		}
		fmt.Fprintf(&out, " %s\n", ev.Text)
	}
	return out.String()
}
