package daemon

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// TestRetention: what ended before the bound leaves with its run's directory and private copy; what is younger, can be
// resumed, or waits in a conversation with an unfinished job stays; 0 days keep everything.
func TestRetention(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		days  int
		want  string
		talks string
	}{
		"30 days":  {30, "job-6 job-5 job-3 job-2", "open young"},
		"for ever": {0, "job-6 job-5 job-4 job-3 job-2 job-1", "old open young"},
	} {
		t.Run(name, func(t *testing.T) {
			opt := options(t)
			opt.Config.Retention.Days = c.days
			aged(t, opt, now)
			if err := os.WriteFile(opt.Home.Path()+"/private/job-1", []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := start(t, opt)
			defer r.stop()
			var got []string
			for {
				got = nil
				for _, j := range r.call(wire.WorkbenchCommand{}).Workbench.Jobs {
					got = append(got, string(j.Job))
				}
				listed := r.call(wire.JobsPage{}).JobsPage
				if strings.Join(got, " ") == c.want && len(listed.Jobs) == len(got) || t.Context().Err() != nil {
					break
				}
			}
			for _, path := range []string{"runs/codex-000001", "private/job-1"} {
				if c.days == 0 && path != "runs/codex-000001" {
					continue // nothing that is over keeps one
				}
				_, err := opt.Home.Root().Lstat(path)
				if gone := errors.Is(err, fs.ErrNotExist); gone != (c.days > 0) {
					t.Errorf("%s: %v", path, err)
				}
			}
			if _, err := opt.Home.Root().Lstat("runs/codex-000002"); err != nil {
				t.Errorf("a younger run's directory: %v", err)
			}
			r.keepsTalks(c.talks)
		})
	}
}

// aged fills a ledger: job-1 and job-4 are old, job-2 is young, job-3 old and interrupted, job-5 old beside job-6, which
// waits in its conversation.
func aged(t *testing.T, opt Options, now time.Time) {
	t.Helper()
	s, err := ledger.Open(t.Context(), opt.Home, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, young := uint64(now.AddDate(0, 0, -31).Unix()), uint64(now.AddDate(0, 0, -29).Unix())
	for id, ended := range map[wire.SessionID]uint64{"old": old, "young": young, "open": 0} {
		talk := row.Talk{ID: id, Workspace: "/work", Keep: true, Created: old, Updated: old, Ended: ended, Next: 1}
		if err := ledger.TalksOf(s).SaveTalk(t.Context(), row.TalkChange{Talk: talk}); err != nil {
			t.Fatal(err)
		}
	}
	session := wire.WorkbenchSessionID("/work")
	b := row.Batch{
		Sessions: []row.Session{{Session: wire.Session{ID: session, Label: "workbench", Workspace: "/work"}}},
		Prompts:  map[wire.JobID]row.Prompt{}, Results: map[wire.JobID]row.Result{}, Counters: row.Counters{Job: 6},
	}
	for num := uint64(1); num <= 6; num++ {
		id, conv, handle := wire.NewJobID(num), wire.NewConversationID("codex", min(num, 5)), wire.NewRunHandle("codex", "00000"+string('0'+rune(num)))
		j := row.Job{Job: wire.Job{
			Session: session, Job: id, Agent: "codex", Workspace: "/work", Cwd: "/work", State: wire.StateCompleted,
			Conversation: &conv, Run: &handle, CreatedUnixSeconds: old, UpdatedUnixSeconds: old,
		}, Num: num, Finished: old, Private: num == 1}
		switch num {
		case 2:
			j.Finished, j.UpdatedUnixSeconds = young, young
		case 3:
			j.State = wire.StateInterrupted
		case 6:
			j.State, j.Finished, j.Run = wire.StateQueued, 0, nil
		}
		if num < 6 {
			paused := ""
			if num == 5 {
				paused = "for a test"
			}
			b.Conversations = append(b.Conversations, row.Conversation{ID: conv, Session: session, Agent: "codex", Cwd: "/work", Paused: paused})
			b.Runs = append(b.Runs, row.Run{Run: wire.Run{Handle: handle, Agent: "codex", Session: session, Transport: "cli", Conversation: &conv, Jobs: []wire.JobID{id}, State: wire.StateCompleted}, Ended: old})
			if root, err := opt.Home.CreateRun(handle); err != nil {
				t.Fatal(err)
			} else {
				root.Close()
			}
		}
		b.Jobs = append(b.Jobs, j)
		b.Prompts[id] = row.Prompt{Text: "p"}
	}
	if err := errors.Join(s.Store(t.Context(), b), s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// keepsTalks waits until these sessions of the model loop are left: what ended before the bound leaves, all else stays.
func (r *started) keepsTalks(want string) {
	r.t.Helper()
	for {
		var got []string
		for _, s := range r.call(wire.SessionsPage{}).Sessions.Sessions {
			got = append(got, string(s.ID))
		}
		slices.Sort(got)
		if strings.Join(got, " ") == want {
			return
		}
		if err := r.t.Context().Err(); err != nil {
			r.t.Fatalf("%v; left are %q", err, got)
		}
	}
}
