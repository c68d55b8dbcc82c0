package catalog_test

import (
	"slices"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
)

// TestPlan_AnOwnCommandTakesTheJobsModelAsItsOwnerSays: whatever the dialect, the owner's arguments stand where its own
// options would, with the job's model, and the prompt is last.
func TestPlan_AnOwnCommandTakesTheJobsModelAsItsOwnerSays(t *testing.T) {
	settings := agent.Settings{
		Command: "mine", OwnCommand: true, Model: "configured", Args: []string{"--first"},
		ModelArgs: []string{"--use={model}"}, EffortArgs: []string{"--think", "{effort}"}, PromptArgs: []string{"--say"},
	}
	turn := agent.Turn{Number: 1, Prompt: "do it", Model: "jobs", Effort: "high", Mode: agent.ModeOnRisk}
	kinds := map[string]*agent.Kind{"plain": new(catalog.Plain("mine", "mine", false))}
	for _, entry := range catalog.Builtin() {
		if entry.CLI != nil && entry.Name() != "demo" {
			kinds[entry.Name()] = entry.CLI
		}
	}
	if len(kinds) != 5 {
		t.Fatalf("%d kinds", len(kinds))
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			launch, err := kind.New(settings).Plan(turn)
			if err != nil {
				t.Fatal(err)
			}
			argv := launch.Argv
			model, own := slices.Index(argv, "--use=jobs"), slices.Index(argv, "exec")
			if model < 0 || own > model || slices.Contains(argv, "--use=configured") {
				t.Errorf("the model is not where it belongs: %q", argv)
			}
			for _, other := range []string{"--model=jobs", "-m"} {
				if slices.Contains(argv, other) {
					t.Errorf("the dialect's own option is there too: %q", argv)
				}
			}
			if n := len(argv); !slices.Equal(argv[n-2:], []string{"--say", "do it"}) {
				t.Errorf("the command line ends with %q", argv[n-2:])
			}
		})
	}
}

// TestPlan_ALiveProcessHasTheOwnersWordsForAModel: before its own words, and with no prompt.
func TestPlan_ALiveProcessHasTheOwnersWordsForAModel(t *testing.T) {
	settings := agent.Settings{Command: "mine", OwnCommand: true, ModelArgs: []string{"--use", "{model}"}, PromptArgs: []string{"--say"}}
	for _, entry := range catalog.Builtin() {
		if entry.Live == nil || entry.Name() == "demo-live" {
			continue
		}
		launch, err := entry.Live.New(settings).Plan(agent.Turn{Number: 1, Prompt: "do it", Model: "jobs"})
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(launch.Argv, "--use"); i < 0 || launch.Argv[i+1] != "jobs" {
			t.Errorf("%s: %q", entry.Name(), launch.Argv)
		}
		if slices.Contains(launch.Argv, "do it") || slices.Contains(launch.Argv, "--say") {
			t.Errorf("%s has the prompt: %q", entry.Name(), launch.Argv)
		}
	}
}
