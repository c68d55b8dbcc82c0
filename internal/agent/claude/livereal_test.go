package claude_test

import (
	"os"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
	"scv/internal/run/fold"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// conversation is several turns with one live claude, and how each must end.
type conversation struct {
	name    string
	turns   []agent.Turn
	say     func(f agent.Fact, w *agent.Wishes)
	options realagent.Options
	states  []wire.AgentState
	classes []agent.Class // of each; nil for none
	log     []string      // what the log must hold
	heard   []string      // what claude must have said or been told
	keep    bool          // as a golden recording
}

// turnsIn are turns of a new session.
func turnsIn(mode agent.Mode, prompts ...string) []agent.Turn {
	var out []agent.Turn
	for _, p := range prompts {
		out = append(out, agent.Turn{Prompt: p, NewID: newID, Mode: mode})
	}
	return out
}

func answer(w *agent.Wishes, f agent.Fact, approved bool) {
	w.Answers = append(w.Answers, agent.Answer{Key: "answer:ap-" + f.Approval.Request, Request: f.Approval.Request, Approved: approved, Reason: "not today"})
}

// decide allows in turn 1, refuses in turn 2 and cancels in turn 3.
func decide(f agent.Fact, w *agent.Wishes) {
	switch {
	case f.Kind != agent.FactApprovalAsked:
	case f.Turn == 3:
		w.Cancel = 3
	default:
		answer(w, f, f.Turn == 1)
	}
}

// steerAt steers turn 1 at its n-th fact of a kind, and allows what is asked after it.
func steerAt(kind agent.FactKind, n int, text string) func(agent.Fact, *agent.Wishes) {
	return func(f agent.Fact, w *agent.Wishes) {
		if f.Kind == kind && f.Turn == 1 {
			if n--; n == 0 {
				w.Steers = append(w.Steers, agent.Steer{Key: "steer:1", Turn: 1, Text: text})
			}
		}
		if f.Kind == agent.FactApprovalAsked {
			answer(w, f, true)
		}
	}
}

// cancelAt cancels turn 1 at its n-th fact of a kind.
func cancelAt(kind agent.FactKind, n int) func(agent.Fact, *agent.Wishes) {
	return func(f agent.Fact, w *agent.Wishes) {
		if f.Kind == kind && f.Turn == 1 {
			if n--; n == 0 {
				w.Cancel = 1
			}
		}
	}
}

func conversations() []conversation {
	done, off := wire.StateCompleted, wire.StateInterrupted
	return []conversation{
		{
			name: "live-approvals", keep: true, states: []wire.AgentState{done, done, off, done}, say: decide,
			turns: turnsIn(agent.ModeOnRisk, "@@shell:touch one|say:first", "@@shell:touch two|say:second", "@@shell:touch three|say:third", "@@say:fourth"),
			log:   []string{"approval_requested touch two", "approval_resolved  [cancelled]", "fourth"}, heard: []string{`"content":"not today"`},
		},
		{
			name: "live-steer-tool", keep: true, states: []wire.AgentState{done, done}, say: steerAt(agent.FactApprovalAsked, 1, "rather @@say:steered"),
			turns: turnsIn(agent.ModeOnRisk, "@@shell:touch one|shell:touch two|say:straight", "@@say:after"),
			log:   []string{"steered        rather @@say:steered\ntext           steered\n", "text           after"},
		},
		{ // Activity 1 to 4 are the life of the line and claude's request to the model; the 5th is the first word.
			name: "live-steer-words", keep: true, states: []wire.AgentState{done, done}, say: steerAt(agent.FactActivity, 5, "and @@say:steered"),
			turns: turnsIn(agent.ModeAuto, "@@slow:8", "@@say:after"),
			log:   []string{"word7\nsteered        and @@say:steered\ntext           steered\n", "text           after"},
		},
		{ // The 6th is the result and the 7th the end of the line's life: the steer crosses the end of the turn.
			name: "live-steer-crossed", keep: true, states: []wire.AgentState{done, done}, say: steerAt(agent.FactActivity, 7, "and @@say:steered"),
			turns: turnsIn(agent.ModeAuto, "@@slow:2", "@@say:after"),
			log:   []string{"word1\nsteered        and @@say:steered\ntext           steered\n", "text           after"},
		},
		{
			name: "live-cancel-words", keep: true, states: []wire.AgentState{off, done}, say: cancelAt(agent.FactActivity, 5),
			turns: turnsIn(agent.ModeAuto, "@@slow:200", "@@say:after"), heard: []string{"aborted_streaming"},
		},
		{
			name: "live-cancel-tool", keep: true, states: []wire.AgentState{off, done}, say: cancelAt(agent.FactTool, 1),
			turns: turnsIn(agent.ModeAuto, `@@tool:Bash:{"command":"tail -f /dev/null","description":"d"}|say:x`, "@@say:after"),
		},
	}
}

// laterConversations are of what ends in another way than by an answer.
func laterConversations() []conversation {
	done, failed := wire.StateCompleted, wire.StateFailed
	background := `@@tool:Bash:{"command":"touch f; read -t 1 x < /dev/zero; echo hi","description":"d","run_in_background":true}|say:started`
	endless := `@@tool:Bash:{"command":"touch f; setsid tail -f /dev/null","description":"d","run_in_background":true}|say:started`
	return []conversation{
		{
			name: "live-background", keep: true, states: []wire.AgentState{done, done},
			turns: turnsIn(agent.ModeAuto, background, "@@say:after"), log: []string{"waits for what it runs in the background"},
		},
		{
			name: "live-background-cancelled", keep: true, states: []wire.AgentState{done, done}, say: cancelAt(agent.FactNote, 1),
			turns: turnsIn(agent.ModeAuto, endless, "@@say:after"), heard: []string{`"subtype":"stop_task"`, `"status":"stopped"`},
		},
		{
			name: "live-errors", keep: true, states: []wire.AgentState{failed, failed, wire.StateDeclined, failed, done},
			classes: []agent.Class{agent.ClassModel, agent.ClassAuth, agent.ClassRefusal, agent.ClassQuota, agent.ClassNone},
			turns:   turnsIn(agent.ModeOnRisk, "@@err:500", "@@err:401", "@@refuse", "@@err:429", "@@say:fine"),
		},
		{
			name: "live-retried", keep: true, states: []wire.AgentState{failed}, classes: []agent.Class{agent.ClassModel},
			options: realagent.Options{Retries: 1}, turns: turnsIn(agent.ModeOnRisk, "@@err:500"), log: []string{"> retry model"},
		},
		{
			name: "live-unknown-id", keep: true, states: []wire.AgentState{failed}, classes: []agent.Class{agent.ClassSession},
			turns: []agent.Turn{{Prompt: "@@say:x", Session: "01a22c1d-2ce3-4983-8c67-9767f78c0000"}},
		},
		{
			name: "live-signed-out", keep: true, states: []wire.AgentState{failed}, classes: []agent.Class{agent.ClassAuth},
			options: realagent.Options{SignOut: true}, turns: turnsIn(agent.ModeOnRisk, "@@say:x"),
		},
		{ // Lines that claude takes as commands of its own.
			name: "live-commands", states: []wire.AgentState{done, done, done, done, done},
			turns: turnsIn(agent.ModeOnRisk, "@@say:one", "/context", "/nonsense", "/clear", "@@say:two"),
		},
		{name: "live-long", states: []wire.AgentState{done}, turns: turnsIn(agent.ModeOnRisk, "@@long:2000000")},
	}
}

// talk runs a conversation of the live claude and folds what passed, from every point where that is not too long.
func talk(t *testing.T, a *realagent.Agent, turns []agent.Turn, say func(agent.Fact, *agent.Wishes)) (realagent.Recording, []fold.Item) {
	t.Helper()
	recording, _ := a.Talk(t, realagent.Conversation{Kind: claude.LiveKind(), Turns: turns, Say: say})
	size := 0
	for _, e := range recording {
		size += len(e.Text)
	}
	if size > 1<<20 {
		return recording, recording.Replay(t, claude.LiveKind())
	}
	return recording, recording.Check(t, claude.LiveKind())
}

// TestC10C5C6_ConversationsWithTheRealClaude plays whole conversations and finds nothing dialled.
func TestC10C5C6_ConversationsWithTheRealClaude(t *testing.T) {
	for _, c := range append(conversations(), laterConversations()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := realagent.Claude(t, c.options)
			recording, items := talk(t, a, c.turns, c.say)
			log, got := realagent.Render(items), realagent.Endings(items)
			if len(got) != len(c.states) {
				t.Fatalf("%d turns ended, want %d:\n%s", len(got), len(c.states), log)
			}
			for i, end := range got {
				class := agent.ClassNone
				if c.classes != nil {
					class = c.classes[i]
				}
				if end.State != c.states[i] || end.Class != string(class) {
					t.Errorf("turn %d is %s %q (%s), want %s %q", i+1, end.State, end.Class, end.Detail, c.states[i], class)
				}
			}
			for _, want := range c.log {
				if !strings.Contains(log, want) {
					t.Errorf("%q is not in the log", want)
				}
			}
			for _, want := range c.heard {
				if !holds(recording, want) {
					t.Errorf("%q was not heard", want)
				}
			}
			if t.Failed() {
				t.Log(log)
			}
			if !c.options.SignOut {
				a.NoDials(t)
			}
			if *update && c.keep {
				recording.Save(t, "testdata/"+c.name+".jsonl", a.Scrub())
			}
		})
	}
}

// holds reports whether a text passed in either direction.
func holds(r realagent.Recording, text string) bool {
	for _, e := range r {
		if strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}

// made fails the test unless just those of the files exist that should.
func made(t *testing.T, dir string, want map[string]bool) {
	t.Helper()
	for file, want := range want {
		if _, err := os.Stat(dir + "/" + file); (err == nil) != want {
			t.Errorf("%s was made: %v, want %v", file, err == nil, want)
		}
	}
}

// TestC10_WhatRanIsWhatWasAllowed looks at the files that three calls would have made.
func TestC10_WhatRanIsWhatWasAllowed(t *testing.T) {
	a := realagent.Claude(t, realagent.Options{})
	c := conversations()[0]
	talk(t, a, c.turns, c.say)
	made(t, a.Dir+"/work", map[string]bool{"one": true, "two": false, "three": false})
}

// TestModes_EachTurnHasItsOwn serves turns of three modes in one process, with an allow list of the owner's that lets
// everything through: always still asks, read-only still refuses, and on-risk keeps the list.
func TestModes_EachTurnHasItsOwn(t *testing.T) {
	a := realagent.Claude(t, realagent.Options{})
	if err := os.WriteFile(a.Dir+"/agent/settings.json", []byte(`{"permissions":{"allow":["Bash","Write","Edit"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var turns []agent.Turn
	for i, mode := range []agent.Mode{agent.ModeReadOnly, agent.ModeAlways, agent.ModeOnRisk, agent.ModeReadOnly} {
		file := a.Dir + "/work/" + string(rune('1'+i))
		turns = append(turns, agent.Turn{
			Prompt: `@@shell:echo x > ` + file + `.shell|tool:Write:{"file_path":"` + file + `","content":"x"}|say:done`, NewID: newID, Mode: mode,
		})
	}
	asked := map[uint32]int{}
	_, items := talk(t, a, turns, func(f agent.Fact, w *agent.Wishes) {
		if f.Kind == agent.FactApprovalAsked {
			asked[f.Turn]++
			answer(w, f, false)
		}
	})
	made(t, a.Dir+"/work", map[string]bool{"1": false, "1.shell": false, "2": false, "2.shell": false, "3": true, "3.shell": true, "4": false, "4.shell": false})
	if asked[1] != 0 || asked[2] != 2 || asked[3] != 0 || asked[4] != 0 {
		t.Errorf("asked in turns %v, want twice in turn 2", asked)
	}
	if got := realagent.Endings(items); len(got) != 4 || !strings.Contains(got[0].Detail, "2 tool calls were refused") || got[1].Detail != "" {
		t.Errorf("the turns ended %+v", got)
	}
}

// TestC7_ResumedLiveTurnsHaveEqualShares: two turns in a process, then two in another that goes on.
func TestC7_ResumedLiveTurnsHaveEqualShares(t *testing.T) {
	a := realagent.Claude(t, realagent.Options{})
	session, cost := "", 0.0
	for _, run := range []wire.RunHandle{"real-000001", "real-000002"} {
		turns := turnsIn(agent.ModeOnRisk, "@@say:hello", "@@say:hello")
		for i := range turns {
			turns[i].Session, turns[i].Model, turns[i].Run = session, "fake", run
		}
		_, items := talk(t, a, turns, nil)
		for _, end := range realagent.Endings(items) {
			if share := *end.CostUSD - cost; end.InputTokens != 1000 || end.OutputTokens != 10 || share < 0.0041 || share > 0.0043 {
				t.Errorf("a turn took %d in, %d out and %.4f", end.InputTokens, end.OutputTokens, share)
			}
			cost = *end.CostUSD
		}
		session = realagent.Session(items)
	}
	_, items := talk(t, a, []agent.Turn{{Prompt: "@@hist", Session: session, Run: "real-000003"}}, nil)
	if reply := realagent.Ending(t, items).Reply; !strings.HasPrefix(reply, "5: ") {
		t.Errorf("the session's history is %q", reply)
	}
	a.NoDials(t)
}

// TestC14_RealRequests shows what claude asks for a change and a new file, and that a form is refused unasked.
func TestC14_RealRequests(t *testing.T) {
	a := realagent.Claude(t, realagent.Options{})
	file := a.Dir + "/work/f.txt"
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var shown []string
	talk(t, a, turnsIn(agent.ModeOnRisk, `@@tool:Read:{"file_path":"`+file+`"}|tool:Edit:{"file_path":"`+file+`","old_string":"one","new_string":"ONE"}|tool:Write:{"file_path":"`+
		a.Dir+`/work/new","content":"fresh"}|tool:AskUserQuestion:{"questions":[]}|say:done`), func(f agent.Fact, w *agent.Wishes) {
		if f.Kind == agent.FactApprovalAsked {
			shown = append(shown, f.Approval.Tool+" "+string(f.Approval.Risk)+" "+f.Approval.Diff)
			answer(w, f, true)
		}
	})
	want := []string{"Edit filesystem " + agent.Diff(file, "one", "ONE"), "Write filesystem " + agent.Diff(a.Dir+"/work/new", "", "fresh")}
	if strings.Join(shown, "|") != strings.Join(want, "|") {
		t.Errorf("asked %q, want %q", shown, want)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "ONE\ntwo\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// TestC6_NothingOfACancelledTurnIsLeft: the shell, its child in a session of its own and what runs in the background are
// gone before the next turn, though the process lives on.
func TestC6_NothingOfACancelledTurnIsLeft(t *testing.T) {
	a := realagent.Claude(t, realagent.Options{})
	endless := `@@tool:Bash:{"command":"tail -f ` + a.Dir + `/work/MARK","description":"d","run_in_background":true}|tool:Bash:{"command":"tail -f ` + a.Dir + `/work/MARK & tail -f ` + a.Dir + `/work/MARK","description":"d"}|say:x`
	if err := os.WriteFile(a.Dir+"/work/MARK", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, items := talk(t, a, turnsIn(agent.ModeAuto, endless, "@@say:after"), func(f agent.Fact, w *agent.Wishes) {
		if f.Kind == agent.FactTool && f.Turn == 1 && strings.Contains(f.Text, "&") {
			w.Cancel = 1
		}
		if f.Kind == agent.FactTurnEnded && f.Turn == 2 {
			realagent.NotInCommandLines(t, a.Dir+"/work/MARK")
		}
	})
	if got := realagent.Endings(items); len(got) != 2 || got[0].State != wire.StateInterrupted || got[1].Reply != "after" {
		t.Errorf("the turns ended %+v", got)
	}
}
