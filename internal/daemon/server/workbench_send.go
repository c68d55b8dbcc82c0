package server

import (
	"context"
	"fmt"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// workbenchSend gives a conversation a further prompt: into its running turn, behind it, or as its next turn. The note
// says which.
func (r intake) workbenchSend(cmd wire.WorkbenchSend) (answer, error) {
	if err := conversationName(cmd.Session, cmd.Conversation); err != nil {
		return answer{}, err
	}
	req := hub.SendRequest{Key: cmd.Key, Principal: r.principal(), Session: cmd.Session, Conversation: cmd.Conversation, Mode: cmd.Mode, From: r.from}
	var err error
	if req.Prompt, req.Task, err = r.prompt(cmd.Prompt); err != nil {
		return answer{}, err
	}
	return r.accepted(r.Hub.Jobs().Send(req))
}

// accepted answers with a job, or with what became of a prompt, once that is on disk.
func (r intake) accepted(a hub.Accepted, ticket *hub.Ticket, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	if err := ticket.Wait(r.ctx); err != nil {
		return answer{}, err
	}
	if a.Steering != nil {
		if a, err = r.steered(a); err != nil {
			return answer{}, err
		}
	}
	st := r.light()
	st.WorkbenchNote, st.Delivery = &a.Note, &a.Delivery
	if a.Ref != "" {
		st.WorkbenchJob = &a.Ref
	}
	return answer{status: st, snapshot: r.Hub.Snapshot()}, nil
}

// patience is how long a client is kept waiting for the agent's word on a prompt that goes into its running turn.
const patience = 30 * time.Second

// steered waits until it is known what became of a prompt that goes into the running turn.
func (r intake) steered(on hub.Accepted) (hub.Accepted, error) {
	bounded, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	out, err := on.Steering.Wait(bounded)
	if err == nil || bounded.Err() == nil || r.ctx.Err() != nil {
		return out, err
	}
	job, into := on.Job.Job.Job, on.Job.Steer.Into
	return out, wire.Refuse(wire.ReasonBusy, fmt.Sprintf("do not send it again; the log tells when the turn takes it: scv jobs log -f %s", into),
		"The agent has not said for %s whether the running turn of %s takes the prompt. It is kept as %s: it goes into this turn, or waits behind it.",
		patience, into, job)
}
