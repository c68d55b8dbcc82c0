package gemini_test

import (
	"flag"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/gemini"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

const model = "gemini-2.5-flash"

// update records anew from the real agent and, in a second run, writes the golden files.
var update = flag.Bool("update", false, "record from the real agent; once more: write the golden files")

// TestC4_RecordedTurns replays what the real gemini said: whole, byte by byte, from every checkpoint and with the state
// through JSON at every frame it gives the same facts, and those are the golden ones.
func TestC4_RecordedTurns(t *testing.T) {
	realagent.Recorded(t, func(string) agent.Kind { return gemini.Kind() }, *update)
}

// TestC15_EachCaseOfTheRealAgent plays the cases of agents.md section 8 with one process per turn.
func TestC15_EachCaseOfTheRealAgent(t *testing.T) {
	for _, s := range []struct {
		name, prompt string
		mode         agent.Mode
		state        wire.AgentState
		class        agent.Class
	}{
		{"ok", "@@say:hello there", agent.ModeOnRisk, wire.StateCompleted, ""},
		{"tool", "@@shell:echo hi|shell:ls /nonexistent|say:done", agent.ModeAuto, wire.StateCompleted, ""},
		{"denied", "@@shell:echo hi|say:done", agent.ModeReadOnly, wire.StateCompleted, ""},
		{"error-400", "@@err:400", agent.ModeOnRisk, wire.StateFailed, agent.ClassModel},
		{"error-401", "@@err:401", agent.ModeOnRisk, wire.StateFailed, agent.ClassAuth},
	} {
		t.Run(s.name, func(t *testing.T) {
			a := realagent.GeminiCLI(t, realagent.Options{})
			recording := a.Run(t, realagent.Turn{Prompt: s.prompt, Mode: s.mode, Model: model})
			if *update {
				recording.Save(t, "testdata/"+s.name+".jsonl", a.Scrub())
			}
			end := realagent.Ending(t, recording.Check(t, gemini.Kind()))
			if end.State != s.state || end.Class != string(s.class) {
				t.Errorf("%s %q (%s), want %s %q", end.State, end.Class, end.Detail, s.state, s.class)
			}
		})
	}
}
