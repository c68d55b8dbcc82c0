package codex_test

import (
	"flag"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/testkit/realagent"
)

// update records anew from the real agent (SCV_REAL_CODEX) and, in a second run, writes the golden files.
var update = flag.Bool("update", false, "record from the real agent; once more: write the golden files")

// TestC4C5_RecordedTurns replays what the real codex said: whole, byte by byte, from every checkpoint and with the
// state through JSON at every frame it gives the same facts, and those are the golden ones.
func TestC4C5_RecordedTurns(t *testing.T) {
	realagent.Recorded(t, func(name string) agent.Kind {
		if strings.HasPrefix(name, "live-") {
			return codex.LiveKind()
		}
		return codex.Kind()
	}, *update)
}

// TestC5_TheExitCodeOfALiveProcessDecidesNothing does the same for processes that served several turns.
func TestC5_TheExitCodeOfALiveProcessDecidesNothing(t *testing.T) {
	realagent.ExitCodeDecidesNothing(t, codex.LiveKind(), "live-ok", "live-500", "live-cancelled", "live-refusal")
}

// TestC5_TheExitCodeDecidesNothing exchanges the exit codes of recorded turns and finds the same states.
func TestC5_TheExitCodeDecidesNothing(t *testing.T) {
	realagent.ExitCodeDecidesNothing(t, codex.Kind(), "ok", "error-500", "refusal")
}
