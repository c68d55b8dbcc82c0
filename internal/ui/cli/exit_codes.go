package cli

import (
	"fmt"
	"strings"
)

// An exitMeaning tells people what an exit code says.
type exitMeaning struct {
	code int
	says string
}

// exitCodes is the one table of them: scv help exit-codes, the man page and docs/operations.md show it.
func exitCodes() []exitMeaning {
	return []exitMeaning{
		{exitOK, "done; `send`: steered, started, or queued as asked"},
		{exitFailed, "failed; a job that ended other than completed"},
		{exitUsage, "usage"},
		{exitNotFound, "not found"},
		{exitSignIn, "the agent needs a sign-in"},
		{exitUnreachable, "no daemon, or it does not answer"},
		{exitRefused, "refused"},
		{exitWaiting, "with `--no-input`: the job waits for an approval"},
		{exitConflict, "conflict or busy; a result that is not there yet"},
		{exitQueued, "accepted, waits behind a turn"},
		{exitTimeout, "the command's own `--timeout`"},
		{exitInterrupted, "the command's own ctrl-C; the job goes on"},
	}
}

// exitTopic is the table as a help topic.
func exitTopic() string {
	var b strings.Builder
	b.WriteString("What a command's exit code says\n\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&b, "  %-4d %s\n", e.code, strings.ReplaceAll(e.says, "`", ""))
	}
	b.WriteString("\nCommands that wait for several jobs end with the worst of theirs: 1 weighs more\nthan 4, and 4 more than 0. scv confirm is 0 for yes, 1 for no and 2 when it could\nnot be asked.\n")
	return b.String()
}
