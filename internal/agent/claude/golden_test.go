package claude_test

import (
	"flag"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
	"scv/internal/testkit/realagent"
)

// update records anew from the real agent (SCV_REAL_CLAUDE) and, in a second run, writes the golden files.
var update = flag.Bool("update", false, "record from the real agent; once more: write the golden files")

// TestC4C5_RecordedTurns replays what the real claude said: whole, byte by byte, from every checkpoint and with the
// state through JSON at every frame it gives the same facts, and those are the golden ones.
func TestC4C5_RecordedTurns(t *testing.T) {
	realagent.Recorded(t, func(name string) agent.Kind {
		if strings.HasPrefix(name, "live-") {
			return claude.LiveKind()
		}
		return claude.Kind()
	}, *update)
}

// TestC5_TheExitCodeDecidesNothing exchanges the exit codes of recorded turns and finds the same states.
func TestC5_TheExitCodeDecidesNothing(t *testing.T) {
	realagent.ExitCodeDecidesNothing(t, claude.Kind(), "ok", "error-500", "refusal")
}
