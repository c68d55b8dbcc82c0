package trial

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/testkit/fakemodel"
	"scv/internal/testkit/need"
	"scv/internal/testkit/proxy"
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
	log := run(t, command, newACP, o)
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

// TestTrial_GeminiUnderDaemonsThatDie does the same with the real gemini.
func TestTrial_GeminiUnderDaemonsThatDie(t *testing.T) {
	path := need.Agent(t, "gemini")
	model, gate, dir := fakemodel.Start(t), proxy.Start(t), t.TempDir()
	settings := `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false},
		"general":{"enableAutoUpdate":false,"sessionRetention":{"enabled":false}}}`
	for _, sub := range []string{"home/.gemini", "work", "tmp"} {
		if err := os.MkdirAll(dir+"/"+sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/home/.gemini/settings.json", []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, "--acp", "-m", "gemini-2.5-flash")
	command.Dir = dir + "/work"
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir + "/home", "TMPDIR=" + dir + "/tmp", "GEMINI_API_KEY=any",
		"GOOGLE_GEMINI_BASE_URL=" + model.URL, "HTTPS_PROXY=" + gate.URL, "HTTP_PROXY=" + gate.URL, "NO_PROXY=127.0.0.1,localhost",
	}
	prompt := func(n string) string { return "@@shell:echo ran >> ran-" + n + "|say:answer " + n }
	o := &owner{turns: turns(prompt, dir+"/work"), approve: decisions}
	log := run(t, command, newACP, o)
	if got, want := states(log), []wire.AgentState{wire.StateCompleted, wire.StateCompleted, wire.StateCancelled}; !slices.Equal(got, want) {
		t.Errorf("the turns ended %v, want %v", got, want)
	}
	if one, two, three := lines(dir+"/work/ran-1"), lines(dir+"/work/ran-2"), lines(dir+"/work/ran-3"); one != 1 || two+three != 0 {
		t.Errorf("the commands ran %d, %d and %d times, want 1, 0, 0", one, two, three)
	}
	if dials := gate.Dials(); len(dials) > 0 {
		t.Errorf("gemini dialled %q", dials)
	}
}
