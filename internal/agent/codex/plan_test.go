package codex_test

import (
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/run/fold/foldtest"
)

func plan(t *testing.T, s agent.Settings, turn agent.Turn) agent.Launch {
	t.Helper()
	launch, err := codex.Kind().New(s).Plan(turn)
	if err != nil {
		t.Fatal(err)
	}
	return launch
}

func TestPlan_OptionsStandBeforeResume(t *testing.T) {
	launch := plan(t, agent.Settings{Command: "/opt/codex", Args: []string{"--profile", "p"}, Effort: `hi"gh`},
		agent.Turn{Prompt: "-secret prompt", Session: "01a2", Model: "m"})
	line := strings.Join(launch.Argv, " ")
	for _, want := range []string{"/opt/codex --profile p exec --json", "--model=m", `model_reasoning_effort="hi\"gh"`, " resume 01a2 -"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	if strings.Contains(line, "secret") || slices.Index(launch.Argv, "resume") != len(launch.Argv)-3 {
		t.Errorf("the command line is %q", line)
	}
}

func TestPlan_AnOwnCommandTakesThePromptAsItsLastArgument(t *testing.T) {
	kind, settings := codex.Kind(), agent.Settings{Command: "mine", OwnCommand: true}
	turn := agent.Turn{Number: 1, Key: "turn:1", Prompt: "--do it\nnow", Mode: agent.ModeOnRisk}
	launch := plan(t, settings, turn)
	if launch.Argv[0] != "mine" || launch.Argv[len(launch.Argv)-1] != turn.Prompt {
		t.Errorf("the command line is %q", launch.Argv)
	}
	dialect := kind.New(settings)
	dialect.Feed(agent.Input{Kind: agent.InputStarted})
	if m, ok := dialect.Next(agent.Wishes{Turn: &turn}, 1); !ok || len(m.Bytes) != 0 || !m.EOF || m.Key != "turn:1" {
		t.Errorf("the message is %+v, %v", m, ok)
	}
}

func TestPlan_EachModeHasItsSandbox(t *testing.T) {
	for mode, want := range map[agent.Mode]string{
		agent.ModeAuto: "--dangerously-bypass-approvals-and-sandbox", agent.ModeOnRisk: "-s workspace-write",
		agent.ModeAlways: "--ignore-rules -s read-only", agent.ModeReadOnly: "--ignore-rules -s read-only",
	} {
		launch := plan(t, agent.Settings{}, agent.Turn{Mode: mode})
		if line := strings.Join(launch.Argv, " "); !strings.Contains(line, want) {
			t.Errorf("mode %s is %q", mode, line)
		}
		if asks := mode == agent.ModeOnRisk || mode == agent.ModeAlways; asks != (launch.Note != "") {
			t.Errorf("mode %s has the note %q", mode, launch.Note)
		}
	}
}

// FuzzLine: no line of an agent breaks the dialect, ends a turn twice or makes a state that cannot be kept.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		`{"type":"thread.started","thread_id":"x"}`, `{"type":"turn.completed","usage":{"input_tokens":1}}`,
		`{"type":"turn.failed","error":null}`, `{"type":"item.completed","item":{"type":"agent_message","text":5}}`, "\x00\xff", `[]`, `{"type":7}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { foldtest.Line(t, codex.Kind(), line) })
}
