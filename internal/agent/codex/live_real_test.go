package codex_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// patch is a script's step that changes files as codex is told to: by a patch.
func patch(body string) string {
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\n", `\n`), "@", `\u0040`)
	return `tool:exec_command:{"cmd":"apply_patch <<'E'\n*** Begin Patch\n` + body + `\n*** End Patch\nE"}`
}

// verdicts answers the approvals in their order; a text denies and is the reason.
func verdicts(answers ...string) func(agent.Fact, *agent.Wishes) {
	return func(f agent.Fact, w *agent.Wishes) {
		if f.Kind != agent.FactApprovalAsked || len(answers) == 0 {
			return
		}
		w.Answers = append(w.Answers, agent.Answer{
			Key: "answer:" + f.Approval.Request, Request: f.Approval.Request, Approved: answers[0] == "yes", Reason: strings.TrimPrefix(answers[0], "no"),
		})
		answers = answers[1:]
	}
}

// on lets the owner act on the first fact of a kind in each turn that is listed.
func on(kind agent.FactKind, do func(turn uint32, w *agent.Wishes), turns ...uint32) func(agent.Fact, *agent.Wishes) {
	return func(f agent.Fact, w *agent.Wishes) {
		if i := slices.Index(turns, f.Turn); f.Kind == kind && i >= 0 {
			turns = slices.Delete(turns, i, i+1)
			do(f.Turn, w)
		}
	}
}

func cancel(turn uint32, w *agent.Wishes) { w.Cancel = turn }

type liveCase struct {
	name    string
	options realagent.Options
	turns   []agent.Turn
	say     func() func(agent.Fact, *agent.Wishes)
	want    []wire.AgentState
	class   agent.Class // of the first turn
}

func prompts(mode agent.Mode, texts ...string) (turns []agent.Turn) {
	for _, text := range texts {
		turns = append(turns, agent.Turn{Prompt: text, Mode: mode})
	}
	return turns
}

func liveCases() []liveCase {
	done, failed := wire.StateCompleted, wire.StateFailed
	none := func() func(agent.Fact, *agent.Wishes) { return nil }
	return append([]liveCase{
		{name: "live-ok", turns: prompts("", "@@say:hello there", "@@shell:echo hi|shell:ls /nonexistent|say:done"), say: none, want: []wire.AgentState{done, done}},
		{
			name: "live-approvals", turns: prompts(agent.ModeAlways, "@@shell:echo one > w1|shell:echo two > w2|say:done", "@@"+patch("*** Add File: new.txt\n+hello")+"|"+patch("*** Update File: new.txt\n@@\n-hello\n+world")+"|say:done"),
			say: func() func(agent.Fact, *agent.Wishes) { return verdicts("yes", "no: not there", "yes", "no") }, want: []wire.AgentState{done, done},
		},
		{
			name: "live-steered", turns: prompts("", "@@shell:sleep 1|say:done"), want: []wire.AgentState{done},
			say: func() func(agent.Fact, *agent.Wishes) {
				return on(agent.FactTool, func(turn uint32, w *agent.Wishes) {
					w.Steers = append(w.Steers, agent.Steer{Key: "steer:7", Turn: turn, Text: "keep left"})
				}, 1)
			},
		},
		{
			name: "live-cancelled", turns: prompts(agent.ModeAlways, "@@shell:echo one > w1|say:done", "@@slow:200", "@@say:still here"),
			want: []wire.AgentState{wire.StateInterrupted, wire.StateInterrupted, done},
			say: func() func(agent.Fact, *agent.Wishes) {
				asked, words := on(agent.FactApprovalAsked, cancel, 1), on(agent.FactUsage, cancel)
				words = on(agent.FactActivity, cancel, 2)
				return func(f agent.Fact, w *agent.Wishes) { asked(f, w); words(f, w) }
			},
		},
		{name: "live-read-only", turns: prompts(agent.ModeReadOnly, "@@shell:touch w-denied|say:done"), say: none, want: []wire.AgentState{done}},
		{name: "live-modes", turns: append(prompts(agent.ModeReadOnly, "@@shell:echo a > r1|say:done"), append(prompts("", "@@shell:echo a > r2|say:done"), prompts(agent.ModeAuto, "@@shell:echo a > ../r3|say:done")...)...), say: none, want: []wire.AgentState{done, done, done}},
	}, []liveCase{
		{name: "live-500", turns: prompts("", "@@err:500", "@@say:better"), say: none, want: []wire.AgentState{failed, done}, class: agent.ClassModel},
		{name: "live-401", turns: prompts("", "@@err:401"), say: none, want: []wire.AgentState{failed}, class: agent.ClassAuth},
		{name: "live-404", turns: prompts("", "@@err:404"), say: none, want: []wire.AgentState{failed}, class: agent.ClassModel},
		{name: "live-429", turns: prompts("", "@@err:429"), say: none, want: []wire.AgentState{failed}, class: agent.ClassQuota},
		{name: "live-dropped", turns: prompts("", "@@drop"), say: none, want: []wire.AgentState{failed}, class: agent.ClassNetwork},
		{name: "live-refusal", turns: prompts("", "@@refuse"), options: realagent.Options{Retries: 2}, say: none, want: []wire.AgentState{wire.StateDeclined}, class: agent.ClassRefusal},
		{name: "live-unknown-id", turns: []agent.Turn{{Prompt: "@@say:x", Session: "01a22c1d-2ce3-7983-8c67-9767f78c0000"}}, say: none, want: []wire.AgentState{failed}, class: agent.ClassSession},
	}...)
}

// TestC4C8_EachCaseOfTheRealAppServer plays what a live codex can meet, records it on request, and finds nothing dialled.
func TestC4C8_EachCaseOfTheRealAppServer(t *testing.T) {
	for _, c := range liveCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := realagent.Codex(t, c.options)
			recording, _ := a.Talk(t, realagent.Conversation{Kind: codex.LiveKind(), Turns: c.turns, Say: c.say()})
			if *update {
				recording.Save(t, "testdata/"+c.name+".jsonl", a.Scrub())
			}
			ends := realagent.Endings(recording.Check(t, codex.LiveKind()))
			var states []wire.AgentState
			for _, end := range ends {
				states = append(states, end.State)
			}
			if !slices.Equal(states, c.want) {
				t.Fatalf("the turns ended %v, want %v", states, c.want)
			}
			if c.class != "" && ends[0].Class != string(c.class) {
				t.Errorf("the class is %q (%s), want %q", ends[0].Class, ends[0].Detail, c.class)
			}
			a.NoDials(t)
			if config, err := os.ReadFile(a.Dir + "/agent/config.toml"); err != nil || strings.Contains(string(config), "projects") {
				t.Errorf("the owner's configuration was changed: %v\n%s", err, config)
			}
		})
	}
}

// TestOffer_WhatCodexSaysOfItself reads version, models, efforts and sign-in, of a home where nobody is signed in too.
// There codex would look for its service for ever, so the turn is cancelled.
func TestOffer_WhatCodexSaysOfItself(t *testing.T) {
	for _, out := range []bool{false, true} {
		a := realagent.Codex(t, realagent.Options{SignOut: out})
		var offer agent.Offer
		turn := agent.Turn{Prompt: "@@slow:20"}
		if !out {
			turn.Model = "gpt-6.2-sol"
		}
		a.Talk(t, realagent.Conversation{Kind: codex.LiveKind(), Turns: []agent.Turn{turn}, Say: func(f agent.Fact, w *agent.Wishes) {
			if f.Kind == agent.FactOffer {
				offer = *f.Offer
			}
			if len(offer.Models) > 0 {
				w.Cancel = 1
			}
		}})
		want := "the model's provider needs no sign-in"
		if out {
			want = "nobody is signed in; sign in with: codex login"
		}
		if offer.SignIn != want || offer.Version == "" || !offer.Steer || len(offer.Efforts) == 0 {
			t.Errorf("the offer is %+v", offer)
		}
		used := slices.ContainsFunc(offer.Models, func(m agent.Choice) bool { return m.Used })
		if !used {
			t.Errorf("no model of %+v is in force", offer.Models)
		}
	}
}

// TestC7C8_AThreadGoesOnInOtherProcesses resumes a thread three times: the sums of its use grow evenly, its history is
// whole, and while one process has it another cannot.
func TestC7C8_AThreadGoesOnInOtherProcesses(t *testing.T) {
	a := realagent.Codex(t, realagent.Options{})
	session, last := "", agent.Usage{}
	for i := range 4 {
		_, facts := a.Talk(t, realagent.Conversation{Kind: codex.LiveKind(), Turns: []agent.Turn{{Prompt: "@@say:hello", Session: session}}})
		o := outcome(t, facts)
		if o.State != wire.StateCompleted || !o.Usage.CumulativeTokens || o.Usage.InputTokens-last.InputTokens != 1000 || o.Usage.OutputTokens-last.OutputTokens != 10 {
			t.Fatalf("turn %d ended %+v after %+v", i+1, o, last)
		}
		if o.Usage.ContextTokens != 1010 || o.Usage.ContextWindow == 0 {
			t.Errorf("turn %d fills %d of %d", i+1, o.Usage.ContextTokens, o.Usage.ContextWindow)
		}
		got := kinds(facts, agent.FactSession)[0].Session
		if session != "" && got != session {
			t.Errorf("turn %d is in thread %s, want %s", i+1, got, session)
		}
		session, last = got, o.Usage
	}
	var second agent.Outcome
	_, facts := a.Talk(t, realagent.Conversation{Kind: codex.LiveKind(), Turns: []agent.Turn{{Prompt: "@@hist", Session: session}}, Say: func(f agent.Fact, _ *agent.Wishes) {
		if f.Kind == agent.FactReady {
			_, facts := a.Talk(t, realagent.Conversation{Kind: codex.LiveKind(), Turns: []agent.Turn{{Prompt: "@@say:x", Session: session}}})
			second = outcome(t, facts)
		}
	}})
	if o := outcome(t, facts); !strings.HasPrefix(o.Reply, "5: ") {
		t.Errorf("the thread's history is %q", o.Reply)
	}
	if second.State != wire.StateFailed || second.Class != agent.ClassSession || !strings.Contains(second.Detail, "in use") {
		t.Errorf("beside a process that has the thread another ended %+v", second)
	}
	a.NoDials(t)
}

// TestC23_NothingOfTheOwnersHomeIsEdited starts and resumes in a repository, in every mode: given its directory, codex
// would write it into the owner's configuration as trusted.
func TestC23_NothingOfTheOwnersHomeIsEdited(t *testing.T) {
	a := realagent.Codex(t, realagent.Options{})
	if err := exec.Command("git", "init", "-q", a.Dir+"/work").Run(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(a.Dir + "/agent/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	session := ""
	for _, mode := range []agent.Mode{agent.ModeAuto, agent.ModeOnRisk, agent.ModeAlways, agent.ModeReadOnly} {
		for _, id := range []string{"", session} {
			_, facts := a.Talk(t, realagent.Conversation{Kind: codex.LiveKind(), Turns: []agent.Turn{{Prompt: "@@shell:echo x > written-" + string(mode) + "|say:ok", Session: id, Mode: mode}}, Say: verdicts("no", "no")})
			session = kinds(facts, agent.FactSession)[0].Session
			if o := outcome(t, facts); o.State != wire.StateCompleted {
				t.Errorf("mode %s ended %+v", mode, o)
			}
		}
		wrote := mode == agent.ModeAuto || mode == agent.ModeOnRisk
		if _, err := os.Stat(a.Dir + "/work/written-" + string(mode)); (err == nil) != wrote {
			t.Errorf("mode %s wrote: %v, want %v", mode, err == nil, wrote)
		}
	}
	after, err := os.ReadFile(a.Dir + "/agent/config.toml")
	if err != nil || string(after) != string(before) {
		t.Errorf("the owner's configuration is now (%v):\n%s", err, after)
	}
	a.NoDials(t)
}

// TestC5_ALiveProcessThatIsKilled loses its turn, whose request is void, and says how it ended.
func TestC5_ALiveProcessThatIsKilled(t *testing.T) {
	a := realagent.Codex(t, realagent.Options{})
	_, facts := a.Talk(t, realagent.Conversation{Kind: codex.LiveKind(), Turns: prompts(agent.ModeAlways, "@@shell:echo x > w|say:done"), Say: func(f agent.Fact, w *agent.Wishes) {
		if f.Kind == agent.FactApprovalAsked {
			realagent.Kill(t, a.Dir)
		}
	}})
	if o := outcome(t, facts); o.State != wire.StateFailed || !o.NoEnd {
		t.Errorf("it ended %+v", o)
	}
	if f := kinds(facts, agent.FactApprovalClosed); len(f) != 1 || f[0].Status != agent.ClosedVoid {
		t.Errorf("the request closed as %+v", f)
	}
	if _, err := os.Stat(a.Dir + "/work/w"); err == nil {
		t.Error("a command that nobody approved ran")
	}
}

// TestRequests_QuestionsOfTheRealCodexAreAnsweredAtOnce lets codex ask the user, which scv does not offer: the turn goes on.
func TestRequests_QuestionsOfTheRealCodexAreAnsweredAtOnce(t *testing.T) {
	a := realagent.Codex(t, realagent.Options{})
	ask := `tool:request_user_input:{"questions":[{"id":"a","header":"h","question":"which?","options":[{"label":"x","description":"y"},{"label":"z","description":"y"}]}]}`
	_, facts := a.Talk(t, realagent.Conversation{
		Kind: codex.LiveKind(), Settings: agent.Settings{Args: []string{"-c", "features.default_mode_request_user_input=true"}},
		Turns: prompts("", "@@"+ask+"|say:went on"),
	})
	if o := outcome(t, facts); o.State != wire.StateCompleted || o.Reply != "went on" {
		t.Errorf("it ended %+v", o)
	}
	if notes := texts(kinds(facts, agent.FactNote)); !strings.Contains(notes, "which?") {
		t.Errorf("the remarks are %q", notes)
	}
}
