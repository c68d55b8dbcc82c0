package acp_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/run/fold/foldtest"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// update records anew from the real agents and, in a second run, writes the golden files.
var update = flag.Bool("update", false, "record from the real agents; once more: write the golden files")

// A peer is a real agent that speaks the protocol.
type peer struct {
	name  string
	start func(testing.TB, realagent.Options) *realagent.Agent
	shell func(command string) string // a step of the model that is asked about in mode always
	steer bool
	after wire.AgentState // a turn in which the owner said no
	model string
	dials bool // it looks things up that nobody can switch off (agents.md 14.1)
}

func peers() []peer {
	plain := func(command string) string { return "shell:" + command }
	escalated := func(command string) string {
		return `tool:exec_command:{"cmd":"` + command + `","sandbox_permissions":"require_escalated","justification":"to see it"}`
	}
	return []peer{
		{name: "gemini", start: realagent.Gemini, model: "gemini-2.5-flash", shell: plain, after: wire.StateCompleted},
		{name: "opencode", start: realagent.Opencode, shell: plain, after: wire.StateCompleted, dials: true},
		{name: "codex-acp", start: realagent.CodexACP, shell: escalated, steer: true, after: wire.StateCancelled, dials: true},
		{name: "claude-agent-acp", start: realagent.ClaudeACP, shell: plain, steer: true, after: wire.StateCompleted, dials: true},
	}
}

func ends(items []item) []row.End {
	var out []row.End
	for _, step := range foldtest.Steps(items) {
		if step.Kind == row.StepTurnEnded {
			out = append(out, *step.End)
		}
	}
	return out
}

// save keeps a recording without the lists of commands that agents offer: they are long, and nothing reads them.
func save(t *testing.T, r realagent.Recording, file string, a *realagent.Agent) {
	t.Helper()
	kept := slices.DeleteFunc(slices.Clone(r), func(e realagent.Entry) bool {
		return e.Kind == "out" && strings.Contains(e.Text, "available_commands_update")
	})
	kept.Save(t, file, a.Scrub())
}

// TestC14C15C16_ATalkWithEachRealAgent asks, allows, denies, cancels with a question open, and fails, in one process.
func TestC14C15C16_ATalkWithEachRealAgent(t *testing.T) {
	for _, p := range peers() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a := p.start(t, realagent.Options{})
			turn := func(prompt string) agent.Turn {
				return agent.Turn{Prompt: prompt, Mode: agent.ModeAlways, Model: p.model, NewID: "6c1b7c5e-5f0e-4b7e-9a53-0c8f5d1f2a44"}
			}
			recording := talk{
				turns: []agent.Turn{
					turn("@@" + p.shell("echo ran >> ran-1") + "|say:first answer"),
					turn("@@" + p.shell("echo ran >> ran-2") + "|say:second answer"),
					turn("@@" + p.shell("echo ran >> ran-3") + "|say:third answer"),
					turn("@@err:401"),
					turn("@@hist"),
				},
				decide: func(turn uint32) decision {
					return map[uint32]decision{1: allow, 3: cancelTurn}[turn]
				},
			}.hold(t, a)
			if *update {
				save(t, recording, "testdata/"+p.name+"-talk.jsonl", a)
			}
			items := recording.Check(t, a.Kind)
			got := ends(items)
			if len(got) != 5 {
				t.Fatalf("%d turns ended:\n%s", len(got), realagent.Render(items))
			}
			for i, want := range []wire.AgentState{wire.StateCompleted, p.after, wire.StateCancelled, wire.StateFailed, wire.StateCompleted} {
				if got[i].State != want {
					t.Errorf("turn %d is %s (%s), want %s", i+1, got[i].State, got[i].Detail, want)
				}
			}
			if got[0].Reply != "first answer" {
				t.Errorf("the reply is %q", got[0].Reply)
			}
			if got[3].Class != string(agent.ClassAuth) {
				t.Errorf("the failure is of class %q: %s", got[3].Class, got[3].Detail)
			}
			if !strings.HasPrefix(got[4].Reply, "5: ") && !strings.HasPrefix(got[4].Reply, "4: ") {
				t.Errorf("the history is %q", got[4].Reply)
			}
			for file, want := range map[string]bool{"ran-1": true, "ran-2": false, "ran-3": false} {
				if _, err := os.Stat(a.Dir + "/work/" + file); (err == nil) != want {
					t.Errorf("%s is there: %v", file, err == nil)
				}
			}
			if !p.dials {
				a.NoDials(t)
			}
		})
	}
}

// TestC13C15_AProcessGoesOnWithAnEarlierConversation resumes in new processes, and shows by what the model is sent that
// the history is complete and by the log that it is not told again (C18).
func TestC13C15_AProcessGoesOnWithAnEarlierConversation(t *testing.T) {
	for _, p := range peers() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a := p.start(t, realagent.Options{})
			session := ""
			for i, prompt := range []string{"@@say:one", "@@say:two", "@@hist"} {
				recording := talk{turns: []agent.Turn{{Prompt: prompt, Session: session, Model: p.model}}}.hold(t, a)
				items := recording.Check(t, a.Kind)
				end := realagent.Ending(t, items)
				if end.State != wire.StateCompleted {
					t.Fatalf("turn %d is %s: %s", i+1, end.State, end.Detail)
				}
				if got := realagent.Session(items); session != "" && got != session {
					t.Errorf("turn %d is in session %s, want %s", i+1, got, session)
				}
				session = realagent.Session(items)
				age(t, a, i)
				if *update && i == 1 {
					save(t, recording, "testdata/"+p.name+"-resumed.jsonl", a)
				}
				texts := 0
				for _, e := range foldtest.Events(items) {
					if e.Kind == wire.EventText {
						texts++
					}
				}
				if texts != 1 {
					t.Errorf("turn %d logs %d lines of text, want 1", i+1, texts)
				}
				if i == 2 && !strings.HasPrefix(end.Reply, "3: ") {
					t.Errorf("the history is %q", end.Reply)
				}
			}
		})
	}
}

// age makes gemini's chats older than a minute by their names: a load in the minute in which a session began makes gemini
// write into the old chat's file, and then it finds nothing in it.
func age(t *testing.T, a *realagent.Agent, day int) {
	t.Helper()
	files, err := filepath.Glob(a.Dir + "/home/.gemini/tmp/*/chats/session-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "session-2025") {
			continue
		}
		old := fmt.Sprintf("session-2025-01-%02dT00-00", day+1)
		if err := os.Rename(file, filepath.Join(filepath.Dir(file), old+name[len(old):])); err != nil {
			t.Fatal(err)
		}
	}
}

// TestC19_ASteerReachesTheRunningTurn steers while a command runs.
func TestC19_ASteerReachesTheRunningTurn(t *testing.T) {
	for _, p := range peers() {
		if !p.steer {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a := p.start(t, realagent.Options{})
			recording := talk{
				turns: []agent.Turn{{Prompt: "@@shell:sleep 4|say:first|say:second", Mode: agent.ModeAuto}, {Prompt: "@@hist"}},
				steer: map[uint32]string{1: "go left @@say:went left"},
			}.hold(t, a)
			if *update {
				save(t, recording, "testdata/"+p.name+"-steered.jsonl", a)
			}
			items := recording.Check(t, a.Kind)
			steered := 0
			for _, e := range foldtest.Events(items) {
				if e.Kind == wire.EventSteered {
					steered++
				}
			}
			if steered != 1 {
				t.Errorf("it was steered %d times:\n%s", steered, realagent.Render(items))
			}
			if got := ends(items); len(got) != 2 || got[0].Reply != "went left" {
				t.Errorf("the turns ended %+v", got)
			}
		})
	}
}

// TestC6_ACommandThatRunsIsCancelled: the agent says that its turn is over, and the next one is not touched. What a
// command leaves behind is the shim's to end.
func TestC6_ACommandThatRunsIsCancelled(t *testing.T) {
	for _, p := range peers() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a := p.start(t, realagent.Options{})
			recording := talk{
				turns: []agent.Turn{
					{Prompt: "@@shell:sleep 60|say:slept", Mode: agent.ModeAuto, Model: p.model},
					{Prompt: "@@say:next", Mode: agent.ModeAuto, Model: p.model},
				},
				cancel: map[uint32]bool{1: true},
			}.hold(t, a)
			if *update {
				save(t, recording, "testdata/"+p.name+"-cancelled.jsonl", a)
			}
			items := recording.Check(t, a.Kind)
			got := ends(items)
			if len(got) != 2 || got[0].State != wire.StateCancelled || got[1].State != wire.StateCompleted || got[1].Reply != "next" {
				t.Errorf("the turns ended %+v", got)
			}
		})
	}
}
