package server

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"scv/internal/wire"
)

// codeOf is the code with which the refusals of an action go out (wire.md section 12).
func codeOf(cmd wire.Command) wire.ErrorCode {
	switch cmd.(type) {
	case wire.DelegationKillCommand, wire.DelegationsCommand:
		return wire.CodeDelegationError
	case wire.RestartWhenIdle:
		return wire.CodeRestartError
	case wire.ConfirmAsk, wire.ConfirmStatus:
		return wire.CodeConfirmError
	case wire.StatusCommand, wire.ReloadCommand, wire.ChannelSet, wire.ChannelLogout, wire.MailStatus, wire.MailCancel:
		return wire.CodeComponentError
	}
	if strings.HasPrefix(cmd.Action(), "project_") {
		return wire.CodeComponentError
	}
	return wire.CodeWorkbenchError
}

// notOffered refuses an action that this release knows and does not have, with the action's own code, so that clients
// do not take the daemon for an older one (wire.md section 3).
func notOffered(cmd wire.Command) error {
	message, hint := "", "see what there is: scv --help"
	switch cmd.(type) {
	case wire.RestartWhenIdle:
		message, hint = "this release does not restart by itself", "restart it: scv restart   Runs go on meanwhile"
	case wire.ChannelSet, wire.ChannelLogout:
		message = "this release has no chat channels"
	case wire.MailStatus, wire.MailCancel:
		message = "this release has no mail accounts"
	default:
		message = fmt.Sprintf("this release does not offer %s", cmd.Action())
		if strings.HasPrefix(cmd.Action(), "project_") {
			message = "this release has no projects"
		}
	}
	return &wire.Error{Code: codeOf(cmd), Reason: wire.ReasonUnavailable, Message: message, Hint: hint}
}

func versionSentence(theirs uint32) string {
	return fmt.Sprintf("the client speaks protocol version %d and this daemon speaks %d", theirs, wire.ProtocolVersion)
}

// joinClosed ends a connection after its last answer.
func joinClosed(err error) error { return errors.Join(err, io.EOF) }
