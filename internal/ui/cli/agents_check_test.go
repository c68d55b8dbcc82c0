package cli

import (
	"testing"

	"scv/internal/wire"
)

func TestACheckRemembersTroubleThatASignOfLifeTookAway(t *testing.T) {
	trouble := func(detail string, state wire.AgentState) *wire.Job {
		return &wire.Job{State: state, Detail: new(detail), Class: new(wire.ClassNetwork)}
	}
	var s sighting
	for _, step := range []struct {
		job  *wire.Job
		said string
	}{
		{&wire.Job{State: wire.StateStarting}, ""},
		{trouble("tries again: 1/5", wire.StateWorking), "tries again: 1/5"},
		{trouble("tries again: 1/5", wire.StateWorking), ""},
		{trouble("tries again: 2/5", wire.StateWorking), "tries again: 2/5"},
		{&wire.Job{State: wire.StateWorking}, ""},
		{trouble("the network is down", wire.StateFailed), ""},
	} {
		if said := s.look(step.job); said != step.said {
			t.Errorf("said %q, want %q", said, step.said)
		}
	}
	if s.trouble != "tries again: 2/5" || s.class != wire.ClassNetwork || s.last.State != wire.StateFailed {
		t.Errorf("it remembers %q, class %q, state %s", s.trouble, s.class, s.last.State)
	}
}
