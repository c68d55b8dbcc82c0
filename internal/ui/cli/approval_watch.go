package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type approvalWatchOptions struct{ f *factory }

func newApprovalWatchCmd(f *factory, runF func(context.Context, *approvalWatchOptions) error) *cobra.Command {
	opts := &approvalWatchOptions{f: f}
	return &cobra.Command{
		Use: "watch", Args: exactly(),
		Short:   "Print what is asked and what is done with, as it comes",
		Example: "  scv approvals watch",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runApprovalWatch(cmd.Context(), opts)
		},
	}
}

func runApprovalWatch(ctx context.Context, opts *approvalWatchOptions) error {
	f := opts.f
	r, _, err := f.view(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	ctx, done := whileHeard(ctx, f.sys.Out)
	defer done()
	waits := map[wire.ApprovalID]wire.Approval{}
	err = client.WatchWorkbench(ctx, f.target(r.h), func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
		now := map[wire.ApprovalID]bool{}
		for _, a := range view.Approvals {
			now[a.ID] = true
			if _, known := waits[a.ID]; known {
				continue
			}
			waits[a.ID] = a
			if err := f.approvalLine("asks", &a); err != nil {
				return err
			}
		}
		for id, a := range waits {
			if now[id] {
				continue
			}
			delete(waits, id)
			if err := f.approvalLine("done", &a); err != nil {
				return err
			}
		}
		return nil
	})
	return f.detached(ctx, err, "")
}

// approvalLine is a question's change as one line.
func (f *screen) approvalLine(what string, a *wire.Approval) error {
	sep := "\t"
	if f.columns > 0 {
		sep = "  "
	}
	at := f.clock(uint64(f.now().UnixMilli()))
	_, err := fmt.Fprintln(f.sys.Out, strings.Join([]string{at, what, string(a.ID), asker(a), plain.Line(a.Risk), plain.Line(a.Summary)}, sep))
	return err
}
