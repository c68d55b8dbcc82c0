package claude_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/wire"
)

func TestC17_SettingsComeBeforeThePrompt(t *testing.T) {
	k := newDesk(t)
	k.w.Turn = &agent.Turn{Number: 1, Key: "turn:1", Prompt: "go", Mode: agent.ModeReadOnly, Model: "sonnet", Effort: "high", Run: "claude-0a1b2c"}
	k.say()
	if k.keys() != "hello:initialize" {
		t.Fatalf("before the handshake is answered it writes %q", k.keys())
	}
	k.talk()
	k.hear(`{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{}}}`)
	k.talk()
	if want := "hello:initialize tune:1:flags tune:1:mode turn:1"; k.keys() != want {
		t.Fatalf("wrote %q, want %q", k.keys(), want)
	}
	for key, want := range map[string]string{
		"tune:1:flags": `{"type":"control_request","request_id":"2","request":{"subtype":"apply_flag_settings","settings":{"permissions":{"ask":[],"deny":["Bash","Edit","Write","NotebookEdit","Monitor","EnterWorktree","mcp__*"]},"model":"sonnet","effortLevel":"high"}}}`,
		"tune:1:mode":  `{"type":"control_request","request_id":"3","request":{"subtype":"set_permission_mode","mode":"default"}}`,
	} {
		if got := strings.TrimSpace(k.line(key)); got != want {
			t.Errorf("%s is %s\nwant %s", key, got, want)
		}
	}
	uuid := k.uuid("turn:1")
	k.hear(append(taken(uuid), success, state("idle"))...)
	k.said = nil
	k.w.Turn = &agent.Turn{Number: 2, Key: "turn:2", Prompt: "on", Mode: agent.ModeReadOnly, Model: "sonnet", Effort: "high", Run: "claude-0a1b2c"}
	k.talk()
	if k.keys() != "turn:2" || k.uuid("turn:2") == uuid {
		t.Errorf("a turn of the same settings wrote %q", k.keys())
	}
	k.hear(append(taken(k.uuid("turn:2")), success, state("idle"))...)
	k.said = nil
	k.w.Turn = &agent.Turn{Number: 3, Key: "turn:3", Prompt: "on", Mode: agent.ModeAuto}
	k.talk()
	if want := "tune:3:flags tune:3:mode turn:3"; k.keys() != want || !strings.Contains(k.line("tune:3:mode"), "bypassPermissions") {
		t.Errorf("a turn of another mode wrote %q", k.keys())
	}
}

// TestC17_NoPromptWithoutItsMode: a turn whose limits claude did not take is never begun.
func TestC17_NoPromptWithoutItsMode(t *testing.T) {
	k := begun(t)
	k.hear(success, state("idle"))
	k.w.Turn = &agent.Turn{Number: 2, Key: "turn:2", Prompt: "on", Mode: agent.ModeAuto}
	k.facts = nil
	k.say()
	k.hear(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"error","request_id":"%d","error":"not launched so"}}`, k.n))
	k.say()
	if k.keys() != "tune:2:mode close:" || k.told() != "ended2=failed" {
		t.Errorf("wrote %q, told %q", k.keys(), k.told())
	}
	if o := k.ended(); o.Class != agent.ClassStart || !strings.Contains(o.Detail, "not launched so") {
		t.Errorf("the outcome is %+v", o)
	}
	k.feed(agent.Input{Kind: agent.InputExit})
	if k.told() != "ended2=failed" {
		t.Errorf("its exit tells %q", k.told())
	}
}

func TestHandshake_ARefusalFailsTheTurn(t *testing.T) {
	k := newDesk(t)
	k.w.Turn = &agent.Turn{Number: 1, Key: "turn:1", Prompt: "go"}
	k.say()
	k.hear(`{"type":"control_response","response":{"subtype":"error","request_id":"1","error":"too old"}}`)
	k.say()
	k.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: 1}})
	if k.keys() != "hello:initialize close:" || k.told() != "ended0=failed" {
		t.Errorf("wrote %q, told %q", k.keys(), k.told())
	}
}

func TestOffer_WhatClaudeSaysOfItself(t *testing.T) {
	k := newDesk(t)
	k.say()
	k.hear(`{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"claude_code_version":"2.1.332","current_permission_mode":"default",
		"models":[{"value":"default","displayName":"Default","supportedEffortLevels":["low","high"]},{"value":"haiku","displayName":"Haiku","supportedEffortLevels":["low"]}],
		"account":{"tokenSource":"none","apiKeySource":"ANTHROPIC_API_KEY"}}}}`)
	want := agent.Offer{
		Version: "2.1.332", Steer: true, SignIn: "signed in by a key from ANTHROPIC_API_KEY",
		Models: []agent.Choice{
			{ID: "default", Name: "Default", Efforts: []string{"low", "high"}}, {ID: "haiku", Name: "Haiku", Efforts: []string{"low"}},
		},
		Efforts: []agent.Choice{{ID: "low"}, {ID: "high"}}, Modes: []agent.Choice{{ID: "default", Used: true}},
	}
	if len(k.facts) != 2 || !reflect.DeepEqual(*k.facts[0].Offer, want) || k.facts[1].Kind != agent.FactReady {
		t.Errorf("told %+v", k.facts)
	}
}

// TestC10C19_WhatBecomesOfALine plays what cannot be had from the real claude on demand: lines that cross on their way.
func TestC10C19_WhatBecomesOfALine(t *testing.T) {
	for _, c := range []tale{
		{"a steer inside the turn", func(k *desk) {
			u := steered(k)
			k.hear(life(u, "queued"), life(u, "started"), said("b"), life(u, "completed"), success, state("idle"))
		}, "held=steer:1 steered=left text=b ended1=completed"},
		{"a steer that becomes a turn of claude's is of the same turn of ours", func(k *desk) {
			u := steered(k)
			k.hear(life(u, "queued"), said("a"), success, life(u, "started"), said("b"), success, life(u, "completed"), state("idle"))
		}, "held=steer:1 text=a steered=left text=b ended1=completed"},
		{"a steer that crossed the result", func(k *desk) {
			u := steered(k)
			k.hear(success, state("idle"), state("running"), life(u, "queued"), life(u, "started"), said("b"), success, state("idle"))
		}, "held=steer:1 steered=left text=b ended1=completed"},
		{"a cancel drops a steer that waits", func(k *desk) {
			u := steered(k)
			k.hear(life(u, "queued"))
			k.w.Cancel = 1
			k.say()
			k.hear(life(u, "cancelled"), aborted, life(k.first, "cancelled"), state("idle"))
		}, "held=steer:1 unsteered=steer:1 ended1=interrupted"},
		{"a prompt that was dropped before it began", func(k *desk) {
			k.hear(life(k.first, "cancelled"), state("idle"))
		}, "ended1=interrupted"},
		{"an exit with a steer and a request open", func(k *desk) {
			steered(k)
			k.hear(ask("r", "Bash", `{"command":"ls"}`))
			k.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: 1}})
		}, "asked=r unsteered=steer:1 void=r ended1=failed"},
		{"what wakes claude between turns is no turn's", func(k *desk) {
			k.hear(success, state("idle"), state("running"), said("a"), success, state("idle"))
		}, "ended1=completed note"},
		{"a result is not the end while claude says that it works", func(k *desk) { k.hear(success) }, ""},
	} {
		t.Run(c.name, c.check)
	}
}

// A tale is what claude does in a turn that it has begun, and what is told of it.
type tale struct {
	name string
	play func(k *desk)
	want string
}

func (c tale) check(t *testing.T) {
	k := begun(t)
	c.play(k)
	if got := k.told(); got != c.want {
		t.Errorf("told %q\nwant %q", got, c.want)
	}
}

// TestC10_AnAnsweredTurnThatWaits: what runs in the background is a tool call that is open, and is named again once claude
// has spoken in between; so a turn that is silent for it is at work, and not unknown.
func TestC10_AnAnsweredTurnThatWaits(t *testing.T) {
	for _, c := range []tale{
		{"a result while tasks run is not the end", func(k *desk) {
			k.hear(tasks, said("a"), success, state("idle"), noTasks, state("running"), said("b"), success, state("idle"))
		}, "text=a note tool=in the background: make serve, wait text=b ended1=completed"},
		{"an answer between tasks says again what is waited for", func(k *desk) {
			k.hear(tasks, said("a"), success, state("idle"), state("idle"), oneTask, state("running"), said("b"), success, state("idle"))
		}, "text=a note tool=in the background: make serve, wait text=b tool=in the background: make serve"},
		{"an exit while tasks run", func(k *desk) {
			k.hear(tasks, success, state("idle"))
			k.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: -1, Signal: "SIGKILL"}})
		}, "note tool=in the background: make serve, wait ended1=completed"},
		{"a cancel while only tasks run keeps the answer", func(k *desk) {
			k.hear(tasks, success, state("idle"))
			k.w.Cancel = 1
			k.say()
			k.hear(noTasks, state("idle"))
		}, "note tool=in the background: make serve, wait ended1=completed"},
	} {
		t.Run(c.name, c.check)
	}
}

// steered writes a steer and returns its uuid.
func steered(k *desk) string {
	k.w.Steers = []agent.Steer{{Key: "steer:1", Turn: 1, Text: "left"}}
	k.say()
	return k.uuid("steer:1")
}

// TestC10_AnOlderClaude tells neither states nor lives: a result ends the turn unless it says that more will come.
func TestC10_AnOlderClaude(t *testing.T) {
	k := newDesk(t)
	k.w.Turn = &agent.Turn{Number: 1, Key: "turn:1", Prompt: "do it"}
	k.talk()
	k.facts = nil
	k.w.Steers = []agent.Steer{{Key: "steer:1", Turn: 1, Text: "left"}}
	k.talk()
	if strings.Contains(k.keys(), "steer") {
		t.Errorf("it is steered though it tells nothing of the fate of a line: %q", k.keys())
	}
	k.hear(strings.Replace(success, `"is_error"`, `"queued_turn_count":1,"is_error"`, 1), success)
	if k.told() != "ended1=completed" || k.ended().Usage.InputTokens != 200 {
		t.Errorf("told %q with %+v", k.told(), k.ended().Usage)
	}
}

// TestC6_CancelStopsTasksFirst: what runs in the background would wake claude after the turn.
func TestC6_CancelStopsTasksFirst(t *testing.T) {
	k := begun(t)
	k.hear(tasks)
	k.w.Cancel = 1
	k.say()
	if want := "stop:b1 stop:b2 cancel:1"; k.keys() != want {
		t.Fatalf("wrote %q, want %q", k.keys(), want)
	}
	if !strings.Contains(k.line("cancel:1"), `"cancel_queued":true`) || !strings.Contains(k.line("stop:b2"), `"task_id":"b2"`) {
		t.Errorf("wrote %s and %s", k.line("cancel:1"), k.line("stop:b2"))
	}
	last := k.n
	k.hear(aborted, state("idle"))
	k.w = agent.Wishes{Turn: &agent.Turn{Number: 2, Key: "turn:2", Prompt: "next"}}
	k.said = nil
	k.say()
	if k.keys() != "" {
		t.Errorf("%q is written before claude has read the interrupt", k.keys())
	}
	for n := last - 2; n <= last; n++ {
		k.hear(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":"%d","response":{}}}`, n))
	}
	k.say()
	if k.keys() != "turn:2" {
		t.Errorf("then it writes %q", k.keys())
	}
	// Late words of the cancelled turn, and a result of it, are none of the next one's.
	k.facts = nil
	k.hear(success, state("idle"))
	k.hear(taken(k.uuid("turn:2"))...)
	k.hear(said("x"), success, state("idle"))
	if k.told() != "text=x ended2=completed" {
		t.Errorf("told %q", k.told())
	}
}

func TestC1_NoSecondPromptWhileATurnRuns(t *testing.T) {
	k := begun(t)
	k.w.Turn = &agent.Turn{Number: 2, Key: "turn:2", Prompt: "next"}
	k.say()
	if k.keys() != "" {
		t.Errorf("%q is written while a turn runs", k.keys())
	}
}

// TestLines_SameFromEveryDaemon: a line that two daemons make for one wish is the same to the byte, its uuid included.
func TestLines_SameFromEveryDaemon(t *testing.T) {
	k, other := begun(t), begun(t)
	for _, d := range []*desk{k, other} {
		d.w.Steers = []agent.Steer{{Key: "steer:9", Turn: 1, Text: "\xff<&>\u2028"}}
		d.say()
	}
	if !bytes.Equal(k.said[0].Bytes, other.said[0].Bytes) {
		t.Errorf("%s and %s", k.said[0].Bytes, other.said[0].Bytes)
	}
}

func TestUsage_OfTheTurnAndItsContext(t *testing.T) {
	k := begun(t)
	k.hear(said("a"), said("a"), said("b"), success, state("idle"))
	var last agent.Usage
	n := 0
	for _, f := range k.facts {
		if f.Kind == agent.FactUsage {
			last, n = *f.Usage, n+1
		}
	}
	if n != 2 || last.InputTokens != 200 || last.OutputTokens != 10 || last.ContextTokens != 105 {
		t.Errorf("%d reports, the last %+v", n, last)
	}
	u := k.ended().Usage
	if u.ContextTokens != 105 || u.ContextWindow != 200_000 || u.InputTokens != 100 || !u.CumulativeCost || *u.CostUSD != 0.5 {
		t.Errorf("the turn took %+v", u)
	}
	if k.ended().Reply != "fine" || k.ended().State != wire.StateCompleted {
		t.Errorf("the outcome is %+v", k.ended())
	}
}
