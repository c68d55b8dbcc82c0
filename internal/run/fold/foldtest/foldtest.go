// Package foldtest replays spools through a dialect for tests: whole, byte by byte, and from every checkpoint. Tests
// of dialects and of the fold use it; nothing else does.
package foldtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/agent"
	"scv/internal/run/fold"
	"scv/internal/run/spool"
	"scv/internal/safe/redact"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Script builds the frames of a spool in order, one millisecond apart.
type Script struct {
	Frames []spool.Frame
	n      uint64
}

func (s *Script) add(kind spool.Kind, payload []byte) *spool.Frame {
	seq := uint64(len(s.Frames) + 1)
	s.Frames = append(s.Frames, spool.Frame{
		Kind: kind, Seq: seq, UnixNano: time.Unix(1_700_000_000, 0).UnixNano() + int64(seq)*int64(time.Millisecond),
		Pos: spool.Pos{Segment: 1, Offset: int64(seq-1) * 100}, End: spool.Pos{Segment: 1, Offset: int64(seq) * 100},
		Payload: payload,
	})
	return &s.Frames[len(s.Frames)-1]
}

// Out adds bytes of the agent's standard output.
func (s *Script) Out(text string) { s.add(spool.KindOut, []byte(text)) }

// Err adds bytes of its standard error.
func (s *Script) Err(text string) { s.add(spool.KindErr, []byte(text)) }

// In adds the next message to the agent.
func (s *Script) In(key, text string) {
	s.n++
	f := s.add(spool.KindIn, []byte(text))
	f.Key, f.N = key, s.n
}

// Note adds a note of the shim.
func (s *Script) Note(n spool.Note) {
	body, err := spool.EncodeNote(n)
	if err != nil {
		panic(err)
	}
	s.add(spool.KindNote, body)
}

// Start adds the note that begins a run, and Exit those that end it.
func (s *Script) Start() { s.Note(spool.Note{Started: &spool.Started{PID: 4711}}) }

// Exit adds the ends of both streams and the agent's exit.
func (s *Script) Exit(code int, signal string) {
	s.Note(spool.Note{EOF: &spool.EOF{Stream: "out"}})
	s.Note(spool.Note{EOF: &spool.EOF{Stream: "err"}})
	s.Note(spool.Note{AgentExit: &spool.AgentExit{Code: code, Signal: signal}})
}

// Options are a fold's for a turn of an agent: number 1, of job-1.
func Options(kind agent.Kind, settings agent.Settings, prompt string) fold.Options {
	return fold.Options{
		Kind: kind, Dialect: kind.New(settings), Mask: redact.New(), Run: wire.RunHandle(kind.Name + "-0a1b2c"),
		Cwd: "/w", First: 1,
		Prompt: func(uint32) fold.Prompt { return fold.Prompt{Job: "job-1", Text: prompt} },
	}
}

// Replay folds frames with a fresh dialect and then, with end, what Finish makes of it.
func Replay(t testing.TB, o func() fold.Options, frames []spool.Frame, end *fold.Finish) []fold.Item {
	t.Helper()
	return replay(t, o, frames, end, false)
}

// Check replays frames whole, byte by byte, from every checkpoint, and with the state through JSON at every frame,
// fails the test when any of them differ, and returns what they all say.
func Check(t testing.TB, o func() fold.Options, frames []spool.Frame, end *fold.Finish) []fold.Item {
	t.Helper()
	whole := replay(t, o, frames, end, false)
	if diff := cmp.Diff(whole, replay(t, o, frames, end, true)); diff != "" {
		t.Fatalf("with the state through JSON at every frame (-whole +so):\n%s", diff)
	}
	for i := 1; i <= len(frames); i++ {
		f := fold.New(o())
		items := foldAll(t, f, frames[:i])
		c, ok, err := f.Checkpoint()
		if err != nil {
			t.Fatalf("checkpoint after frame %d: %v", i, err)
		}
		if !ok {
			continue
		}
		items = append(items, finish(t, restored(t, o, c), frames[i:], end)...)
		if diff := cmp.Diff(whole, items); diff != "" {
			t.Fatalf("from the checkpoint after frame %d (-whole +so):\n%s", i, diff)
		}
	}
	bytewise := replay(t, o, Bytewise(frames), end, false)
	if diff := cmp.Diff(unplaced(whole), unplaced(bytewise)); diff != "" {
		t.Fatalf("byte by byte (-whole +so):\n%s", diff)
	}
	return whole
}

func replay(t testing.TB, o func() fold.Options, frames []spool.Frame, end *fold.Finish, throughJSON bool) []fold.Item {
	t.Helper()
	f := fold.New(o())
	var items []fold.Item
	for i := range frames {
		items = append(items, foldAll(t, f, frames[i:i+1])...)
		if !throughJSON {
			continue
		}
		c, ok, err := f.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			f = restored(t, o, c)
		}
	}
	return append(items, finish(t, f, nil, end)...)
}

func restored(t testing.TB, o func() fold.Options, c *fold.Checkpoint) *fold.Fold {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	back := new(fold.Checkpoint)
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	f := fold.New(o())
	if err := f.Restore(back); err != nil {
		t.Fatal(err)
	}
	return f
}

func finish(t testing.TB, f *fold.Fold, frames []spool.Frame, end *fold.Finish) []fold.Item {
	t.Helper()
	items := foldAll(t, f, frames)
	if end != nil {
		items = append(items, f.Finish(*end)...)
	}
	return items
}

func foldAll(t testing.TB, f *fold.Fold, frames []spool.Frame) []fold.Item {
	t.Helper()
	var items []fold.Item
	for _, fr := range frames {
		if err := f.Frame(fr, func(i fold.Item) { items = append(items, i) }); err != nil {
			t.Fatal(err)
		}
	}
	return items
}

// Bytewise cuts the agent's output into frames of one byte each.
func Bytewise(frames []spool.Frame) []spool.Frame {
	var out []spool.Frame
	for _, fr := range frames {
		if fr.Kind != spool.KindOut && fr.Kind != spool.KindErr {
			out = append(out, fr)
			continue
		}
		for i := range fr.Payload {
			one := fr
			one.Payload = fr.Payload[i : i+1]
			out = append(out, one)
		}
	}
	for i := range out {
		out[i].Seq = uint64(i + 1)
	}
	return out
}

// unplaced is items without their positions, which depend on how the output was cut.
func unplaced(items []fold.Item) []fold.Item {
	out := make([]fold.Item, len(items))
	for i, item := range items {
		item.Pos = row.Pos{}
		if item.Step != nil {
			item.Step = new(*item.Step)
			item.Step.Pos = row.Pos{}
		}
		out[i] = item
	}
	return out
}

// Events returns the records of items.
func Events(items []fold.Item) []wire.RunEvent {
	var out []wire.RunEvent
	for _, item := range items {
		if item.Event != nil {
			out = append(out, *item.Event)
		}
	}
	return out
}

// Steps returns the steps of items.
func Steps(items []fold.Item) []row.Step {
	var out []row.Step
	for _, item := range items {
		if item.Step != nil {
			out = append(out, *item.Step)
		}
	}
	return out
}
