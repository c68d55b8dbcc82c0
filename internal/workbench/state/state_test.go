package state_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"scv/internal/wire"
	"scv/internal/workbench/state"
)

var update = flag.Bool("update", false, "write docs/states.md anew")

func every(visit func(s wire.AgentState, e state.Event, to wire.AgentState, legal bool)) {
	for s := range wire.AgentState(wire.AgentStates) {
		for e := range state.Event(state.Events) {
			to, err := state.Step(s, e)
			visit(s, e, to, err == nil)
		}
	}
}

func TestFinalsAbsorb(t *testing.T) {
	every(func(s wire.AgentState, e state.Event, to wire.AgentState, legal bool) {
		if s.Final() && (legal || to != s) {
			t.Errorf("%s leaves %s for %s", e, s, to)
		}
		if !legal && to != s {
			t.Errorf("illegal %s in %s changed it to %s", e, s, to)
		}
	})
}

func TestEveryStateIsReached(t *testing.T) {
	reached := map[wire.AgentState]bool{wire.StateStarting: true, wire.StateQueued: true} // where a row begins
	for range wire.AgentStates {
		every(func(s wire.AgentState, _ state.Event, to wire.AgentState, legal bool) {
			if legal && reached[s] {
				reached[to] = true
			}
		})
	}
	for s := range wire.AgentState(wire.AgentStates) {
		if !reached[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
}

func TestEveryUnfinishedStateCanBeStopped(t *testing.T) {
	for s := range wire.AgentState(wire.AgentStates) {
		if s.Final() {
			continue
		}
		for e, want := range map[state.Event]wire.AgentState{
			state.Cancel: wire.StateCancelled, state.Interrupt: wire.StateInterrupted, state.Fail: wire.StateFailed,
		} {
			if got, err := state.Step(s, e); err != nil || got != want {
				t.Errorf("%s in %s: %s, %v; want %s", e, s, got, err, want)
			}
		}
	}
}

func TestEventsKeepTheirMeaning(t *testing.T) {
	// What an event means does not depend on where it happens: an oracle beside the table.
	means := map[state.Event]wire.AgentState{
		state.Queue: wire.StateQueued, state.Start: wire.StateStarting, state.Ready: wire.StateIdle,
		state.Turn: wire.StateWorking, state.Ask: wire.StateAwaitingInput, state.Answer: wire.StateWorking,
		state.Idle: wire.StateIdle, state.Complete: wire.StateCompleted, state.Fail: wire.StateFailed,
		state.Decline: wire.StateDeclined, state.Timeout: wire.StateTimeout, state.Cancel: wire.StateCancelled,
		state.Interrupt: wire.StateInterrupted, state.Lose: wire.StateUnknown, state.Seen: wire.StateWorking,
	}
	seen := map[state.Event]bool{}
	every(func(s wire.AgentState, e state.Event, to wire.AgentState, legal bool) {
		if !legal {
			return
		}
		seen[e] = true
		want, fixed := means[e]
		if !fixed { // activity: no news, but that it is seen
			want = s
			if s == wire.StateUnknown {
				want = wire.StateWorking
			}
		}
		if to != want {
			t.Errorf("%s in %s leads to %s, want %s", e, s, to, want)
		}
		if s == wire.StateQueued && to == wire.StateCompleted {
			t.Error("what never ran cannot be completed")
		}
	})
	for e := range state.Event(state.Events) {
		if !seen[e] {
			t.Errorf("%s is legal nowhere", e)
		}
		if e.String() == "event" || e.String() == "" {
			t.Errorf("event %d has no word", e)
		}
	}
}

func TestOutOfRange(t *testing.T) {
	if s, err := state.Step(wire.AgentState(wire.AgentStates), state.Start); err == nil || s != wire.AgentState(wire.AgentStates) {
		t.Errorf("a state beyond the table: %v, %v", s, err)
	}
	if _, err := state.Step(wire.StateIdle, state.Event(state.Events)); err == nil {
		t.Error("an event beyond the table passed")
	}
	if got := state.Event(state.Events).String(); got != "event" {
		t.Errorf("word of no event: %q", got)
	}
}

func TestEndingAgreesWithTheTable(t *testing.T) {
	for s := range wire.AgentState(wire.AgentStates) {
		e, ok := state.Ending(s)
		if ok != s.Final() {
			t.Errorf("%s: an ending event is %v", s, ok)
			continue
		}
		if got, err := state.Step(wire.StateWorking, e); ok && (err != nil || got != s) {
			t.Errorf("%s leads to %s, %v; want %s", e, got, err, s)
		}
	}
}

// TestWalk walks at random and holds every step to an oracle that does not know the table: once final, for ever; what
// waits begins before it works; an answer needs a question or a time out of sight.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]wire.AgentState{wire.StateStarting, wire.StateQueued}).Draw(t, "first")
		ended := false
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, state.Events-1), 1, 60).Draw(t, "events") {
			e := state.Event(n)
			next, err := state.Step(s, e)
			switch {
			case ended && (err == nil || next != s):
				t.Fatalf("%s moved a final %s to %s", e, s, next)
			case err == nil && s == wire.StateQueued && (next == wire.StateWorking || next == wire.StateAwaitingInput || next == wire.StateIdle || next == wire.StateCompleted):
				t.Fatalf("%s made a waiting job %s", e, next)
			case err == nil && e == state.Answer && s != wire.StateAwaitingInput && s != wire.StateUnknown:
				t.Fatalf("an answer without a question in %s", s)
			case err != nil && !strings.Contains(err.Error(), e.String()):
				t.Fatalf("the error does not name the event: %v", err)
			}
			s, ended = next, ended || next.Final()
		}
	})
}

func TestDocument(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "states.md")
	want := document()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says; run: go test ./internal/workbench/state -update", path)
	}
}

// document renders the table: first the graph, with events between the same two states on one edge, then the cells.
func document() string {
	var b strings.Builder
	b.WriteString(`# States of jobs and runs
Made from the table in internal/workbench/state; do not edit: ` + "`go test ./internal/workbench/state -update`" + ` writes it.

A job begins as ` + "`starting`" + `, or as ` + "`queued`" + ` when it has to wait. Six states are final: nothing leaves them. An event that
the table does not know in a state changes nothing and is logged. ` + "`unknown`" + ` means that SCV cannot tell; it is not final.

` + "```mermaid\nstateDiagram-v2\n    [*] --> starting\n    [*] --> queued\n")
	for s := range wire.AgentState(wire.AgentStates) {
		for to := range wire.AgentState(wire.AgentStates) {
			var words []string
			for e := range state.Event(state.Events) {
				if got, err := state.Step(s, e); err == nil && got == to && to != s {
					words = append(words, e.String())
				}
			}
			if len(words) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", s, to, strings.Join(words, ", "))
			}
		}
		if s.Final() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n\n| event |")
	for s := range wire.AgentState(wire.AgentStates) {
		if !s.Final() {
			fmt.Fprintf(&b, " %s |", s)
		}
	}
	b.WriteString("\n|---|---|---|---|---|---|---|\n")
	for e := range state.Event(state.Events) {
		fmt.Fprintf(&b, "| %s |", e)
		for s := range wire.AgentState(wire.AgentStates) {
			if s.Final() {
				continue
			}
			to, err := state.Step(s, e)
			switch {
			case err != nil:
				b.WriteString(" |")
			case to == s:
				b.WriteString(" stays |")
			default:
				fmt.Fprintf(&b, " %s |", to)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
