package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"scv/internal/wire"
)

// Call asks for one action and returns the daemon's status with what the action fills in. A refusal is a *wire.Error.
// An action or option that the daemon did not announce is refused here, since an older daemon would ignore it. When ctx
// ends first the error is ErrSilent or the context's, the connection is of no more use, and whether the action was done
// is not known.
func (c *Conn) Call(ctx context.Context, cmd wire.Command) (*wire.DaemonStatus, error) {
	if err := c.offers(cmd); err != nil {
		return nil, err
	}
	id := c.nextID()
	event, err := c.exchange(ctx, wire.DaemonControl{RequestID: id, Command: cmd})
	if err != nil {
		return nil, err
	}
	return answerTo(cmd, id, event)
}

func answerTo(cmd wire.Command, id wire.RequestID, event wire.ServerEvent) (*wire.DaemonStatus, error) {
	switch e := event.(type) {
	case wire.DaemonStatusEvent:
		if e.RequestID != id {
			return nil, fmt.Errorf("the daemon answered the request %q with one to %q", id, e.RequestID)
		}
		return &e.Status, nil
	case wire.ErrorEvent:
		return nil, refusalOf(cmd, e)
	}
	return nil, fmt.Errorf("the daemon answered %s with %s", cmd.Action(), event.EventType())
}

// refusalOf is a refusal as told, or, for a daemon that does not know the action, a sentence that says so.
func refusalOf(cmd wire.Command, e wire.ErrorEvent) *wire.Error {
	out := e.Err()
	if out.Code == wire.CodeInvalidJSON {
		return older(cmd.Action(), out.Message)
	}
	return out
}

func older(what, detail string) *wire.Error {
	message := "the daemon does not know " + what + "; it is of another release"
	if detail != "" {
		message += " (" + detail + ")"
	}
	return &wire.Error{
		Code: wire.CodeInvalidJSON, Reason: wire.ReasonUnavailable, Message: message,
		Hint: "start the daemon of this release: scv restart",
	}
}

// Predates reports whether an error says that the daemon does not know the action.
func Predates(err error) bool {
	we, ok := errors.AsType[*wire.Error](err)
	return ok && we.Code == wire.CodeInvalidJSON
}

// offers refuses what the daemon would not understand, or would ignore. A key is no option: without it only the
// promise of exactly once is missing, and nothing is repeated by itself.
func (c *Conn) offers(cmd wire.Command) error {
	need, what := cmp.Or(ofTerminal(cmd), ofReview(cmd)), cmd.Action()
	switch cmd := cmd.(type) {
	case wire.WorkbenchStart:
		need, what = c.ofStart(cmd, need)
	case wire.JobResultCommand, wire.RunLogCommand, wire.WorkbenchCommand, wire.JobsPage, wire.Why:
		need, what = ofReading(cmd)
	case wire.ApprovalsPage, wire.ApprovalRules, wire.ApprovalRuleAdd, wire.ApprovalRuleRemove, wire.ApprovalTest:
		need = wire.FeatureApprovals
	case wire.WorkbenchApprove:
		if cmd.Reason != "" || cmd.Equal || cmd.Remember != nil {
			need, what = wire.FeatureApprovals, "reasons, equal answers and rules"
		} else if cmd.Digest != nil {
			need, what = wire.FeatureDigest, "digests of approvals"
		}
	case wire.DaemonStop:
		need = wire.FeatureStop
	case wire.DaemonRestart:
		need = wire.FeatureRestart
	case wire.WorkbenchCancel:
		if cmd.Waiting {
			need, what = wire.FeatureQueue, "taking prompts out of the queue"
		}
	case wire.JobPrompt, wire.JobEdit, wire.JobMove, wire.ConversationPause, wire.ConversationResume:
		need = wire.FeatureQueue
	case wire.WorkbenchRetry, wire.WorkbenchFork:
		need = wire.FeatureFollow
	case wire.WorktreePrune, wire.WorktreeTrust:
		need = wire.FeatureWorktree
	case wire.WorktreeClean:
		need = wire.FeatureClean
	case wire.JobDiff, wire.JobCommit, wire.JobApply:
		need = cmp.Or(need, wire.FeatureDiff)
	case wire.ForecastCommand:
		need = wire.FeatureForecast
	case wire.SessionsPage, wire.SessionHistoryCommand, wire.SessionRemove:
		need = wire.FeatureSessions
	case wire.WorkbenchWatch, wire.RunLogWatch:
		need = wire.FeatureWatch
	}
	if need == "" || c.Has(need) {
		return nil
	}
	return older(what, "")
}

// ofStart is the feature that a start needs, and what of it.
func (c *Conn) ofStart(cmd wire.WorkbenchStart, need string) (string, string) {
	what := cmd.Action()
	switch {
	case need != "":
		what = "reviewed jobs"
	case cmd.Base != nil, cmd.Branch != nil, cmd.WithChanges:
		need, what = wire.FeatureWorktree, "base, branch and changes of a worktree"
	case cmd.Mode != nil:
		need, what = wire.FeatureMode, "permission modes of jobs"
	}
	if cmd.Transport != nil && (need == "" || c.Has(need)) {
		need, what = wire.FeatureTransport, "the choice of a transport"
	}
	return need, what
}

// ofReading is the feature that a question needs, and what of it; empty for what every release knows.
func ofReading(cmd wire.Command) (need, what string) {
	switch cmd := cmd.(type) {
	case wire.JobResultCommand:
		if cmd.After > 0 {
			return wire.FeatureResultPage, "pages of a reply"
		}
	case wire.RunLogCommand:
		if cmd.Tail {
			return wire.FeatureTail, "the tail of a log"
		}
	case wire.WorkbenchCommand:
		if cmd.Finished != nil {
			return wire.FeatureFinished, "lists of fewer ended jobs"
		}
	case wire.JobsPage:
		return wire.FeatureJobsPage, cmd.Action()
	case wire.Why:
		return wire.FeatureWhy, cmd.Action()
	}
	return "", ""
}

// ofReview is the feature that a command on reviewed jobs needs.
func ofReview(cmd wire.Command) string {
	switch cmd := cmd.(type) {
	case wire.JobReview, wire.ReviewDecide:
		return wire.FeatureReview
	case wire.WorkbenchStart:
		if cmd.Review != nil {
			return wire.FeatureReview
		}
	case wire.JobDiff:
		if cmd.Reviewed {
			return wire.FeatureReview
		}
	}
	return ""
}

// ofTerminal is the feature that a command on terminals needs; empty for what every release knows.
func ofTerminal(cmd wire.Command) string {
	switch cmd := cmd.(type) {
	case wire.AttachWatch:
		return wire.FeatureTerminal
	case wire.AttachCommand:
		if cmd.Shell {
			return wire.FeatureTerminal
		}
	}
	return ""
}
