package opencode_test

import (
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/opencode"
)

// TestT9_ItsServerHasAPasswordOfItsRun: opencode opens a server on a loopback port, which without one runs commands for
// whoever asks. The password is another one for each run and stands in no command line.
func TestT9_ItsServerHasAPasswordOfItsRun(t *testing.T) {
	const key = "OPENCODE_SERVER_PASSWORD"
	seen := map[string]bool{}
	for _, id := range []string{"6c1b7c5e-5f0e-4b7e-9a53-0c8f5d1f2a44", "0a1b7c5e-5f0e-4b7e-9a53-0c8f5d1f2a45"} {
		turn := agent.Turn{Number: 1, Key: "turn:1", Prompt: "x", NewID: id, Mode: agent.ModeOnRisk}
		oneTurn, err := opencode.Kind().New(agent.Settings{}).Plan(turn)
		if err != nil {
			t.Fatal(err)
		}
		turn.Session = "ses_1"
		taken, err := opencode.Kind().Terminal(agent.Settings{}, turn)
		if err != nil {
			t.Fatal(err)
		}
		for _, launch := range []agent.Launch{oneTurn, opencode.Start(turn), taken} {
			password := launch.Env[key]
			if len(password) < 32 || strings.Contains(password, id) || strings.Contains(strings.Join(launch.Argv, " "), password) {
				t.Errorf("the password is %q with %q", password, launch.Argv)
			}
			seen[password] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("two runs have %d passwords", len(seen))
	}
}
