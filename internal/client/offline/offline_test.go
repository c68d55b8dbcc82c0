package offline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/home"
	"scv/internal/run/runlog"
	"scv/internal/testkit/census"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

const session = wire.SessionID("workbench-0123456789abcdef")

func newHome(t *testing.T) *home.Home {
	t.Helper()
	dir, err := os.MkdirTemp("", "scv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h, err := home.Open(filepath.Join(dir, "h"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func open(t *testing.T, h *home.Home) *Reader {
	t.Helper()
	r, err := Open(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// store writes jobs 1 to n as a daemon does and leaves the ledger as a daemon that was killed or one that lives.
func store(t *testing.T, h *home.Home, n int) *ledger.Store {
	t.Helper()
	s, err := ledger.Open(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := row.Batch{
		Counters: row.Counters{Job: uint64(n)}, Prompts: map[wire.JobID]row.Prompt{}, Results: map[wire.JobID]row.Result{},
		Sessions: []row.Session{{Session: wire.Session{ID: session, Label: "workbench", Workspace: "/w"}}},
	}
	for i := range n {
		num := uint64(i + 1)
		id, conv := wire.NewJobID(num), wire.NewConversationID("codex", num)
		b.Conversations = append(b.Conversations, row.Conversation{ID: conv, Session: session, Agent: "codex", Cwd: "/w"})
		b.Jobs = append(b.Jobs, row.Job{
			Job: wire.Job{
				Session: session, Job: id, Agent: "codex", State: wire.StateCompleted, StartedBy: wire.OriginOwner,
				Conversation: &conv, CreatedUnixSeconds: num, UpdatedUnixSeconds: num,
			}, Num: num, Finished: num, Dismissed: num == 2,
			Evidence: []wire.Evidence{{Source: "agent", Fact: "it completed"}},
		})
		b.Prompts[id] = row.Prompt{Text: "p"}
		b.Results[id] = row.Result{Reply: fmt.Sprintf("reply %d ", num) + strings.Repeat("x", 10_000)}
	}
	if err := s.Store(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestU18_EverythingIsReadableWithoutADaemon: also beside one that holds the ledger open and says nothing.
func TestU18_EverythingIsReadableWithoutADaemon(t *testing.T) {
	h := newHome(t)
	s := store(t, h, 5)
	check := func(t *testing.T) {
		r := open(t, h)
		snap, err := r.Snapshot(t.Context())
		if err != nil || len(snap.Jobs) != 4 || snap.Jobs[0].Job != "job-5" {
			t.Errorf("snapshot: %+v, %v", snap.Jobs, err)
		}
		res, err := r.JobResult(t.Context(), session, "job-3", 0)
		if err != nil || !strings.HasPrefix(*res.Reply, "reply 3 ") || len(*res.Reply) != wire.MaxJobResultBytes || *res.Next != wire.MaxJobResultBytes {
			t.Errorf("result: %+v, %v", res, err)
		}
		rest, err := r.JobResult(t.Context(), session, "job-3", *res.Next)
		if err != nil || len(*res.Reply)+len(*rest.Reply) != int(*res.Size) || rest.Next != nil {
			t.Errorf("rest: %+v, %v", rest, err)
		}
		why, err := r.Why(t.Context(), session, "job-3")
		if err != nil || len(why.Evidence) != 1 {
			t.Errorf("why: %+v, %v", why, err)
		}
		first, err := r.Jobs(t.Context(), nil, 3)
		if err != nil || len(first.Jobs) == 0 || first.Jobs[0].Job != "job-5" || first.Next == nil {
			t.Fatalf("first page: %+v, %v", first, err)
		}
		last, err := r.Jobs(t.Context(), first.Next, 0)
		if err != nil || last.Next != nil || last.Jobs[len(last.Jobs)-1].Job != "job-1" || len(first.Jobs)+len(last.Jobs) != 4 {
			t.Errorf("last page: %+v, %v", last, err)
		}
	}
	t.Run("beside a daemon", check)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("alone", check)
}

func TestRefusals(t *testing.T) {
	h := newHome(t)
	empty := open(t, h)
	if snap, err := empty.Snapshot(t.Context()); err != nil || len(snap.Jobs) != 0 {
		t.Errorf("an empty home: %+v, %v", snap, err)
	}
	if page, err := empty.Jobs(t.Context(), nil, 0); err != nil || len(page.Jobs) != 0 {
		t.Errorf("an empty home: %+v, %v", page, err)
	}
	missing := func(name string, err error) {
		t.Helper()
		if we, ok := errors.AsType[*wire.Error](err); !ok || we.Reason != wire.ReasonNotFound || we.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := empty.JobResult(t.Context(), session, "job-1", 0)
	missing("no ledger", err)
	s := store(t, h, 3)
	defer s.Close(t.Context())
	r := open(t, h)
	_, err = r.JobResult(t.Context(), session, "job-9", 0)
	missing("no such job", err)
	_, err = r.JobResult(t.Context(), session, "job-2", 0)
	missing("dismissed", err)
	_, err = r.Why(t.Context(), "other", "job-1")
	missing("other session", err)
	_, err = r.RunLog(t.Context(), "codex-ffffff", 0, 10, false)
	missing("no such run", err)
	for _, handle := range []wire.RunHandle{"../../etc", "codex-1", ""} {
		if _, err := r.RunLog(t.Context(), handle, 0, 10, false); err == nil {
			t.Errorf("run %q has a log", handle)
		}
	}
	if _, err := r.Jobs(t.Context(), new("x"), 0); err == nil {
		t.Error("x names a page")
	}
}

func TestRunLogFromDisk(t *testing.T) {
	h := newHome(t)
	root, err := h.CreateRun("codex-abcdef")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r := open(t, h)
	if page, err := r.RunLog(t.Context(), "codex-abcdef", 0, 10, false); err != nil || len(page.Events) != 0 || page.Ended {
		t.Errorf("before its first line: %+v, %v", page, err)
	}
	l, err := runlog.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 3 {
		if _, err := l.Append(wire.RunEvent{TsMs: 1, Kind: wire.EventText, Text: fmt.Sprint(i)}, row.Pos{Frame: uint64(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := r.RunLog(t.Context(), "codex-abcdef", 0, 2, false)
	if err != nil || len(page.Events) != 2 || !page.More {
		t.Fatalf("first page: %+v, %v", page, err)
	}
	page, err = r.RunLog(t.Context(), "codex-abcdef", page.Next, 500, false)
	if err != nil || len(page.Events) != 1 || page.Events[0].Text != "2" || page.Ended {
		t.Errorf("second page: %+v, %v", page, err)
	}
}
