package server

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/internal/terminal/takeover"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// stage is a desk whose programs the test plays: what they put out is given beforehand, and what is typed is kept.
type stage struct {
	mu    sync.Mutex
	more  *sync.Cond
	terms map[wire.RunHandle]*takeover.Terminal
	holds map[wire.HoldID]*takeover.Terminal
	typed string
}

func newStage() *stage {
	s := &stage{terms: map[wire.RunHandle]*takeover.Terminal{}, holds: map[wire.HoldID]*takeover.Terminal{}}
	s.more = sync.NewCond(&s.mu)
	return s
}

func (s *stage) Await(_ context.Context, h wire.RunHandle) (*takeover.Terminal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.terms[h] == nil {
		s.more.Wait()
	}
	return s.terms[h], nil
}

func (s *stage) Held(id wire.HoldID) (*takeover.Terminal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.holds[id]; t != nil {
		return t, nil
	}
	return nil, wire.Refuse(wire.ReasonNotFound, "attach again", "no such hold")
}

// open serves a terminal whose program has said something and goes on until the returned function ends it.
func (s *stage) open(t *testing.T, h wire.RunHandle, said string) (end func(exit string)) {
	t.Helper()
	r, w := io.Pipe()
	program := &program{stage: s, out: r}
	var term *takeover.Terminal
	n := 0
	term = takeover.New(takeover.Options{
		Shim: program, Fresh: true, Cols: 80, Rows: 24, Mask: func(string) [][2]int { return nil },
		NewHold: func() wire.HoldID {
			s.mu.Lock()
			defer s.mu.Unlock()
			n++
			id := wire.HoldID(fmt.Sprintf("at-%016x", n))
			s.holds[id] = term
			return id
		},
		About: wire.AttachPage{Agent: "codex", Session: "s", Conversation: "codex-1", Run: &h},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { term.Run(ctx) })
	t.Cleanup(func() { _ = w.Close(); cancel(); wg.Wait() })
	if _, err := io.WriteString(w, said); err != nil {
		t.Fatal(err)
	}
	watcher, err := term.Watch("")
	if err != nil {
		t.Fatal(err)
	}
	for page := (wire.AttachPage{}); !strings.Contains(fmt.Sprint(page.Lines), said); page, _ = term.Look() {
		<-watcher.Wake()
	}
	watcher.Close()
	s.mu.Lock()
	s.terms[h] = term
	s.more.Broadcast()
	s.mu.Unlock()
	return func(exit string) {
		s.mu.Lock()
		program.ended = true
		s.mu.Unlock()
		_ = w.Close()
		term.End(exit)
	}
}

// saw waits until something was typed.
func (s *stage) saw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.typed, text) {
		s.more.Wait()
	}
}

type program struct {
	stage *stage
	out   io.ReadCloser
	ended bool
}

func (p *program) Watch(context.Context, uint64) (takeover.Output, error) {
	p.stage.mu.Lock()
	defer p.stage.mu.Unlock()
	if p.ended {
		return takeover.Output{}, takeover.ErrEnded
	}
	return takeover.Output{ReadCloser: p.out}, nil
}

func (p *program) Type(_ context.Context, in takeover.Input) error {
	p.stage.mu.Lock()
	defer p.stage.mu.Unlock()
	p.stage.typed += string(in.Bytes)
	p.stage.more.Broadcast()
	return nil
}

func (*program) Resize(context.Context, uint16, uint16) error { return nil }

func (*program) Keep(context.Context, uint64, []byte) error { return nil }

// taken starts a conversation, ends its turn, and opens its terminal when the hub asks for it.
func (b *bench) taken(c *raw, said string) (command string, h wire.RunHandle, end func(string)) {
	b.t.Helper()
	b.start(c, "one")
	o := <-b.orders
	b.hub.Runs().Report(o.Run.Handle, []row.Step{{Kind: row.StepSession, Vendor: "v", Pos: row.Pos{Frame: 1}, At: time.Now()}})
	b.finish(o, "done")
	command = fmt.Sprintf(`{"action":"attach","session":%q,"conversation":%q,"cols":80,"rows":24}`, o.Run.Session, *o.Run.Conversation)
	opened := make(chan row.Order, 1)
	go func() {
		o := <-b.orders
		opened <- o
	}()
	c.write(`{"type":"daemon.control","request_id":"take","command":%s}`, command)
	order := <-opened
	h = order.Run.Handle
	if order.Run.Terminal == nil || order.Run.Terminal.Cols != 80 {
		b.t.Fatalf("launched %+v", order.Run)
	}
	return command, h, b.stage.open(b.t, h, said)
}

func attachOf(t *testing.T, reply map[string]any) map[string]any {
	t.Helper()
	st, _ := reply["status"].(map[string]any)
	page, ok := st["attach"].(map[string]any)
	if !ok {
		t.Fatalf("no screen in %v", reply)
	}
	return page
}

// TestAttach over the wire, as clients of every release do it: take, type, look, lose it to another client, let go.
func TestAttach(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	command, h, end := b.taken(c, "hello")
	page := attachOf(t, c.read())
	if page["full"] != true || page["run"] != string(h) || !strings.Contains(fmt.Sprint(page["lines"]), "hello") {
		t.Fatalf("page %v", page)
	}
	io := func(c *raw, id any, rest string) map[string]any {
		return c.ask("io", fmt.Sprintf(`{"action":"attach_io","id":%q%s}`, id, rest))
	}
	attachOf(t, io(c, page["id"], `,"after":1,"input":"ja\r"`))
	b.stage.saw("ja\r")
	if r := io(c, page["id"], `,"input":"`+strings.Repeat("x", wire.MaxInputBytes+1)+`"`); r["reason"] != "too_large" {
		t.Errorf("too much was typed: %v", r)
	}
	other := b.client("scv-cli")
	mine := attachOf(t, other.ask("take", command))
	if r := io(c, page["id"], ""); r["reason"] != "conflict" || !strings.Contains(fmt.Sprint(r["message"]), "taken by another client") {
		t.Errorf("a hold that was taken: %v", r)
	}
	if r := io(c, "at-unknown", ""); r["reason"] != "not_found" {
		t.Errorf("an unknown hold: %v", r)
	}
	detached := other.status(fmt.Sprintf(`{"action":"attach_detach","id":%q}`, mine["id"]))
	if detached["attach"] != nil || detached["workbench_note"] == nil {
		t.Errorf("detached: %v", detached)
	}
	end("exit 0")
	last := attachOf(t, other.ask("take", command))
	if last["ended"] != true || last["exit"] != "exit 0" {
		t.Errorf("the last page: %v", last)
	}
}

// TestAttachWatch: the holder and a viewer are told what changes; the viewer has no hold, and one from whom the terminal
// is taken is told so.
func TestAttachWatch(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	command, h, end := b.taken(c, "hello")
	hold := attachOf(t, c.read())["id"]
	viewer := b.client("scv-cli")
	if page := attachOf(t, viewer.ask("w", fmt.Sprintf(`{"action":"attach_watch","run":%q}`, h))); page["id"] != "" || page["full"] != true {
		t.Errorf("a viewer sees %v", page)
	}
	holder := b.client("scv-cli")
	attachOf(t, holder.ask("w", fmt.Sprintf(`{"action":"attach_watch","id":%q}`, hold)))
	attachOf(t, c.ask("take", command))
	for {
		got := holder.read()
		if got["type"] == "error" {
			if got["reason"] != "conflict" {
				t.Errorf("%v", got)
			}
			break
		}
	}
	end("exit 3")
	for {
		page, _ := viewer.page()["attach"].(map[string]any)
		if page["ended"] == true {
			if page["exit"] != "exit 3" {
				t.Errorf("the last page: %v", page)
			}
			break
		}
	}
	if r := b.client("scv-cli").ask("w", `{"action":"attach_watch","run":"codex-ffffff"}`); r["reason"] != "not_found" {
		t.Errorf("a run without a terminal: %v", r)
	}
}
