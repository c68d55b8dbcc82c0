package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"scv/internal/safe/plain"
)

// say tells people something on standard error; it is not data and not an error.
func (f *screen) say(format string, args ...any) {
	fmt.Fprintln(f.sys.Err, plain.Line(fmt.Sprintf(format, args...)))
}

// detached turns the end of following by ctrl-C into a sentence and exit code 130: what was followed goes on. When its
// reader went away it is a broken pipe, as for a line that is written then.
func (f *screen) detached(ctx context.Context, err error, job string) error {
	if err != nil && errors.Is(context.Cause(ctx), syscall.EPIPE) {
		return syscall.EPIPE
	}
	if err == nil || ctx.Err() == nil || errors.Is(context.Cause(ctx), errTimeout) {
		return err
	}
	if job == "" {
		f.say("detached; the jobs go on. Stop one: scv jobs cancel ID")
	} else {
		f.say("detached; %s goes on. Stop it: scv jobs cancel %s", job, job)
	}
	return status(exitInterrupted)
}

// errTimeout is the end of a command's own --timeout.
var errTimeout = errors.New("the time given with --timeout is over")

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
