package server

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A reply is told whole: 4 KiB first, as upstream cuts it, then in pages that end at characters.
func TestLongReplyIsPaged(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	session, job := b.start(c, "p")
	reply := strings.Repeat("aä€😀", 100_000) // 1 MB of characters of all widths
	b.finish(<-b.orders, reply)
	name := fmt.Sprintf(`"action":"job_result","session":%q,"job":%q`, session, job)
	var got strings.Builder
	after, pages := "0", 0
	for after != "" {
		res := c.status(`{` + name + `,"after":` + after + `}`)["job_result"].(map[string]any)
		part := res["reply"].(string)
		if pages == 0 && (len(part) > wire.MaxJobResultBytes || len(part) < wire.MaxJobResultBytes-4 || res["truncated"] != true) {
			t.Errorf("first page has %d bytes, truncated %v", len(part), res["truncated"])
		}
		if !utf8.ValidString(part) || fmt.Sprint(res["size"]) != fmt.Sprint(len(reply)) || res["finished_unix_seconds"] == nil {
			t.Fatalf("page %d: size %v of %d", pages, res["size"], len(reply))
		}
		got.WriteString(part)
		pages++
		if after = ""; res["next"] != nil {
			after = fmt.Sprint(res["next"])
		}
	}
	if got.String() != reply || pages > 20 {
		t.Errorf("%d bytes of %d in %d pages", got.Len(), len(reply), pages)
	}
	c.refused(fmt.Sprintf(`{%s,"after":%d}`, name, len(reply)+1), "workbench_error")
	if res := c.status(fmt.Sprintf(`{%s,"after":%d}`, name, len(reply)))["job_result"].(map[string]any); res["reply"] != "" || res["truncated"] != nil {
		t.Errorf("at the end: %v", res)
	}
}

func loadedJobs(n int, dir string) row.Loaded {
	var l row.Loaded
	session := wire.WorkbenchSessionID(dir)
	l.Sessions = []row.Session{{Session: wire.Session{ID: session, Label: "workbench", Workspace: dir}}}
	for i := range n {
		num := uint64(i + 1)
		conv := wire.NewConversationID("codex", num)
		l.Conversations = append(l.Conversations, row.Conversation{ID: conv, Session: session, Agent: "codex", Cwd: dir})
		l.Jobs = append(l.Jobs, row.Job{Job: wire.Job{
			Session: session, Job: wire.NewJobID(num), Agent: "codex",
			Task: "a task of a usual length, such as a person would write it", Workspace: dir, Cwd: dir, State: wire.StateCompleted,
			StartedBy: wire.OriginOwner, Conversation: &conv, CreatedUnixSeconds: num, UpdatedUnixSeconds: num,
		}, Num: num})
	}
	l.Counters.Job = uint64(n)
	return l
}

func TestHistoryIsPaged(t *testing.T) {
	b := newBench(t, setup{loaded: loadedJobs(250, "/work")})
	c := b.client("scv-cli")
	if jobs := c.status(`{"action":"workbench"}`)["workbench"].(map[string]any)["jobs"].([]any); len(jobs) < 200 {
		t.Errorf("the snapshot lists %d", len(jobs))
	}
	seen, rest := 0, ""
	for {
		page := c.status(`{"action":"jobs_page"` + rest + `}`)["jobs_page"].(map[string]any)
		jobs, _ := page["jobs"].([]any)
		for _, j := range jobs {
			if want := fmt.Sprintf("job-%d", 250-seen); j.(map[string]any)["job"] != want {
				t.Fatalf("job %d is %v, want %s", seen, j.(map[string]any)["job"], want)
			}
			seen++
		}
		if page["next"] == nil {
			break
		}
		rest = fmt.Sprintf(`,"after":%q,"limit":90`, page["next"])
	}
	if seen != 250 {
		t.Errorf("saw %d of 250", seen)
	}
}

// What can be dropped from a snapshot goes, oldest first, when it would be longer than a client reads.
func TestHugeSnapshotIsShortened(t *testing.T) {
	snap := &wire.Snapshot{GeneratedUnixSeconds: 5, Generation: 7}
	long := strings.Repeat("x", 50_000)
	for i := 100; i > 0; i-- {
		snap.Jobs = append(snap.Jobs, wire.Job{Session: "s", Job: wire.NewJobID(uint64(i)), State: wire.StateCompleted, Cwd: long})
		snap.Runs = append(snap.Runs, wire.Run{Handle: "codex-aaaaaa", State: wire.StateCompleted, Cwd: long})
	}
	snap.Jobs = append(snap.Jobs, wire.Job{Session: "s", Job: "job-0", State: wire.StateWorking})
	text, err := encodeSnapshot(snap)
	if err != nil || len(text) > maxSnapshot || len(text) < maxSnapshot/4 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if !strings.Contains(string(text), `"job-100"`) || !strings.Contains(string(text), `"job-0"`) || strings.Contains(string(text), `"job-1"`) {
		t.Error("the wrong jobs went")
	}
	if len(snap.Jobs) != 101 {
		t.Error("the shared snapshot was changed")
	}
}
