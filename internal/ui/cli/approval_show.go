package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type approvalShowOptions struct {
	f    *factory
	id   string
	json jsonFlag
}

func newApprovalShowCmd(f *factory, runF func(context.Context, *approvalShowOptions) error) *cobra.Command {
	opts := &approvalShowOptions{f: f}
	cmd := &cobra.Command{
		Use: "show ID", Args: exactly("an approval, such as ap-3f9a2c52c1b0"), ValidArgsFunction: f.completeApprovals,
		Short:   "Show the whole of what is asked, where, and the risk",
		Example: "  scv approvals show ap-3f9a2c52c1b0\n  scv approvals show job-3",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runApprovalShow(cmd.Context(), opts)
		},
	}
	addJSON[wire.Approval](cmd, &opts.json)
	return cmd
}

func runApprovalShow(ctx context.Context, opts *approvalShowOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, view, err := f.view(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	a, err := findApproval(view, opts.id)
	if err != nil {
		return err
	}
	if id := wire.ApprovalID(opts.id); a == nil || a.Left > 0 {
		if a != nil {
			id = a.ID
		}
		if a, err = r.approval(ctx, id); err != nil {
			return err
		}
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, a)
	}
	return f.printApproval(a)
}

// printApproval prints every byte that is asked for, made visible.
func (f *screen) printApproval(a *wire.Approval) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, plain.Line(value))
		}
	}
	line("id", string(a.ID))
	line("state", stand(a)+by(a))
	line("asks", asker(a))
	line("tool", a.Tool)
	line("risk", a.Risk)
	line("in", a.Cwd)
	line("since", f.clock(a.SinceUnixSeconds*1000))
	line("until", f.until(a))
	line("reason", a.Reason)
	for _, w := range a.Warnings {
		line("warning", w)
	}
	for _, p := range a.Paths {
		line("file", p)
	}
	block := func(name, text string) {
		if text == "" {
			return
		}
		text = strings.TrimRight(plain.Block(text), "\n")
		lines := strings.Count(text, "\n") + 1
		fmt.Fprintf(&b, "%s (%s):\n", name, plain.Count(lines, "line"))
		for part := range strings.SplitSeq(text, "\n") {
			b.WriteString("  " + part + "\n")
		}
	}
	switch {
	case a.Command != "":
		block("command", a.Command)
		if a.Summary != a.Command {
			block("it says", a.Summary)
		}
	default:
		block("asked", a.Summary)
	}
	block("change", a.Diff)
	if _, err := fmt.Fprint(f.sys.Out, b.String()); err != nil {
		return err
	}
	if stand(a) == "waits" {
		f.say("answer it: scv approvals approve %s   or: scv approvals deny %s --reason WHY", a.ID, a.ID)
	}
	return nil
}
