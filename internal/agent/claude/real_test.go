package claude_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
	"scv/internal/run/fold/foldtest"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

const newID = "5f648232-828f-4ae6-a753-ab7d4887c551"

// scenario is a row of agents.md 7.2.
type scenario struct {
	name    string
	prompt  string
	turn    realagent.Turn
	options realagent.Options
	state   wire.AgentState
	class   agent.Class
	keep    bool // as a golden recording
	silent  bool // it may also leave without a result, as claude does one time in three
}

func scenarios() []scenario {
	sleeper := `@@tool:Bash:{"command":"tail -f /dev/null","description":"wait"}|say:x`
	background := `@@tool:Bash:{"command":"read -t 1 x < /dev/zero; echo hi","description":"d","run_in_background":true}|say:started`
	return []scenario{
		{name: "ok", prompt: "@@say:hello there", state: wire.StateCompleted, keep: true},
		{name: "tool", prompt: `@@shell:echo hi|tool:Read:{"file_path":"/nonexistent/a/b.txt"}|say:done`, state: wire.StateCompleted, keep: true},
		{name: "denied", prompt: "@@shell:curl http://127.0.0.1:9/|say:done", state: wire.StateCompleted, keep: true},
		{name: "error-401", prompt: "@@err:401", state: wire.StateFailed, class: agent.ClassAuth, keep: true},
		{name: "error-404", prompt: "@@err:404", state: wire.StateFailed, class: agent.ClassModel, keep: true},
		{name: "error-429", prompt: "@@err:429", state: wire.StateFailed, class: agent.ClassQuota, keep: true},
		{name: "error-500", prompt: "@@err:500", state: wire.StateFailed, class: agent.ClassModel, keep: true},
		{name: "error-500-retried", prompt: "@@err:500", options: realagent.Options{Retries: 1}, state: wire.StateFailed, class: agent.ClassModel, keep: true},
		{name: "signed-out", prompt: "@@say:x", options: realagent.Options{SignOut: true}, state: wire.StateFailed, class: agent.ClassAuth, keep: true},
		{name: "refusal", prompt: "@@refuse", state: wire.StateDeclined, class: agent.ClassRefusal, keep: true},
		{
			name: "max-turns", prompt: "@@shell:echo 1|shell:echo 2|say:x", turn: realagent.Turn{Args: []string{"--max-turns", "1"}},
			state: wire.StateFailed, class: agent.ClassLimit, keep: true,
		},
		{
			name: "unknown-id", prompt: "@@say:x", turn: realagent.Turn{Session: "01a22c1d-2ce3-4983-8c67-9767f78c0000"},
			state: wire.StateFailed, class: agent.ClassSession, keep: true,
		},
		{name: "interrupted", prompt: "@@slow:200", turn: realagent.Turn{DuringSignal: syscall.SIGINT}, state: wire.StateInterrupted, keep: true},
		{
			name: "interrupted-tool", silent: true, prompt: sleeper, turn: realagent.Turn{Mode: agent.ModeAuto, OutSignal: syscall.SIGINT, OutHolds: `"task_started"`},
			state: wire.StateInterrupted, keep: true,
		},
		{
			name: "terminated-tool", prompt: sleeper, turn: realagent.Turn{Mode: agent.ModeAuto, OutSignal: syscall.SIGTERM, OutHolds: `"tool_use"`},
			state: wire.StateFailed, class: agent.ClassAgent, keep: true,
		},
		{name: "background", prompt: background, turn: realagent.Turn{Mode: agent.ModeAuto}, state: wire.StateCompleted, keep: true},
		{name: "long", prompt: "@@long:2000000", state: wire.StateCompleted},
	}
}

// TestC11C12_EachCaseOfTheRealClaude plays the cases of agents.md 7.2 and finds nothing dialled.
func TestC11C12_EachCaseOfTheRealClaude(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			a := realagent.Claude(t, s.options)
			turn := s.turn
			turn.Prompt, turn.NewID = s.prompt, newID
			recording := a.Run(t, turn)
			fold := recording.Check
			if s.name == "long" {
				fold = recording.Replay
			}
			end := realagent.Ending(t, fold(t, claude.Kind()))
			if s.silent && end.State == wire.StateFailed && strings.Contains(end.Detail, "without a final event") {
				return
			}
			if end.State != s.state || end.Class != string(s.class) {
				t.Errorf("%s %q (%s), want %s %q", end.State, end.Class, end.Detail, s.state, s.class)
			}
			if s.name == "long" && len(end.Reply) != 2_000_000 {
				t.Errorf("the reply has %d bytes", len(end.Reply))
			}
			if !s.options.SignOut {
				a.NoDials(t)
			}
			if *update && s.keep {
				recording.Save(t, "testdata/"+s.name+".jsonl", a.Scrub())
			}
		})
	}
}

// TestC7_FourResumedTurnsHaveEqualShares resumes a session three times: tokens count per call, cost is a sum.
func TestC7_FourResumedTurnsHaveEqualShares(t *testing.T) {
	a := realagent.Claude(t, realagent.Options{})
	session, cost := "", 0.0
	for i := range 4 {
		recording := a.Run(t, realagent.Turn{Prompt: "@@say:hello", NewID: newID, Session: session, Model: "fake"})
		items := recording.Check(t, claude.Kind())
		end := realagent.Ending(t, items)
		if end.State != wire.StateCompleted || end.CumulativeTokens || !end.CumulativeCost || end.CostUSD == nil {
			t.Fatalf("turn %d: %+v", i+1, end)
		}
		if share := *end.CostUSD - cost; end.InputTokens != 1000 || end.OutputTokens != 10 || share < 0.0041 || share > 0.0043 {
			t.Errorf("turn %d took %d in, %d out and %.4f, want 1000, 10 and 0.0042", i+1, end.InputTokens, end.OutputTokens, share)
		}
		session, cost = realagent.Session(items), *end.CostUSD
		if session != newID {
			t.Errorf("turn %d is in session %s, want %s", i+1, session, newID)
		}
		if *update && i == 1 {
			recording.Save(t, "testdata/resumed.jsonl", a.Scrub())
		}
	}
	items := a.Run(t, realagent.Turn{Prompt: "@@hist", Session: session}).Check(t, claude.Kind())
	if reply := realagent.Ending(t, items).Reply; !strings.HasPrefix(reply, "5: ") {
		t.Errorf("the session's history is %q", reply)
	}
	a.NoDials(t)
}

// TestT49_NoPromptInAnyCommandLine looks at every process while a turn runs.
func TestT49_NoPromptInAnyCommandLine(t *testing.T) {
	realagent.Claude(t, realagent.Options{}).NoPromptInCommandLines(t, realagent.Turn{NewID: newID})
}

// TestT48_ForeignCredentialsStayBehind gives the daemon's environment a credential of another tool and lets the agent
// print its own.
func TestT48_ForeignCredentialsStayBehind(t *testing.T) {
	realagent.Claude(t, realagent.Options{}).ForeignStaysBehind(t, "OPENAI_API_KEY", realagent.Turn{NewID: newID})
}

// TestModes_TheRunsModeIsKept tries to write a file by a shell command and by the agent's own tool in each mode, with
// an allow list of the owner's that lets everything through.
func TestModes_TheRunsModeIsKept(t *testing.T) {
	for mode, want := range map[agent.Mode]bool{
		agent.ModeAuto: true, agent.ModeOnRisk: true, agent.ModeAlways: false, agent.ModeReadOnly: false,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			a := realagent.Claude(t, realagent.Options{})
			allow := `{"permissions":{"allow":["Bash","Write","Edit"]}}`
			if err := os.WriteFile(a.Dir+"/agent/settings.json", []byte(allow), 0o600); err != nil {
				t.Fatal(err)
			}
			file := a.Dir + "/work/by-tool"
			recording := a.Run(t, realagent.Turn{
				Prompt: `@@shell:echo x > by-shell|tool:Write:{"file_path":"` + file + `","content":"x"}|say:done`, NewID: newID, Mode: mode,
			})
			for _, path := range []string{a.Dir + "/work/by-shell", file} {
				_, err := os.Stat(path)
				if wrote := err == nil; wrote != want {
					t.Errorf("mode %s: %s was written: %v, want %v", mode, path, wrote, want)
				}
			}
			items := recording.Check(t, claude.Kind())
			if end := realagent.Ending(t, items); mode == agent.ModeAlways && !strings.Contains(end.Detail, "2 tool calls were refused") {
				t.Errorf("the detail is %q", end.Detail)
			}
			for _, step := range foldtest.Steps(items) {
				if step.Kind == row.StepRetry {
					t.Errorf("an unexpected retry: %s", step.Detail)
				}
			}
		})
	}
}
