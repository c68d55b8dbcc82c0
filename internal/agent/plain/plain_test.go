package plain_test

import (
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/plain"
	"scv/internal/run/fold"
	"scv/internal/run/fold/foldtest"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

func TestC4_TheExitCodeIsAllThereIs(t *testing.T) {
	for _, c := range []struct {
		name, out, err string
		code           int
		signal         string
		state          wire.AgentState
		class          agent.Class
		reply, detail  string
	}{
		{"plain text is one answer", "one\n\ntwo\n", "", 0, "", wire.StateCompleted, "", "one\n\ntwo", "exit code 0"},
		{"without a last line feed", "one", "", 0, "", wire.StateCompleted, "", "one", "exit code 0"},
		{"the last text of JSON lines", `{"text":"a"}` + "\n" + `{"n":1}` + "\n" + `{"type":"x","message":"b"}` + "\n", "", 0, "", wire.StateCompleted, "", "b", "exit code 0"},
		{"a log before the answer", "starting\n" + `{"result":"b"}` + "\n", "", 0, "", wire.StateCompleted, "", "b", "exit code 0"},
		{"B21 nothing at all", "", "", 0, "", wire.StateCompleted, "", "", "wrote no answer"},
		{"a failure says why", "half\n", "no such file", 3, "", wire.StateFailed, agent.ClassAgent, "half", "no such file"},
		{"P5 a sign-in", "", "error: 401 / status 401 please log in", 1, "", wire.StateFailed, agent.ClassAuth, "", "not signed in"},
		{"an error in JSON", `{"error":"quota exceeded"}` + "\n", "", 1, "", wire.StateFailed, agent.ClassQuota, "", "quota exceeded"},
		{"a signal", "half\n", "", -1, "SIGSEGV", wire.StateFailed, agent.ClassAgent, "half", "SIGSEGV"},
		{"not found by its shell", "", "sh: x: not found", 127, "", wire.StateFailed, agent.ClassMissing, "", "not found"},
		{"text that is none", "\xff\xfe\n", "", 0, "", wire.StateCompleted, "", "\uFFFD", "exit code 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s foldtest.Script
			s.Start()
			s.In("turn:1", "the prompt")
			if c.out != "" {
				s.Out(c.out)
			}
			if c.err != "" {
				s.Err(c.err + "\n")
			}
			s.Exit(c.code, c.signal)
			items := foldtest.Check(t, func() fold.Options { return foldtest.Options(plain.Kind("mine", "mine", true), agent.Settings{}, "p") }, s.Frames, nil)
			var ends []row.End
			for _, step := range foldtest.Steps(items) {
				if step.Kind == row.StepTurnEnded {
					ends = append(ends, *step.End)
				}
			}
			if len(ends) != 1 {
				t.Fatalf("%d ends", len(ends))
			}
			if e := ends[0]; e.State != c.state || e.Class != string(c.class) || e.Reply != c.reply || !strings.Contains(e.Detail, c.detail) {
				t.Errorf("%s %q %q %q", e.State, e.Class, e.Reply, e.Detail)
			}
		})
	}
}

func TestPlan_ThePromptIsTheLastArgumentOrOnStandardInput(t *testing.T) {
	settings := agent.Settings{Command: "/bin/mine", Args: []string{"--a", "b"}}
	turn := agent.Turn{Number: 2, Key: "turn:2", Prompt: "-x $HOME"}
	argument, err := plain.Kind("mine", "mine", false).New(settings).Plan(turn)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/bin/mine", "--a", "b", "-x $HOME"}; !slices.Equal(argument.Argv, want) {
		t.Errorf("%q", argument.Argv)
	}
	if !strings.Contains(argument.Note, "does not know the earlier prompts") {
		t.Errorf("note %q", argument.Note)
	}
	d := plain.Kind("mine", "mine", true).New(settings)
	stdin, err := d.Plan(turn)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/bin/mine", "--a", "b"}; !slices.Equal(stdin.Argv, want) {
		t.Errorf("%q", stdin.Argv)
	}
	d.Feed(agent.Input{Kind: agent.InputStarted})
	if m, ok := d.Next(agent.Wishes{Turn: &turn}, 1); !ok || string(m.Bytes) != turn.Prompt || !m.EOF {
		t.Errorf("%+v", m)
	}
}
