package feed

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"scv/internal/client"
	"scv/internal/testkit/census"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
	"scv/internal/wire/frame"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

// A daemon is one that answers by a function; kill ends it with all its connections.
type daemon struct {
	t        *testing.T
	socket   string
	features []string
	answer   func(d *daemon, l *link, id wire.RequestID, cmd wire.Command)

	mu    sync.Mutex
	l     net.Listener
	conns []net.Conn
	wg    sync.WaitGroup
}

type link struct {
	d  *daemon
	nc net.Conn
}

func (d *daemon) start() {
	l, err := net.Listen("unix", d.socket)
	if err != nil {
		d.t.Error(err)
		return
	}
	d.mu.Lock()
	d.l = l
	d.mu.Unlock()
	d.wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			d.conns = append(d.conns, nc)
			d.mu.Unlock()
			d.wg.Go(func() { d.serve(&link{d, nc}) })
		}
	})
}

func (d *daemon) kill() {
	d.mu.Lock()
	if d.l != nil {
		d.l.Close()
	}
	for _, nc := range d.conns {
		nc.Close()
	}
	d.conns = nil
	d.mu.Unlock()
	d.wg.Wait()
}

func (d *daemon) serve(l *link) {
	defer l.nc.Close()
	in := frame.NewReader(l.nc, wire.MaxClientFrame)
	for {
		line, err := in.Next()
		if err != nil {
			return
		}
		msg, err := wire.DecodeClientMessage(line)
		if err != nil {
			d.t.Errorf("got %.80q: %v", line, err)
			return
		}
		switch m := msg.(type) {
		case wire.Initialize:
			l.send(wire.Initialized{RequestID: m.RequestID, ProtocolVersion: wire.ProtocolVersion, Server: wire.PeerInfo{Name: "fake", Version: "1"}, Features: d.features})
		case wire.DaemonControl:
			d.answer(d, l, m.RequestID, m.Command)
		}
	}
}

func (l *link) send(e wire.ServerEvent) {
	data, err := wire.Encode(e)
	if err != nil {
		l.d.t.Error(err)
		return
	}
	_, _ = l.nc.Write(append(data, '\n'))
}

func (l *link) status(id wire.RequestID, st wire.DaemonStatus) {
	l.send(wire.DaemonStatusEvent{RequestID: id, Status: st})
}

// fed is a feed over a daemon that is not started yet. What the test does not take is dropped at its end.
func fed(t *testing.T, d *daemon, start func(context.Context) error) *Feed {
	t.Helper()
	d.t, d.socket = t, filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	f := New(ctx, Options{
		Target: client.Target{Socket: d.socket, Client: wire.PeerInfo{Name: "scv-tui", Version: "1"}}, Start: start,
		Agents: func() ([]model.Agent, error) { return []model.Agent{{Name: "demo"}}, nil },
		Place: func(path string) (cwd, workspace string, err error) {
			if path == "gone" {
				return "", "", errors.New("there is no directory gone")
			}
			return "/real/" + path, "/real", nil
		},
	})
	t.Cleanup(func() {
		cancel()
		f.Wait()
		d.kill()
	})
	return f
}

// next is the next message of a kind; others are passed over.
func next[M model.Msg](t *testing.T, f *Feed) M {
	t.Helper()
	for {
		select {
		case msg := <-f.Messages():
			if m, ok := msg.(M); ok {
				return m
			}
		case p := <-f.Broken():
			t.Fatalf("panic: %v", p)
		case <-t.Context().Done():
			t.Fatal("the test is over")
		}
	}
}

func snapshot(text string) *wire.Snapshot {
	return &wire.Snapshot{Epoch: "e", Generation: 1, Storage: text}
}

func lists(text string) func(*daemon, *link, wire.RequestID, wire.Command) {
	return func(d *daemon, l *link, id wire.RequestID, cmd wire.Command) {
		switch cmd.(type) {
		case wire.WorkbenchWatch, wire.WorkbenchCommand:
			l.status(id, wire.DaemonStatus{Workbench: snapshot(text)})
		default:
			d.t.Errorf("got %T", cmd)
		}
	}
}

func TestE15_AKilledDaemonIsToldAndFoundAgain(t *testing.T) {
	d := &daemon{features: []string{wire.FeatureWatch}, answer: lists("one")}
	f := fed(t, d, nil)
	f.Watch()
	if got := next[model.Lost](t, f); got.Why != "no daemon runs" {
		t.Errorf("without a daemon: %q", got.Why)
	}
	d.start()
	if got := next[model.Connected](t, f); len(got.Features) != 1 || got.Server.Name != "fake" {
		t.Errorf("connected to %+v", got)
	}
	if got := next[model.Listed](t, f); got.Disk || got.View.Storage != "one" {
		t.Errorf("listed %+v", got)
	}
	d.kill()
	if got := next[model.Lost](t, f); got.Why != "the daemon went away" {
		t.Errorf("killed: %q", got.Why)
	}
	d.start() // the same state as before: that it answers is told all the same
	next[model.Connected](t, f)
}

func TestOlderDaemonIsPolled(t *testing.T) {
	d := &daemon{answer: lists("one")}
	f := fed(t, d, nil)
	d.start()
	f.Watch()
	if got := next[model.Connected](t, f); len(got.Features) != 0 {
		t.Errorf("features %v", got.Features)
	}
	if got := next[model.Listed](t, f); got.View.Storage != "one" {
		t.Errorf("listed %+v", got)
	}
}

func TestWatchStartsTheDaemonOnce(t *testing.T) {
	d := &daemon{features: []string{wire.FeatureWatch}, answer: lists("one")}
	starts := 0
	f := fed(t, d, func(context.Context) error {
		starts++
		d.start()
		return nil
	})
	f.Watch()
	next[model.Listed](t, f)
	if starts != 1 {
		t.Errorf("started %d times", starts)
	}
}

func TestCallsAnswerWithWhatWasAsked(t *testing.T) {
	d := &daemon{features: []string{wire.FeatureWhy}, answer: func(_ *daemon, l *link, id wire.RequestID, cmd wire.Command) {
		switch c := cmd.(type) {
		case wire.Why:
			l.status(id, wire.DaemonStatus{Why: &wire.WhyReport{Job: c.Job}})
		case wire.WorkbenchStart:
			l.status(id, wire.DaemonStatus{WorkbenchNote: new(c.Workspace + " " + *c.Cwd)})
		case wire.WorkbenchCancel:
			l.send(wire.Refuse(wire.ReasonNotFound, "scv jobs", "there is no such job").Event(id))
		}
	}}
	f := fed(t, d, nil)
	f.Call(model.Call{Cmd: wire.Why{Session: "s", Job: "job-1"}})
	if got := next[model.Called](t, f); got.Err == nil || got.Err.Error() != "no daemon runs. Next: scv start" {
		t.Errorf("without a daemon: %v", got.Err)
	}
	d.start()
	f.Call(model.Call{Cmd: wire.Why{Session: "s", Job: "job-1"}})
	if got := next[model.Called](t, f); got.Err != nil || got.Status.Why.Job != "job-1" {
		t.Errorf("why: %+v", got)
	}
	f.Call(model.Call{Cmd: wire.WorkbenchCancel{Session: "s", Job: "job-1"}})
	if got := next[model.Called](t, f); got.Err == nil || got.Err.Error() != "there is no such job" {
		t.Errorf("cancel: %v", got.Err)
	}
	f.Start(model.Start{Cmd: wire.WorkbenchStart{Agent: "demo", Prompt: "x", Cwd: new("here")}})
	if got := next[model.Called](t, f); got.Err != nil || *got.Status.WorkbenchNote != "/real /real/here" {
		t.Errorf("start: %+v", got)
	}
	f.Start(model.Start{Cmd: wire.WorkbenchStart{Agent: "demo", Prompt: "x", Cwd: new("gone")}})
	if got := next[model.Called](t, f); got.Err == nil || got.Err.Error() != "there is no directory gone" {
		t.Errorf("start in a directory that is not there: %v", got.Err)
	}
	f.FindAgents()
	if got := next[model.Found](t, f); len(got.Agents) != 1 {
		t.Errorf("found %+v", got)
	}
}

func TestFollowGoesOverADaemonsDeath(t *testing.T) {
	var asked []wire.RunLogWatch
	d := &daemon{features: []string{wire.FeatureWatch}, answer: func(d *daemon, l *link, id wire.RequestID, cmd wire.Command) {
		c := cmd.(wire.RunLogWatch)
		d.mu.Lock()
		asked = append(asked, c)
		d.mu.Unlock()
		text := "first"
		if c.After > 0 {
			text = "second"
		}
		l.status(id, wire.DaemonStatus{RunLog: &wire.RunLogPage{Handle: c.Handle, Next: c.After + 10, Ended: c.After > 0, Events: []wire.RunEvent{{Seq: 1, Kind: wire.EventText, Text: text}}}})
	}}
	f := fed(t, d, nil)
	d.start()
	f.Follow(model.Follow{Source: 1, Run: "demo-000001"})
	f.Follow(model.Follow{Source: 2, Run: "demo-000002"}) // the selection moved on: the first is never asked for
	if got := next[model.Logged](t, f); got.Source != 2 || got.Events[0].Text != "first" {
		t.Errorf("logged %+v", got)
	}
	d.kill()
	d.start()
	if got := next[model.Logged](t, f); got.Source != 2 || got.Events[0].Text != "second" || !got.Ended {
		t.Errorf("logged %+v", got)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range asked {
		if c.Handle != "demo-000002" {
			t.Errorf("asked for %s", c.Handle)
		}
	}
}

func TestFollowTellsARefusal(t *testing.T) {
	d := &daemon{features: []string{wire.FeatureWatch}, answer: func(_ *daemon, l *link, id wire.RequestID, _ wire.Command) {
		l.send(wire.Refuse(wire.ReasonNotFound, "scv jobs", "there is no log of that run").Event(id))
	}}
	f := fed(t, d, nil)
	d.start()
	f.Follow(model.Follow{Source: 3, Run: "demo-000001"})
	if got := next[model.Logged](t, f); got.Source != 3 || got.Err == nil || !got.Ended {
		t.Errorf("logged %+v", got)
	}
}

func TestAPanicIsHandedOver(t *testing.T) {
	f := New(t.Context(), Options{Agents: func() ([]model.Agent, error) { panic("broken") }})
	f.FindAgents()
	if p := <-f.Broken(); p != "broken" {
		t.Errorf("got %v", p)
	}
	f.Wait()
}
