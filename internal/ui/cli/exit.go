package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/home/config"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Exit codes, the only list of them (ux.md section 2).
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitSignIn      = 4
	exitUnreachable = 5
	exitRefused     = 6
	exitWaiting     = 7
	exitConflict    = 8
	exitQueued      = 9
	exitTimeout     = 124
	exitInterrupted = 130
)

// A fault is an error with its exit code and its next step. An empty message prints nothing: what had to be said was
// said already.
type fault struct {
	code    int
	message string
	next    string
}

func (e *fault) Error() string { return e.message }

// usage is a mistake in the command line itself.
func usage(next, format string, args ...any) error {
	return &fault{code: exitUsage, message: fmt.Sprintf(format, args...), next: next}
}

// status ends a command with a code and nothing to say.
func status(code int) error {
	if code == exitOK {
		return nil
	}
	return &fault{code: code}
}

// exit prints what went wrong and returns the exit code. It is called once, by Main.
func (f *factory) exit(ctx context.Context, cmd *cobra.Command, err error) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return exitOK
	}
	err = explain(ctx, cmd, err)
	e, ok := errors.AsType[*fault](err)
	if !ok {
		e = &fault{code: exitFailed, message: err.Error(), next: "see the daemon's log: scv status"}
	}
	if e.message != "" {
		fmt.Fprintln(f.sys.Err, sentence(e.message, e.next))
	}
	return e.code
}

// sentence is the form of every error: what, why, next.
func sentence(message, next string) string {
	text := "scv: " + strings.TrimRight(plain.Block(message), " .\n")
	if strings.Contains(text, "\n") {
		return text + "\nNext: " + plain.Line(next)
	}
	return text + ". Next: " + plain.Line(next)
}

// explain turns an error of any room into a fault. This is the one mapping from errors to exit codes.
func explain(ctx context.Context, cmd *cobra.Command, err error) error {
	if _, ok := errors.AsType[*fault](err); ok {
		return err
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return refusal(e)
	}
	if list := config.Problems(err); len(list) > 0 {
		return badConfig(list)
	}
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return &fault{code: exitInterrupted, message: "interrupted", next: "what was started goes on; look at it with: scv jobs"}
	case errors.Is(err, client.ErrNoDaemon):
		return &fault{code: exitUnreachable, message: "no daemon answers (it is not running)", next: "start it: scv start   Or try without installing anything: scv demo"}
	case errors.Is(err, client.ErrSilent), errors.Is(err, context.DeadlineExceeded):
		return &fault{code: exitUnreachable, message: "the daemon does not answer", next: "look at it: scv status   It says how to end one that hangs"}
	case errors.Is(err, client.ErrBroken), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return &fault{code: exitUnreachable, message: "the daemon went away in the middle of an answer", next: "ask again; the work itself is kept: scv jobs"}
	case errors.Is(err, fs.ErrPermission):
		return &fault{code: exitFailed, message: err.Error(), next: "correct the rights of that file or directory"}
	case errors.Is(err, syscall.EROFS):
		return &fault{code: exitFailed, message: err.Error(), next: "make it writable, or set SCV_HOME to a directory that is"}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &fault{code: exitFailed, message: err.Error(), next: "free some space on that disk"}
	}
	return mistake(cmd, err)
}

// refusal maps a refusal of the daemon, or of a room that speaks as the daemon does.
func refusal(e *wire.Error) error {
	next := e.Hint
	if next == "" {
		next = "look at what there is: scv jobs"
	}
	return &fault{code: reasonCode(e), message: e.Message, next: next}
}

func reasonCode(e *wire.Error) int {
	switch e.Reason {
	case wire.ReasonInvalid, wire.ReasonTooLarge:
		return exitUsage
	case wire.ReasonNotFound:
		return exitNotFound
	case wire.ReasonSignIn:
		return exitSignIn
	case wire.ReasonRefused:
		return exitRefused
	case wire.ReasonBusy, wire.ReasonNotSteerable, wire.ReasonConflict, wire.ReasonExpired, wire.ReasonFull:
		return exitConflict
	default:
	}
	switch e.Code {
	case wire.CodeInvalidRequest:
		return exitUsage
	case wire.CodeSessionNotFound, wire.CodeApprovalNotFound, wire.CodeQueueNotFound, wire.CodeTurnNotFound:
		return exitNotFound
	case wire.CodeUnsupported, wire.CodeInvalidJSON:
		return exitRefused
	default:
	}
	return exitFailed
}

// outcome maps how a job ended to an exit code, for every command that waits for one (acceptance B23).
func outcome(state wire.AgentState, class *wire.Class) int {
	switch {
	case state == wire.StateCompleted:
		return exitOK
	case state == wire.StateFailed && class != nil && *class == wire.ClassAuth:
		return exitSignIn
	}
	return exitFailed
}

// worst is the exit code of several jobs: a plain failure weighs more than a missing sign-in, which has one cure.
func worst(codes ...int) int {
	all := exitOK
	for _, code := range codes {
		if all == exitOK || all == exitSignIn && code == exitFailed {
			all = code
		}
	}
	return all
}

func badConfig(list []*config.Problem) error {
	var b strings.Builder
	fmt.Fprintf(&b, "the configuration has %s:", plain.Count(len(list), "problem"))
	for _, p := range list {
		b.WriteString("\n  " + plain.Line(p.Error()))
	}
	return &fault{code: exitFailed, message: b.String(), next: "correct the lines above: scv config edit   Then look: scv config show"}
}
