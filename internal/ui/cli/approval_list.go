package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type approvalListOptions struct {
	f     *factory
	all   bool
	quiet bool
	json  jsonFlag
}

func newApprovalListCmd(f *factory, runF func(context.Context, *approvalListOptions) error) *cobra.Command {
	opts := &approvalListOptions{f: f}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: exactly(),
		Short:   "List what waits for an answer",
		Example: "  scv approvals list\n  scv approvals list --all --json=id,command,by,approved",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runApprovalList(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.all, "all", "a", false, "what was answered too, with who answered and why")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "print only the ids")
	addJSON[wire.Approval](cmd, &opts.json)
	return cmd
}

func runApprovalList(ctx context.Context, opts *approvalListOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, view, err := f.view(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	list := view.Approvals
	if opts.all {
		if list, err = opts.history(ctx, r); err != nil {
			return err
		}
	}
	switch {
	case opts.json.on():
		if list == nil {
			list = []wire.Approval{}
		}
		return opts.json.print(f.sys.Out, list)
	case opts.quiet:
		for i := range list {
			if _, err := fmt.Fprintln(f.sys.Out, list[i].ID); err != nil {
				return err
			}
		}
		return nil
	case len(list) == 0:
		f.say("nothing waits for an answer. What was answered: scv approvals list --all")
		return nil
	}
	return f.printApprovals(list, opts.all)
}

func (o *approvalListOptions) history(ctx context.Context, r *reading) (all []wire.Approval, err error) {
	var after *string
	for {
		page, err := r.approvals(ctx, after)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Approvals...)
		if page.Next == nil {
			return all, nil
		}
		after = page.Next
	}
}

func (f *screen) printApprovals(list []wire.Approval, all bool) error {
	columns := []column{{name: "ID"}, {name: "FROM"}, {name: "RISK", keep: 3}, {name: "WHAT", shrink: 10}, {name: "SINCE", keep: 2}, {name: "UNTIL", keep: 1}}
	if all {
		columns[5] = column{name: "ANSWER", keep: 1}
	}
	var rows [][]cell
	for i := range list {
		a := &list[i]
		last := text(f.until(a))
		if all {
			last = text(stand(a) + by(a))
		}
		rows = append(rows, []cell{text(string(a.ID)), text(asker(a)), text(a.Risk), text(a.Summary), f.when(a.SinceUnixSeconds), last})
	}
	if err := f.printTable(f.sys.Out, columns, rows); err != nil || all {
		return err
	}
	f.say("look at one: scv approvals show %s   Then: scv approvals approve %s   or deny", list[0].ID, list[0].ID)
	return nil
}

func by(a *wire.Approval) string {
	if a.By == "" {
		return ""
	}
	out := " by " + plain.Line(a.By)
	if a.Rule != "" {
		out = " by " + plain.Line(a.Rule)
	}
	return out
}
