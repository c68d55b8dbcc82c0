package server

import (
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// Bounds of how long a question waits, in seconds (wire.md 12.1).
const (
	defaultConfirm = 1800
	maxConfirm     = 14400
)

// ownerChat is what the protocol calls the place where a question is shown: here every surface of the workbench.
const ownerChat = "workbench"

// confirmAsk puts a yes or no to the owner. Anybody may ask, agents before all.
func (r asker) confirmAsk(cmd wire.ConfirmAsk) (answer, error) {
	refuse := func(reason wire.Reason, hint, message string) (answer, error) {
		return answer{}, &wire.Error{Code: wire.CodeConfirmError, Reason: reason, Hint: hint, Message: message}
	}
	wait := uint64(defaultConfirm)
	if cmd.TimeoutSeconds != nil {
		wait = *cmd.TimeoutSeconds
	}
	switch {
	case strings.TrimSpace(cmd.Question) == "":
		return refuse(wire.ReasonInvalid, "say what is to be confirmed", "the question is empty")
	case len(cmd.Question) > wire.MaxQuestionBytes:
		return refuse(wire.ReasonTooLarge, "ask shorter", "the question is longer than 4 KiB")
	case wait == 0 || wait > maxConfirm:
		return refuse(wire.ReasonInvalid, "wait from 1 to 14400 seconds", "a question cannot wait so long")
	}
	text := plain.Block(r.Mask().Text(cmd.Question))
	asked, ticket, err := r.Hub.Approvals().Ask(hub.QuestionRequest{
		Question: text, Hidden: text != cmd.Question, Run: r.peerRun(), Wait: time.Duration(wait) * time.Second,
	})
	if err == nil {
		err = ticket.Wait(r.ctx)
	}
	if err != nil {
		return answer{}, recode(err, wire.CodeConfirmError)
	}
	return r.confirmed(asked), nil
}

// confirmStatus tells where a question stands.
func (r asker) confirmStatus(cmd wire.ConfirmStatus) (answer, error) {
	a, ok, err := r.Hub.Approvals().Find(wire.ApprovalID(cmd.ID))
	if err != nil {
		return answer{}, err
	}
	if !ok || a.Kind != wire.ApprovalQuestion {
		return answer{}, &wire.Error{
			Code: wire.CodeConfirmError, Reason: wire.ReasonNotFound, Message: "no such question was asked",
			Hint: "questions are listed by: scv approvals list --all",
		}
	}
	return r.confirmed(a), nil
}

func (r asker) confirmed(a row.Approval) answer {
	st := r.light()
	st.Confirm = &wire.ConfirmInfo{ID: string(a.ID), State: confirmState(&a), Chat: ownerChat, DeadlineUnixSeconds: a.ExpiresUnixSeconds}
	return answer{status: st}
}

// confirmState is a question's state in the protocol's words. Only an answer of a person is a yes.
func confirmState(a *row.Approval) wire.ConfirmState {
	switch {
	case a.Waits():
		return wire.ConfirmPending
	case a.Approved == nil:
		return wire.ConfirmWithdrawn
	case *a.Approved:
		return wire.ConfirmYes
	case a.Principal.Who == "":
		return wire.ConfirmExpired
	}
	return wire.ConfirmNo
}

// peerRun is the run that the client belongs to, as the marker in its environment says; empty for none. It only names
// who asks: nothing is allowed by it.
func (r asker) peerRun() wire.RunHandle {
	if r.conn.peer.pid == 0 {
		return ""
	}
	env, err := environ(r.conn.peer.pid)
	if err != nil {
		return ""
	}
	for _, entry := range env {
		if handle, ok := strings.CutPrefix(string(entry), runMarker); ok {
			if h, err := wire.ParseRunHandle(handle); err == nil {
				return h
			}
		}
	}
	return ""
}
