package claude_test

import (
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
	"scv/internal/run/fold/foldtest"
)

func plan(t *testing.T, s agent.Settings, turn agent.Turn) agent.Launch {
	t.Helper()
	launch, err := claude.Kind().New(s).Plan(turn)
	if err != nil {
		t.Fatal(err)
	}
	return launch
}

func TestPlan_ANewAndAResumedSession(t *testing.T) {
	settings := agent.Settings{Command: "/opt/claude", Args: []string{"--add-dir", "d"}, Effort: "high"}
	turn := agent.Turn{Prompt: "secret prompt", NewID: "5f64-1", RunDir: "/run", Model: "m"}
	launch := plan(t, settings, turn)
	line := strings.Join(launch.Argv, " ")
	for _, want := range []string{"/opt/claude --add-dir d -p ", "--session-id 5f64-1", "--model=m", "--effort=high", "--settings /run/claude-settings.json", "--input-format stream-json"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	if strings.Contains(line, "secret") || launch.Env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] != "1" {
		t.Errorf("the command line is %q, the environment %q", line, launch.Env)
	}
	turn.Session = "5f64-2"
	if line := strings.Join(plan(t, settings, turn).Argv, " "); !strings.Contains(line, "--resume 5f64-2") || strings.Contains(line, "--session-id") {
		t.Errorf("the command line is %q", line)
	}
}

func TestPlan_AnOwnCommandTakesThePromptAsItsLastArgument(t *testing.T) {
	kind, settings := claude.Kind(), agent.Settings{Command: "mine", OwnCommand: true}
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

func TestPlan_EachModeHasItsLimits(t *testing.T) {
	for mode, want := range map[agent.Mode]struct{ argument, file string }{
		agent.ModeAuto:     {"bypassPermissions", `{"autoMemoryEnabled":false}`},
		agent.ModeOnRisk:   {"acceptEdits", `{"autoMemoryEnabled":false}`},
		agent.ModeAlways:   {"default", `{"autoMemoryEnabled":false,"permissions":{"ask":["Bash","Edit","Write","NotebookEdit","mcp__*"]}}`},
		agent.ModeReadOnly: {"--disallowedTools=Bash,Edit,Write,NotebookEdit,Monitor,EnterWorktree,mcp__*", `{"autoMemoryEnabled":false}`},
	} {
		launch := plan(t, agent.Settings{}, agent.Turn{Mode: mode})
		if !slices.Contains(launch.Argv, want.argument) || string(launch.Files[0].Data) != want.file {
			t.Errorf("mode %s is %q with %s", mode, launch.Argv, launch.Files[0].Data)
		}
		if asks := mode == agent.ModeOnRisk || mode == agent.ModeAlways; asks != (launch.Note != "") {
			t.Errorf("mode %s has the note %q", mode, launch.Note)
		}
	}
}

// FuzzLine: no line of an agent breaks the dialect, ends a turn twice or makes a state that cannot be kept.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		`{"type":"system","subtype":"init","session_id":"x"}`, `{"type":"result","subtype":"success","is_error":false}`,
		`{"type":"result","errors":[1,null,"x"]}`, `{"type":"assistant","message":{"content":"text"}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result"}]}}`, `{"type":"system","subtype":"background_tasks_changed","tasks":[{}]}`,
		`{"type":"result","subtype":"success","queued_turn_count":1}`, "\x00\xff", `[]`, `{"type":7}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { foldtest.Line(t, claude.Kind(), line) })
}
