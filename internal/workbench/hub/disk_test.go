package hub_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// disk is a journal in memory, and an archive of what it holds. Hold makes Store wait; Break makes it fail.
type disk struct {
	mu       sync.Mutex
	sessions map[wire.SessionID]row.Session
	convs    map[wire.ConversationID]row.Conversation
	jobs     map[wire.JobID]row.Job
	runs     map[wire.RunHandle]row.Run
	prompts  map[wire.JobID]row.Prompt
	results  map[wire.JobID]row.Result
	accepted []row.Accepted
	counters row.Counters
	broken   error
	gate     chan struct{} // Store takes one before it stores; nil: never waits
	entered  chan struct{} // gets one when Store was entered
	stores   int
	starts   uint64

	approvals map[wire.ApprovalID]row.Approval
	rules     map[string]row.Rule
	holds     map[string]row.Hold
}

func newDisk() *disk {
	return &disk{
		sessions: map[wire.SessionID]row.Session{}, convs: map[wire.ConversationID]row.Conversation{},
		jobs: map[wire.JobID]row.Job{}, runs: map[wire.RunHandle]row.Run{}, prompts: map[wire.JobID]row.Prompt{},
		results: map[wire.JobID]row.Result{}, entered: make(chan struct{}, 1000),
		approvals: map[wire.ApprovalID]row.Approval{}, rules: map[string]row.Rule{}, holds: map[string]row.Hold{},
	}
}

func (d *disk) Store(ctx context.Context, b row.Batch) error {
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		d.entered <- struct{}{}
		<-gate
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return d.broken
	}
	d.stores++
	for _, s := range b.Sessions {
		d.sessions[s.ID] = s
	}
	for _, c := range b.Conversations {
		d.convs[c.ID] = c
	}
	for _, j := range b.Jobs {
		if old, ok := d.jobs[j.Job.Job]; ok && old.State.Final() && old.State != j.State {
			panic(fmt.Sprintf("%s: final %s became %s", j.Job.Job, old.State, j.State))
		}
		if old, ok := d.jobs[j.Job.Job]; ok && old.Rev > j.Rev {
			panic(fmt.Sprintf("%s: rev fell from %d to %d", j.Job.Job, old.Rev, j.Rev))
		}
		d.jobs[j.Job.Job] = j
	}
	for _, r := range b.Runs {
		d.runs[r.Handle] = r
	}
	maps.Copy(d.prompts, b.Prompts)
	maps.Copy(d.results, b.Results)
	d.accepted = append(d.accepted, b.Accepted...)
	for _, a := range b.Approvals {
		if old, ok := d.approvals[a.ID]; ok && (old.Over() && !a.Over() || old.Digest != nil && *old.Digest != *a.Digest) {
			panic(fmt.Sprintf("%s: %s became %s, or stands for another text", a.ID, old.State, a.State))
		}
		d.approvals[a.ID] = a
	}
	for _, r := range b.Rules {
		d.rules[r.ID] = r
	}
	for _, h := range b.Holds {
		d.holds[h.ID()] = h
	}
	d.counters = b.Counters
	return nil
}

func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = err
}

func (d *disk) hold() (release func()) {
	gate := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = gate
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.gate = nil
		d.mu.Unlock()
		close(gate)
	})
}

func (d *disk) job(id wire.JobID) row.Job {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.jobs[id]
}

func (d *disk) hasRun(h wire.RunHandle) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.runs[h]
	return ok
}

func (d *disk) prompt(id wire.JobID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.prompts[id].Text
}

func (d *disk) result(id wire.JobID) row.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.results[id]
}

// load is what a ledger would find: it is told in hub.Loaded's words.
func (d *disk) load() row.Loaded {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starts++
	l := row.Loaded{HomeID: "home", Starts: d.starts, Counters: d.counters, Prompts: map[wire.JobID]row.Prompt{}}
	l.Counters.Conversations = maps.Clone(d.counters.Conversations)
	for _, a := range d.approvals {
		l.Approvals = append(l.Approvals, a)
	}
	for _, r := range d.rules {
		if !r.Removed {
			l.Rules = append(l.Rules, r)
		}
	}
	for _, h := range d.holds {
		if !h.Over {
			l.Holds = append(l.Holds, h)
		}
	}
	l.Sessions = slices.Collect(maps.Values(d.sessions))
	l.Conversations = slices.Collect(maps.Values(d.convs))
	for id, j := range d.jobs {
		if !j.Dismissed {
			l.Jobs = append(l.Jobs, j)
		}
		if !j.State.Final() {
			l.Prompts[id] = d.prompts[id]
		}
	}
	l.Runs = slices.Collect(maps.Values(d.runs))
	return l
}

func (d *disk) JobByKey(_ context.Context, key string) (row.Job, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.Key == key {
			return j, true, nil
		}
	}
	return row.Job{}, false, nil
}

func (d *disk) Job(_ context.Context, s wire.SessionID, id wire.JobID) (row.Job, bool, error) {
	j := d.job(id)
	return j, j.Session == s && j.Num > 0, nil
}

func (d *disk) Conversation(_ context.Context, s wire.SessionID, id wire.ConversationID) (row.Conversation, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.convs[id]
	return c, ok && c.Session == s, nil
}

func (d *disk) Namesake(_ context.Context, agent, vendor string, but wire.ConversationID) (row.Conversation, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.convs {
		if c.Agent == agent && c.Vendor == vendor && c.ID != but {
			return c, true, nil
		}
	}
	return row.Conversation{}, false, nil
}

func (d *disk) Session(_ context.Context, id wire.SessionID) (row.Session, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.sessions[id]
	return s, ok, nil
}

func (d *disk) approval(id wire.ApprovalID) row.Approval {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.approvals[id]
}

func (d *disk) Approval(_ context.Context, id wire.ApprovalID) (row.Approval, bool, error) {
	a := d.approval(id)
	return a, a.Num > 0, nil
}
