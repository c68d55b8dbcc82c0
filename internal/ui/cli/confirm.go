package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/wire"
)

type confirmOptions struct {
	f        *factory
	question string
	wait     time.Duration
	json     jsonFlag
}

func newConfirmCmd(f *factory, runF func(context.Context, *confirmOptions) error) *cobra.Command {
	opts := &confirmOptions{f: f, wait: 30 * time.Minute}
	cmd := &cobra.Command{
		Use: "confirm QUESTION", Args: exactly("a question"),
		Short: "Ask the owner yes or no, and wait for the answer",
		Long: `Ask the owner yes or no, and wait for the answer. It is shown with the approvals, and a person
answers it there. The exit code is 0 for yes, 1 for no or no answer in time, and 2 when it could not be asked.`,
		Example: "  scv confirm \"Deploy to production?\" --timeout 10m && ./deploy\n  scv approvals approve ap-3f9a2c52c1b0",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.question = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runConfirm(cmd.Context(), opts)
		},
	}
	addPatience(cmd.Flags(), &opts.wait, "timeout", "how long to wait; then it is a no")
	addJSON[wire.ConfirmInfo](cmd, &opts.json)
	return cmd
}

func runConfirm(ctx context.Context, opts *confirmOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	answer, err := opts.ask(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		e, ok := errors.AsType[*fault](explain(ctx, nil, err))
		if !ok {
			e = &fault{message: err.Error(), next: "look at the daemon: scv status"}
		}
		return &fault{code: exitUsage, message: "it could not be asked: " + e.message, next: e.next}
	}
	if opts.json.on() {
		if err := opts.json.print(f.sys.Out, answer); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(f.sys.Out, answer.State); err != nil {
		return err
	}
	if answer.State == wire.ConfirmYes {
		return nil
	}
	return status(exitFailed)
}

// ask puts the question and waits until it is decided, over restarts of the daemon too.
func (o *confirmOptions) ask(ctx context.Context) (*wire.ConfirmInfo, error) {
	f := o.f
	st, err := f.call(ctx, wire.ConfirmAsk{Question: o.question, TimeoutSeconds: new(uint64((o.wait + time.Second - 1) / time.Second))})
	if err != nil {
		return nil, err
	}
	asked := st.Confirm
	if asked == nil {
		return nil, errors.New("the daemon did not say that it asks")
	}
	f.say("%s waits for an answer until %s. Answer it: scv approvals approve %s   or deny", asked.ID, f.clock(asked.DeadlineUnixSeconds*1000), asked.ID)
	h, err := f.openHome()
	if err != nil {
		return nil, err
	}
	decided := errors.New("decided")
	err = client.WatchWorkbench(ctx, f.target(h), func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
		if slices.ContainsFunc(view.Approvals, func(a wire.Approval) bool { return string(a.ID) == asked.ID }) {
			return nil
		}
		return decided
	})
	if !errors.Is(err, decided) {
		return nil, err
	}
	st, err = f.call(ctx, wire.ConfirmStatus{ID: asked.ID})
	if err != nil {
		return nil, err
	}
	return st.Confirm, nil
}
