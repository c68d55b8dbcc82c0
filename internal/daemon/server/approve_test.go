package server

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// asks lets the newest run's agent ask for commands, under ap-1, ap-2 and so on, and returns the run.
func (b *bench) asks(c *raw, commands ...string) wire.RunHandle {
	b.t.Helper()
	b.start(c, "x")
	o := <-b.orders
	h, at := o.Run.Handle, time.Now()
	steps := []row.Step{{Kind: row.StepTurnStarted, Turn: 1}}
	for i, command := range commands {
		steps = append(steps, row.Step{Kind: row.StepApprovalAsked, Turn: 1, Asked: &row.Asked{
			ID: wire.ApprovalID(fmt.Sprint("ap-", i+1)), Request: fmt.Sprint(i), Name: "shell", Tool: "shell", Risk: "process",
			Summary: command, Command: command,
		}})
	}
	for i := range steps {
		steps[i].Pos, steps[i].At = row.Pos{Frame: uint64(i + 1)}, at
	}
	b.hub.Runs().Report(h, steps)
	return h
}

func TestApprove(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-control")
	b.asks(c, "make", "make", "rm -rf x")
	st := c.status(`{"action":"workbench"}`)
	list := st["workbench"].(map[string]any)["approvals"].([]any)
	if len(list) != 3 {
		t.Fatalf("listed: %v", list)
	}
	first := list[0].(map[string]any)
	if first["command"] != "make" || first["expires_unix_seconds"].(interface{ String() string }).String() != "4102444800" {
		t.Errorf("the first is %v", first)
	}
	got := c.refused(`{"action":"workbench_approve","id":"ap-3","approved":true,"digest":"`+first["digest"].(string)+`"}`, "workbench_error")
	if got["reason"] != "conflict" {
		t.Errorf("another digest: %v", got)
	}
	st = c.status(`{"action":"workbench_approve","id":"ap-1","approved":true,"equal":true,"key":"k","digest":"` + first["digest"].(string) + `"}`)
	if note, _ := st["workbench_note"].(string); !strings.Contains(note, "1 like it were approved") {
		t.Errorf("the note is %v", note)
	}
	if st = c.status(`{"action":"workbench_approve","id":"ap-1","approved":true,"key":"k"}`); st["workbench_note"] == nil {
		t.Errorf("the same key again: %v", st)
	}
	if got = c.refused(`{"action":"workbench_approve","id":"ap-2","approved":false}`, "workbench_error"); got["reason"] != "conflict" {
		t.Errorf("answered twice: %v", got)
	}
	if got = c.refused(`{"action":"workbench_approve","id":"ap-9","approved":false}`, "workbench_error"); got["reason"] != "not_found" {
		t.Errorf("nothing to answer: %v", got)
	}
	c.status(`{"action":"workbench_approve","id":"ap-3","approved":false,"reason":"no, known-secret-value-1234567890","remember":{"scope":"command","repo":true,"for":3600}}`)
	page := c.status(`{"action":"approvals_page","limit":2}`)["approvals_page"].(map[string]any)
	newest := page["approvals"].([]any)[0].(map[string]any)
	if newest["id"] != "ap-3" || newest["by"] != "owner by cli" || newest["approved"] != false || strings.Contains(fmt.Sprint(newest["reason"]), "known-secret") || page["next"] == nil {
		t.Errorf("the page is %v", page)
	}
	rest := c.status(`{"action":"approvals_page","after":"` + page["next"].(string) + `"}`)["approvals_page"].(map[string]any)
	if len(rest["approvals"].([]any)) != 1 || rest["next"] != nil {
		t.Errorf("the rest is %v", rest)
	}
	if one := c.status(`{"action":"approvals_page","id":"ap-1"}`)["approvals_page"].(map[string]any)["approvals"].([]any); len(one) != 1 {
		t.Errorf("by id: %v", one)
	}
	c.refused(`{"action":"approvals_page","id":"ap-9"}`, "workbench_error")
	c.refused(`{"action":"approvals_page","after":"x"}`, "workbench_error")
}

func TestRulesOfApprovals(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-control")
	st := c.status(`{"action":"approval_rule_add","rule":{"effect":"allow","command":"go test"}}`)
	if rules := st["approval_rules"].([]any); len(rules) != 1 || rules[0].(map[string]any)["id"] != "rule-1" {
		t.Errorf("the rules are %v", rules)
	}
	c.refused(`{"action":"approval_rule_add","rule":{"effect":"allow"}}`, "workbench_error")
	c.refused(`{"action":"approval_rule_add","rule":{"effect":"allow","command":"a; b"}}`, "workbench_error")
	for test, want := range map[string]string{
		`"mode":"on-risk","risk":"process","cwd":"/w","command":"go test ./..."`:       "allow",
		`"mode":"on-risk","risk":"process","cwd":"/w","command":"go test x && rm y"`:   "ask",
		`"mode":"read-only","risk":"process","cwd":"/w","command":"go test ./..."`:     "deny",
		`"mode":"auto","risk":"process","cwd":"/w","command":"git push -f o main"`:     "deny",
		`"mode":"auto","risk":"process","cwd":"/w","command":"cargo publish"`:          "ask",
		`"mode":"on-risk","risk":"read_only","cwd":"/w"`:                               "allow",
		`"mode":"on-risk","risk":"something new","cwd":"/w","paths":["/w/x","../y"]`:   "ask",
		`"mode":"on-risk","risk":"process","cwd":"/w","command":"/x/go test ./... \""`: "ask",
	} {
		v := c.status(`{"action":"approval_test",` + test + `}`)["approval_test"].(map[string]any)
		if v["decision"] != want || v["why"] == nil {
			t.Errorf("%s: %v", test, v)
		}
	}
	c.refused(`{"action":"approval_test","mode":"odd","risk":"process","cwd":"/w"}`, "workbench_error")
	c.refused(`{"action":"approval_rule_remove","id":"rule-7"}`, "workbench_error")
	if st = c.status(`{"action":"approval_rule_remove","id":"rule-1"}`); len(st["approval_rules"].([]any)) != 0 {
		t.Errorf("the rules are %v", st["approval_rules"])
	}
}

func TestConfirm(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-control")
	q := c.status(`{"action":"confirm_ask","question":"Deploy?","timeout_seconds":600}`)["confirm"].(map[string]any)
	id, _ := q["id"].(string)
	if q["state"] != "pending" || id == "" {
		t.Fatalf("asked: %v", q)
	}
	c.status(`{"action":"workbench_approve","id":"` + id + `","approved":true}`)
	if q = c.status(`{"action":"confirm_status","id":"` + id + `"}`)["confirm"].(map[string]any); q["state"] != "yes" {
		t.Errorf("answered: %v", q)
	}
	c.refused(`{"action":"confirm_ask","question":" "}`, "confirm_error")
	c.refused(`{"action":"confirm_ask","question":"?","timeout_seconds":14401}`, "confirm_error")
	c.refused(`{"action":"confirm_ask","question":"`+strings.Repeat("x", 5000)+`"}`, "confirm_error")
	c.refused(`{"action":"confirm_status","id":"ap-1"}`, "confirm_error")
}

// TestT52_AgentsAnswerNothing: a process inside a run approves nothing, makes no rule and ends no run but its own,
// whether its marker says so or a shim above it does.
func TestT52_AgentsAnswerNothing(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-control")
	h := b.asks(c, "rm -rf /")
	for _, command := range []string{
		`{"action":"workbench_approve","id":"ap-1","approved":true}`,
		`{"action":"workbench_approve","id":"ap-1","approved":false}`,
		`{"action":"approval_rule_add","rule":{"effect":"allow","tool":"shell"}}`,
		`{"action":"approval_rule_remove","id":"rule-1"}`,
		`{"action":"delegation_kill","handle":"` + string(h) + `"}`,
	} {
		// A marker that names a run of this home gives nothing of that run: whoever carries it chose it.
		for _, marker := range []string{"codex-abcdef", string(h)} {
			out := runPeer(t, b, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "SCV_RUN="+marker, "SCV_TEST_COMMAND="+command) })
			if !strings.Contains(out, `"reason":"refused"`) {
				t.Errorf("%s from inside %s: %s", command, marker, out)
			}
		}
	}
	if a, _, _ := b.hub.Approvals().Find("ap-1"); a.State != wire.ApprovalOpen {
		t.Errorf("it is %s", a.State)
	}
	out := runPeer(t, b, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "SCV_RUN="+string(h), `SCV_TEST_COMMAND={"action":"confirm_ask","question":"May I?"}`)
	})
	if !strings.Contains(out, `"pending"`) {
		t.Errorf("a question from inside a run: %s", out)
	}
	list := b.hub.Snapshot().Approvals
	if len(list) != 2 || list[1].Kind != wire.ApprovalQuestion && list[0].Kind != wire.ApprovalQuestion {
		t.Errorf("listed: %+v", list)
	}
}
