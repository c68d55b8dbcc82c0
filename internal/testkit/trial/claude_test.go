package trial

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// TestTrial_ClaudeUnderDaemonsThatDie lets the real claude be asked, steered and cancelled by daemons that die after
// every one to three frames.
func TestTrial_ClaudeUnderDaemonsThatDie(t *testing.T) {
	a := realagent.Claude(t, realagent.Options{})
	kind := claude.LiveKind()
	approve := func(turn uint32) (approved, cancel bool) { return turn == 1 || turn == 5, turn == 3 }
	o := &owner{approve: approve, steer: map[uint32]string{4: "rather @@say:steered"}}
	for i, prompt := range []string{
		"@@shell:echo ran >> ran-1|say:answer 1", "@@shell:echo ran >> ran-2|say:answer 2", "@@shell:echo ran >> ran-3|say:answer 3",
		"@@tool:Glob:{\"pattern\":\"*\"}|slow:5|say:never", `@@tool:Bash:{"command":"read -t 1 x < /dev/zero","description":"d","run_in_background":true}|say:answer 5`,
	} {
		n := uint32(i + 1)
		o.turns = append(o.turns, agent.Turn{
			Number: n, Key: fmt.Sprintf("turn:%d", n), Prompt: prompt, Cwd: a.Dir + "/work", RunDir: a.Dir + "/run", Run: "real-000001",
			NewID: "5f648232-828f-4ae6-a753-ab7d4887c551", Mode: agent.ModeAlways,
		})
	}
	o.turns[4].Mode = agent.ModeOnRisk
	launch, err := kind.New(agent.Settings{Command: a.Path}).Plan(o.turns[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range launch.Files {
		if err := os.WriteFile(a.Dir+"/run/"+file.Name, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), launch.Argv[0], launch.Argv[1:]...)
	command.Dir, command.Env = a.Dir+"/work", agent.Environment(a.Env, kind, launch, nil)
	log := run(t, command, kind.New, o)
	done := wire.StateCompleted
	if got, want := states(log), []wire.AgentState{done, done, wire.StateInterrupted, done, done}; !slices.Equal(got, want) {
		t.Errorf("the turns ended %v, want %v", got, want)
	}
	if one, two, three := lines(a.Dir+"/work/ran-1"), lines(a.Dir+"/work/ran-2"), lines(a.Dir+"/work/ran-3"); one != 1 || two+three != 0 {
		t.Errorf("the commands ran %d, %d and %d times, want 1, 0, 0", one, two, three)
	}
	if asked, closed := count(log, agent.FactApprovalAsked), count(log, agent.FactApprovalClosed); asked != closed || asked < 3 {
		t.Errorf("%d questions, %d closed", asked, closed)
	}
	if n := count(log, agent.FactSteered); n != 1 {
		t.Errorf("steered %d times", n)
	}
	for _, fact := range log {
		if fact.Kind == agent.FactText && strings.Contains(fact.Text, "never") {
			t.Errorf("the steered turn went on as if nothing had been said: %q", fact.Text)
		}
	}
	a.NoDials(t)
}
