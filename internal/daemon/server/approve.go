package server

import (
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/operand"
)

// An asker answers the actions on questions to the owner.
type asker struct{ *request }

func (r asker) do(cmd wire.Command) (answer, error) {
	switch cmd := cmd.(type) {
	case wire.WorkbenchApprove:
		return r.workbenchApprove(cmd)
	case wire.ApprovalsPage:
		return r.approvalsPage(cmd)
	case wire.ApprovalRules:
		return r.approvalRules()
	case wire.ApprovalRuleAdd:
		return r.approvalRuleAdd(cmd)
	case wire.ApprovalRuleRemove:
		return r.approvalRuleRemove(cmd)
	case wire.ApprovalTest:
		return r.approvalTest(cmd)
	case wire.ConfirmAsk:
		return r.confirmAsk(cmd)
	case wire.ConfirmStatus:
		return r.confirmStatus(cmd)
	default:
		return answer{}, notOffered(cmd)
	}
}

// maxReason bounds what goes to an agent with an answer, in bytes.
const maxReason = 4 << 10

// workbenchApprove answers a question, which only a person may: never a process inside a run.
func (r asker) workbenchApprove(cmd wire.WorkbenchApprove) (answer, error) {
	if err := r.ownerOnly("answer approvals"); err != nil {
		return answer{}, err
	}
	if cmd.ID == "" || len(cmd.ID) > 64 {
		return answer{}, wire.Refuse(wire.ReasonInvalid, "approvals are listed by: scv approvals list", "%.80q is no approval's name", string(cmd.ID))
	}
	if len(cmd.Reason) > maxReason {
		return answer{}, wire.Refuse(wire.ReasonTooLarge, "say it shorter", "the reason has %d bytes, and %d are taken", len(cmd.Reason), maxReason)
	}
	q := hub.AnswerRequest{
		ID: cmd.ID, Approved: cmd.Approved, Key: cmd.Key, Reason: strings.ToValidUTF8(r.Mask().Text(cmd.Reason), "\uFFFD"),
		Equal: cmd.Equal, Remember: cmd.Remember, Principal: r.principal(),
	}
	if cmd.Digest != nil {
		q.Digest = *cmd.Digest
	}
	if q.Approved {
		if err := r.unchanged(q.ID); err != nil {
			return answer{}, err
		}
	}
	return r.noted(r.Hub.Approvals().Answer(q))
}

// unchanged refuses a yes to a command that runs a file which is not what it was when the agent asked: who answers has to
// look at it again.
func (r asker) unchanged(id wire.ApprovalID) error {
	a, ok, err := r.Hub.Approvals().Find(id)
	if err != nil || !ok || !a.Waits() {
		return err // Answer says what became of it
	}
	now, name := operand.Changed(a.Operands)
	if name == "" {
		return nil
	}
	name = plain.Line(name)
	r.Hub.Approvals().Changed(id, name, now)
	return wire.Refuse(wire.ReasonConflict, "look at the file, then answer again: scv approvals show "+string(id),
		"%s was changed after %s was asked. Nothing was answered.", name, id)
}
