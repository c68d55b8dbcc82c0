package trial

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// states are the states of the ended turns in a log.
func states(log []agent.Fact) []wire.AgentState {
	var out []wire.AgentState
	for _, fact := range log {
		if fact.Kind == agent.FactTurnEnded {
			out = append(out, fact.Outcome.State)
		}
	}
	return out
}

// lines counts the lines of a file that may not be there.
func lines(file string) int {
	data, _ := os.ReadFile(file)
	return strings.Count(string(data), "\n")
}

func count(log []agent.Fact, kind agent.FactKind) int {
	n := 0
	for _, fact := range log {
		if fact.Kind == kind {
			n++
		}
	}
	return n
}

// decisions: turn 1 is approved, turn 2 refused, turn 3 cancelled while its question is open.
func decisions(turn uint32) (approved, cancel bool) { return turn == 1, turn == 3 }

func turns(prompt func(n string) string, cwd string) []agent.Turn {
	var out []agent.Turn
	for i, n := range []string{"1", "2", "3"} {
		out = append(out, agent.Turn{Number: uint32(i + 1), Key: "turn:" + n, Prompt: prompt(n), Cwd: cwd})
	}
	return out
}

// TestTrial_AnACPAgentUnderDaemonsThatDie: handshake, an open question, a dead daemon, an answer, the next turn.
func TestTrial_AnACPAgentUnderDaemonsThatDie(t *testing.T) {
	file := t.TempDir() + "/ran"
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), marker+"="+file, "GORACE=atexit_sleep_ms=0")
	o := &owner{turns: turns(func(n string) string { return "prompt " + n }, "/w"), approve: decisions}
	log := run(t, command, catalog.ACP("fake", "fake").New, o)
	if got, want := states(log), []wire.AgentState{wire.StateCompleted, wire.StateCompleted, wire.StateCancelled}; !slices.Equal(got, want) {
		t.Errorf("the turns ended %v, want %v", got, want)
	}
	if n := lines(file); n != 1 {
		t.Errorf("the approved command ran %d times", n)
	}
	if asked, closed := count(log, agent.FactApprovalAsked), count(log, agent.FactApprovalClosed); asked != 3 || closed != 3 {
		t.Errorf("%d questions, %d closed", asked, closed)
	}
}

// TestTrial_ACPAgentsUnderDaemonsThatDie does the same with the real agents that speak the protocol.
func TestTrial_ACPAgentsUnderDaemonsThatDie(t *testing.T) {
	shell := func(n string) string { return "@@shell:echo ran >> ran-" + n + "|say:answer " + n }
	escalated := func(n string) string {
		return `@@tool:exec_command:{"cmd":"echo ran >> ran-` + n + `","sandbox_permissions":"require_escalated","justification":"to see"}|say:answer ` + n
	}
	for _, c := range []struct {
		name   string
		start  func(testing.TB, realagent.Options) *realagent.Agent
		prompt func(n string) string
		denied wire.AgentState
		model  string
	}{
		{"gemini", realagent.Gemini, shell, wire.StateCompleted, "gemini-2.5-flash"},
		{"opencode", realagent.Opencode, shell, wire.StateCompleted, ""},
		{"codex-acp", realagent.CodexACP, escalated, wire.StateCancelled, ""},
		{"claude-agent-acp", realagent.ClaudeACP, shell, wire.StateCompleted, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := c.start(t, realagent.Options{})
			o := &owner{turns: turns(c.prompt, a.Dir+"/work"), approve: decisions}
			for i := range o.turns {
				o.turns[i].Mode, o.turns[i].RunDir = agent.ModeAlways, a.Dir+"/run"
			}
			launch, err := a.Kind.New(agent.Settings{Command: a.Path, Model: c.model}).Plan(o.turns[0])
			if err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), launch.Argv[0], launch.Argv[1:]...)
			command.Env, command.Dir = agent.Environment(a.Env, a.Kind, launch, nil), a.Dir+"/work"
			log := run(t, command, a.Kind.New, o)
			if got, want := states(log), []wire.AgentState{wire.StateCompleted, c.denied, wire.StateCancelled}; !slices.Equal(got, want) {
				t.Errorf("the turns ended %v, want %v", got, want)
			}
			if one, two, three := lines(a.Dir+"/work/ran-1"), lines(a.Dir+"/work/ran-2"), lines(a.Dir+"/work/ran-3"); one != 1 || two+three != 0 {
				t.Errorf("the commands ran %d, %d and %d times, want 1, 0, 0", one, two, three)
			}
			if asked, closed := count(log, agent.FactApprovalAsked), count(log, agent.FactApprovalClosed); asked != 3 || closed != 3 {
				t.Errorf("%d questions, %d closed", asked, closed)
			}
		})
	}
}
