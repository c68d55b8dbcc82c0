package trial

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// TestTrial_CodexAppServerUnderDaemonsThatDie lets the real codex be asked, steered and cancelled by daemons that die after every one to three frames.
func TestTrial_CodexAppServerUnderDaemonsThatDie(t *testing.T) {
	a := realagent.Codex(t, realagent.Options{})
	kind := codex.LiveKind()
	o := &owner{approve: decisions, steer: map[uint32]string{4: "rather @@say:steered"}}
	for i, prompt := range []string{
		"@@shell:echo ran >> ran-1|say:answer 1", "@@shell:echo ran >> ran-2|say:answer 2", "@@shell:echo ran >> ran-3|say:answer 3",
		"@@shell:sleep 1|say:never", "@@hist",
	} {
		n := uint32(i + 1)
		o.turns = append(o.turns, agent.Turn{Number: n, Key: fmt.Sprintf("turn:%d", n), Prompt: prompt, Cwd: a.Dir + "/work", Mode: agent.ModeAlways})
	}
	o.turns[3].Mode = agent.ModeOnRisk
	launch, err := kind.New(agent.Settings{Command: a.Path}).Plan(o.turns[0])
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), launch.Argv[0], launch.Argv[1:]...)
	command.Env, command.Dir = a.Env, a.Dir+"/work"
	log := run(t, command, kind.New, o)
	done := wire.StateCompleted
	if got, want := states(log), []wire.AgentState{done, done, wire.StateInterrupted, done, done}; !slices.Equal(got, want) {
		t.Errorf("the turns ended %v, want %v", got, want)
	}
	if one, two, three := lines(a.Dir+"/work/ran-1"), lines(a.Dir+"/work/ran-2"), lines(a.Dir+"/work/ran-3"); one != 1 || two+three != 0 {
		t.Errorf("the commands ran %d, %d and %d times, want 1, 0, 0", one, two, three)
	}
	if asked, closed := count(log, agent.FactApprovalAsked), count(log, agent.FactApprovalClosed); asked != 3 || closed != 3 {
		t.Errorf("%d questions, %d closed", asked, closed)
	}
	if offers := count(log, agent.FactOffer); offers != 3 {
		t.Errorf("%d offers, want one of the thread, the account and the models each", offers)
	}
	if n := count(log, agent.FactSteered); n != 1 {
		t.Errorf("steered %d times", n)
	}
	for _, fact := range log {
		if fact.Kind == agent.FactText && (fact.Turn == 4 && strings.Contains(fact.Text, "never") || fact.Turn == 5 && !strings.HasPrefix(fact.Text, "6: ")) {
			t.Errorf("turn %d said %q", fact.Turn, fact.Text)
		}
	}
	a.NoDials(t)
}
