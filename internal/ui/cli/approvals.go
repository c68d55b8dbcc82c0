package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client/offline"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// newApprovalsCmd is the noun approvals; without a verb it lists what waits.
func newApprovalsCmd(f *factory) *cobra.Command {
	return listing(&cobra.Command{
		Use: "approvals", Aliases: []string{"approval"},
		Short: "See what agents ask for, and answer it",
		Example: `  scv approvals                   what waits
  scv approvals show ap-3f9a2c52c1b0
  scv approvals approve ap-3f9a2c52c1b0
  scv approvals deny ap-3f9a2c52c1b0 --reason "use the staging host"
  scv approvals rules add --allow --command "go test"`,
	}, newApprovalListCmd(f, nil),
		newApprovalListCmd(f, nil), newApprovalShowCmd(f, nil), newApproveCmd(f, nil), newDenyCmd(f, nil),
		newApprovalWatchCmd(f, nil), newRulesCmd(f), newRuleTestCmd(f, nil),
	)
}

// listing makes a group that lists when it is called without a verb.
func listing(cmd, list *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd = group(cmd, children...)
	cmd.Flags().AddFlagSet(list.Flags())
	unknown := cmd.RunE
	cmd.PreRunE = list.PreRunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(cmd, args)
		}
		return list.RunE(cmd, args)
	}
	return cmd
}

// completeApprovals offers what waits.
func (f *factory) completeApprovals(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	view, err := f.glance(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for i := range view.Approvals {
		out = append(out, string(view.Approvals[i].ID)+"\t"+plain.Line(view.Approvals[i].Summary))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// findApproval finds what waits under an id, the beginning of one, or the name of the job that asks. Nothing found is no
// error: what is answered already is not in a view.
func findApproval(view *wire.Snapshot, name string) (*wire.Approval, error) {
	var found []*wire.Approval
	for i := range view.Approvals {
		a := &view.Approvals[i]
		switch {
		case string(a.ID) == name:
			return a, nil
		case strings.HasPrefix(string(a.ID), name) && len(name) > len("ap-"), a.Job != "" && string(a.Job) == name:
			found = append(found, a)
		}
	}
	if len(found) > 1 {
		var ids []string
		for _, a := range found {
			ids = append(ids, string(a.ID))
		}
		return nil, usage("choose one of: "+strings.Join(ids, " "), "%q means %d approvals", name, len(found))
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found[0], nil
}

// approval fetches one of any state, with its texts whole.
func (r *reading) approval(ctx context.Context, id wire.ApprovalID) (*wire.Approval, error) {
	page, err := ask(ctx, r, wire.ApprovalsPage{ID: id}, func(st *wire.DaemonStatus) *wire.ApprovalHistory { return st.ApprovalsPage }, noDisk)
	if err != nil {
		return nil, err
	}
	if len(page.Approvals) == 0 {
		return nil, wire.Refuse(wire.ReasonNotFound, "list them: scv approvals --all", "there is no approval %s", id)
	}
	return &page.Approvals[0], nil
}

func (r *reading) approvals(ctx context.Context, after *string) (*wire.ApprovalHistory, error) {
	return ask(ctx, r, wire.ApprovalsPage{After: after}, func(st *wire.DaemonStatus) *wire.ApprovalHistory { return st.ApprovalsPage }, noDisk)
}

// noDisk answers what only a daemon can.
func noDisk(*offline.Reader) (wire.ApprovalHistory, error) {
	return wire.ApprovalHistory{}, &fault{code: exitUnreachable, message: "the history of approvals is told by the daemon", next: "start it: scv start"}
}

// until says how long a question waits.
func (f *screen) until(a *wire.Approval) string {
	if a.ExpiresUnixSeconds == wire.NoDeadline {
		return "the end of its turn"
	}
	return f.clock(a.ExpiresUnixSeconds * 1000)
}

// stand says where a question stands, in a word.
func stand(a *wire.Approval) string {
	switch {
	case a.State == "" || a.State == wire.ApprovalOpen:
		return "waits"
	case a.State == wire.ApprovalCancelled || a.State == wire.ApprovalVoid || a.State == wire.ApprovalExpired:
		return string(a.State)
	case a.Approved != nil && *a.Approved:
		return "approved"
	case a.Approved != nil:
		return "denied"
	}
	return plain.Line(string(a.State))
}

// asker names who asks.
func asker(a *wire.Approval) string {
	if a.Job == "" {
		return string(a.Kind)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", a.Job, plain.Line(a.Agent)))
}
