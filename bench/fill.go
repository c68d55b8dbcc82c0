//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// fill writes n finished jobs with their runs and results into the home's ledger, as a long life would.
func (l *lab) fill(ctx context.Context, n int) (err error) {
	if n == 0 {
		return nil
	}
	h, err := home.Open(l.home)
	if err != nil {
		return err
	}
	store, err := ledger.Open(ctx, h, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(ctx), h.Close()) }()
	session := wire.WorkbenchSessionID(l.work)
	now := uint64(time.Now().Unix())
	const batch = 1000
	for from := 1; from <= n; from += batch {
		b := row.Batch{
			Prompts: map[wire.JobID]row.Prompt{}, Results: map[wire.JobID]row.Result{},
			Counters: row.Counters{Job: uint64(min(n, from+batch-1)), Conversations: map[string]uint64{"codex": uint64(n)}},
		}
		if from == 1 {
			b.Sessions = []row.Session{{Session: wire.Session{ID: session, Label: "workbench", Workspace: l.work, Live: true, State: wire.StateIdle}}}
		}
		for i := from; i <= min(n, from+batch-1); i++ {
			l.record(&b, session, i, now)
		}
		if err := store.Store(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) record(b *row.Batch, session wire.SessionID, i int, now uint64) {
	job := wire.JobID(fmt.Sprintf("job-%d", i))
	conversation := wire.ConversationID(fmt.Sprintf("codex-%d", i))
	run := wire.RunHandle(fmt.Sprintf("codex-%06x", i))
	b.Conversations = append(b.Conversations, row.Conversation{ID: conversation, Session: session, Agent: "codex", Cwd: l.work, Turns: 1, Rev: 1})
	b.Jobs = append(b.Jobs, row.Job{
		Job: wire.Job{
			Session: session, Job: job, Agent: "codex", Task: "Fix the flaky retry test in the uploader, number " + string(job),
			Workspace: l.work, Cwd: l.work, State: wire.StateCompleted, StartedBy: wire.OriginOwner,
			Conversation: &conversation, Run: &run, CreatedUnixSeconds: now - 60, UpdatedUnixSeconds: now - 30, Rev: 5,
		},
		Num: uint64(i), Turn: 1, Finished: now - 30, Home: "h", Machine: "m", Assigned: 1,
		Key: "bench-" + string(job), Principal: row.Principal{Who: "owner", Way: "cli"},
	})
	turn := uint32(1)
	b.Runs = append(b.Runs, row.Run{
		Run: wire.Run{
			Handle: run, Agent: "codex", Session: session, Transport: "cli", Conversation: &conversation, Turn: &turn,
			Jobs: []wire.JobID{job}, Cwd: l.work, State: wire.StateCompleted,
			StartedUnixSeconds: now - 60, LastActivityUnixSeconds: now - 30, Rev: 5,
		},
		Ended: now - 30,
	})
	b.Prompts[job] = row.Prompt{Text: "Fix the flaky retry test in the uploader and say what was wrong with it."}
	b.Results[job] = row.Result{Reply: "The test compared wall clocks. It now waits for the retry itself."}
}
