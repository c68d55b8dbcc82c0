package acp_test

import (
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/run/fold"
	"scv/internal/testkit/realagent"
)

type item = fold.Item

// kindOf is the kind that a recording was made with.
func kindOf(file string) agent.Kind {
	switch name := filepath.Base(file); {
	case strings.HasPrefix(name, "gemini"):
		return catalog.Gemini()
	case strings.HasPrefix(name, "opencode"):
		return catalog.Opencode()
	case strings.HasPrefix(name, "codex-acp"):
		return catalog.ACP("codex-acp", "codex-acp")
	case strings.HasPrefix(name, "claude-agent-acp"):
		return catalog.ACP("claude-agent-acp", "claude-agent-acp")
	}
	return catalog.ACP("mine", "mine")
}

// TestC4C16_RecordedTalks replays what real agents said: whole, byte by byte, from every checkpoint and with the state
// through JSON at every frame it gives the same facts, and those are the golden ones.
func TestC4C16_RecordedTalks(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			items := realagent.Load(t, file).Check(t, kindOf(file))
			realagent.Golden(t, "testdata/"+name+".golden", realagent.Render(items), *update)
		})
	}
}
