package hub

import (
	"fmt"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Following says how a job follows another one.
type Following string

// The ways to follow.
const (
	Resuming Following = "resume" // goes on with a turn that was interrupted
	Retrying Following = "retry"  // gives the same prompt anew
	Forking  Following = "fork"   // goes on in another conversation
)

// A FollowRequest asks for a job that follows one that has ended. The server has made its prompt from that one's.
type FollowRequest struct {
	How       Following
	Key       string
	Principal row.Principal
	Of        row.Job   // as the ledger or the hub had it
	Same      bool      // in its conversation, else in a new one with the same directory, model and mode
	Agent     string    // of a new conversation; empty for the same
	Tree      *row.Tree // the worktree of a new conversation; nil for the same place
	Prompt    row.Prompt
	Task      string
	Failed    *wire.JobRef   // of a resume: the earlier resume that came to nothing; nil for none
	From      wire.RunHandle // the run from inside which it is asked for; empty for the owner's own
}

// followed is the field that names the job which a job follows.
func (q FollowRequest) followed(j *row.Job) **wire.JobRef {
	switch q.How {
	case Resuming:
		return &j.Resumes
	case Retrying:
		return &j.Retries
	case Forking:
	}
	return &j.Forks
}

// Follow makes a job that follows one that has ended. A job is resumed once, unless that came to nothing; while its
// process may live it is wire.ReasonBusy.
func (js Jobs) Follow(q FollowRequest) (Accepted, *Ticket, error) {
	of := q.Of.Ref()
	same := func(j *row.Job) bool {
		named := *q.followed(j)
		return j.Task == q.Task && named != nil && *named == of
	}
	if q.Of.Conversation != nil {
		if err := js.h.bring(q.Of.Session, *q.Of.Conversation); err != nil && q.Same {
			return Accepted{}, nil, err
		}
	}
	return js.accept(q.Key, same, func(m *model) (*job, error) { return followers{m}.follow(q) })
}

// Thread returns a conversation, from memory or the ledger.
func (js Jobs) Thread(session wire.SessionID, id wire.ConversationID) (row.Conversation, error) {
	if err := js.h.bring(session, id); err != nil {
		return row.Conversation{}, err
	}
	var found row.Conversation
	err := js.h.ask(func() error {
		c := js.h.m.conversation(session, id)
		if c == nil {
			return noConversation(session, id)
		}
		found = c.proven()
		return nil
	})
	return found, err
}

// proven is a conversation as far as its agent can go on with it here: what the agent calls it counts only on the machine
// on which it said so, since there is what was said in it (P23). The row keeps it, for the home may come back.
func (c *conversation) proven() row.Conversation {
	r := c.row
	if c.elsewhere() {
		r.Vendor, r.VendorAt = "", 0
	}
	return r
}

// elsewhere reports whether the agent's own conversation is on another machine, from which this home was copied or moved.
func (c *conversation) elsewhere() bool {
	here := c.m.h.o.Machine
	return c.row.Vendor != "" && c.row.VendorOn != "" && here != "" && c.row.VendorOn != here
}

// followers makes jobs that follow others.
type followers struct{ *model }

func (m followers) follow(q FollowRequest) (*job, error) {
	if err := m.full(); err != nil {
		return nil, err
	}
	old := m.guest(q.Of)
	if !old.row.State.Final() {
		return nil, wire.Refuse(wire.ReasonBusy, "scv jobs wait "+string(q.Of.Job.Job), "%s has not ended: it is %s.", q.Of.Job.Job, old.row.State)
	}
	if q.How == Resuming {
		if err := (chain{old}).resumable(q.Failed); err != nil {
			return nil, err
		}
	}
	in, err := nest(m).allow(q.From)
	if err != nil {
		return nil, err
	}
	c := old.conv
	if !q.Same {
		c = m.likeOf(old, q.Agent, in)
		if t := q.Tree; t != nil {
			c.row.Cwd, c.row.Worktree, c.row.Base, c.row.Plan = t.Cwd, &t.Ref, t.Base, t.Plan
		}
	}
	ref := old.row.Ref()
	j := c.add(newJob{
		key: q.Key, principal: q.Principal, prompt: q.Prompt, task: q.Task, in: in, what: string(q.How),
		mark: func(r *row.Job) {
			*q.followed(r) = &ref
			if q.How == Resuming && old.row.Part != nil { // it is the same turn of a review
				r.Parent, r.Part, r.Depth = old.row.Parent, old.row.Part, old.row.Depth
			}
		},
	})
	j.note(m.now(), "daemon", fmt.Sprintf("it follows %s (%s)", ref, q.How))
	if q.How == Resuming {
		chain{j}.takesOver(old)
	} else if q.Same {
		c.resumeIfEmpty()
	}
	return j, nil
}

// A chain is a job as one of those that go on with each other.
type chain struct{ *job }

// resumable refuses the resume of a job that was not interrupted, or that another one goes on with.
func (j chain) resumable(failed *wire.JobRef) error {
	id := j.row.Job.Job
	switch as := j.row.ResumedAs; {
	case j.row.State != wire.StateInterrupted:
		return wire.Refuse(wire.ReasonConflict, fmt.Sprintf("scv jobs retry %s   or go on: scv jobs send %s PROMPT", id, id),
			"%s was not interrupted: it is %s.", id, j.row.State)
	case j.row.Reviewed:
		return wire.Refuse(wire.ReasonRefused, "scv jobs retry "+string(id), "%s is a reviewed job, which cannot be resumed.", id)
	case j.mayRun():
		return wire.Refuse(wire.ReasonBusy, "scv agents kill "+string(*j.row.Run), "The process %s of %s may still run.", *j.row.Run, id)
	case as != nil && (failed == nil || *failed != *as):
		_, by, _ := as.Split()
		return wire.Refuse(wire.ReasonConflict, "scv jobs log "+string(by), "%s goes on with %s already.", by, id)
	}
	return nil
}

// mayRun reports whether the process that served a job is not proven gone.
func (j chain) mayRun() bool {
	if j.row.Run == nil {
		return false
	}
	r := j.m.runs[*j.row.Run]
	return r != nil && r.row.Live && r.row.State != wire.StateIdle
}

// likeOf opens a conversation that begins where the one of a job is: in its directory, with its settings. An agent that
// asks for it gives no more leave than it has itself.
func (m followers) likeOf(old *job, agent string, in place) *conversation {
	o := &old.row
	s := m.sessions[o.Session]
	if s == nil {
		s = m.addSession(row.Session{Session: wire.Session{ID: o.Session, Label: sessionLabel, Workspace: o.Workspace}, CreatedUnixSeconds: unix(m.now())})
		s.touch()
	}
	c := row.Conversation{Session: s.row.ID, Agent: o.Agent, Cwd: o.Cwd, Worktree: o.Worktree, Model: o.Model, Effort: o.Effort}
	if old.conv != nil {
		before := &old.conv.row
		c.Plan, c.Base, c.Transport = before.Plan, before.Base, before.Transport
	}
	if o.Mode != nil {
		c.Mode = string(*o.Mode)
	}
	c.Mode = in.bounded(c.Mode)
	if agent != "" && agent != o.Agent { // another agent knows other models and ways
		c.Agent, c.Model, c.Effort, c.Transport = agent, "", "", ""
	}
	return m.newConversation(c)
}

// takesOver goes on with an interrupted job: before all that waits behind it, which goes on then too.
func (j chain) takesOver(old *job) {
	ref := j.row.Ref()
	old.row.ResumedAs, old.row.Resumable = &ref, false
	old.note(j.m.now(), "owner", fmt.Sprintf("%s goes on with it", ref))
	if old.entry == nil {
		old.finish() // it was brought back from the archive
	}
	old.touch()
	if j.conv == old.conv {
		queuedJob(j).moveTo(0)
		j.conv.setPaused("")
	}
}

// resumed looks at what came of a job that went on with another one: when that came to nothing it can be tried again.
func (j chain) resumed() {
	if j.row.Resumes == nil || j.row.State == wire.StateCompleted || j.row.State == wire.StateInterrupted {
		return
	}
	_, id, _ := j.row.Resumes.Split()
	if old := j.m.jobs[id]; old != nil && old.row.ResumedAs != nil && *old.row.ResumedAs == j.row.Ref() && !old.row.Resumable {
		old.row.Resumable = true
		old.touch()
	}
}
