package server

import (
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// An agentsWish is a command that may have come from inside a run.
type agentsWish struct{ *request }

// permitted refuses what an agent may not do (P44, security.md section 6). It may look, ask the owner and start jobs of
// its own up to the allowed depth, and act on what lies in its own tree. All else is the owner's, also what is not known
// here. Who asks is looked up for commands that do more than look.
func (r agentsWish) permitted(cmd wire.Command) error {
	if looks(cmd) || r.conn.peer.pid == 0 {
		return nil
	}
	inside, run, err := r.conn.srv.kin.inside(r.conn.peer)
	if err != nil {
		r.conn.log.Warn("cannot tell whether a client is an agent", "error", err)
		return wire.Refuse(wire.ReasonRefused, "do it from a shell of your own",
			"it cannot be told whether this client belongs to an agent's run, and only the owner may do this")
	}
	if !inside {
		return nil
	}
	r.inside, r.from = true, run
	if owned, what := r.owns(cmd); !owned {
		return wire.Refuse(wire.ReasonRefused, "do it from a shell of your own",
			"only the owner may %s, and this client runs inside an agent's run", what)
	}
	return nil
}

// looks reports whether a command changes nothing, or only asks the owner.
func looks(cmd wire.Command) bool {
	switch cmd.(type) {
	case wire.StatusCommand, wire.ReloadCommand, wire.DelegationsCommand, wire.WorkbenchCommand, wire.RunLogCommand, wire.JobResultCommand,
		wire.JobsPage, wire.JobPrompt, wire.JobReview, wire.Why, wire.WorktreesCommand, wire.ApprovalsPage, wire.ApprovalRules, wire.ApprovalTest,
		wire.ConfirmAsk, wire.ConfirmStatus, wire.SessionsPage, wire.SessionHistoryCommand:
		return true
	}
	return false
}

// owns reports whether a command keeps to the agent's own tree, and what it would do else.
func (r agentsWish) owns(cmd wire.Command) (owned bool, what string) {
	tree := hub.TreeOf(r.Hub, r.from)
	switch c := cmd.(type) {
	case wire.WorkbenchStart: // how deep is the hub's to say
		return r.from != "" && !c.Check && c.Review == nil, "start this job"
	case wire.WorkbenchSend:
		return tree.HasConversation(c.Session, c.Conversation), "send a prompt to a conversation that is not its own"
	case wire.ConversationPause:
		return tree.HasConversation(c.Session, c.Conversation), "pause a conversation that is not its own"
	case wire.ConversationResume:
		return tree.HasConversation(c.Session, c.Conversation), "let a conversation go on that is not its own"
	case wire.ReviewDecide:
		return false, "decide about a review"
	case wire.WorkbenchCancel:
		return tree.HasJob(c.Session, c.Job), "cancel a job that is not its own"
	case wire.WorkbenchDismiss:
		return tree.HasJob(c.Session, c.Job), "dismiss a job that is not its own"
	case wire.WorkbenchResume:
		return tree.HasJob(c.Session, c.Job), "resume a job that is not its own"
	case wire.WorkbenchRetry:
		return tree.HasJob(c.Session, c.Job), "retry a job that is not its own"
	case wire.WorkbenchFork:
		return tree.HasJob(c.Session, c.Job), "fork a job that is not its own"
	case wire.JobEdit:
		return tree.HasJob(c.Session, c.Job), "edit a prompt that is not its own"
	case wire.JobMove:
		return tree.HasJob(c.Session, c.Job), "move a prompt that is not its own"
	case wire.DelegationKillCommand:
		return c.Handle != nil && tree.HasRun(*c.Handle), "end a run that is not its own"
	case wire.WorkbenchApprove:
		return false, "answer approvals"
	case wire.ApprovalRuleAdd:
		return false, "make rules"
	case wire.ApprovalRuleRemove:
		return false, "remove rules"
	}
	return false, "do this"
}
