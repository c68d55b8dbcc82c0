package fakeagent_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
	"scv/internal/agent/codex"
	"scv/internal/testkit/fakeagent"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// marker makes this test binary play the agent.
const marker = "SCV_FAKEAGENT_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(marker) != "" {
		os.Exit(fakeagent.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(inHomeOfItsOwn(m))
}

// inHomeOfItsOwn keeps what the agent remembers out of the home of whoever runs the tests.
func inHomeOfItsOwn(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fakeagent")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"} {
		os.Setenv(name, dir)
	}
	return m.Run()
}

// record runs one turn of the fake as a process, driven by the real dialect.
func record(t *testing.T, kind agent.Kind, home string, turn agent.Turn, settings agent.Settings) realagent.Recording {
	t.Helper()
	turn.Number, turn.Key, turn.RunDir = 1, "turn:1", home
	dialect := kind.New(settings)
	launch, err := dialect.Plan(turn)
	if err != nil {
		t.Fatal(err)
	}
	dialect.Feed(agent.Input{Kind: agent.InputStarted})
	message, ok := dialect.Next(agent.Wishes{Turn: &turn}, 1)
	if !ok {
		t.Fatal("no prompt")
	}
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Args = append([]string{kind.Name}, launch.Argv[1:]...)
	command.Env = agent.Environment(os.Environ(), kind, launch, map[string]string{
		marker: "1", "HOME": home, "CODEX_HOME": home, "CLAUDE_CONFIG_DIR": home,
		"GORACE": "atexit_sleep_ms=0", // else a process of the race detector waits a second before it leaves
	})
	command.Stdin = bytes.NewReader(message.Bytes)
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	code, signal := 0, ""
	if err := command.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			signal = status.Signal().String()
		}
	}
	return realagent.Recording{
		{Kind: "start"},
		{Kind: "in", Key: message.Key, Text: string(message.Bytes)},
		{Kind: "err", Text: complaints.String()},
		{Kind: "out", Text: out.String()},
		{Kind: "exit", Code: code, Signal: signal},
	}
}

func TestC22_BothDialectsUnderstandTheFake(t *testing.T) {
	for _, kind := range []agent.Kind{codex.Kind(), claude.Kind()} {
		for prompt, want := range map[string]struct {
			state  wire.AgentState
			class  agent.Class
			reply  string
			detail string
		}{
			"hello":                             {wire.StateCompleted, "", "ok", ""},
			"@@say:a|tool:ls|toolfail:2:make":   {wire.StateCompleted, "", "a", ""},
			"@@deny:rm x|say:b":                 {wire.StateCompleted, "", "b", "1 tool call was refused"},
			"@@retry:x|lines:3":                 {wire.StateCompleted, "", "line 3", ""},
			"@@fail:no luck":                    {wire.StateFailed, agent.ClassAgent, "", "no luck"},
			"@@auth":                            {wire.StateFailed, agent.ClassAuth, "", "not signed in"},
			"@@quota":                           {wire.StateFailed, agent.ClassQuota, "", ""},
			"@@model":                           {wire.StateFailed, agent.ClassModel, "", ""},
			"@@network":                         {wire.StateFailed, agent.ClassNetwork, "", ""},
			"@@refuse":                          {wire.StateDeclined, agent.ClassRefusal, "", ""},
			"@@tool:ls|exit:0":                  {wire.StateFailed, agent.ClassAgent, "", "exit code 0 without a final event"},
			"@@crash":                           {wire.StateFailed, agent.ClassAgent, "", "ended by"},
			"@@junk|noline:20|exit:1":           {wire.StateFailed, agent.ClassAgent, "", "exit code 1"},
			"@@junk|say:c":                      {wire.StateCompleted, "", "c", ""},
			"@@shell:exit 3|say:d":              {wire.StateCompleted, "", "d", ""},
			"@@stderr:please run /login|exit:1": {wire.StateFailed, agent.ClassAuth, "", "/login"},
			"@@odd":                             {wire.StateFailed, agent.ClassAgent, "", "unknown step"},
		} {
			t.Run(kind.Name+" "+prompt, func(t *testing.T) {
				t.Parallel()
				end := realagent.Ending(t, record(t, kind, t.TempDir(), agent.Turn{Prompt: prompt}, agent.Settings{}).Check(t, kind))
				if end.State != want.state || end.Class != string(want.class) || !strings.Contains(end.Reply, want.reply) || !strings.Contains(end.Detail, want.detail) {
					t.Errorf("%s %q %q (%s)", end.State, end.Class, end.Reply, end.Detail)
				}
			})
		}
	}
}

// TestP10_PromptsArriveWholeAndOnce sends prompts of every kind and lets the agent answer what it got.
func TestP10_PromptsArriveWholeAndOnce(t *testing.T) {
	for _, kind := range []agent.Kind{codex.Kind(), claude.Kind()} {
		for name, body := range map[string]string{
			"one line": "fix it", "thirty lines": strings.Repeat("line\n", 30), "64 KiB": strings.Repeat("0123456789abcde\n", 4096),
			"256 KiB": strings.Repeat("x", 256<<10-20), "Enter": "press Enter\r\nnow", "bang": "!ls A != B", "escape": "\x1b[31mred\x1b[0m \x03",
			"option": "-c --help", "slash": "/clear", "quotes": `"'\${x}` + "`", "unicode": "äöü 漢字 \u202e",
		} {
			t.Run(kind.Name+" "+name, func(t *testing.T) {
				t.Parallel()
				prompt := body + "\n@@echo"
				end := realagent.Ending(t, record(t, kind, t.TempDir(), agent.Turn{Prompt: prompt}, agent.Settings{}).Check(t, kind))
				var want bytes.Buffer
				fakeagent.Main([]string{"codex", prompt}, strings.NewReader(""), &want, io.Discard)
				if end.Reply == "" || !strings.Contains(want.String(), end.Reply) {
					t.Errorf("the agent got %q, want what is in %.300s", end.Reply, want.String())
				}
			})
		}
	}
}

func TestFake_GoesOnWithAConversation(t *testing.T) {
	for _, kind := range []agent.Kind{codex.Kind(), claude.Kind()} {
		home := t.TempDir()
		turn := agent.Turn{Prompt: "first", NewID: "5f648232-0000-4000-8000-000000000000"}
		turn.Session = realagent.Session(record(t, kind, home, turn, agent.Settings{}).Check(t, kind))
		turn.Prompt = "@@hist"
		if end := realagent.Ending(t, record(t, kind, home, turn, agent.Settings{}).Check(t, kind)); end.Reply != "2: first ; @@hist" {
			t.Errorf("%s: the history is %q", kind.Name, end.Reply)
		}
		turn.Session = "never-was"
		if end := realagent.Ending(t, record(t, kind, home, turn, agent.Settings{}).Check(t, kind)); end.Class != string(agent.ClassSession) {
			t.Errorf("%s: %s %q %s", kind.Name, end.State, end.Class, end.Detail)
		}
	}
}

func TestT48T49_TheFakeShowsWhatItWasGiven(t *testing.T) {
	t.Setenv("OTHER_API_KEY", "planted")
	for _, kind := range []agent.Kind{codex.Kind(), claude.Kind()} {
		end := realagent.Ending(t, record(t, kind, t.TempDir(), agent.Turn{Prompt: "sk-planted @@env"}, agent.Settings{}).Check(t, kind))
		if strings.Contains(end.Reply, "planted") || !strings.Contains(end.Reply, "PATH=") {
			t.Errorf("%s: the environment is %s", kind.Name, end.Reply)
		}
		end = realagent.Ending(t, record(t, kind, t.TempDir(), agent.Turn{Prompt: "sk-planted @@argv"}, agent.Settings{}).Check(t, kind))
		if strings.Contains(end.Reply, "planted") {
			t.Errorf("%s: the command line is %s", kind.Name, end.Reply)
		}
		end = realagent.Ending(t, record(t, kind, t.TempDir(), agent.Turn{Prompt: "own @@argv"}, agent.Settings{OwnCommand: true}).Check(t, kind))
		if !strings.HasSuffix(end.Reply, "\nown @@argv") {
			t.Errorf("%s: an owner's own command is started as %q", kind.Name, end.Reply)
		}
	}
}
