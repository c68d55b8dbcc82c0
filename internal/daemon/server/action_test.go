package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

func TestStatusBases(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-control")
	full := c.status(`{"action":"status"}`)
	light := c.status(`{"action":"workbench"}`)
	for name, st := range map[string]map[string]any{"full": full, "light": light} {
		if st["version"] != "9.9" || st["pid"] == nil || fmt.Sprint(st["components"]) != "[]" {
			t.Errorf("%s base: %v", name, st)
		}
	}
	if d := full["delegations"].(map[string]any); d["idle"] == nil || d["active"] == nil || d["reaped"] == nil {
		t.Errorf("full base counts %v", d)
	}
	if d := light["delegations"].(map[string]any); d["idle"] != nil || d["active"] == nil {
		t.Errorf("light base counts %v", d)
	}
	if full["home"] != "home-1" || full["started_unix_seconds"] == nil || light["home"] != nil {
		t.Errorf("full base: %v", full)
	}
	if w := light["workbench"].(map[string]any); w["generated_unix_seconds"] == nil || w["jobs"] != nil || w["epoch"] == nil {
		t.Errorf("workbench: %v", w)
	}
	if st := c.status(`{"action":"reload"}`); st["home"] != "home-1" {
		t.Errorf("reload: %v", st)
	}
	if st := c.status(`{"action":"worktrees"}`); st["worktrees"] != nil || st["workbench"] != nil {
		t.Errorf("worktrees: %v", st)
	}
}

// TestActionsOfLaterIssues: known and not offered is the action's own code with a sentence, never invalid_json.
func TestActionsOfLaterIssues(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-control")
	for command, code := range map[string]string{
		`{"action":"restart_when_idle"}`:                                                          "restart_error",
		`{"action":"confirm_status","id":"1"}`:                                                    "confirm_error",
		`{"action":"mail_status"}`:                                                                "component_error",
		`{"action":"mail_cancel","account":"a"}`:                                                  "component_error",
		`{"action":"channel_set","channel":"c","account":"a","enabled":true}`:                     "component_error",
		`{"action":"channel_logout","channel":"c","account":"a"}`:                                 "component_error",
		`{"action":"project_create","name":"n","workspace":"/"}`:                                  "component_error",
		`{"action":"project_status","project":"p"}`:                                               "component_error",
		`{"action":"project_task_add","project":"p","title":"t","depends_on":[],"max_retries":0}`: "component_error",
		`{"action":"workbench_approve","id":"ap-1","approved":true}`:                              "workbench_error",
		`{"action":"workbench_resume","session":"s","job":"job-1"}`:                               "workbench_error",
		`{"action":"worktree_remove","path":"/x"}`:                                                "workbench_error",
		`{"action":"attach","session":"s","conversation":"codex-1"}`:                              "workbench_error",
		`{"action":"attach_io","id":"at-1"}`:                                                      "workbench_error",
		`{"action":"attach_detach","id":"at-1"}`:                                                  "workbench_error",
		`{"action":"attach_end","session":"s","conversation":"codex-1"}`:                          "workbench_error",
		`{"action":"attach_watch","id":"at-1"}`:                                                   "workbench_error",
	} {
		if got := c.refused(command, code); got["reason"] == nil || got["hint"] == nil {
			t.Errorf("%s: no reason or hint: %v", command, got)
		}
	}
	if st := c.status(`{"action":"status"}`); st["version"] != "9.9" {
		t.Error("the connection does not go on")
	}
}

func TestStartSendCancelDismiss(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	st := c.status(fmt.Sprintf(`{"action":"workbench_start","workspace":%q,"agent":"codex","prompt":"do\nthis","key":"k1","mode":"read-only","model":"gpt-5/x"}`, b.dir))
	ref := wire.JobRef(st["workbench_job"].(string))
	session, id, _ := ref.Split()
	if session != wire.WorkbenchSessionID(b.dir) || st["workbench_note"] == "" || st["workbench"] == nil || st["delivery"] != "started" {
		t.Fatalf("started: %v", st)
	}
	job := st["workbench"].(map[string]any)["jobs"].([]any)[0].(map[string]any)
	if job["task"] != "do" || job["cwd"] != b.dir || job["mode"] != "read-only" || job["started_by"] != "owner" {
		t.Errorf("job: %v", job)
	}
	if kept, _, _ := b.journal.Job(t.Context(), session, id); kept.Principal != (row.Principal{Who: "owner", Way: "cli"}) || kept.Model != "gpt-5/x" {
		t.Errorf("kept: %+v", kept)
	}
	again := c.status(fmt.Sprintf(`{"action":"workbench_start","workspace":%q,"agent":"codex","prompt":"do\nthis","key":"k1"}`, b.dir))
	if again["workbench_job"] != string(ref) {
		t.Errorf("a repeated key started %v", again["workbench_job"])
	}
	conversation := job["conversation"].(string)
	sent := c.status(fmt.Sprintf(`{"action":"workbench_send","session":%q,"conversation":%q,"prompt":"and this"}`, session, conversation))
	second := wire.JobRef(sent["workbench_job"].(string))
	if second == ref || sent["delivery"] != "queued" {
		t.Errorf("sent: %v", sent)
	}
	name := func(ref wire.JobRef) string {
		s, j, _ := ref.Split()
		return fmt.Sprintf(`"session":%q,"job":%q`, s, j)
	}
	c.refused(`{"action":"workbench_dismiss",`+name(second)+`}`, "workbench_error")
	if st := c.status(`{"action":"workbench_cancel",` + name(second) + `}`); st["workbench_note"] == "" || st["workbench_job"] != nil {
		t.Errorf("cancelled: %v", st)
	}
	c.refused(`{"action":"workbench_cancel",`+name(second)+`}`, "workbench_error")
	c.status(`{"action":"workbench_dismiss",` + name(second) + `}`)
	c.refused(`{"action":"job_result",`+name(second)+`}`, "workbench_error")
	b.finish(<-b.orders, "done")
	if why := c.status(`{"action":"why",` + name(ref) + `}`)["why"].(map[string]any); why["state"] != "completed" || len(why["evidence"].([]any)) == 0 {
		t.Errorf("why: %v", why)
	}
}

func TestStartRefusals(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	file := filepath.Join(b.dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	ok := map[string]any{"action": "workbench_start", "workspace": b.dir, "agent": "codex", "prompt": "p"}
	for name, change := range map[string]map[string]any{
		"relative workspace":     {"workspace": "work"},
		"missing workspace":      {"workspace": b.dir + "/gone"},
		"workspace is a file":    {"workspace": file},
		"NUL in workspace":       {"workspace": b.dir + "\x00"},
		"long workspace":         {"workspace": "/" + strings.Repeat("a", 5000)},
		"cwd is gone":            {"cwd": b.dir + "/gone"},
		"cwd outside":            {"cwd": outside},
		"cwd climbs out":         {"cwd": ".."},
		"unknown agent":          {"agent": "hal"},
		"no agent's name":        {"agent": "HAL 9000"},
		"empty prompt":           {"prompt": ""},
		"blank prompt":           {"prompt": " \n\t"},
		"prompt above the bound": {"prompt": strings.Repeat("p", wire.MaxPromptBytes+1)},
		"NUL in the prompt":      {"prompt": "a\x00b"},
		"unknown mode":           {"mode": "yolo"},
		"model is an option":     {"model": "--danger"},
		"model with a blank":     {"model": "a b"},
		"effort":                 {"effort": "high;rm"},
		"worktree":               {"worktree": true},
		"long key":               {"key": strings.Repeat("k", 65)},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := map[string]any{}
			maps.Copy(cmd, ok)
			maps.Copy(cmd, change)
			data, _ := json.Marshal(cmd)
			c.t = t
			if got := c.refused(string(data), "workbench_error"); got["reason"] == nil || got["hint"] == nil {
				t.Errorf("no reason or hint: %v", got)
			}
		})
	}
	c.t = t
	if w := c.status(`{"action":"workbench"}`)["workbench"].(map[string]any); w["jobs"] != nil {
		t.Errorf("a refused start left %v", w["jobs"])
	}
	exact, _ := json.Marshal(map[string]any{"action": "workbench_start", "workspace": b.dir, "agent": "codex", "cwd": ".", "prompt": strings.Repeat("p", wire.MaxPromptBytes)})
	c.status(string(exact))
	dash, _ := json.Marshal(map[string]any{"action": "workbench_start", "workspace": b.dir, "agent": "codex", "prompt": "-rf is no option"})
	c.status(string(dash))
}

// The workspace is resolved, so whatever link leads to it, its session is one.
func TestWorkspaceIsResolved(t *testing.T) {
	b := newBench(t, setup{})
	link := b.dir + "-link"
	if err := os.Symlink(b.dir, link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	st := b.client("x").status(fmt.Sprintf(`{"action":"workbench_start","workspace":%q,"agent":"codex","prompt":"p"}`, link))
	if session, _, _ := wire.JobRef(st["workbench_job"].(string)).Split(); session != wire.WorkbenchSessionID(b.dir) {
		t.Errorf("session %s", session)
	}
}

// TestU14_PromptsAreMaskedAtTheEdge: what is kept and shown is masked; the original goes to the private place alone.
func TestU14_PromptsAreMaskedAtTheEdge(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	secret := "known-secret-value-1234567890"
	session, job := b.start(c, "use "+secret)
	all, _ := json.Marshal(c.status(`{"action":"workbench"}`))
	if strings.Contains(string(all), secret) {
		t.Errorf("shown: %s", all)
	}
	kept, _, _ := b.journal.Job(t.Context(), wire.SessionID(session), wire.JobID(job))
	if !kept.Private || strings.Contains(fmt.Sprint(kept), secret) {
		t.Errorf("kept: %+v", kept)
	}
	_, plainJob := b.start(c, "use nothing")
	if kept, _, _ := b.journal.Job(t.Context(), wire.SessionID(session), wire.JobID(plainJob)); kept.Private {
		t.Error("a prompt that masking does not change has a private original")
	}
}

func TestDelegations(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	session, _ := b.start(c, "p")
	o := <-b.orders
	b.hub.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeStarted, PID: 4711})
	d := c.status(`{"action":"delegations"}`)["delegations"].(map[string]any)
	entry := d["entries"].([]any)[0].(map[string]any)
	if entry["handle"] != string(o.Run.Handle) || fmt.Sprint(entry["pid"]) != "4711" || entry["session"] != session || fmt.Sprint(d["active"]) != "1" {
		t.Errorf("delegations: %v", d)
	}
	c.refused(`{"action":"delegation_kill"}`, "delegation_error")
	c.refused(`{"action":"delegation_kill","handle":"codex-ffffff"}`, "delegation_error")
	c.refused(`{"action":"delegation_kill","handle":"../../x"}`, "delegation_error")
	killed := c.status(fmt.Sprintf(`{"action":"delegation_kill","handle":%q}`, o.Run.Handle))["delegations"].(map[string]any)
	if fmt.Sprint(killed["killed"]) != "["+string(o.Run.Handle)+"]" || fmt.Sprint(killed["reaped"]) != "1" {
		t.Errorf("killed: %v", killed)
	}
	<-b.wakes
	if !b.hub.Runs().Wishes(o.Run.Handle).Stop {
		t.Error("the run is not asked to stop")
	}
	c.status(`{"action":"delegation_kill","orphans":true}`)
}

func TestNamesThatAreNone(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	for _, action := range []string{"workbench_cancel", "workbench_dismiss", "job_result", "why"} {
		for _, name := range [][2]string{{"s", "job-9"}, {"s", "job-0"}, {"s", "../x"}, {"../s", "job-1"}, {"", "job-1"}, {"s\x00", "job-1"}} {
			cmd, _ := json.Marshal(map[string]string{"action": action, "session": name[0], "job": name[1]})
			c.refused(string(cmd), "workbench_error")
		}
	}
	c.refused(`{"action":"workbench_send","session":"s","conversation":"codex-9","prompt":"p"}`, "workbench_error")
	c.refused(`{"action":"workbench_send","session":"s","conversation":"../x","prompt":"p"}`, "workbench_error")
	c.refused(`{"action":"jobs_page","after":"x"}`, "workbench_error")
	c.refused(`{"action":"run_log","handle":"codex-1"}`, "workbench_error")
	c.refused(`{"action":"run_log","handle":"codex-ffffff"}`, "workbench_error")
}

func TestStopWhenAsked(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	b.start(c, "p")
	o := <-b.orders
	b.hub.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeStarted, PID: 1})
	if note := fmt.Sprint(c.status(`{"action":"daemon_stop"}`)["workbench_note"]); !strings.Contains(note, "1 run goes on") {
		t.Errorf("note %q", note)
	}
	if all := <-b.stopped; all {
		t.Error("stop became stop --all")
	}
	c.write(`{"type":"daemon.control","request_id":"r","command":{"action":"daemon_stop","all":true}}`)
	<-b.wakes // the wish is on disk
	if !b.hub.Runs().Wishes(o.Run.Handle).Stop {
		t.Error("the run is not asked to stop")
	}
	b.hub.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeEnded, Status: "killed"})
	if got := c.read(); got["status"] == nil {
		t.Errorf("got %v", got)
	}
	if all := <-b.stopped; !all {
		t.Error("stop --all became stop")
	}
}
