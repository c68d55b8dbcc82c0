package foldtest

import (
	"testing"

	"scv/internal/agent"
)

// Line gives a dialect one line, on both streams and more than once: it may not break, end its turn twice or not at all, or
// make a state that cannot be kept.
func Line(t *testing.T, kind agent.Kind, line []byte) {
	t.Helper()
	dialect := kind.New(agent.Settings{})
	ends := 0
	for _, in := range []agent.Input{
		{Kind: agent.InputStarted},
		{Kind: agent.InputSent, Key: "turn:1", N: 1},
		{Kind: agent.InputOut, Line: line},
		{Kind: agent.InputErr, Line: line},
		{Kind: agent.InputOut, Line: line},
		{Kind: agent.InputExit},
	} {
		for _, fact := range dialect.Feed(in) {
			if fact.Kind == agent.FactTurnEnded {
				ends++
			}
		}
		state, err := dialect.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		if err := dialect.Restore(state); err != nil {
			t.Fatal(err)
		}
	}
	if ends != 1 {
		t.Errorf("the turn ended %d times", ends)
	}
}
