package claude_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
)

// TestC14_WhatTheOwnerIsShown: every byte of what a call would run or change, and what rules are made of.
func TestC14_WhatTheOwnerIsShown(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		tool, input string
		want        agent.Approval
	}{
		"command":        {"Bash", `{"command":"rm -rf a\necho b","description":"tidy"}`, agent.Approval{Risk: agent.RiskProcess, Command: "rm -rf a\necho b", Summary: "rm -rf a\necho b"}},
		"long command":   {"Bash", `{"command":"` + long + `"}`, agent.Approval{Risk: agent.RiskProcess, Command: long, Summary: long}},
		"no command":     {"Bash", `{"command":7}`, agent.Approval{Risk: agent.RiskProcess, Summary: `Bash {"command":7}`}},
		"write":          {"Write", `{"file_path":"/w/a","content":"one\n"}`, agent.Approval{Risk: agent.RiskFilesystem, Paths: []string{"/w/a"}, Summary: "Write /w/a\none\n", Diff: "--- /dev/null\n+++ /w/a\n@@ -0,0 +1,1 @@\n+one\n"}},
		"edit":           {"Edit", `{"file_path":"/w/a","old_string":"one","new_string":"two"}`, agent.Approval{Risk: agent.RiskFilesystem, Paths: []string{"/w/a"}, Diff: agent.Diff("/w/a", "one", "two"), Summary: "Edit /w/a\n" + agent.Diff("/w/a", "one", "two")}},
		"edits":          {"MultiEdit", `{"file_path":"a","edits":[{"old_string":"1","new_string":"2"},{"old_string":"3","new_string":"4"}]}`, agent.Approval{Risk: agent.RiskFilesystem, Paths: []string{"a"}, Diff: agent.Diff("a", "1", "2") + agent.Diff("a", "3", "4"), Summary: "MultiEdit a\n" + agent.Diff("a", "1", "2") + agent.Diff("a", "3", "4")}},
		"read":           {"Read", `{"file_path":"/w/a"}`, agent.Approval{Risk: agent.RiskReadOnly, Paths: []string{"/w/a"}, Summary: `Read {"file_path":"/w/a"}`}},
		"read a secret":  {"Read", `{"file_path":"/w/.env"}`, agent.Approval{Risk: agent.RiskFilesystem, Paths: []string{"/w/.env"}, Summary: `Read {"file_path":"/w/.env"}`}},
		"find a secret":  {"Glob", `{"pattern":"**/*.pem"}`, agent.Approval{Risk: agent.RiskFilesystem, Summary: `Glob {"pattern":"**/*.pem"}`}},
		"fetch":          {"WebFetch", `{"url":"http://h/p?q=1"}`, agent.Approval{Risk: agent.RiskNetwork, Summary: `WebFetch {"url":"http://h/p?q=1"}`}},
		"helper":         {"Task", `{"prompt":"p"}`, agent.Approval{Risk: agent.RiskDelegate, Summary: `Task {"prompt":"p"}`}},
		"a server's":     {"mcp__db__drop", `{"table":"t"}`, agent.Approval{Risk: agent.RiskDelegate, Summary: `mcp__db__drop {"table":"t"}`}},
		"input no table": {"Edit", `[1,2]`, agent.Approval{Risk: agent.RiskFilesystem, Summary: `Edit [1,2]`}},
	} {
		t.Run(name, func(t *testing.T) {
			k := begun(t)
			k.hear(ask("r-1", c.tool, c.input))
			if k.told() != "asked=r-1" {
				t.Fatalf("told %q", k.told())
			}
			got := *k.facts[len(k.facts)-1].Approval
			if got.Risk != c.want.Risk || got.Command != c.want.Command || got.Diff != c.want.Diff || got.Summary != c.want.Summary || !slices.Equal(got.Paths, c.want.Paths) {
				t.Errorf("shown is %+v\nwant %+v", got, c.want)
			}
			if got.Cwd != "/w" || got.Tool != c.tool || got.Name != c.tool || len(got.Options) != 2 || got.Options[0].Kind != "allow_once" || got.Options[1].Kind != "reject_once" {
				t.Errorf("shown is %+v", got)
			}
		})
	}
}

// TestC14_SevenAtOnce answers seven open requests in another order; each answer goes to its request, once, and no
// answer is more than for once.
func TestC14_SevenAtOnce(t *testing.T) {
	k := begun(t)
	for i := range 7 {
		k.hear(ask(fmt.Sprint("r", i), "Bash", `{"command":"c"}`))
	}
	for i := range 7 {
		n := 6 - i
		k.w.Answers = append(k.w.Answers, agent.Answer{Key: fmt.Sprint("answer:ap-", n), Request: fmt.Sprint("r", n), Approved: n%2 == 0, Reason: "no " + fmt.Sprint(n)})
	}
	k.w.Answers = append(k.w.Answers, agent.Answer{Key: "answer:ap-x", Request: "never-asked", Approved: true})
	k.say()
	k.hear(said("a"))
	k.say()
	if len(k.said) != 7 {
		t.Fatalf("wrote %q", k.keys())
	}
	for i, m := range k.said {
		n := 6 - i
		want := fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":"r%d","response":{"behavior":"allow"}}}`, n)
		if n%2 == 1 {
			want = fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":"r%d","response":{"behavior":"deny","message":"no %d"}}}`, n, n)
		}
		if got := string(bytes.TrimSpace(m.Bytes)); got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
	}
	if strings.Count(k.told(), "answered=") != 7 {
		t.Errorf("told %q", k.told())
	}
}

// TestC14_AnIdUsedAgain: the answer that was meant for the first text is never given to the second.
func TestC14_AnIdUsedAgain(t *testing.T) {
	k := begun(t)
	k.hear(ask("r", "Bash", `{"command":"first"}`), ask("r", "Bash", `{"command":"second"}`))
	if k.told() != "asked=r void=r asked=r" {
		t.Errorf("told %q", k.told())
	}
}

// TestC16_RefusedAtOnce: what nobody can be asked is answered without anybody's wish, also when an id comes again.
func TestC16_RefusedAtOnce(t *testing.T) {
	form := strings.Replace(ask("f", "AskUserQuestion", `{"questions":[]}`), `"subtype"`, `"requires_user_interaction":true,"subtype"`, 1)
	dialog := `{"type":"control_request","request_id":"d","request":{"subtype":"request_user_dialog"}}`
	k := begun(t)
	k.hear(form, dialog, dialog)
	k.say()
	if k.keys() != "owed:1:f owed:1:d owed:1:d+2" {
		t.Fatalf("wrote %q", k.keys())
	}
	k.hear(dialog)
	k.say()
	if k.keys() != "owed:1:f owed:1:d owed:1:d+2 owed:1:d+3" {
		t.Fatalf("wrote %q", k.keys())
	}
	for key, want := range map[string]string{"owed:1:f": `"behavior":"deny"`, "owed:1:d": `"subtype":"error"`} {
		if got := k.line(key); !strings.Contains(got, want) || strings.Contains(got, `"allow"`) {
			t.Errorf("%s is %s", key, got)
		}
	}
	k.hear(success, state("idle"), ask("late", "Bash", `{"command":"ls"}`))
	k.say()
	if got := k.line("owed:1:late"); !strings.Contains(got, `"behavior":"deny"`) {
		t.Errorf("between turns it answers %s", got)
	}
	if k.told() != "ended1=completed" {
		t.Errorf("told %q", k.told())
	}
}

// TestC14_RequestsOfACancelledTurn are withdrawn by claude; one that comes after the cancel waits for nobody.
func TestC14_RequestsOfACancelledTurn(t *testing.T) {
	k := begun(t)
	k.hear(ask("a", "Bash", `{"command":"ls"}`))
	k.w.Cancel = 1
	k.w.Answers = []agent.Answer{{Key: "answer:ap-1", Request: "a", Approved: true}}
	k.say()
	k.hear(ask("b", "Bash", `{"command":"ls"}`), `{"type":"control_cancel_request","request_id":"a"}`, aborted, state("idle"))
	if k.keys() != "cancel:1" || k.told() != "asked=a asked=b cancelled=a void=b ended1=interrupted" {
		t.Errorf("wrote %q, told %q", k.keys(), k.told())
	}
}

// TestStream_NothingIsShownTwice: words come in parts for the live view, and once more whole.
func TestStream_NothingIsShownTwice(t *testing.T) {
	whole := `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"one\n\ntwo"}]}}`
	call := `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}`
	helper := strings.Replace(delta("helper"), `"event"`, `"parent_tool_use_id":"t","event"`, 1)
	start := `{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"tool_use","name":"Bash"}}}`
	for name, c := range map[string]struct {
		lines []string
		want  string
		reply string
	}{
		"in parts":             {[]string{delta("one\\n"), delta("\\ntw"), delta("o"), whole}, "text=one text=two", "one\n\ntwo"},
		"whole only":           {[]string{whole}, "text=one\n\ntwo", "one\n\ntwo"},
		"the rest whole":       {[]string{delta("one\\n\\n"), whole}, "text=one text=two", "one\n\ntwo"},
		"another whole":        {[]string{delta("zero"), whole}, "text=zero text=one\n\ntwo", "one\n\ntwo"},
		"cut off":              {[]string{delta("zero"), aborted}, "text=zero", "zero"},
		"a call is shown once": {[]string{start, call, whole}, "tool=$ ls text=one\n\ntwo", "one\n\ntwo"},
		"a helper's words":     {[]string{helper, whole}, "text=one\n\ntwo", "one\n\ntwo"},
	} {
		t.Run(name, func(t *testing.T) {
			k := begun(t)
			k.hear(c.lines...)
			if !strings.HasPrefix(c.lines[len(c.lines)-1], `{"type":"result"`) {
				k.hear(`{"type":"result","subtype":"success"}`)
			}
			k.hear(state("idle"))
			got, _, _ := strings.Cut(k.told(), " ended1=")
			if got != c.want || k.ended().Reply != c.reply {
				t.Errorf("told %q with reply %q\nwant %q with %q", got, k.ended().Reply, c.want, c.reply)
			}
		})
	}
}

// TestC2_BadInput: whatever stands between the lines of the protocol, the turn goes on.
func TestC2_BadInput(t *testing.T) {
	k := begun(t)
	k.hear("", "npm warn something", "\x00\xff\xfe", "[]", `"x"`, `{"type":7}`, strings.Repeat("[", 50_000), `{"type":"assistant","message":{"content":"`+strings.Repeat("y", 20<<20)+`"}}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"99"}}`, `{"type":"control_response","response":{"subtype":"success","request_id":"x"}}`, `{"type":"control_response"}`,
		`{"type":"control_cancel_request","request_id":"none"}`, life("none", "started"), `{"type":"keep_alive"}`, `{"type":"system","subtype":"init","cwd":7,"session_id":"s-1"}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"a\udc00b"}]},"event":"odd"}`)
	k.say()
	k.hear(success, state("idle"), success, success)
	if k.keys() != "" || strings.Count(k.told(), "note") != 1 || !strings.Contains(k.told(), "text=a\uFFFDb") || !strings.HasSuffix(k.told(), "ended1=completed") {
		t.Errorf("wrote %q, told %q", k.keys(), k.told())
	}
}

// FuzzLive: no line of claude's breaks the live dialect, ends a turn twice, makes it write what is no JSON, or leaves it
// writing for ever.
func FuzzLive(f *testing.F) {
	for _, line := range append(taken("u"), success, aborted, tasks, said("x"), delta("x\\n\\n"), ask("r", "Edit", `{"file_path":"a"}`),
		`{"type":"control_request","request_id":"d","request":{"subtype":"hook_callback"}}`, `{"type":"control_cancel_request","request_id":"r"}`, "\x00", `{"type":7}`) {
		f.Add([]byte(line), []byte(state("idle")))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		k := begun(t)
		k.w.Answers = []agent.Answer{{Key: "answer:ap-1", Request: "r", Approved: true}}
		k.w.Steers = []agent.Steer{{Key: "steer:1", Turn: 1, Text: "left"}}
		for _, line := range [][]byte{one, two, one} {
			k.feed(agent.Input{Kind: agent.InputOut, Line: line})
			k.say()
		}
		k.w.Cancel = 1
		k.say()
		k.feed(agent.Input{Kind: agent.InputOut, Line: two})
		k.feed(agent.Input{Kind: agent.InputExit})
		if n := strings.Count(k.told(), "ended1="); n != 1 {
			t.Errorf("the turn ended %d times: %q", n, k.told())
		}
	})
}

// TestLivePlan_ThePromptAndTheModeOfAStart look at the command line.
func TestLivePlan_ThePromptAndTheModeOfAStart(t *testing.T) {
	d := claude.LiveKind().New(agent.Settings{Command: "/opt/claude", OwnCommand: true})
	turn := agent.Turn{Prompt: "secret prompt", NewID: "5f64-1", RunDir: "/run", Mode: agent.ModeAlways}
	launch, err := d.Plan(turn)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(launch.Argv, " ")
	for _, want := range []string{"/opt/claude -p ", "--permission-prompt-tool stdio", "--session-id 5f64-1", "--permission-mode default", "--settings /run/claude-settings.json", "--include-partial-messages"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	if strings.Contains(line, "secret") || string(launch.Files[0].Data) != `{"autoMemoryEnabled":false}` {
		t.Errorf("the command line is %q, the settings %s", line, launch.Files[0].Data)
	}
	turn.Session, turn.Mode = "5f64-2", agent.ModeAuto
	if launch, err = d.Plan(turn); err != nil || !slices.Contains(launch.Argv, "bypassPermissions") || !slices.Contains(launch.Argv, "5f64-2") {
		t.Errorf("%q, %v", launch.Argv, err)
	}
	turn.Session = "--x"
	if _, err := d.Plan(turn); err == nil {
		t.Error("an option is taken for a session")
	}
}

// TestC3_ABurstLosesNothing: 20,000 parts of one message are all in the log and in the reply, once.
func TestC3_ABurstLosesNothing(t *testing.T) {
	d := claude.LiveKind().New(agent.Settings{})
	feed := func(in agent.Input) []agent.Fact { return d.Feed(in) }
	feed(agent.Input{Kind: agent.InputStarted})
	feed(agent.Input{Kind: agent.InputSent, Key: agent.HelloKey("initialize"), N: 1})
	feed(agent.Input{Kind: agent.InputOut, Line: []byte(`{"type":"control_response","response":{"subtype":"success","request_id":"1"}}`)})
	feed(agent.Input{Kind: agent.InputSent, Key: "turn:1", N: 2, Line: []byte(`{"type":"user","uuid":"u"}`)})
	for _, line := range taken("u") {
		feed(agent.Input{Kind: agent.InputOut, Line: []byte(line)})
	}
	var want, logged strings.Builder
	facts := 0
	take := func(line string) {
		for _, f := range feed(agent.Input{Kind: agent.InputOut, Line: []byte(line)}) {
			facts++
			if f.Kind == agent.FactText {
				logged.WriteString(f.Text + "\n\n")
			}
			if f.Kind == agent.FactTurnEnded && f.Outcome.Reply != want.String() {
				t.Errorf("the reply has %d bytes, want %d", len(f.Outcome.Reply), want.Len())
			}
		}
	}
	for i := range 20_000 {
		word := fmt.Sprintf("word %d ", i)
		if i%50 == 49 {
			word += "\n\n"
		}
		want.WriteString(word)
		take(delta(strings.ReplaceAll(word, "\n", `\n`)))
	}
	take(`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"` + strings.ReplaceAll(want.String(), "\n", `\n`) + `"}]}}`)
	take(`{"type":"result","subtype":"success"}`)
	take(state("idle"))
	if got := logged.String(); got != want.String() {
		t.Errorf("logged are %d bytes, want %d", len(got), want.Len())
	}
	if facts > 2000 {
		t.Errorf("%d facts of 20,000 parts", facts)
	}
}
