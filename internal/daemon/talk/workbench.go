package talk

import (
	"cmp"
	"context"

	"scv/internal/safe/plain"
	"scv/internal/safe/redact"
	"scv/internal/session/delegate"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// A Workbench is the hub as the agent tools of sessions see it.
type Workbench struct {
	Hub  *hub.Hub
	Mask func() *redact.Masker
	// Saved finds the reply of a job that is not in memory.
	Saved func(ctx context.Context, id wire.JobID) (row.Result, bool, error)
	// Mode is the permission mode of a job that names none.
	Mode func(workspace, agent string) (string, error)
	// Plan plans a worktree for a job; nil: there are none.
	Plan func(ctx context.Context, cwd, agent, task string) (*row.Tree, error)
}

// Start implements delegate.Workbench.
func (w Workbench) Start(ctx context.Context, s delegate.Start) (wire.Job, string, error) {
	prompt := row.Prompt{Text: s.Prompt}
	if masked, changed := w.Mask().Changed(s.Prompt); changed {
		prompt = row.Prompt{Text: masked, Original: s.Prompt}
	}
	task := plain.FirstLine(prompt.Text, wire.MaxTaskRunes)
	who := row.Principal{Who: "model", Way: "session"}
	if s.Conversation != "" {
		return w.accepted(ctx)(w.Hub.Jobs().Send(hub.SendRequest{
			Principal: who, Session: s.Session, Conversation: s.Conversation, Prompt: prompt, Task: task, Mode: wire.SendQueue,
		}))
	}
	mode, err := w.Mode(s.Workspace, s.Agent)
	if err != nil {
		return wire.Job{}, "", err
	}
	if s.Unasked && mode == string(wire.ModeOnRisk) {
		mode = string(wire.ModeAuto)
	}
	q := hub.StartRequest{
		Principal: who, Session: s.Session, Workspace: s.Workspace, Cwd: s.Workspace, Agent: s.Agent, Model: s.Model, Mode: mode,
		Prompt: prompt, Task: task, Origin: wire.OriginModel,
	}
	if s.Worktree {
		if w.Plan == nil {
			return wire.Job{}, "", wire.Refuse(wire.ReasonUnavailable, "leave worktree out", "there are no worktrees here")
		}
		if q.Tree, err = w.Plan(ctx, s.Workspace, s.Agent, task); err != nil {
			return wire.Job{}, "", err
		}
	}
	return w.accepted(ctx)(w.Hub.Jobs().Start(q))
}

// accepted waits until a job is on disk.
func (w Workbench) accepted(ctx context.Context) func(hub.Accepted, *hub.Ticket, error) (wire.Job, string, error) {
	return func(a hub.Accepted, t *hub.Ticket, err error) (wire.Job, string, error) {
		if err == nil {
			err = t.Wait(ctx)
		}
		return a.Job.Job, a.Note, err
	}
}

// Jobs implements delegate.Workbench.
func (w Workbench) Jobs(session wire.SessionID) []wire.Job {
	var out []wire.Job
	for _, j := range w.Hub.Snapshot().Jobs {
		if j.Session == session {
			out = append(out, j)
		}
	}
	return out
}

// Reply implements delegate.Workbench.
func (w Workbench) Reply(ctx context.Context, session wire.SessionID, job wire.JobID) string {
	r, ok := w.Hub.Jobs().Result(session, job)
	if !ok {
		r, _, _ = w.Saved(ctx, job) // one that cannot be read said nothing
	}
	return cmp.Or(r.Reply, r.Error)
}

// Cancel implements delegate.Workbench.
func (w Workbench) Cancel(ctx context.Context, session wire.SessionID, job wire.JobID) (string, error) {
	note, t, err := w.Hub.Jobs().Cancel(session.Ref(job), row.Principal{Who: "model", Way: "session"})
	if err == nil {
		err = t.Wait(ctx)
	}
	return note, err
}

// Changed implements delegate.Workbench.
func (w Workbench) Changed() (<-chan struct{}, func()) {
	watcher := w.Hub.Watch()
	return watcher.Wake(), watcher.Close
}

// Report is what a job came to, for the session that started it; false while it has not ended.
func (w Workbench) Report(ctx context.Context, session wire.SessionID, id wire.JobID) (wire.JobReport, bool) {
	j, ok := w.Hub.Jobs().Find(session, id)
	if !ok || !j.State.Final() {
		return wire.JobReport{}, false
	}
	return wire.JobReport{
		Job: id, Agent: j.Agent, Task: j.Task, Status: delegate.StatusOf(j.State), Session: j.Conversation, Reply: w.Reply(ctx, session, id),
	}, true
}

// Follow tells a host of each job that ended, until ctx ends.
func (w Workbench) Follow(ctx context.Context, ended func(wire.SessionID, wire.JobReport)) {
	watcher := w.Hub.Watch()
	defer watcher.Close()
	epoch, seen := w.Hub.Epoch(), w.Hub.Snapshot().Generation
	for {
		delta, _, generation := watcher.Next(epoch, seen)
		seen = generation
		for i := range delta.Jobs {
			j := &delta.Jobs[i]
			if j.StartedBy != wire.OriginModel || !j.State.Final() {
				continue
			}
			if r, over := w.Report(ctx, j.Session, j.Job); over {
				ended(j.Session, r)
			}
		}
		select {
		case <-watcher.Wake():
		case <-ctx.Done():
			return
		}
	}
}
