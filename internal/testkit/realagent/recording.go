// Package realagent runs real coding agents in tests, offline: with a home of their own, a fake model and a proxy that
// lets nothing through. What one said is a Recording, which tests replay and keep in testdata. Only tests use it. A
// test that asks for an agent that this machine does not have is skipped with a reason (package need).
package realagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/run/fold"
	"scv/internal/run/fold/foldtest"
	"scv/internal/run/spool"
	"scv/internal/workbench/row"
)

// An Entry is one thing that passed between an agent and its shim.
type Entry struct {
	Kind   string `json:"k"` // "start", "in", "out", "err", "exit"
	Key    string `json:"key,omitempty"`
	Text   string `json:"text,omitempty"` // of out and err: with its line feed, if it had one
	Code   int    `json:"code,omitzero"`
	Signal string `json:"signal,omitempty"`
}

// A Recording is all that passed, in order.
type Recording []Entry

// Load reads a recording of testdata.
func Load(t testing.TB, file string) Recording {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r Recording
	for line := range bytes.Lines(data) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r = append(r, e)
	}
	return r
}

// Save writes a recording, with every machine-dependent name replaced.
func (r Recording) Save(t testing.TB, file string, replace *strings.Replacer) {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, e := range r {
		e.Text = replace.Replace(e.Text)
		if err := encoder.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Frames are the spool frames that a shim would have written.
func (r Recording) Frames() []spool.Frame {
	var s foldtest.Script
	for _, e := range r {
		switch e.Kind {
		case "start":
			s.Start()
		case "in":
			s.In(e.Key, e.Text)
		case "out":
			s.Out(e.Text)
		case "err":
			s.Err(e.Text)
		case "exit":
			s.Exit(e.Code, e.Signal)
		}
	}
	return s.Frames
}

// Check replays the recording whole, byte by byte and from every checkpoint through a dialect, fails the test when
// they differ, and returns what they say.
func (r Recording) Check(t testing.TB, kind agent.Kind) []fold.Item {
	t.Helper()
	return foldtest.Check(t, func() fold.Options {
		return foldtest.Options(kind, agent.Settings{}, "the prompt")
	}, r.Frames(), nil)
}

// Replay folds the recording once, for one that is too long to be checked from every point.
func (r Recording) Replay(t testing.TB, kind agent.Kind) []fold.Item {
	t.Helper()
	return foldtest.Replay(t, func() fold.Options {
		return foldtest.Options(kind, agent.Settings{}, "the prompt")
	}, r.Frames(), nil)
}

// Endings returns the outcomes among items, in order.
func Endings(items []fold.Item) []row.End {
	var ends []row.End
	for _, step := range foldtest.Steps(items) {
		if step.Kind == row.StepTurnEnded {
			ends = append(ends, *step.End)
		}
	}
	return ends
}

// Ending returns the one outcome among items; a second or none fails the test.
func Ending(t testing.TB, items []fold.Item) row.End {
	t.Helper()
	ends := Endings(items)
	if len(ends) != 1 {
		t.Fatalf("the turn ended %d times", len(ends))
	}
	return ends[0]
}

// Render writes items as text for a golden file.
func Render(items []fold.Item) string {
	var out strings.Builder
	for _, item := range items {
		if e := item.Event; e != nil {
			fmt.Fprintf(&out, "%-14s %s", e.Kind, e.Text)
			if e.Status != nil {
				fmt.Fprintf(&out, " [%s]", *e.Status)
			}
			out.WriteByte('\n')
			continue
		}
		s := item.Step
		switch s.Kind {
		case row.StepSession:
			fmt.Fprintf(&out, "> session %s\n", s.Vendor)
		case row.StepRetry:
			fmt.Fprintf(&out, "> retry %s\n", s.Class)
		case row.StepTurnEnded:
			fmt.Fprintf(&out, "> %s class=%q\n  detail: %s\n  reply: %s\n  error: %s\n  use: in %d out %d sums=%v", s.End.State,
				s.End.Class, s.End.Detail, brief(s.End.Reply), brief(s.End.Error), s.End.InputTokens, s.End.OutputTokens, s.End.CumulativeTokens)
			if s.End.CostUSD != nil {
				fmt.Fprintf(&out, " cost %.4f sums=%v", *s.End.CostUSD, s.End.CumulativeCost)
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// Recorded replays each recording of testdata, whole, byte by byte and from every checkpoint, and compares what it says with
// the golden file beside it, or writes that one when update is set. The kind is asked for by the recording's name.
func Recorded(t *testing.T, kind func(name string) agent.Kind, update bool) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			items := Load(t, file).Check(t, kind(name))
			Golden(t, "testdata/"+name+".golden", Render(items), update)
		})
	}
}

// ExitCodeDecidesNothing gives recordings of testdata other exit codes and finds the same states.
func ExitCodeDecidesNothing(t *testing.T, kind agent.Kind, names ...string) {
	t.Helper()
	for _, name := range names {
		r := Load(t, "testdata/"+name+".jsonl")
		want := Endings(r.Replay(t, kind))
		if len(want) == 0 {
			t.Errorf("%s has no end", name)
		}
		for _, code := range []int{0, 1, 127, 255} {
			r[len(r)-1] = Entry{Kind: "exit", Code: code}
			same := func(a, b row.End) bool { return a.State == b.State && a.Class == b.Class }
			if got := Endings(r.Replay(t, kind)); !slices.EqualFunc(got, want, same) {
				t.Errorf("%s with exit code %d ends %+v, want %+v", name, code, got, want)
			}
		}
	}
}

func brief(text string) string {
	if len(text) <= 300 {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q... (%d bytes)", text[:100], len(text))
}

// Golden compares text with a file of testdata, or writes it when update is set.
func Golden(t testing.TB, file, text string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s differs; want:\n%s\ngot:\n%s", file, want, text)
	}
}
