package server

import (
	"context"
	"errors"
	"strconv"

	"scv/internal/failpoint"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// errDone ends a connection that did what it was for.
var errDone = errors.New("the connection is done")

// A request is one daemon.control on its way through an action.
type request struct {
	ctx  context.Context
	conn *conn
	id   wire.RequestID
	*Workbench

	inside bool           // it comes from inside an agent's run
	from   wire.RunHandle // which one; empty when it cannot be told
}

// An answer is what an action replies: the status, a fresh snapshot beside it where the action gives one, and what is
// to be done once the client has it.
type answer struct {
	status   wire.DaemonStatus
	snapshot *wire.Snapshot // nil for none
	then     func()
}

// control answers one daemon.control with exactly one daemon.status or error; only the watching actions go on.
func (c *conn) control(m wire.DaemonControl) error {
	w, err := c.srv.workbench(c.ctx)
	if err != nil {
		return err
	}
	if c.srv.opt.Stdio {
		return c.refuse(m.RequestID, &wire.Error{
			Code: wire.CodeUnsupported, Reason: wire.ReasonUnavailable,
			Message: "a session on standard input has no daemon behind it", Hint: "ask the daemon at its socket",
		})
	}
	r := &request{ctx: c.ctx, conn: c, id: m.RequestID, Workbench: w}
	switch cmd := m.Command.(type) {
	case wire.WorkbenchWatch:
		return r.workbenchWatch(cmd)
	case wire.RunLogWatch:
		return logReader{r}.runLogWatch(cmd)
	case wire.AttachWatch:
		return taker{r}.attachWatch(cmd)
	}
	r.ctx = c.work
	ans, err := r.do(m.Command)
	if err != nil {
		if c.work.Err() != nil {
			return err
		}
		return c.refuse(m.RequestID, r.refusal(m.Command, err))
	}
	err = failpoint.Do(failpoint.ServerReply, func() error { return r.reply(ans) })
	if ans.then != nil {
		ans.then() // a client that left has asked for it all the same
	}
	return err
}

// do runs the action of a command.
func (r *request) do(cmd wire.Command) (answer, error) {
	if k, ok := cmd.(wire.Keyed); ok && len(k.ClientKey()) > wire.MaxKeyBytes {
		return answer{}, wire.Refuse(wire.ReasonTooLarge, "make a shorter one", "the key is longer than %d bytes", wire.MaxKeyBytes)
	}
	if err := (agentsWish{r}).permitted(cmd); err != nil {
		return answer{}, recode(err, codeOf(cmd))
	}
	switch cmd := cmd.(type) {
	case wire.StatusCommand, wire.ReloadCommand:
		return r.status()
	case wire.DelegationsCommand:
		return r.delegations()
	case wire.DelegationKillCommand:
		return r.delegationKill(cmd)
	case wire.WorkbenchCommand:
		return r.workbench(cmd), nil
	case wire.WorkbenchStart:
		return intake{r}.workbenchStart(cmd)
	case wire.WorkbenchSend:
		return intake{r}.workbenchSend(cmd)
	case wire.WorkbenchCancel:
		return r.workbenchCancel(cmd)
	case wire.WorkbenchApprove, wire.ApprovalsPage, wire.ApprovalRules, wire.ApprovalRuleAdd, wire.ApprovalRuleRemove,
		wire.ApprovalTest, wire.ConfirmAsk, wire.ConfirmStatus:
		return asker{r}.do(cmd)
	case wire.AttachCommand, wire.AttachIO, wire.AttachDetach, wire.AttachEnd, wire.AttachHistory:
		return taker{r}.do(cmd)
	case wire.WorkbenchDismiss:
		return r.workbenchDismiss(cmd)
	case wire.JobPrompt, wire.JobMove, wire.ConversationPause, wire.ConversationResume, wire.AgentResume:
		return queuer{r}.do(cmd)
	case wire.JobEdit:
		return intake{r}.jobEdit(cmd)
	case wire.WorkbenchResume:
		return follower{r}.workbenchResume(cmd)
	case wire.WorkbenchRetry:
		return follower{r}.workbenchRetry(cmd)
	case wire.WorkbenchFork:
		return follower{r}.workbenchFork(cmd)
	case wire.RunLogCommand:
		return logReader{r}.runLog(cmd)
	case wire.JobResultCommand, wire.JobsPage, wire.Why:
		return archivist{r}.do(cmd)
	case wire.WorktreesCommand, wire.WorktreeRemove, wire.WorktreePrune, wire.WorktreeClean, wire.WorktreeTrust, wire.JobDiff, wire.JobCommit, wire.JobApply, wire.ForecastCommand:
		return groundkeeper{r}.do(cmd)
	case wire.JobReview:
		return judge{r}.jobReview(cmd)
	case wire.ReviewDecide:
		return judge{r}.reviewDecide(cmd)
	case wire.SessionsPage, wire.SessionHistoryCommand, wire.SessionRemove:
		return librarian{r}.do(cmd)
	case wire.DaemonRestart:
		return handing{r}.daemonRestart(cmd)
	case wire.DaemonStop:
		return r.daemonStop(cmd)
	default:
		return answer{}, notOffered(cmd)
	}
}

// refusal is the error event's content for whatever an action failed with: the refusals of other rooms as they are, and
// what should not happen as a sentence, with the details in the daemon's log.
func (r *request) refusal(cmd wire.Command, err error) *wire.Error {
	if we, ok := errors.AsType[*wire.Error](err); ok {
		out := *we
		if out.Code == "" {
			out.Code = wire.CodeWorkbenchError
		}
		out.Message = r.Mask().Text(out.Message) // it may repeat what the client sent
		return &out
	}
	text := r.Mask().Text(err.Error())
	r.conn.log.Error("an action failed", "action", cmd.Action(), "error", text)
	return &wire.Error{Code: codeOf(cmd), Reason: wire.ReasonInternal, Message: "something inside the daemon failed: " + text, Hint: "look at: scv status"}
}

// reply writes the status. The snapshot's text is made once for each generation and shared by all who ask for it; only
// the moment of asking is set in.
func (r *request) reply(ans answer) error {
	head, err := wire.Encode(wire.DaemonStatusEvent{RequestID: r.id, Status: ans.status})
	if err != nil {
		return err
	}
	if ans.snapshot == nil {
		return r.conn.write(append(head, '\n'))
	}
	body, err := r.conn.srv.pages.snapshot(ans.snapshot)
	if err != nil {
		return err
	}
	head = append(head[:len(head)-len("}}")], `,"workbench":{"generated_unix_seconds":`...)
	head = strconv.AppendInt(head, r.conn.srv.opt.Now().Unix(), 10)
	return r.conn.write(head, body, []byte("}}\n"))
}

// principal is who asks and by which way, as the hub keeps it with what was asked (design.md, seams).
func (r *request) principal() row.Principal {
	if r.inside {
		return row.Principal{Who: "model", Way: "agent"}
	}
	switch name := r.conn.name(); name {
	case "scv-tui":
		return row.Principal{Who: "owner", Way: "tui"}
	case "scv-control", "scv-cli", "scv":
		return row.Principal{Who: "owner", Way: "cli"}
	case "scv-web":
		return row.Principal{Who: "owner", Way: "web"}
	case "scv-agent":
		return row.Principal{Who: "model", Way: "agent"}
	default:
		return row.Principal{Who: "owner", Way: name}
	}
}

// ownerOnly refuses what no agent may do, as far as one user's processes can be told apart (security.md section 6).
func (r *request) ownerOnly(what string) error {
	if r.conn.peer.pid == 0 {
		return nil
	}
	inside, _, err := r.conn.srv.kin.inside(r.conn.peer)
	if err != nil {
		r.conn.log.Warn("cannot tell whether a client is an agent", "error", err)
		return wire.Refuse(wire.ReasonRefused, "do it from a shell of your own",
			"only the owner may %s, and it cannot be told whether this client belongs to an agent's run", what)
	}
	if inside {
		return wire.Refuse(wire.ReasonRefused, "do it from a shell of your own",
			"only the owner may %s, and this client runs inside an agent's run", what)
	}
	return nil
}
