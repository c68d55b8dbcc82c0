package codex_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/run/fold"
	"scv/internal/run/fold/foldtest"
	"scv/internal/wire"
)

const (
	command     = "item/commandExecution/requestApproval"
	fileChange  = "item/fileChange/requestApproval"
	permissions = "item/permissions/requestApproval"
	elicitation = "mcpServer/elicitation/request"
)

// asked is the one approval among facts.
func asked(t testing.TB, facts []agent.Fact) *agent.Approval {
	t.Helper()
	f := kinds(facts, agent.FactApprovalAsked)
	if len(f) != 1 {
		t.Fatalf("it asked %d times in %+v", len(f), facts)
	}
	return f[0].Approval
}

func (k *desk) answer(request string, approved bool, reason string) {
	k.t.Helper()
	k.wishes.Answers = append(k.wishes.Answers, agent.Answer{Key: "answer:ap-" + request, Request: request, Approved: approved, Reason: reason})
	k.write()
}

func TestApproval_OfACommandShowsAllOfIt(t *testing.T) {
	k := sit(t, agent.ModeAlways)
	long := "echo " + strings.Repeat("x", 20_000) + "; rm -rf /srv"
	line, _ := json.Marshal("/bin/bash -lc '" + long + "'")
	a := asked(t, k.out(asks("0", command, "t-1", `"command":`+string(line)+`,"cwd":"/w","reason":"needs it","commandActions":[{"type":"read","path":"/w/.env"}],
		"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo"]}},"acceptForSession","cancel"]`)))
	if a.Command != long || !strings.Contains(a.Summary, long) || !strings.Contains(a.Summary, "needs it") || a.Cwd != "/w" || a.Risk != agent.RiskProcess {
		t.Errorf("the approval is %.200v", a)
	}
	if !slices.Equal(a.Paths, []string{"/w/.env"}) || a.Request != "0" || a.Tool != "commandExecution" {
		t.Errorf("the approval is %.200v", a)
	}
	once := 0
	for _, o := range a.Options {
		if strings.HasSuffix(o.Kind, "_once") {
			once++
		}
	}
	if once != 2 || len(a.Options) != 4 {
		t.Errorf("the options are %+v", a.Options)
	}
}

func TestApproval_OfAFileChangeShowsTheDiff(t *testing.T) {
	k := sit(t, agent.ModeAlways)
	k.out(event("item/started", "t-1", `"item":{"type":"fileChange","id":"call-0","changes":[
		{"path":"/w/new","kind":{"type":"add"},"diff":"one\ntwo\n"},{"path":"/w/old","kind":{"type":"delete"},"diff":"gone"},
		{"path":"/w/a","kind":{"type":"update","move_path":"/w/b"},"diff":"@@ -1 +1 @@\n-x\n+y\n"}]}`))
	a := asked(t, k.out(asks("0", fileChange, "t-1", `"grantRoot":"/w"`)))
	want := "--- /dev/null\n+++ /w/new\n@@ -0,0 +1,2 @@\n+one\n+two\n--- /w/old\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n\\ No newline at end of file\n--- /w/a\n+++ /w/b\n@@ -1 +1 @@\n-x\n+y\n"
	if a.Diff != want || !strings.HasPrefix(a.Summary, want) || !strings.Contains(a.Summary, "every further change below /w") || a.Risk != agent.RiskFilesystem {
		t.Errorf("the approval is %+v", a)
	}
	if !slices.Equal(a.Paths, []string{"/w/new", "/w/old", "/w/a", "/w/b", "/w"}) {
		t.Errorf("its paths are %q", a.Paths)
	}
}

func TestApproval_ItsAnswersAreForThisOnce(t *testing.T) {
	for _, c := range []struct{ method, more, yes, no string }{
		{command, `"command":"rm x"`, `{"id":0,"result":{"decision":"accept"}}`, `{"id":0,"result":{"decision":"decline"}}`},
		{
			permissions, `"permissions":{"network":{"enabled":true}}`, `{"id":0,"result":{"permissions":{"network":{"enabled":true}},"scope":"turn"}}`,
			`{"id":0,"result":{"permissions":{},"scope":"turn"}}`,
		},
		{
			elicitation, `"serverName":"s","message":"Run wipe?","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"wipe","tool_params":{"what":"all"},"persist":["always"]}`,
			`{"id":0,"result":{"action":"accept","content":{}}}`, `{"id":0,"result":{"action":"decline"}}`,
		},
	} {
		for approved, want := range map[bool]string{true: c.yes, false: c.no} {
			k := sit(t, agent.ModeAlways)
			a := asked(t, k.out(asks("0", c.method, "t-1", c.more)))
			k.answer("0", approved, "")
			if got := k.told(); got != "answer:ap-0 "+want {
				t.Errorf("%s is answered %q, want %q", a.Name, got, want)
			}
			if f := kinds(k.facts, agent.FactApprovalClosed); len(f) != 1 || f[0].Status != agent.ClosedAnswered {
				t.Errorf("%s closed as %+v", a.Name, f)
			}
			if k.write(); k.told() != "" {
				t.Errorf("%s is answered twice", a.Name)
			}
		}
	}
}

func TestApproval_RisksAndNames(t *testing.T) {
	for _, c := range []struct {
		method, more, name, summary string
		risk                        agent.Risk
	}{
		{command, `"networkApprovalContext":{"host":"example.org","protocol":"https"}`, "network access", "reaches example.org over https", agent.RiskNetwork},
		{command, `"command":"cat","kind":"writeStdin"`, "input for a command", "cat", agent.RiskProcess},
		{command, `"command":"cat","additionalPermissions":{"network":{"enabled":true}}`, "command", "cat\nwith {\"network\":{\"enabled\":true}}", agent.RiskProcess},
		{permissions, `"permissions":{"fileSystem":{"write":["/etc"]}}`, "permissions", `{"fileSystem":{"write":["/etc"]}}`, agent.RiskFilesystem},
		{elicitation, `"serverName":"s","message":"Run?","_meta":{"codex_approval_kind":"mcp_tool_call"}`, "tool s", "Run?", agent.RiskDelegate},
	} {
		k := sit(t, agent.ModeAlways)
		if a := asked(t, k.out(asks("0", c.method, "t-1", c.more))); a.Name != c.name || a.Summary != c.summary || a.Risk != c.risk {
			t.Errorf("%s gives %+v", c.more, a)
		}
	}
}

func TestApproval_ADenialCanCarryAReason(t *testing.T) {
	k := sit(t, agent.ModeAlways)
	k.out(event("item/started", "t-1", `"item":{"type":"commandExecution","id":"call-0","command":"rm x"}`), asks("0", command, "t-1", `"command":"rm x"`))
	k.answer("0", false, "it is not yours")
	told := strings.Split(k.told(), "\n")
	if len(told) != 2 || !strings.HasPrefix(told[0], "why:answer:ap-0 ") || !strings.Contains(told[0], "it is not yours") || !strings.HasPrefix(told[1], "answer:ap-0 ") {
		t.Fatalf("it said %q", told)
	}
	facts := k.out(event("item/completed", "t-1", `"item":{"type":"commandExecution","id":"call-0","command":"rm x","status":"declined"}`), ended("t-1", "completed"))
	if f := kinds(facts, agent.FactToolFailed); len(f) != 1 || f[0].Text != "denied: rm x" {
		t.Errorf("the facts are %+v", f)
	}
	if o := outcome(t, facts); len(o.Denied) != 0 {
		t.Errorf("the owner's own denial counts as the mode's: %+v", o)
	}
}

// What does not concern the owner is answered at once, and nothing of it is ever approved.
func TestRequests_ThatNobodyIsAskedAbout(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"a command without text", asks("0", command, "t-1", `"command":null`), `"decision":"decline"`},
		{"a file change that was not shown", asks("0", fileChange, "t-1", `"reason":"trust me"`), `"decision":"decline"`},
		{"of the turn before", asks("0", command, "t-0", `"command":"rm x"`), `"decision":"decline"`},
		{"parameters that are none", `{"id":0,"method":"` + command + `","params":{"command":{"a":1}}}`, `"code":-32601`},
		{"a question to the user", asks("0", "item/tool/requestUserInput", "t-1", `"questions":[{"id":"a","question":"which?"}]`), `{"answers":{}}`},
		{"a question of a tool server", asks("0", elicitation, "t-1", `"serverName":"s","message":"your name?","mode":"form"`), `"action":"decline"`},
		{"a tool of ours", asks("0", "item/tool/call", "t-1", `"tool":"x"`), `"code":-32601`},
		{"a token", `{"id":"r-1","method":"account/chatgptAuthTokens/refresh"}`, `"code":-32601`},
	} {
		k := sit(t, agent.ModeAuto)
		facts := k.out(c.line)
		told := k.told()
		if !strings.Contains(told, c.want) || len(kinds(facts, agent.FactApprovalAsked)) != 0 || len(kinds(facts, agent.FactNote)) != 1 {
			t.Errorf("%s: it said %q, facts %+v", c.name, told, facts)
		}
		if k.write(); k.told() != "" {
			t.Errorf("%s is answered twice", c.name)
		}
	}
}

func TestRequests_AfterACancelAndBetweenTurnsAreDenied(t *testing.T) {
	k := sit(t, agent.ModeAlways)
	k.wishes.Cancel = 1
	k.write()
	k.told()
	k.out(asks("0", command, "t-1", `"command":"rm x"`))
	if got := k.told(); !strings.Contains(got, `"decision":"decline"`) {
		t.Errorf("after the cancel it said %q", got)
	}
	k.out(ended("t-1", "interrupted"))
	facts := k.out(asks("1", command, "t-1", `"command":"rm x"`))
	if got := k.told(); !strings.Contains(got, `"decision":"decline"`) || len(kinds(facts, agent.FactApprovalAsked)) != 0 {
		t.Errorf("between turns it said %q", got)
	}
}

func TestRequests_SevenAtOnceAreAnsweredInAnyOrder(t *testing.T) {
	k := sit(t, agent.ModeAlways)
	for i := range 7 {
		k.out(asks(fmt.Sprint(i), command, "t-1", fmt.Sprintf(`"command":"rm %d"`, i)))
	}
	if n := len(kinds(k.facts, agent.FactApprovalAsked)); n != 7 {
		t.Fatalf("it asked %d times", n)
	}
	k.out(event("item/agentMessage/delta", "t-1", `"itemId":"m","delta":"meanwhile\n\n"`))
	for _, i := range []int{3, 6, 0, 1, 5, 4, 2} {
		k.answer(fmt.Sprint(i), i%2 == 0, "")
	}
	told := strings.Split(k.told(), "\n")
	if len(told) != 7 || !strings.Contains(told[0], `{"id":3,"result":{"decision":"decline"}}`) || !strings.Contains(told[1], `{"id":6,"result":{"decision":"accept"}}`) {
		t.Errorf("it said %q", told)
	}
}

func TestRequests_AnIdUsedAgainIsANewQuestion(t *testing.T) {
	k := sit(t, agent.ModeAlways)
	k.out(asks("0", command, "t-1", `"command":"ls"`))
	facts := k.out(asks("0", command, "t-1", `"command":"rm -rf /"`))
	if f := kinds(facts, agent.FactApprovalClosed, agent.FactApprovalAsked); len(f) != 2 || f[0].Status != agent.ClosedVoid || f[1].Approval.Command != "rm -rf /" {
		t.Errorf("the facts are %+v", facts)
	}
}

func TestRequests_OpenOnesEndWithTheTurnTheProcessOrCodexsWord(t *testing.T) {
	for name, end := range map[string]func(k *desk) []agent.Fact{
		"codex": func(k *desk) []agent.Fact {
			return k.out(`{"method":"serverRequest/resolved","params":{"threadId":"th","requestId":0}}`)
		},
		"turn": func(k *desk) []agent.Fact { return k.out(ended("t-1", "interrupted")) },
		"process": func(k *desk) []agent.Fact {
			return k.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: 1}})
		},
	} {
		k := sit(t, agent.ModeAlways)
		k.out(asks("0", command, "t-1", `"command":"rm x"`))
		if f := kinds(end(k), agent.FactApprovalClosed); len(f) != 1 || f[0].Status != agent.ClosedVoid || f[0].Approval.Request != "0" {
			t.Errorf("%s: the facts are %+v", name, f)
		}
		k.told()
		if k.answer("0", true, ""); strings.Contains(k.told(), "accept") {
			t.Errorf("%s: a late answer is written", name)
		}
	}
}

func TestBadInput_LinesThatAreNoMessagesAreRemarkedOnce(t *testing.T) {
	k := sit(t, "")
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	facts := k.out("starting ...", "\x00\xff{", `[1,2]`, `{"id":1`, deep, `{}`,
		`{"id":99,"result":{}}`, `{"id":1,"result":{}}`, `{"id":"x","error":{"code":1,"message":"m"}}`, `{"id":null,"error":{"code":1,"message":"m"}}`,
		event("item/started", "t-1", `"item":"none"`), event("item/completed", "t-1", `"item":{"type":"agentMessage","id":"m","status":7}`), `{"method":"turn/plan/updated","params":[]}`)
	notes := kinds(facts, agent.FactNote)
	if len(notes) != 5 || !strings.Contains(notes[0].Text, "starting ...") || len(kinds(facts, agent.FactTurnEnded, agent.FactText)) != 0 {
		t.Errorf("the notes are %q", texts(notes))
	}
	facts = k.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: 3}})
	if o := outcome(t, facts); o.State != wire.StateFailed || !strings.Contains(o.Detail, "{}") {
		t.Errorf("it ended %+v", o)
	}
}

func TestBadInput_AnEndWithStrangeNeighboursIsAnEnd(t *testing.T) {
	k := sit(t, "")
	facts := k.out(`{"method":"turn/completed","params":{"threadId":"th","message":7,"plan":"x","turn":{"id":"t-1","status":"completed","error":null}}}`)
	if o := outcome(t, facts); o.State != wire.StateCompleted {
		t.Errorf("it ended %+v", o)
	}
	k = sit(t, "")
	if o := outcome(t, k.out(ended("t-1", "paused"))); o.State != wire.StateFailed || !strings.Contains(o.Detail, "paused") {
		t.Errorf("an end that nobody knows is %+v", o)
	}
}

func TestBadInput_ASuccessWithoutAnEndIsAFailure(t *testing.T) {
	k := sit(t, "")
	k.out(event("item/completed", "t-1", `"item":{"type":"agentMessage","id":"m","text":"All done!"}`), `{"method":"thread/status/changed","params":{"threadId":"th","status":{"type":"idle"}}}`)
	if o := outcome(t, k.feed(agent.Input{Kind: agent.InputExit})); o.State != wire.StateFailed || !o.NoEnd || o.Reply != "All done!" {
		t.Errorf("it ended %+v", o)
	}
}

func TestC2_ALineOf20MB(t *testing.T) {
	k := sit(t, "")
	text := strings.Repeat("0123456789", 2<<20)
	facts := k.out(event("item/completed", "t-1", `"item":{"type":"agentMessage","id":"m","text":"`+text+`"}`), ended("t-1", "completed"))
	if o := outcome(t, facts); len(o.Reply) != agent.MaxReply || !strings.Contains(o.Detail, "is cut") {
		t.Errorf("the reply has %d bytes: %s", len(o.Reply), o.Detail)
	}
}

func TestC3_ABurstOf20000PartsLosesNone(t *testing.T) {
	d := sit(t, "").d
	var logged, whole strings.Builder
	for i := range 20_000 {
		part := fmt.Sprintf("word%d ", i)
		whole.WriteString(part)
		for _, f := range d.Feed(agent.Input{Kind: agent.InputOut, Line: []byte(event("item/agentMessage/delta", "t-1", `"itemId":"m","delta":"`+part+`"`))}) {
			logged.WriteString(f.Text)
		}
	}
	facts := d.Feed(agent.Input{Kind: agent.InputOut, Line: []byte(ended("t-1", "completed"))})
	for _, f := range kinds(facts, agent.FactText) {
		logged.WriteString(f.Text)
	}
	if o := outcome(t, facts); o.Reply != whole.String() || logged.String() != whole.String() {
		t.Errorf("of %d bytes %d are in the reply and %d in the log", whole.Len(), len(o.Reply), logged.Len())
	}
}

// A checkpoint of one of codex's dialects is none of the other's.
func TestCheckpoint_TheTwoDialectsOfCodexAreKeptApart(t *testing.T) {
	f := fold.New(foldtest.Options(codex.LiveKind(), agent.Settings{}, ""))
	c, ok, err := f.Checkpoint()
	if err != nil || !ok {
		t.Fatal(err)
	}
	if err := fold.New(foldtest.Options(codex.Kind(), agent.Settings{}, "")).Restore(c); err == nil {
		t.Error("exec takes the state of the app-server")
	}
	if err := fold.New(foldtest.Options(codex.LiveKind(), agent.Settings{}, "")).Restore(c); err != nil {
		t.Error(err)
	}
}

// FuzzLive feeds lines that codex might say, some of them bent, and looks for what must hold whatever it says.
func FuzzLive(f *testing.F) {
	f.Add(asks("0", command, "t-1", `"command":"rm x"`)+"\n"+ended("t-1", "completed"), true)
	f.Add(asks("0", command, "t-1", `"command":"x"`)+"\n"+asks("0", fileChange, "t-1", `"a":1`), false)
	f.Add(event("item/agentMessage/delta", "t-1", `"itemId":"m","delta":"x\n\ny"`)+"\n"+event("error", "t-1", `"willRetry":true,"error":{"message":"m"}`), true)
	f.Add(event("item/started", "t-1", `"item":{"type":"fileChange","id":"call-0","changes":[{"path":"p","diff":"d"}]}`)+"\n"+asks("0", fileChange, "t-1", `"a":1`), true)
	f.Fuzz(func(t *testing.T, lines string, approve bool) {
		k := sit(t, agent.ModeAlways)
		one := codex.LiveKind().New(agent.Settings{})
		state, err := k.d.Checkpoint()
		if err != nil || one.Restore(state) != nil {
			t.Fatal("no checkpoint")
		}
		ends := 0
		for line := range strings.SplitSeq(lines, "\n") {
			in := agent.Input{Kind: agent.InputOut, Line: []byte(line)}
			again := one.Feed(in)
			facts := k.feed(in)
			if fmt.Sprintf("%+v", values(again)) != fmt.Sprintf("%+v", values(facts)) {
				t.Fatalf("through JSON %q gives %+v, else %+v", line, values(facts), values(again))
			}
			for _, fact := range facts {
				if fact.Kind == agent.FactApprovalAsked {
					k.wishes.Answers = append(k.wishes.Answers, agent.Answer{Key: fmt.Sprintf("answer:%d", len(k.facts)), Request: fact.Approval.Request, Approved: approve})
					if fact.Approval.Summary == "" {
						t.Fatalf("it asks about nothing: %q", line)
					}
				}
				if fact.Kind == agent.FactTurnEnded {
					ends++
				}
			}
			at := k.n
			k.write()
			for i, said := range k.said[len(k.said)-int(k.n-at):] {
				key, text, _ := strings.Cut(said, " ")
				if !approve && strings.Contains(text, `"accept`) {
					t.Fatalf("denied, it says %q", said)
				}
				if _, ok := agent.ReadRPC([]byte(text)); !ok {
					t.Fatalf("it writes %q", said)
				}
				one.Feed(agent.Input{Kind: agent.InputSent, Key: key, N: at + uint64(i) + 1, Line: []byte(text)})
			}
		}
		if ends > 1 {
			t.Fatalf("the turn ended %d times", ends)
		}
	})
}

// values are facts with what they point to.
func values(facts []agent.Fact) []string {
	var out []string
	for _, f := range facts {
		line, _ := json.Marshal(f)
		out = append(out, string(line))
	}
	return out
}
