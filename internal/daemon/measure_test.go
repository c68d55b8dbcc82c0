package daemon

import (
	"fmt"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// record fills a home's ledger with finished jobs and their runs.
func record(tb testing.TB, opt Options, n int) {
	tb.Helper()
	s, err := ledger.Open(tb.Context(), opt.Home, nil)
	if err != nil {
		tb.Fatal(err)
	}
	now := uint64(time.Now().Unix())
	session := wire.WorkbenchSessionID("/work")
	counters := row.Counters{Conversations: map[string]uint64{}}
	for first := 1; first <= n; first += 500 {
		var b row.Batch
		b.Sessions = []row.Session{{Session: wire.Session{ID: session, Label: "workbench", Workspace: "/work"}}}
		b.Results = map[wire.JobID]row.Result{}
		b.Prompts = map[wire.JobID]row.Prompt{}
		for i := first; i < first+500 && i <= n; i++ {
			num := uint64(i)
			id, conv, handle := wire.NewJobID(num), wire.NewConversationID("codex", num), wire.NewRunHandle("codex", fmt.Sprintf("%06x", i))
			b.Conversations = append(b.Conversations, row.Conversation{ID: conv, Session: session, Agent: "codex", Cwd: "/work", Turns: 1})
			b.Jobs = append(b.Jobs, row.Job{Job: wire.Job{
				Session: session, Job: id, Agent: "codex", Task: "a task of a usual length, as a person writes it",
				Workspace: "/work", Cwd: "/work", State: wire.StateCompleted, StartedBy: wire.OriginOwner, Conversation: &conv, Run: &handle,
				CreatedUnixSeconds: now, UpdatedUnixSeconds: now,
			}, Num: num, Turn: 1, Finished: now})
			b.Runs = append(b.Runs, row.Run{Run: wire.Run{
				Handle: handle, Agent: "codex", Session: session, Transport: "cli", Conversation: &conv,
				Jobs: []wire.JobID{id}, Cwd: "/work", State: wire.StateCompleted, StartedUnixSeconds: num, LastActivityUnixSeconds: num,
			}, Ended: num})
			b.Prompts[id] = row.Prompt{Text: "a task"}
			b.Results[id] = row.Result{Reply: "done"}
		}
		counters.Job = uint64(min(first+499, n))
		counters.Conversations["codex"] = counters.Job
		b.Counters = counters
		if err := s.Store(tb.Context(), b); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkStart is from the start of a daemon in this process to its first answer, with a number of recorded jobs.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			opt := options(b)
			record(b, opt, n)
			for b.Loop() {
				r := start(b, opt)
				r.call(wire.WorkbenchCommand{})
				b.StopTimer()
				r.stop()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkSnapshot is one snapshot over the socket with 1,000 recorded jobs, on an open connection and on a new one.
func BenchmarkSnapshot(b *testing.B) {
	opt := options(b)
	record(b, opt, 1000)
	r := start(b, opt)
	defer r.stop()
	ask := func(b *testing.B, c *client.Conn) {
		st, err := c.Call(b.Context(), wire.WorkbenchCommand{})
		if err != nil || len(st.Workbench.Jobs) != wire.MaxFinishedJobs {
			b.Fatalf("%v", err)
		}
	}
	b.Run("open", func(b *testing.B) {
		c, err := r.dial()
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		for b.Loop() {
			ask(b, c)
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			c, err := r.dial()
			if err != nil {
				b.Fatal(err)
			}
			ask(b, c)
			c.Close()
		}
	})
}
