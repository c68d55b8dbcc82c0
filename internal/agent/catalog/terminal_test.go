package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
)

// TestV16_EachAgentGoesOnInATerminal, by either transport, with the job's session, model and mode, and without the prompt
// options of an own command.
func TestV16_EachAgentGoesOnInATerminal(t *testing.T) {
	turn := agent.Turn{Session: "abc-1", Cwd: "/w", RunDir: "/r", Model: "some/model"}
	for _, entry := range catalog.Builtin() {
		for _, kind := range []*agent.Kind{entry.Live, entry.CLI} {
			if kind == nil || kind.Name == "scv" { // a nested scv keeps nothing that could go on in a terminal
				continue
			}
			demo := kind.Command == "scv"
			if kind.Terminal == nil {
				t.Errorf("%s over %s has none", kind.Name, kind.Transport)
				continue
			}
			for mode, marks := range map[agent.Mode]map[string]string{
				agent.ModeAuto:     {"codex": "bypass", "claude": "bypassPermissions", "gemini": "yolo", "opencode": `"*":"allow"`},
				agent.ModeOnRisk:   {"codex": "-s", "claude": "--permission-mode", "gemini": "--approval-mode default", "opencode": `"bash":"ask"`},
				agent.ModeReadOnly: {"codex": "read-only", "claude": "--disallowedTools", "gemini": "plan", "opencode": `"*":"deny"`},
			} {
				turn.Mode = mode
				settings := agent.Settings{Command: kind.Command, OwnCommand: !demo, PromptArgs: []string{"--say"}}
				launch, err := kind.Terminal(settings, turn)
				if err != nil {
					t.Errorf("%s, %s: %v", kind.Name, mode, err)
					continue
				}
				all := strings.Join(launch.Argv, " ") + " " + launch.Env["OPENCODE_CONFIG_CONTENT"]
				if !slices.Contains(launch.Argv, "abc-1") || !strings.Contains(all, marks[kind.Name]) || strings.Contains(all, "--say") {
					t.Errorf("%s, %s: %s", kind.Name, mode, all)
				}
				if !demo && !strings.Contains(all, "some/model") {
					t.Errorf("%s has another model: %s", kind.Name, all)
				}
			}
		}
	}
}
