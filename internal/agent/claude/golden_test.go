package claude_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/agent/claude"
	"scv/internal/testkit/realagent"
)

// update records anew from the real agent (SCV_REAL_CLAUDE) and, in a second run, writes the golden files.
var update = flag.Bool("update", false, "record from the real agent; once more: write the golden files")

// TestC4C5_RecordedTurns replays what the real claude said: whole, byte by byte, from every checkpoint and with the
// state through JSON at every frame it gives the same facts, and those are the golden ones.
func TestC4C5_RecordedTurns(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			kind := claude.Kind()
			if strings.HasPrefix(name, "live-") {
				kind = claude.LiveKind()
			}
			items := realagent.Load(t, file).Check(t, kind)
			realagent.Golden(t, "testdata/"+name+".golden", realagent.Render(items), *update)
		})
	}
}

// TestC5_TheExitCodeDecidesNothing exchanges the exit codes of recorded turns and finds the same states.
func TestC5_TheExitCodeDecidesNothing(t *testing.T) {
	for _, name := range []string{"ok", "error-500", "refusal"} {
		recording := realagent.Load(t, "testdata/"+name+".jsonl")
		want := realagent.Ending(t, recording.Replay(t, claude.Kind()))
		for _, code := range []int{0, 1, 127, 255} {
			recording[len(recording)-1] = realagent.Entry{Kind: "exit", Code: code}
			if got := realagent.Ending(t, recording.Replay(t, claude.Kind())); got.State != want.State || got.Class != want.Class {
				t.Errorf("%s with exit code %d is %s %s, want %s %s", name, code, got.State, got.Class, want.State, want.Class)
			}
		}
	}
}
