package codex_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// scenario is a row of agents.md 6.2.
type scenario struct {
	name    string
	prompt  string
	turn    realagent.Turn
	options realagent.Options
	state   wire.AgentState
	class   agent.Class
	keep    bool // as a golden recording
}

func scenarios() []scenario {
	return []scenario{
		{name: "ok", prompt: "@@say:hello there", state: wire.StateCompleted, keep: true},
		{name: "tool", prompt: "@@shell:echo hi|shell:ls /nonexistent|say:done", state: wire.StateCompleted, keep: true},
		{name: "denied-write", prompt: "@@shell:touch /w-outside|say:done", state: wire.StateCompleted, keep: true},
		{name: "error-401", prompt: "@@err:401", state: wire.StateFailed, class: agent.ClassAuth, keep: true},
		{name: "error-404", prompt: "@@err:404", state: wire.StateFailed, class: agent.ClassModel, keep: true},
		{name: "error-429", prompt: "@@err:429", state: wire.StateFailed, class: agent.ClassQuota, keep: true},
		{name: "error-500", prompt: "@@err:500", state: wire.StateFailed, class: agent.ClassModel, keep: true},
		{name: "dropped", prompt: "@@drop", state: wire.StateFailed, class: agent.ClassNetwork, keep: true},
		{name: "refusal", prompt: "@@refuse", state: wire.StateDeclined, class: agent.ClassRefusal, keep: true},
		{
			name: "refusal-retried", prompt: "@@refuse", options: realagent.Options{Retries: 2},
			state: wire.StateDeclined, class: agent.ClassRefusal, keep: true,
		},
		{
			name: "unknown-id", prompt: "@@say:x", turn: realagent.Turn{Session: "01a22c1d-2ce3-7983-8c67-9767f78c0000"},
			state: wire.StateFailed, class: agent.ClassSession, keep: true,
		},
		{name: "interrupted", prompt: "@@slow:200", turn: realagent.Turn{DuringSignal: syscall.SIGINT}, state: wire.StateFailed, class: agent.ClassAgent, keep: true},
		{name: "terminated", prompt: "@@slow:200", turn: realagent.Turn{DuringSignal: syscall.SIGTERM}, state: wire.StateFailed, class: agent.ClassAgent, keep: true},
		{name: "long", prompt: "@@long:2000000", state: wire.StateCompleted},
	}
}

// TestC9_EachCaseOfTheRealCodex plays the cases of agents.md 6.2 and finds nothing dialled.
func TestC9_EachCaseOfTheRealCodex(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			a := realagent.Codex(t, s.options)
			turn := s.turn
			turn.Prompt = s.prompt
			recording := a.Run(t, turn)
			fold := recording.Check
			if s.name == "long" {
				fold = recording.Replay
			}
			end := realagent.Ending(t, fold(t, codex.Kind()))
			if end.State != s.state || end.Class != string(s.class) {
				t.Errorf("%s %q (%s), want %s %q", end.State, end.Class, end.Detail, s.state, s.class)
			}
			if s.name == "long" && len(end.Reply) != 2_000_000 {
				t.Errorf("the reply has %d bytes", len(end.Reply))
			}
			a.NoDials(t)
			if *update && s.keep {
				recording.Save(t, "testdata/"+s.name+".jsonl", a.Scrub())
			}
		})
	}
}

// TestC7_FourResumedTurnsHaveEqualShares resumes a thread three times and takes differences of its sums.
func TestC7_FourResumedTurnsHaveEqualShares(t *testing.T) {
	a := realagent.Codex(t, realagent.Options{})
	session, last := "", row.End{}
	for i := range 4 {
		recording := a.Run(t, realagent.Turn{Prompt: "@@say:hello", Session: session, Model: "fake"})
		items := recording.Check(t, codex.Kind())
		end := realagent.Ending(t, items)
		if !end.CumulativeTokens || end.State != wire.StateCompleted {
			t.Fatalf("turn %d: %+v", i+1, end)
		}
		if in, out := end.InputTokens-last.InputTokens, end.OutputTokens-last.OutputTokens; in != 1000 || out != 10 {
			t.Errorf("turn %d took %d in and %d out, want 1000 and 10", i+1, in, out)
		}
		if got := realagent.Session(items); session != "" && got != session {
			t.Errorf("turn %d is in thread %s, want %s", i+1, got, session)
		}
		session, last = realagent.Session(items), end
		if *update && i == 1 {
			recording.Save(t, "testdata/resumed.jsonl", a.Scrub())
		}
	}
	items := a.Run(t, realagent.Turn{Prompt: "@@hist", Session: session}).Check(t, codex.Kind())
	if reply := realagent.Ending(t, items).Reply; !strings.HasPrefix(reply, "5: ") {
		t.Errorf("the thread's history is %q", reply)
	}
	a.NoDials(t)
}

// TestT49_NoPromptInAnyCommandLine looks at every process while a turn runs.
func TestT49_NoPromptInAnyCommandLine(t *testing.T) {
	realagent.Codex(t, realagent.Options{}).NoPromptInCommandLines(t, realagent.Turn{})
}

// TestT48_ForeignCredentialsStayBehind gives the daemon's environment a credential of another tool and lets the agent
// print its own.
func TestT48_ForeignCredentialsStayBehind(t *testing.T) {
	realagent.Codex(t, realagent.Options{}).ForeignStaysBehind(t, "ANTHROPIC_API_KEY", realagent.Turn{})
}

// TestModes_TheRunsModeIsKept tries to write in each mode.
func TestModes_TheRunsModeIsKept(t *testing.T) {
	for mode, want := range map[agent.Mode]bool{
		agent.ModeAuto: true, agent.ModeOnRisk: true, agent.ModeAlways: false, agent.ModeReadOnly: false,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			a := realagent.Codex(t, realagent.Options{})
			a.Run(t, realagent.Turn{Prompt: "@@shell:echo x > written|say:done", Mode: mode})
			_, err := os.Stat(a.Dir + "/work/written")
			if wrote := err == nil; wrote != want {
				t.Errorf("mode %s: the file was written: %v, want %v", mode, wrote, want)
			}
		})
	}
}
