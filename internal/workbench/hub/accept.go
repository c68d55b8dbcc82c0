package hub

import (
	"fmt"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/state"
)

// sessionLabel is whom the daemon's own sessions serve.
const sessionLabel = "workbench"

// machine is this machine's name in rows: one home has one machine until there are more (design.md, seams).
const machine = "local"

// full refuses a job when it could not be recorded or too many wait.
func (m *model) full() error {
	if err := m.readOnly(); err != nil {
		return err
	}
	if most := m.h.o.Limits.Unfinished; m.open >= most {
		return wire.Refuse(wire.ReasonFull, "scv jobs list", "%d jobs are not finished, which is as many as SCV keeps. Let some finish, or cancel some.", m.open)
	}
	return nil
}

func (m *model) start(q StartRequest) (*job, error) {
	if err := m.full(); err != nil {
		return nil, err
	}
	in, err := (nest{m}).allow(q.From)
	if err != nil {
		return nil, err
	}
	id := hostOf(m, q).row.ID
	cwd := q.Cwd
	if cwd == "" {
		cwd = q.Workspace
	}
	mode := q.Mode
	if mode == "" {
		mode = m.h.o.DefaultMode(q.Agent)
	}
	mode = in.bounded(mode)
	conv := row.Conversation{Session: id, Agent: q.Agent, Cwd: cwd, Model: q.Model, Effort: q.Effort, Mode: mode, Transport: q.Transport}
	if t := q.Tree; t != nil {
		conv.Cwd, conv.Worktree, conv.Base, conv.Plan = t.Cwd, &t.Ref, t.Base, t.Plan
	}
	return m.newConversation(conv).add(newJob{
		key: q.Key, principal: q.Principal, prompt: q.Prompt, task: q.Task, origin: q.Origin, in: in, what: "start",
		mark: func(r *row.Job) {
			r.Check = q.Check
			if q.Review != nil {
				r.Review, r.Reviewed = q.Review, true
			}
		},
	}), nil
}

// newConversation numbers a conversation.
func (m *model) newConversation(c row.Conversation) *conversation {
	m.counters.Conversations[c.Agent]++
	c.ID = wire.NewConversationID(c.Agent, m.counters.Conversations[c.Agent])
	n := m.addConversation(c)
	n.touch()
	return n
}

func (m *model) send(q SendRequest) (*job, error) {
	if err := m.full(); err != nil {
		return nil, err
	}
	c := m.conversation(q.Session, q.Conversation)
	if c == nil {
		return nil, noConversation(q.Session, q.Conversation)
	}
	in, err := (nest{m}).within(q.From, c)
	if err != nil {
		return nil, err
	}
	n := newJob{key: q.Key, principal: q.Principal, prompt: q.Prompt, task: q.Task, in: in, what: "send"}
	if q.Mode != wire.SendQueue && c.steerable() {
		n.what, n.steer = "steer", q.Mode
		return c.add(n), nil
	}
	if q.Mode == wire.SendSteer && (holder{c}).held() {
		return nil, wire.Refuse(wire.ReasonNotSteerable, "leave --steer off: the prompt then waits until the terminal is closed",
			"You hold %s in its own terminal.", c.row.ID)
	}
	if q.Mode == wire.SendSteer && c.current != nil {
		return nil, wire.Refuse(wire.ReasonNotSteerable, "leave --steer off: the prompt then waits for the turn's end",
			"%s runs a turn that takes no further prompt.", c.row.ID)
	}
	if before := len(c.waiting()); q.Mode == wire.SendSteer && before > 0 {
		return nil, wire.Refuse(wire.ReasonNotSteerable, "leave --steer off: the prompt then waits behind them. See them: scv jobs queue",
			"%s runs no turn, and in it %s already.", c.row.ID, wait(before))
	}
	c.resumeIfEmpty()
	return c.add(n), nil
}

type newJob struct {
	key       string
	principal row.Principal
	prompt    row.Prompt
	task      string
	origin    wire.JobOrigin // empty: a model's for what comes from inside a job, else the owner's
	in        place
	what      string
	mark      func(*row.Job) // completes the row before it is shown; may be nil
	steer     wire.SendMode  // goes into the running turn: auto or steer; empty otherwise
}

// add makes a job at the end of its conversation's queue; settle starts it when its time has come.
func (c *conversation) add(n newJob) *job {
	m := c.m
	now := unix(m.now())
	m.counters.Job++
	origin := n.origin
	switch {
	case origin != "":
	case n.in.by != nil:
		origin = wire.OriginModel
	default:
		origin = wire.OriginOwner
	}
	mode := wire.PermissionMode(c.row.Mode)
	j := &job{m: m, conv: c, prompt: n.prompt.Text, born: m.batch}
	j.row = row.Job{
		Job: wire.Job{
			Session: c.row.Session, Job: wire.NewJobID(m.counters.Job), Agent: c.row.Agent, Task: n.task,
			Workspace: c.session.row.Workspace, Cwd: c.row.Cwd, Worktree: c.row.Worktree, State: wire.StateQueued, StartedBy: origin,
			Conversation: &c.row.ID, CreatedUnixSeconds: now, UpdatedUnixSeconds: now, Mode: &mode,
		},
		Num: m.counters.Job, Key: n.key, Principal: n.principal, Model: c.row.Model, Effort: c.row.Effort,
		Private: n.prompt.Original != "", Home: m.home, Machine: machine,
	}
	if c.row.Base != "" {
		j.row.Base = new(c.row.Base)
	}
	j.row.Parent, j.row.Depth = n.in.parent, n.in.depth
	if n.mark != nil {
		n.mark(&j.row)
	}
	if j.row.Model != "" {
		j.row.Models = &wire.JobModels{Requested: text(j.row.Model)}
	}
	c.jobs++
	m.open++
	m.jobs[j.row.Job.Job] = j
	holder{c}.newest(j)
	if n.key != "" {
		m.keys[n.key] = j
	}
	if j.row.Review != nil {
		reviewed{j}.begin()
	} else if n.steer != "" {
		steer{j}.send(n.steer == wire.SendSteer)
	} else {
		queuedJob{j}.enqueue()
	}
	j.note(m.now(), "owner", fmt.Sprintf("asked for by %s through %s", orNobody(n.principal.Who), orNobody(n.principal.Way)))
	if n.in.by != nil {
		j.note(m.now(), "daemon", fmt.Sprintf("it was started from inside %s, at level %d", n.in.by.row.Job.Job, j.row.Depth+1))
	}
	j.touch()
	m.dirty.prompts[j.row.Job.Job] = n.prompt
	j.accept(n.what, n.prompt.Text)
	m.requeue = true
	m.commit()
	return j
}

func orNobody(s string) string {
	if s == "" {
		return "nobody named"
	}
	return s
}

// accept records what the owner asked for.
func (j *job) accept(what, prompt string) {
	m := j.m
	m.dirty.accepted = append(m.dirty.accepted, row.Accepted{At: m.now(), What: what, Job: j.row, Prompt: prompt})
}

func (m *model) job(session wire.SessionID, id wire.JobID) *job {
	j := m.jobs[id]
	if j == nil || j.row.Session != session || j.row.Hidden() {
		return nil
	}
	return j
}

func (m *model) conversation(session wire.SessionID, id wire.ConversationID) *conversation {
	c := m.convs[id]
	if c == nil || c.row.Session != session {
		return nil
	}
	return c
}

func (j *job) cancel(p row.Principal) (note string, err error) {
	m := j.m
	if err := m.readOnly(); err != nil {
		return "", err
	}
	id := j.row.Job.Job
	switch {
	case j.row.State.Final():
		return "", over(&j.row)
	case j.row.Cancelled:
		return fmt.Sprintf("%s is being cancelled already.", id), nil
	}
	j.row.Cancelled, j.cancelled = true, m.batch
	by := fmt.Sprintf("%s asked through %s for its end", orNobody(p.Who), orNobody(p.Way))
	j.note(m.now(), "owner", by)
	m.commit()
	if j.row.Review != nil {
		return reviewed{j}.cancel(p), nil
	}
	// A turn whose assignment is not committed was shown to nobody: no process has been asked to run it.
	if j.row.State == wire.StateQueued || j.assigned > m.committed {
		j.withdraw("cancelled before it started")
		j.accept("cancel", "")
		return fmt.Sprintf("%s was cancelled before it started.", id), nil
	}
	j.row.Detail, j.retrying = text("is being cancelled"), false
	j.touch()
	j.run.touch() // it takes no further prompts
	j.accept("cancel", "")
	asking{j.run}.closeAsks(row.ClosedCancelled)
	asking{j.run}.weigh(m.now(), "it is being cancelled")
	m.after(effect{run: j.run})
	return fmt.Sprintf("%s is being cancelled.", id) + alsoBelow(nest{m}.cancelBelow(j, p)), nil
}

// withdraw ends a job as cancelled that no process has been asked to run, together with a run that was only made for it.
func (j *job) withdraw(detail string) {
	m := j.m
	r := j.run
	j.end(ending{state: wire.StateCancelled, detail: detail}, m.now(), "daemon")
	if r == nil {
		return
	}
	if r.launched { // a live process that waits between turns
		r.step(state.Idle)
		return
	}
	r.end(state.Cancel, detail, m.now())
}

func (j *job) dismiss(p row.Principal) {
	m := j.m
	if j.row.Dismissed {
		return
	}
	j.row.Dismissed = true
	j.touch()
	m.unlist(&j.entry)
	m.finished = deleteOne(m.finished, j)
	j.accept("dismiss", "")
	m.commit()
	m.h.o.Log.Info("job dismissed", "job", j.row.Job.Job, "who", p.Who, "way", p.Way)
}
