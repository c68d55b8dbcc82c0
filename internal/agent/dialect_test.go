package agent_test

import (
	"encoding/json"
	"testing"

	"scv/internal/agent"
)

// TestRestoreReplacesAllOrNothing: what the checkpoint does not name is not left of the state before, and a checkpoint that
// cannot be read changes none of it.
func TestRestoreReplacesAllOrNothing(t *testing.T) {
	type state struct {
		Turn uint32
		Seen map[string]bool
	}
	s := state{Turn: 3, Seen: map[string]bool{"a": true}}
	for _, broken := range []string{`{"Turn":7,"Seen":{"b":`, `{"Turn":7,"Seen":{"b":true},"Turn":"x"}`, ``} {
		if err := agent.Restore(&s, json.RawMessage(broken)); err == nil || s.Turn != 3 || !s.Seen["a"] || len(s.Seen) != 1 {
			t.Errorf("%q left %+v, %v", broken, s, err)
		}
	}
	if err := agent.Restore(&s, json.RawMessage(`{"Seen":{"b":true}}`)); err != nil || s.Turn != 0 || s.Seen["a"] || !s.Seen["b"] {
		t.Errorf("it became %+v, %v", s, err)
	}
}
