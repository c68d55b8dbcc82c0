package hub

import (
	"fmt"
	"strings"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A StartRequest asks for a job in a new conversation. The server has checked and masked it: Workspace and Cwd are
// resolved, Agent is known, Prompt holds at most wire.MaxPromptBytes.
type StartRequest struct {
	Key       string // the client's, at most wire.MaxKeyBytes; empty for none
	Principal row.Principal
	Session   wire.SessionID // of the model loop whose model asks; empty for the workspace's own
	Workspace string
	Cwd       string // Workspace when empty
	Agent     string
	Model     string
	Effort    string
	Mode      string // the agent's default when empty
	Transport string // wire.TransportLive, wire.TransportCLI, or empty for the configured one
	Prompt    row.Prompt
	Task      string // first line of the prompt, at most wire.MaxTaskRunes
	Origin    wire.JobOrigin
	From      wire.RunHandle // the run from inside which it is asked for; empty for the owner's own
	Check     bool           // the job is to find out whether the agent works
	Review    *row.Review    // it is a reviewed job
	Tree      *row.Tree      // the worktree that its conversation gets; Cwd then lies in the checkout that it comes from
}

// A SendRequest asks for a further turn of a conversation.
type SendRequest struct {
	Key          string
	Principal    row.Principal
	Session      wire.SessionID
	Conversation wire.ConversationID
	Prompt       row.Prompt
	Task         string
	Mode         wire.SendMode
	From         wire.RunHandle // the run from inside which it is sent; empty for the owner's own
}

// An Accepted is a job that the hub took. It may be told to a client only after its ticket has resolved.
type Accepted struct {
	Ref      wire.JobRef
	Job      row.Job
	Note     string // a sentence for the owner
	Delivery wire.Delivery
	Repeated bool // the key was used before: this is the job of that time
	// Steering tells what becomes of a prompt that goes into the running turn; nil for any other. Note and Delivery are
	// only known with its end.
	Steering *Steering
}

// Jobs are the commands on jobs.
type Jobs struct{ h *Hub }

// Jobs returns the commands on jobs.
func (h *Hub) Jobs() Jobs { return Jobs{h} }

// SetLimits has the jobs go by other limits, and by another wait for what is asked from then on (Options.ApprovalWait).
// What waits is looked at again; nothing that runs is ended, but for live runs that have been idle for too long now.
func (j Jobs) SetLimits(l Limits, wait time.Duration) {
	h := j.h
	h.do(func() {
		h.o.Limits, h.o.ApprovalWait = l.withDefaults(), wait
		h.m.requeue = true
		resting{h.m}.watchIdle()
		h.askMemory()
	})
}

// Start makes a job in a new conversation. It runs as soon as there is room, else it is queued and says why. A key that
// was used before answers with its job; a key that was used for something else is wire.ReasonConflict. More unfinished
// jobs than Limits.Unfinished is wire.ReasonFull.
func (js Jobs) Start(q StartRequest) (Accepted, *Ticket, error) {
	same := func(j *row.Job) bool {
		return j.Task == q.Task && j.Agent == q.Agent && j.Session == q.sessionOf()
	}
	return js.accept(q.Key, same, func(m *model) (*job, error) { return m.start(q) })
}

// Send makes a job that is the next turn of a conversation, behind what waits there; a queue that was paused goes on.
// Unless wire.SendQueue asks for that, it goes into the running turn if that takes prompts: Accepted.Steering then
// tells what became of it. wire.SendSteer into a turn that takes none is wire.ReasonNotSteerable.
func (js Jobs) Send(q SendRequest) (Accepted, *Ticket, error) {
	same := func(j *row.Job) bool {
		return j.Task == q.Task && j.Session == q.Session && j.Conversation != nil && *j.Conversation == q.Conversation
	}
	if err := js.h.bring(q.Session, q.Conversation); err != nil {
		return Accepted{}, nil, err
	}
	return js.accept(q.Key, same, func(m *model) (*job, error) { return m.send(q) })
}

// accept answers a repeated key with its job, from memory or from the archive, and else lets the model make one.
func (js Jobs) accept(key string, same func(*row.Job) bool, create func(*model) (*job, error)) (Accepted, *Ticket, error) {
	var out Accepted
	var t *Ticket
	repeat := func() (done bool, err error) { // in the loop
		j := js.h.m.keys[key]
		if key == "" || j == nil {
			return false, nil
		}
		if !same(&j.row) {
			return true, keyConflict(&j.row)
		}
		out, err = j.answer()
		out.Repeated, t = true, js.h.m.ticketOf(j.born, nil)
		return true, err
	}
	var done bool
	err := js.h.ask(func() (err error) { done, err = repeat(); return err })
	if err != nil || done {
		return out, t, err
	}
	if a, ok := js.h.o.Journal.(Archive); ok && key != "" {
		j, found, err := a.JobByKey(js.h.ctx, key)
		switch {
		case err != nil:
			return out, nil, fmt.Errorf("look for the key in the ledger: %w", err)
		case found && !same(&j):
			return out, nil, keyConflict(&j)
		case found:
			out, err = told(&j)
			out.Repeated = true
			return out, &Ticket{done: closed()}, err
		}
	}
	err = js.h.ask(func() error {
		if done, err := repeat(); done || err != nil {
			return err
		}
		j, err := create(js.h.m)
		if err != nil {
			return err
		}
		js.h.m.settle()
		out, err = j.answer()
		t = js.h.m.ticketOf(j.born, j)
		return err
	})
	return out, t, err
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func keyConflict(j *row.Job) error {
	return wire.Refuse(wire.ReasonConflict, "use a new key", "This key was already used for %s, which is another request.", j.Ref())
}

// answer is what a client is told of a job that was taken.
func (j *job) answer() (Accepted, error) {
	a, err := told(&j.row)
	a.Steering = j.steering
	if c := j.conv; j.row.State == wire.StateQueued && c.current != nil && c.row.Paused == "" {
		a.Note = strings.TrimSuffix(a.Note, ".") + c.current.lastSign() + "."
	}
	return a, err
}

// lastSign tells whoever waits for a turn what it is at and how to end it (B1).
func (j *job) lastSign() string {
	id, seen := j.row.Job.Job, ""
	if r := j.run; r != nil {
		ago := max(unix(j.m.now()), r.row.LastActivityUnixSeconds) - r.row.LastActivityUnixSeconds
		seen = fmt.Sprintf("; its last sign is %s old", (time.Duration(ago) * time.Second))
		if d := str(r.row.Detail); d != "" {
			seen += ": " + d
		}
	}
	return fmt.Sprintf("%s. To end that turn: scv jobs cancel %s", seen, id)
}

func deliveryOf(j *row.Job) wire.Delivery {
	if j.State == wire.StateQueued {
		return wire.DeliveryQueued
	}
	return wire.DeliveryStarted
}

func noteOf(j *row.Job) string {
	if j.State == wire.StateQueued {
		return fmt.Sprintf("%s is queued: it %s.", j.Job.Job, str(j.Detail))
	}
	return fmt.Sprintf("%s was started with %s.", j.Job.Job, j.Agent)
}

// Cancel ends a queued job at once. A running turn is asked to stop; how it ends is what its run reports, so a turn
// that completed before stays completed. Asking again changes nothing.
func (js Jobs) Cancel(ref wire.JobRef, p row.Principal) (note string, t *Ticket, err error) {
	session, id, ok := ref.Split()
	if !ok {
		return "", nil, notFound(ref)
	}
	err = js.h.ask(func() error {
		j := js.h.m.job(session, id)
		if j == nil {
			return errArchive
		}
		note, err = j.cancel(p)
		t = js.h.m.ticketOf(j.cancelled, nil)
		return err
	})
	if err == errArchive {
		old, err := js.h.recallJob(ref, session, id)
		if err != nil {
			return "", nil, err
		}
		return "", nil, over(&old)
	}
	if err != nil {
		return "", nil, err
	}
	return note, t, nil
}

// Dismiss takes a finished job off every list; its row stays in the ledger. One that is not finished is
// wire.ReasonBusy.
func (js Jobs) Dismiss(ref wire.JobRef, p row.Principal) (note string, t *Ticket, err error) {
	session, id, ok := ref.Split()
	if !ok {
		return "", nil, notFound(ref)
	}
	drop := func(j *job) error {
		if err := js.h.m.readOnly(); err != nil {
			return err
		}
		if !j.row.State.Final() {
			return wire.Refuse(wire.ReasonBusy, "scv jobs cancel "+string(id), "%s is %s, so it cannot be dismissed yet.", id, j.row.State)
		}
		j.dismiss(p)
		t = js.h.m.ticket(nil)
		return nil
	}
	err = js.h.ask(func() error {
		j := js.h.m.job(session, id)
		if j == nil {
			return errArchive
		}
		return drop(j)
	})
	if err == errArchive {
		var old row.Job
		if old, err = js.h.recallJob(ref, session, id); err == nil {
			err = js.h.ask(func() error { return drop(js.h.m.guest(old)) })
		}
	}
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("%s was dismissed.", id), t, nil
}

// Find returns a job that is unfinished or among the newest finished ones; the ledger has the rest.
func (js Jobs) Find(session wire.SessionID, id wire.JobID) (found row.Job, ok bool) {
	js.h.do(func() {
		if j := js.h.m.job(session, id); j != nil {
			found, ok = j.row, true
		}
	})
	return found, ok
}

// Result returns what a finished job left while that is not on disk; afterwards only the ledger has it.
func (js Jobs) Result(session wire.SessionID, id wire.JobID) (found row.Result, ok bool) {
	js.h.do(func() {
		if j := js.h.m.job(session, id); j != nil && j.result != nil {
			found, ok = *j.result, true
		}
	})
	return found, ok
}
