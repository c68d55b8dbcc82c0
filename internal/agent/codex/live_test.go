package codex_test

import (
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/wire"
)

func TestC17_TheModeIsSetBeforeTheFirstPrompt(t *testing.T) {
	for mode, want := range map[agent.Mode][2]string{
		agent.ModeAuto: {"never", "danger-full-access"}, agent.ModeOnRisk: {"on-request", "workspace-write"}, "": {"on-request", "workspace-write"},
		agent.ModeAlways: {"untrusted", "workspace-write"}, agent.ModeReadOnly: {"never", "read-only"},
	} {
		k := &desk{t: t, d: codex.LiveKind().New(agent.Settings{Model: "m-1"})}
		k.wishes.Turn = &agent.Turn{Number: 1, Key: "turn:1", Prompt: "do it", Cwd: "/w", Mode: mode}
		k.feed(agent.Input{Kind: agent.InputStarted})
		k.greet()
		_, thread := k.last("thread/start")
		_, turn := k.last("turn/start")
		if thread["approvalPolicy"] != want[0] || thread["sandbox"] != want[1] || thread["approvalsReviewer"] != "user" {
			t.Errorf("mode %q starts a thread with %v", mode, thread)
		}
		if _, named := thread["cwd"]; named {
			t.Error("a thread's start names its directory, which codex then writes into the owner's configuration")
		}
		if turn["sandboxPolicy"] != nil || turn["threadId"] != "th" || turn["clientUserMessageId"] != "turn:1" {
			t.Errorf("mode %q starts a turn with %v", mode, turn)
		}
	}
}

func TestHandshake_AnOldThreadIsResumedWithoutItsHistory(t *testing.T) {
	k := &desk{t: t, d: codex.LiveKind().New(agent.Settings{})}
	k.wishes.Turn = &agent.Turn{Number: 1, Key: "turn:1", Session: "th", Cwd: "/w", Mode: agent.ModeAlways, Model: "m-9"}
	k.feed(agent.Input{Kind: agent.InputStarted})
	k.greet()
	_, p := k.last("thread/resume")
	if p["threadId"] != "th" || p["excludeTurns"] != true || p["cwd"] != "/w" || p["model"] != "m-9" || p["approvalPolicy"] != "untrusted" {
		t.Errorf("it is resumed with %v", p)
	}
}

func TestHandshake_ThatFailsEndsTheTurnOnceAndClosesTheProcess(t *testing.T) {
	for _, c := range []struct {
		session, message string
		class            agent.Class
	}{
		{"th", "thread th already has an active writer", agent.ClassSession},
		{"th", "no rollout found for thread id th", agent.ClassSession},
		{"th", "something else", agent.ClassSession},
		{"", "invalid configuration", agent.ClassStart},
	} {
		k := &desk{t: t, d: codex.LiveKind().New(agent.Settings{})}
		k.wishes.Turn = &agent.Turn{Number: 1, Key: "turn:1", Session: c.session, Cwd: "/w"}
		k.feed(agent.Input{Kind: agent.InputStarted})
		k.write()
		k.reply("initialize", `{}`)
		facts := k.fail("thread/", c.message)
		facts = append(facts, k.feed(agent.Input{Kind: agent.InputExit})...)
		if o := outcome(t, facts); o.State != wire.StateFailed || o.Class != c.class || !strings.Contains(o.Detail, c.message) {
			t.Errorf("%q ends as %+v", c.message, o)
		}
		if !strings.HasSuffix(strings.Join(k.said, "\n"), "close:") {
			t.Errorf("after %q it said %q", c.message, k.said)
		}
	}
}

func TestModes_ALaterTurnChangesTheModeAndKeepsTheOwnersWorkspace(t *testing.T) {
	k := sit(t, agent.ModeOnRisk)
	k.out(ended("t-1", "completed"))
	k.wishes.Turn = &agent.Turn{Number: 2, Key: "turn:2", Mode: agent.ModeReadOnly, Effort: "high"}
	k.write()
	if _, p := k.last("turn/start"); p["approvalPolicy"] != "never" || p["sandboxPolicy"].(map[string]any)["type"] != "readOnly" || p["effort"] != "high" {
		t.Errorf("the second turn starts with %v", p)
	}
	k.begin("t-2")
	k.out(ended("t-2", "completed"))
	k.wishes.Turn = &agent.Turn{Number: 3, Key: "turn:3", Mode: agent.ModeOnRisk}
	k.write()
	_, p := k.last("turn/start")
	if policy, _ := p["sandboxPolicy"].(map[string]any); policy["type"] != "workspaceWrite" || policy["writableRoots"] == nil {
		t.Errorf("the third turn starts with %v", p)
	}
}

func TestPlan_ALiveCodexHasNoPromptInItsCommandLine(t *testing.T) {
	d := codex.LiveKind().New(agent.Settings{Command: "mine", OwnCommand: true, Args: []string{"--profile", "p"}})
	launch, err := d.Plan(agent.Turn{Prompt: strings.Repeat("secret", 100_000), Mode: agent.ModeReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(launch.Argv, " ")
	if !strings.HasPrefix(line, "mine --profile p app-server -c ") || strings.Contains(line, "secret") || !strings.Contains(line, "features.daemon_auto_start=false") {
		t.Errorf("the command line is %.300q", line)
	}
	if launch.Note == "" {
		t.Error("nothing says that allow rules hold in read-only")
	}
	if _, err := d.Plan(agent.Turn{Session: "--x"}); err == nil {
		t.Error("an option is taken for a session")
	}
}

func TestSteer_WaitsForTheTurnAndTellsWhatBecameOfIt(t *testing.T) {
	k := sit(t, "")
	k.wishes.Steers = []agent.Steer{{Key: "steer:7", Turn: 1, Text: "left"}}
	k.write()
	_, p := k.last("turn/steer")
	if p["expectedTurnId"] != "t-1" || p["clientUserMessageId"] != "steer:7" {
		t.Fatalf("it steers with %v", p)
	}
	if f := kinds(k.reply("turn/steer", `{"turnId":"t-1"}`), agent.FactSteered); len(f) != 1 || f[0].Key != "steer:7" || f[0].Text != "left" || f[0].Turn != 1 {
		t.Errorf("the facts are %+v", f)
	}
	k.wishes.Steers = []agent.Steer{{Key: "steer:8", Turn: 1, Text: "right"}}
	k.write()
	if f := kinds(k.fail("turn/steer", "no active turn to steer"), agent.FactSteerRefused); len(f) != 1 || f[0].Key != "steer:8" || !strings.Contains(f[0].Text, "no active turn") {
		t.Errorf("the facts are %+v", f)
	}
	if f := kinds(k.out(ended("t-1", "completed")), agent.FactNote); len(f) != 1 || !strings.Contains(f[0].Text, "left") {
		t.Errorf("of a text that the turn did not come to it says %+v", f)
	}
}

func TestSteer_ThatCodexShowsIsNotMissed(t *testing.T) {
	k := sit(t, "")
	k.wishes.Steers = []agent.Steer{{Key: "steer:7", Turn: 1, Text: "left"}}
	k.write()
	k.reply("turn/steer", `{"turnId":"t-1"}`)
	k.out(event("item/started", "t-1", `"item":{"type":"userMessage","id":"u","clientId":"steer:7"}`))
	if f := kinds(k.out(ended("t-1", "completed")), agent.FactNote); len(f) != 0 {
		t.Errorf("it says %+v", f)
	}
}

func TestSteer_IsRefusedWhenTheProcessLeaves(t *testing.T) {
	k := sit(t, "")
	k.wishes.Steers = []agent.Steer{{Key: "steer:7", Turn: 1, Text: "left"}}
	k.write()
	facts := k.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: -1, Signal: "SIGKILL"}})
	if f := kinds(facts, agent.FactSteerRefused); len(f) != 1 || outcome(t, facts).State != wire.StateFailed {
		t.Errorf("the facts are %+v", facts)
	}
}

func TestCancel_WaitsUntilCodexBeganTheTurn(t *testing.T) {
	k := &desk{t: t, d: codex.LiveKind().New(agent.Settings{})}
	k.wishes.Turn = &agent.Turn{Number: 1, Key: "turn:1", Cwd: "/w"}
	k.feed(agent.Input{Kind: agent.InputStarted})
	k.greet()
	k.wishes.Cancel = 1
	k.told()
	k.write()
	n := k.n
	k.out(`{"id":4,"result":{"turn":{"id":"t-1"}}}`)
	if said := k.told(); said != "" || k.n != n {
		t.Fatalf("before codex began the turn it said %q", said)
	}
	k.out(event("turn/started", "t-1", `"turn":{"id":"t-1"}`))
	if _, p := k.last("turn/interrupt"); p["turnId"] != "t-1" {
		t.Errorf("it interrupts with %v", p)
	}
	if o := outcome(t, k.out(ended("t-1", "interrupted"))); o.State != wire.StateInterrupted {
		t.Errorf("it ended %+v", o)
	}
}

// TestC6_ACancelledTurnEndsWhatItBegan: once, before the next turn can begin something, and no other turn does; an older
// codex that cannot is told of in the log.
func TestC6_ACancelledTurnEndsWhatItBegan(t *testing.T) {
	const clean = "thread/backgroundTerminals/clean"
	k := sit(t, "")
	k.wishes.Cancel = 1
	k.write()
	k.wishes.Turn, k.wishes.Cancel = &agent.Turn{Number: 2, Key: "turn:2", Cwd: "/w", Prompt: "next"}, 0
	said := func() string { return strings.Join(k.said, "\n") }
	if strings.Contains(said(), clean) {
		t.Errorf("before the turn ended it said %q", said())
	}
	k.out(ended("t-1", "interrupted"))
	if at, next := strings.Index(said(), clean), strings.Index(said(), "turn/start"); strings.Count(said(), clean) != 1 || next < at {
		t.Errorf("after the turn it said %q", said())
	}
	if _, p := k.last(clean); p["threadId"] != "th" {
		t.Errorf("it ends those of %v", p)
	}
	notes := kinds(k.fail(clean, "no such method"), agent.FactNote)
	if len(notes) != 1 || !strings.Contains(notes[0].Text, "which may run on: no such method") {
		t.Errorf("the log is told %+v", notes)
	}
	k.reply("turn/start", `{"turn":{"id":"t-2"}}`)
	k.out(ended("t-2", "completed"))
	if strings.Count(said(), clean) != 1 {
		t.Errorf("after a turn that nobody cancelled it said %q", said())
	}
}

// A result that was complete before the cancel stays one.
func TestCancel_AResultThatCameFirstStands(t *testing.T) {
	k := sit(t, "")
	k.wishes.Cancel = 1
	k.write()
	facts := k.out(ended("t-1", "completed"))
	facts = append(facts, k.fail("turn/interrupt", "no active turn to interrupt")...)
	if o := outcome(t, facts); o.State != wire.StateCompleted {
		t.Errorf("it ended %+v", o)
	}
}

func TestTurns_LateEventsOfACancelledTurnNeverTouchTheNext(t *testing.T) {
	k := sit(t, "")
	k.out(ended("t-1", "interrupted"))
	late := []string{
		event("item/agentMessage/delta", "t-1", `"itemId":"m","delta":"late words\n\n"`),
		event("item/completed", "t-1", `"item":{"type":"agentMessage","id":"m","text":"late words"}`),
		event("item/started", "t-1", `"item":{"type":"commandExecution","id":"c","command":"late"}`),
		event("error", "t-1", `"error":{"message":"late"},"willRetry":true`),
		ended("t-1", "completed"),
	}
	if facts := k.out(late...); len(facts) != 0 {
		t.Errorf("between the turns they gave %+v", facts)
	}
	k.wishes.Turn = &agent.Turn{Number: 2, Key: "turn:2"}
	k.write()
	if facts := kinds(k.out(late...), agent.FactText, agent.FactTool, agent.FactRetry, agent.FactTurnEnded); len(facts) != 0 {
		t.Errorf("before the next turn was named they gave %+v", facts)
	}
	k.begin("t-2")
	if facts := kinds(k.out(late...), agent.FactText, agent.FactTool, agent.FactRetry, agent.FactTurnEnded); len(facts) != 0 {
		t.Errorf("in the next turn they gave %+v", facts)
	}
	if o := outcome(t, k.out(ended("t-2", "completed"))); o.Reply != "" {
		t.Errorf("the next turn's reply is %q", o.Reply)
	}
}

func TestTurns_OfAnotherThreadEndNothing(t *testing.T) {
	k := sit(t, "")
	facts := k.out(
		`{"method":"item/started","params":{"threadId":"sub","turnId":"s-1","item":{"type":"commandExecution","id":"c","command":"ls"}}}`,
		`{"method":"item/completed","params":{"threadId":"sub","turnId":"s-1","item":{"type":"agentMessage","id":"m","text":"mine"}}}`,
		`{"method":"turn/completed","params":{"threadId":"sub","turn":{"id":"s-1","status":"completed"}}}`,
		`{"id":5,"method":"item/commandExecution/requestApproval","params":{"threadId":"sub","turnId":"s-2","itemId":"x","command":"rm x"}}`,
	)
	if got := kinds(facts, agent.FactTool, agent.FactText, agent.FactTurnEnded, agent.FactApprovalAsked); len(got) != 2 || got[0].Text != "$ ls" || got[1].Approval.Summary != "rm x" {
		t.Errorf("they gave %+v", got)
	}
}

func TestTurns_WordsBetweenThemAreARemark(t *testing.T) {
	k := sit(t, "")
	k.out(ended("t-1", "completed"))
	if f := k.out(event("item/completed", "t-77", `"item":{"type":"agentMessage","id":"m","text":"by the way"}`)); len(f) != 1 || f[0].Kind != agent.FactNote || !strings.Contains(f[0].Text, "by the way") {
		t.Errorf("they gave %+v", f)
	}
}

func TestTurns_OneThatCodexRefusesHasFailed(t *testing.T) {
	k := sit(t, "")
	k.out(ended("t-1", "completed"))
	k.wishes.Turn = &agent.Turn{Number: 2, Key: "turn:2"}
	k.write()
	if o := outcome(t, k.fail("turn/start", "unexpected status 429: slow down")); o.State != wire.StateFailed || o.Class != agent.ClassQuota {
		t.Errorf("it ended %+v", o)
	}
}

func TestText_ComesInPartsAndIsTheReplyWhole(t *testing.T) {
	k := sit(t, "")
	facts := k.out(
		event("item/started", "t-1", `"item":{"type":"agentMessage","id":"m","text":""}`),
		event("item/agentMessage/delta", "t-1", `"itemId":"m","delta":"one\n\ntw"`),
		event("item/agentMessage/delta", "t-1", `"itemId":"m","delta":"o"`),
		event("item/completed", "t-1", `"item":{"type":"agentMessage","id":"m","text":"one\n\ntwo!"}`),
		event("item/agentMessage/delta", "t-1", `"itemId":"n","delta":"half"`),
		event("item/completed", "t-1", `"item":{"type":"agentMessage","id":"n","text":"another text"}`),
		ended("t-1", "completed"),
	)
	if got := texts(kinds(facts, agent.FactText)); got != "one|two!|half|another text" {
		t.Errorf("it logged %q", got)
	}
	if o := outcome(t, facts); o.Reply != "another text" {
		t.Errorf("the reply is %q", o.Reply)
	}
}

func TestTools_TheirLines(t *testing.T) {
	for item, want := range map[string]string{
		`"type":"mcpToolCall","server":"s","tool":"t"`:                                                                                 "s.t",
		`"type":"commandExecution","command":"/bin/bash -lc 'go test'"`:                                                                "$ go test",
		`"type":"fileChange","changes":[{"path":"/w/a/b.go","kind":{"type":"update"},"diff":"@@"},{"path":"c","kind":{"type":"add"}}]`: "update …/a/b.go|add c",
		`"type":"collabAgentToolCall","tool":"spawnAgent","prompt":"look around"`:                                                      "spawnAgent look around",
		`"type":"dynamicToolCall","tool":"x"`:                                                                                          "x",
		`"type":"imageView","path":"/w/a.png"`:                                                                                         "view /w/a.png",
	} {
		k := sit(t, "")
		if got := texts(kinds(k.out(event("item/started", "t-1", `"item":{"id":"i",`+item+"}")), agent.FactTool)); got != want {
			t.Errorf("%s is %q, want %q", item, got, want)
		}
	}
	k := sit(t, "")
	plan := k.out(event("turn/plan/updated", "t-1", `"plan":[{"step":"one","status":"completed"},{"step":"two","status":"inProgress"}]`))
	if f := kinds(plan, agent.FactPlan); len(f) != 1 || f[0].Text != "two" {
		t.Errorf("the plan gives %+v", f)
	}
	refused := k.out(event("item/completed", "t-1", `"item":{"id":"c","type":"commandExecution","command":"rm x","status":"declined"}`), ended("t-1", "completed"))
	if o := outcome(t, refused); len(o.Denied) != 1 || !strings.Contains(o.Detail, "permission mode") {
		t.Errorf("a call that nobody was asked about ended %+v", o)
	}
}

func TestUsage_IsTheThreadsSumAndTheContextsFill(t *testing.T) {
	k := sit(t, "")
	facts := k.out(event("thread/tokenUsage/updated", "t-1", `"tokenUsage":{"total":{"inputTokens":5000,"outputTokens":50,"totalTokens":5050},"last":{"inputTokens":900,"totalTokens":1000},"modelContextWindow":258400}`), ended("t-1", "completed"))
	want := agent.Usage{InputTokens: 5000, OutputTokens: 50, CumulativeTokens: true, ContextTokens: 1000, ContextWindow: 258400}
	if f := kinds(facts, agent.FactUsage); len(f) != 1 || *f[0].Usage != want {
		t.Errorf("on the way it is %+v", f)
	}
	if o := outcome(t, facts); o.Usage != want {
		t.Errorf("at the end it is %+v", o.Usage)
	}
}

func TestLimits_SayWhenTheyEndOnce(t *testing.T) {
	k := sit(t, "")
	limit := `{"method":"account/rateLimits/updated","params":{"rateLimits":{"rateLimitReachedType":"rate_limit_reached","primary":{"usedPercent":100,"resetsAt":1800000000},"secondary":{"usedPercent":40,"resetsAt":1900000000}}}}`
	facts := kinds(k.out(limit, limit), agent.FactRetry)
	if len(facts) != 1 || facts[0].Class != agent.ClassQuota || !strings.Contains(facts[0].Text, "2027-01-15 08:00 UTC") {
		t.Errorf("the limit gives %+v", facts)
	}
	o := outcome(t, k.out(`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t-1","status":"failed","error":{"message":"You have hit your usage limit","codexErrorInfo":"usageLimitExceeded"}}}}`))
	if o.Class != agent.ClassQuota || !strings.Contains(o.Detail, "2027-01-15 08:00 UTC") {
		t.Errorf("it ended %+v", o)
	}
}

func TestC4_TheKindOfAnErrorDecidesTheClass(t *testing.T) {
	for info, want := range map[string]agent.Class{
		`"usageLimitExceeded"`: agent.ClassQuota, `"unauthorized"`: agent.ClassAuth, `"contextWindowExceeded"`: agent.ClassLimit,
		`"serverOverloaded"`: agent.ClassModel, `"cyberPolicy"`: agent.ClassRefusal, `"other"`: agent.ClassAgent, `null`: agent.ClassAgent, `7`: agent.ClassAgent,
		`{"httpConnectionFailed":{"httpStatusCode":403}}`: agent.ClassAuth, `{"httpConnectionFailed":{"httpStatusCode":null}}`: agent.ClassNetwork,
		`{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`: agent.ClassQuota, `{"responseStreamDisconnected":{}}`: agent.ClassNetwork,
	} {
		k := sit(t, "")
		retry := kinds(k.out(event("error", "t-1", `"willRetry":true,"error":{"message":"it broke","codexErrorInfo":`+info+`}`)), agent.FactRetry)
		if len(retry) != 1 || retry[0].Class != want {
			t.Errorf("%s is tried again as %+v, want %s", info, retry, want)
		}
		o := outcome(t, k.out(`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t-1","status":"failed","error":{"message":"it broke","codexErrorInfo":`+info+`}}}}`))
		state := wire.StateFailed
		if want == agent.ClassRefusal {
			state = wire.StateDeclined
		}
		if o.State != state || o.Class != want {
			t.Errorf("%s ends %s %s, want %s", info, o.State, o.Class, want)
		}
	}
}

func TestOffer_IsAskedForBesideTheTurn(t *testing.T) {
	k := &desk{t: t, d: codex.LiveKind().New(agent.Settings{})}
	k.wishes.Turn = &agent.Turn{Number: 1, Key: "turn:1", Cwd: "/w"}
	k.feed(agent.Input{Kind: agent.InputStarted})
	k.greet()
	order := strings.Join(k.said, "\n")
	if strings.Index(order, "turn/start") > strings.Index(order, "account/read") {
		t.Errorf("the prompt waits for what only informs: %s", order)
	}
	k.reply("account/read", `{"account":{"type":"chatgpt","email":"a@b.c","planType":"plus"},"requiresOpenaiAuth":true}`)
	facts := k.reply("model/list", `{"data":[{"model":"m-1","displayName":"M 1"},{"model":"m-2","displayName":"M 2","defaultReasoningEffort":"low","supportedReasoningEfforts":[{"reasoningEffort":"low"},{"reasoningEffort":"high"}]}]}`)
	offers := kinds(facts, agent.FactOffer)
	if len(offers) != 1 {
		t.Fatalf("the facts are %+v", facts)
	}
	o := offers[0].Offer
	if o.SignIn != "signed in with ChatGPT, plan plus, as a@b.c" || len(o.Models) != 2 || !o.Models[1].Used || o.Models[0].Used || len(o.Efforts) != 2 || !o.Efforts[0].Used {
		t.Errorf("the offer is %+v", o)
	}
}
