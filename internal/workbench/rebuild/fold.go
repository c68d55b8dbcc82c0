package rebuild

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"scv/internal/home"
	"scv/internal/run/control"
	"scv/internal/run/runlog"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// pausedReason is why the queue of a job that never ran waits.
const pausedReason = "the ledger was lost and built anew; look whether it still is to be done"

// batchJobs is how many jobs are stored together.
const batchJobs = 500

// A past is what is known of a home's jobs: the newest of each row.
type past struct {
	jobs     map[uint64]*row.Job
	prompts  map[wire.JobID]row.Prompt
	results  map[wire.JobID]row.Result
	convs    map[wire.ConversationID]row.Conversation
	runs     map[wire.RunHandle]row.Run
	counters row.Counters
}

// fill puts into a store what lines and directories say beyond what its base holds.
func fill(ctx context.Context, h *home.Home, store *ledger.Store, report *Report) error {
	p := &past{
		jobs: map[uint64]*row.Job{}, prompts: map[wire.JobID]row.Prompt{}, results: map[wire.JobID]row.Result{},
		convs: map[wire.ConversationID]row.Conversation{}, runs: map[wire.RunHandle]row.Run{}, counters: store.Counters(),
	}
	for a, err := range ledger.Accepted(h) {
		report.Lines++
		switch {
		case errors.Is(err, fs.ErrNotExist):
			report.Lines = 0
		case err != nil:
			report.Bad++
		default:
			p.take(a)
		}
	}
	if err := p.compare(ctx, store); err != nil {
		return err
	}
	if err := p.look(h); err != nil {
		return err
	}
	for _, j := range p.jobs {
		if !j.State.Final() && j.Run == nil && j.Review == nil {
			report.Paused++
			p.pause(j)
		}
	}
	if err := p.store(ctx, store); err != nil {
		return err
	}
	n, err := ledger.CountJobs(ctx, store)
	report.Jobs = n
	return err
}

// take folds one line in; of two values of a row the higher revision counts.
func (p *past) take(a row.Accepted) {
	if c := a.Conversation; c != nil && p.convs[c.ID].Rev <= c.Rev {
		p.convs[c.ID] = *c
	}
	if a.Job.Num == 0 {
		return
	}
	id := a.Job.Job.Job
	if old := p.jobs[a.Job.Num]; old == nil || old.Rev <= a.Job.Rev {
		p.jobs[a.Job.Num] = &a.Job
	}
	if a.Prompt != "" {
		p.prompts[id] = row.Prompt{Text: a.Prompt}
	}
	if a.Result != nil {
		p.results[id] = *a.Result
	}
	if r := a.Run; r != nil && p.runs[r.Handle].Rev <= r.Rev {
		p.runs[r.Handle] = *r
	}
}

// compare drops the jobs that the base has as new or newer, and adds those that it holds as unfinished.
func (p *past) compare(ctx context.Context, store *ledger.Store) error {
	for num, j := range p.jobs {
		old, found, err := store.Job(ctx, j.Session, j.Job.Job)
		if err != nil {
			return err
		}
		if found && old.Rev >= j.Rev {
			delete(p.jobs, num)
			delete(p.results, j.Job.Job)
		}
	}
	l, err := store.Load(ctx)
	if err != nil {
		return err
	}
	for i := range l.Jobs {
		j := &l.Jobs[i]
		if !j.State.Final() && p.jobs[j.Num] == nil {
			p.jobs[j.Num] = j
			if c, ok := p.convs[wire.ConversationID(text(j.Conversation))]; !ok || c.Rev == 0 {
				p.recall(l, j)
			}
		}
	}
	for _, c := range l.Conversations {
		if p.convs[c.ID].Rev < c.Rev {
			p.convs[c.ID] = c
		}
	}
	return nil
}

// recall takes over the run of a job that the base holds as unfinished.
func (p *past) recall(l row.Loaded, j *row.Job) {
	for _, r := range l.Runs {
		if j.Run != nil && r.Handle == *j.Run {
			p.runs[r.Handle] = r
		}
	}
}

func text[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

// look reads the directories of runs: which job each served, and how far that came.
func (p *past) look(h *home.Home) error {
	entries, err := fs.ReadDir(h.Root().FS(), "runs")
	if err != nil {
		return fmt.Errorf("read the runs: %w", err)
	}
	p.counters.Runs = max(p.counters.Runs, uint64(len(entries)))
	for _, e := range entries {
		handle, err := wire.ParseRunHandle(e.Name())
		if err != nil || !e.IsDir() {
			continue
		}
		if _, known := p.runs[handle]; known && !p.runs[handle].Live {
			continue
		}
		p.run(h, handle)
	}
	return nil
}

// run joins the unfinished jobs that a run served with it. What its directory does not tell stays unknown: its job is
// then paused.
func (p *past) run(h *home.Home, handle wire.RunHandle) {
	spec, err := control.ReadSpec(h.RunDir(handle))
	if err != nil || spec.Run != string(handle) {
		return
	}
	var o row.Order
	if json.Unmarshal(spec.Meta, &o) != nil || o.Run.Handle != handle {
		return
	}
	served := map[wire.JobID]uint32{}
	if o.Run.Turn != nil {
		served[wire.JobID(spec.Job)] = *o.Run.Turn
	}
	ended := p.log(h, handle, served)
	for id, turn := range served {
		j := p.jobs[id.Number()]
		if j == nil || j.State.Final() || j.Session != o.Run.Session {
			continue
		}
		if c := o.Conversation; p.convs[c.ID].Rev <= c.Rev {
			p.convs[c.ID] = c
		}
		if e, over := ended[turn]; over && raw(h, handle) {
			j.State, j.Detail, j.Finished, j.UpdatedUnixSeconds = e.state, e.detail, e.at, e.at
			p.results[id] = e.result
			j.Run, j.Turn = &handle, turn
			continue
		}
		r, known := p.runs[handle]
		if !known { // it is read from its beginning
			r = o.Run
		}
		r.Live, r.Job, r.Turn = true, &id, &turn
		p.runs[handle] = r
		j.Run, j.Turn, j.State = &handle, turn, wire.StateWorking
	}
}

// raw reports that nothing raw of a run is left, so that its log is the last word on it.
func raw(h *home.Home, handle wire.RunHandle) bool {
	_, err := h.Root().Lstat("runs/" + string(handle) + "/" + control.SpoolName)
	return errors.Is(err, fs.ErrNotExist)
}

// An outcome is how a turn ended, as its run's log tells.
type outcome struct {
	state  wire.AgentState
	detail *string
	at     uint64
	result row.Result
}

// log adds the jobs of a run's further turns to served and returns how its turns ended.
func (p *past) log(h *home.Home, handle wire.RunHandle, served map[wire.JobID]uint32) map[uint32]outcome {
	root, err := h.RunRoot(handle)
	if err != nil {
		return nil
	}
	defer root.Close()
	out := map[uint32]outcome{}
	var said []string
	for after := uint64(0); ; {
		page, err := runlog.ReadPage(root, handle, after, wire.MaxRunLogPageEvents, false)
		if err != nil {
			return out
		}
		for _, e := range page.Events {
			switch {
			case e.Kind == wire.EventTurnStarted && e.Job != nil && e.Turn != nil:
				served[*e.Job], said = *e.Turn, nil
			case e.Kind == wire.EventText:
				said = append(said, e.Text)
			case e.Kind == wire.EventTurnEnded && e.Turn != nil && e.Status != nil:
				out[*e.Turn] = ending(e, said)
			}
		}
		if !page.More || page.Next <= after {
			return out
		}
		after = page.Next
	}
}

func ending(e wire.RunEvent, said []string) outcome {
	o := outcome{at: e.TsMs / 1000, state: wire.StateInterrupted}
	var s wire.AgentState
	if s.UnmarshalText([]byte(*e.Status)) == nil && s.Final() {
		o.state = s
	}
	if e.Text != "" {
		o.detail = &e.Text
	}
	if o.state == wire.StateCompleted {
		o.result.Reply = strings.Join(said, "\n")
	} else {
		o.result.Error = e.Text
	}
	return o
}

// pause makes a job that never ran wait for the owner.
func (p *past) pause(j *row.Job) {
	j.State, j.Turn, j.Steer = wire.StateQueued, 0, nil
	j.Detail = new("is paused: " + pausedReason)
	id := wire.ConversationID(text(j.Conversation))
	c := p.convs[id]
	c.ID, c.Session, c.Agent, c.Paused = id, j.Session, j.Agent, pausedReason
	if c.Cwd == "" {
		c.Cwd, c.Worktree, c.Model, c.Effort = j.Cwd, j.Worktree, j.Model, j.Effort
		if j.Mode != nil {
			c.Mode = string(*j.Mode)
		}
	}
	p.convs[id] = c
}

// store writes everything, jobs in the order of their numbers.
func (p *past) store(ctx context.Context, store *ledger.Store) error {
	jobs := make([]row.Job, 0, len(p.jobs))
	sessions := map[wire.SessionID]bool{}
	var b row.Batch
	for _, j := range p.jobs {
		jobs = append(jobs, *j)
		if !sessions[j.Session] {
			sessions[j.Session] = true
			if _, known, err := store.Session(ctx, j.Session); err != nil {
				return err
			} else if !known {
				b.Sessions = append(b.Sessions, session(j))
			}
		}
		if c, ok := p.convs[wire.ConversationID(text(j.Conversation))]; !ok || c.Session == "" {
			p.convs[wire.ConversationID(text(j.Conversation))] = conversation(j)
		}
		p.counters.Job = max(p.counters.Job, j.Num)
	}
	for _, c := range p.convs {
		b.Conversations = append(b.Conversations, c)
	}
	for _, r := range p.runs {
		b.Runs = append(b.Runs, r)
	}
	b.Counters = p.counters
	if err := store.Store(ctx, b); err != nil {
		return err
	}
	slices.SortFunc(jobs, func(a, b row.Job) int { return cmp.Compare(a.Num, b.Num) })
	for part := range slices.Chunk(jobs, batchJobs) {
		b := row.Batch{Jobs: part, Counters: p.counters, Prompts: map[wire.JobID]row.Prompt{}, Results: map[wire.JobID]row.Result{}}
		for i := range part {
			id := part[i].Job.Job
			if prompt, ok := p.prompts[id]; ok {
				b.Prompts[id] = prompt
			}
			if result, ok := p.results[id]; ok {
				b.Results[id] = result
			}
		}
		if err := store.Store(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func session(j *row.Job) row.Session {
	return row.Session{
		Session:            wire.Session{ID: j.Session, Label: "workbench", Workspace: j.Workspace, State: wire.StateIdle},
		CreatedUnixSeconds: j.CreatedUnixSeconds,
	}
}

// conversation is as much of one as a job of it tells.
func conversation(j *row.Job) row.Conversation {
	c := row.Conversation{
		ID: wire.ConversationID(text(j.Conversation)), Session: j.Session, Agent: j.Agent, Cwd: j.Cwd, Worktree: j.Worktree,
		Turns: j.Turn, Model: j.Model, Effort: j.Effort, Rev: j.Rev,
	}
	if j.Mode != nil {
		c.Mode = string(*j.Mode)
	}
	return c
}
