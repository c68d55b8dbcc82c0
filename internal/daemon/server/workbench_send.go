package server

import (
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// workbenchSend gives a conversation a further prompt: into its running turn, behind it, or as its next turn. The note
// says which.
func (r intake) workbenchSend(cmd wire.WorkbenchSend) (answer, error) {
	if _, err := wire.ParseConversationID(string(cmd.Conversation)); err != nil {
		return answer{}, wire.Refuse(wire.ReasonInvalid, "conversations are listed by: scv jobs list --json conversation", "%v", err)
	}
	req := hub.SendRequest{Key: cmd.Key, Principal: r.principal(), Session: cmd.Session, Conversation: cmd.Conversation, Mode: cmd.Mode}
	var err error
	if req.Prompt, req.Task, err = r.prompt(cmd.Prompt); err != nil {
		return answer{}, err
	}
	accepted, ticket, err := r.Hub.Jobs().Send(req)
	if err != nil {
		return answer{}, err
	}
	if err := ticket.Wait(r.ctx); err != nil {
		return answer{}, err
	}
	st := r.light()
	st.WorkbenchNote, st.Delivery = &accepted.Note, &accepted.Delivery
	if accepted.Ref != "" {
		st.WorkbenchJob = &accepted.Ref
	}
	return answer{status: st, snapshot: r.Hub.Snapshot()}, nil
}
