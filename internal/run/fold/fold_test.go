package fold_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/agent"
	"scv/internal/run/fold"
	"scv/internal/run/fold/foldtest"
	"scv/internal/run/spool"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A lines is a dialect of words: a line is "word rest", a turn ends with "done" or "fail".
type lines struct {
	State struct {
		Turn  agent.OneTurn
		Reply string
	}
}

func (d *lines) Plan(agent.Turn) (agent.Launch, error)                { return agent.Launch{}, nil }
func (d *lines) Next(agent.Wishes, uint64) (m agent.Message, ok bool) { return m, ok }
func (d *lines) Checkpoint() (json.RawMessage, error)                 { return json.Marshal(d.State) }

func (d *lines) Restore(state json.RawMessage) error { return json.Unmarshal(state, &d.State) }

func (d *lines) end(state wire.AgentState, class agent.Class) []agent.Fact {
	return d.State.Turn.End(agent.Outcome{State: state, Class: class, Reply: d.State.Reply})
}

func (d *lines) Feed(in agent.Input) []agent.Fact {
	facts, done := d.State.Turn.Feed("lines", in)
	if done {
		return facts
	}
	d.State.Turn.Spoke = true
	word, rest, _ := bytes.Cut(in.Line, []byte{' '})
	text := string(rest)
	kinds := map[string]agent.FactKind{
		"tool": agent.FactTool, "bad": agent.FactToolFailed, "plan": agent.FactPlan, "note": agent.FactNote,
		"retry": agent.FactRetry, "tick": agent.FactActivity,
	}
	switch w := string(word); w {
	case "id":
		return d.State.Turn.Named(text)
	case "say":
		text = strings.ReplaceAll(text, `\n`, "\n")
		d.State.Reply = text
		return []agent.Fact{{Kind: agent.FactText, Text: text}}
	case "done":
		return d.end(wire.StateCompleted, agent.ClassNone)
	case "fail":
		return d.end(wire.StateFailed, agent.Class(text))
	default:
		return []agent.Fact{{Kind: kinds[w], Text: text, Class: agent.ClassNetwork}}
	}
}

func kind() agent.Kind {
	return agent.Kind{
		Name: "lines", Transport: agent.TransportCLI, Version: 3,
		New: func(agent.Settings) agent.Dialect { return &lines{} },
	}
}

func options(prompt string) func() fold.Options {
	return func() fold.Options { return foldtest.Options(kind(), agent.Settings{}, prompt) }
}

func end(exit *agent.Exit) *fold.Finish {
	return &fold.Finish{At: time.Unix(1_700_000_009, 0), Exit: exit}
}

func show(items []fold.Item) string {
	var b strings.Builder
	for _, ev := range foldtest.Events(items) {
		fmt.Fprintf(&b, "%s", ev.Kind)
		if ev.Turn != nil {
			fmt.Fprintf(&b, " turn=%d", *ev.Turn)
		}
		if ev.Job != nil {
			fmt.Fprintf(&b, " job=%s", *ev.Job)
		}
		if ev.Status != nil {
			fmt.Fprintf(&b, " status=%s", *ev.Status)
		}
		fmt.Fprintf(&b, " %q\n", ev.Text)
	}
	return b.String()
}

func TestWholeTurn(t *testing.T) {
	var s foldtest.Script
	s.Start()
	s.In("turn:1", "do it")
	s.Out("id abc-1\nsay one\\n\\ntwo\r\nto")
	s.Err("a warning\n")
	s.Out("ol $ ls\nbad exit 2: ls\nplan step two\nretry again in 3 s\ntick\nsay Grüße ")
	s.Out("\xff!\nnote mind this\n")
	s.Out("done\n")
	s.Exit(0, "")
	items := foldtest.Check(t, options("do it\nwell"), s.Frames, end(&agent.Exit{}))
	want := `run_started "lines over cli in /w"
turn_started turn=1 job=job-1 "do it\nwell"
text "one"
text ""
text "two"
tool "$ ls"
tool_failed "exit 2: ls"
plan "step two"
note "again in 3 s"
text "Grüße �!"
note "mind this"
turn_ended turn=1 status=completed ""
run_ended status=exited ""
`
	if diff := cmp.Diff(want, show(items)); diff != "" {
		t.Fatal(diff)
	}
	var kinds []row.StepKind
	for _, step := range foldtest.Steps(items) {
		kinds = append(kinds, step.Kind)
		if step.Kind == row.StepTurnEnded && (step.End.Reply != "Grüße �!" || step.End.State != wire.StateCompleted) {
			t.Errorf("end %+v", step.End)
		}
		if step.Kind == row.StepSession && step.Vendor != "abc-1" {
			t.Errorf("session %q", step.Vendor)
		}
	}
	wantKinds := []row.StepKind{
		row.StepReady, row.StepTurnStarted, row.StepSession, row.StepActivity, row.StepActivity, row.StepActivity,
		row.StepActivity, row.StepRetry, row.StepActivity, row.StepActivity, row.StepTurnEnded,
	}
	if diff := cmp.Diff(wantKinds, kinds); diff != "" {
		t.Fatal(diff)
	}
	for i := range items[1:] {
		if !items[i].Pos.Less(items[i+1].Pos) {
			t.Fatalf("position %v is not before %v", items[i].Pos, items[i+1].Pos)
		}
	}
}

// TestP10_WorkBeforeItsMark: an agent that has its prompt as an argument may be done before the message that marks its
// turn comes back. The log begins the turn before its work, once, and its end stays what it was.
func TestP10_WorkBeforeItsMark(t *testing.T) {
	for name, c := range map[string]struct{ before, after, state string }{
		"all of it":      {"say one\ndone\n", "", "completed"},
		"a failure":      {"say one\nfail model\n", "", "failed"},
		"the first line": {"say one\n", "done\n", "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			var s foldtest.Script
			s.Start()
			s.Out(c.before)
			s.In("turn:1", "do it")
			if c.after != "" {
				s.Out(c.after)
			}
			s.Exit(0, "")
			items := foldtest.Check(t, options("do it"), s.Frames, end(&agent.Exit{}))
			want := `run_started "lines over cli in /w"
turn_started turn=1 job=job-1 "do it"
text "one"
turn_ended turn=1 status=` + c.state + ` ""
run_ended status=exited ""
`
			if diff := cmp.Diff(want, show(items)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// TestP4_NoEndIsNoSuccess: without a final event a turn is failed, and interrupted when its shim is gone.
func TestP4_NoEndIsNoSuccess(t *testing.T) {
	for name, c := range map[string]struct {
		build  func(s *foldtest.Script)
		exit   *agent.Exit
		state  wire.AgentState
		class  string
		status string
	}{
		"exits 0": {
			func(s *foldtest.Script) { s.Out("tool $ ls\n"); s.Exit(0, "") }, &agent.Exit{},
			wire.StateFailed, "agent", "exited",
		},
		"killed": {
			func(s *foldtest.Script) { s.Exit(-1, "SIGKILL") }, &agent.Exit{Code: -1, Signal: "SIGKILL"},
			wire.StateFailed, "start", "killed",
		},
		"shim lost in a tool call": {
			func(s *foldtest.Script) { s.Out("tool $ ls\nsay half") }, nil,
			wire.StateInterrupted, "lost", "lost",
		},
		"shim lost after the end": {
			func(s *foldtest.Script) { s.Out("done"); s.Exit(0, "") }, nil,
			wire.StateCompleted, "", "exited",
		},
		"end without a line feed, shim lost": {
			func(s *foldtest.Script) { s.Out("done") }, nil,
			wire.StateCompleted, "", "lost",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s foldtest.Script
			s.Start()
			s.In("turn:1", "x")
			c.build(&s)
			items := foldtest.Check(t, options("x"), s.Frames, end(c.exit))
			steps := foldtest.Steps(items)
			last := steps[len(steps)-1]
			if last.Kind != row.StepTurnEnded || last.End.State != c.state || last.End.Class != c.class {
				t.Fatalf("%+v %+v", last, last.End)
			}
			if !strings.Contains(show(items), "run_ended status="+c.status) {
				t.Fatal(show(items))
			}
		})
	}
}

func TestStartFailureSettlesTheTurn(t *testing.T) {
	var s foldtest.Script
	s.Note(spool.Note{StartFailed: &spool.StartFailed{Error: "no such file", Class: spool.StartNotFound}})
	items := foldtest.Check(t, options("x"), s.Frames, end(nil))
	steps := foldtest.Steps(items)
	last := steps[len(steps)-1]
	if last.End == nil || last.End.State != wire.StateFailed || last.End.Class != "missing" || last.Turn != 1 {
		t.Fatalf("%+v", last)
	}
	if !strings.Contains(last.End.Detail, "was not found: no such file") {
		t.Fatal(last.End.Detail)
	}
}

// TestNothingUnmaskedLeaves: a secret in any text of an agent is masked as part of the whole message.
func TestNothingUnmaskedLeaves(t *testing.T) {
	secret := "sk-" + "ant-api03-" + strings.Repeat("aB3dE5gH7j", 9)
	var s foldtest.Script
	s.Start()
	s.In("turn:1", "x")
	for _, word := range []string{"say", "tool", "bad", "plan", "note", "retry"} {
		s.Out(word + " the key is " + secret[:20])
		s.Out(secret[20:] + " so\n")
	}
	s.Out("say " + strings.Repeat("x ", 990) + secret + "\n")
	s.Out("done\n")
	s.Exit(0, "")
	items := foldtest.Check(t, options("x"), s.Frames, end(&agent.Exit{}))
	text, err := json.Marshal([]any{foldtest.Events(items), foldtest.Steps(items)})
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.Index(text, []byte(secret[:16])); i >= 0 {
		t.Fatalf("unmasked: %s", text[max(0, i-80):i+40])
	}
	if n := bytes.Count(text, []byte("[masked:")); n < 12 {
		t.Fatalf("%d masks", n)
	}
}

func TestTextIsBounded(t *testing.T) {
	var s foldtest.Script
	s.Start()
	s.In("turn:1", "x")
	s.Out("say " + strings.Repeat("é", 5000) + "\n")
	items := foldtest.Replay(t, options(strings.Repeat("p\n", 5000)), s.Frames, nil)
	for _, ev := range foldtest.Events(items) {
		limit := map[wire.RunEventKind]int{wire.EventText: 2000, wire.EventTurnStarted: 4000}[ev.Kind]
		if n := len([]rune(ev.Text)); limit > 0 && (n != limit || !strings.HasSuffix(ev.Text, "…")) {
			t.Errorf("%s of %d characters", ev.Kind, n)
		}
	}
}

// TestU8_LongLineIsCutWithANote: a line of 100 MB is cut at the bound, said so, and the run goes on; what is held at
// once is at most the bound and what it grew from.
func TestU8_LongLineIsCutWithANote(t *testing.T) {
	f := fold.New(options("x")())
	var peak uint64
	seq := uint64(0)
	var notes []string
	var ended bool
	feed := func(text []byte) {
		seq++
		err := f.Frame(spool.Frame{Kind: spool.KindOut, Seq: seq, Payload: text}, func(item fold.Item) {
			if item.Event != nil && item.Event.Kind == wire.EventNote {
				notes = append(notes, item.Event.Text)
			}
			ended = ended || item.Step != nil && item.Step.Kind == row.StepTurnEnded
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	piece := bytes.Repeat([]byte{'x'}, 64<<10)
	var m runtime.MemStats
	for i := range 100 << 20 / len(piece) {
		feed(piece)
		if i%100 == 0 {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
	}
	feed([]byte("\ntool after\n"))
	feed([]byte("done\n"))
	if !ended || len(notes) != 1 || !strings.Contains(notes[0], "104857600") || !strings.Contains(notes[0], "37748736") {
		t.Fatalf("ended %v, notes %q", ended, notes)
	}
	if peak > 160<<20 {
		t.Errorf("%d MiB in use", peak>>20)
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 20<<20 {
		t.Errorf("%d MiB kept after the line", m.HeapInuse>>20)
	}
}

func TestCheckpointOfAnotherVersionIsRefused(t *testing.T) {
	f := fold.New(options("x")())
	c, ok, err := f.Checkpoint()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, change := range []func(c *fold.Checkpoint){
		func(c *fold.Checkpoint) { c.Version++ },
		func(c *fold.Checkpoint) { c.Dialect = "codex" },
		func(c *fold.Checkpoint) { c.Format -= 2 },
		func(c *fold.Checkpoint) { c.Format++ },
	} {
		other := *c
		change(&other)
		if err := fold.New(options("x")()).Restore(&other); !errors.Is(err, fold.ErrUnknownCheckpoint) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	c.Format--
	if err := fold.New(options("x")()).Restore(c); err != nil {
		t.Errorf("the version before: %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("say a\nxx\x00\xff\ndone\n"), byte(1))
	f.Add([]byte(`{"eof":{"stream":"out"}}`), byte(4))
	f.Fuzz(func(t *testing.T, data []byte, k byte) {
		fo := fold.New(options("x")())
		var items []fold.Item
		take := func(i fold.Item) { items = append(items, i) }
		if fo.Frame(spool.Frame{Kind: spool.Kind(k%4 + 1), Seq: 1, Payload: data}, take) != nil {
			return
		}
		for _, ev := range foldtest.Events(append(items, fo.Finish(*end(nil))...)) {
			if len(ev.Text) > 4*4000 || strings.ContainsAny(ev.Text, "\x00\x1b") {
				t.Fatalf("%q", ev.Text)
			}
		}
	})
}
