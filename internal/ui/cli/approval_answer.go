package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/wire"
)

type answerOptions struct {
	f        *factory
	ids      []string
	approved bool
	reason   string
	equal    bool
	remember string
	repo     bool
	period   time.Duration
	quiet    bool
	json     jsonFlag
}

func newApproveCmd(f *factory, runF func(context.Context, *answerOptions) error) *cobra.Command {
	return answerCmd(f, &answerOptions{f: f, approved: true}, &cobra.Command{
		Use: "approve ID...", Short: "Let an agent do what it asks, once",
		Example: "  scv approvals approve ap-3f9a2c52c1b0\n  scv approvals approve job-3 --remember command --repo --for 24h",
	}, runF)
}

func newDenyCmd(f *factory, runF func(context.Context, *answerOptions) error) *cobra.Command {
	return answerCmd(f, &answerOptions{f: f}, &cobra.Command{
		Use: "deny ID...", Short: "Refuse what an agent asks",
		Example: "  scv approvals deny ap-3f9a2c52c1b0\n  scv approvals deny job-3 --reason \"use the staging host\"",
	}, runF)
}

func answerCmd(f *factory, opts *answerOptions, cmd *cobra.Command, runF func(context.Context, *answerOptions) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = atLeastOne("an approval, such as ap-3f9a2c52c1b0, or the job that asks"), f.completeApprovals
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts.ids = args
		if runF != nil {
			return runF(cmd.Context(), opts)
		}
		return runAnswer(cmd.Context(), opts)
	}
	flags := cmd.Flags()
	flags.StringVarP(&opts.reason, "reason", "m", "", "tell the agent why")
	flags.BoolVar(&opts.equal, "equal", false, "answer everything that waits and asks the very same")
	flags.StringVar(&opts.remember, "remember", "", "make a rule of the answer: tool, command or path")
	flags.BoolVar(&opts.repo, "repo", false, "with --remember: only in this workspace")
	addPatience(flags, &opts.period, "for", "with --remember: only for so long")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "print only the ids")
	addJSON[wire.DaemonStatus](cmd, &opts.json)
	_ = cmd.RegisterFlagCompletionFunc("remember", cobra.FixedCompletions([]string{"tool", "command", "path"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// runAnswer goes through all that is named; one that is refused does not keep the others from it.
func runAnswer(ctx context.Context, opts *answerOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	remember, err := opts.rule()
	if err != nil {
		return err
	}
	r, view, err := f.view(ctx)
	if err != nil {
		return err
	}
	r.close()
	var first error
	for _, id := range opts.ids {
		if err := opts.one(ctx, view, id, remember); err != nil {
			if first != nil {
				f.say("%s", explain(ctx, nil, err).Error())
				continue
			}
			first = err
		}
	}
	return first
}

func (o *answerOptions) rule() (*wire.Remember, error) {
	switch o.remember {
	case "":
		if o.repo || o.period > 0 {
			return nil, usage("add: --remember command", "--repo and --for say how a rule holds, and no rule is made")
		}
		return nil, nil
	case "tool", "command", "path":
		return &wire.Remember{Scope: wire.RuleScope(o.remember), Repo: o.repo, Seconds: uint64(o.period / time.Second)}, nil
	}
	return nil, usage("choose from: tool command path", "there is no rule by %q", o.remember)
}

// one answers one question. The answer carries the digest of what the view shows, so that it can mean nothing else; of
// what does not wait any more the daemon says what became of it.
func (o *answerOptions) one(ctx context.Context, view *wire.Snapshot, name string, remember *wire.Remember) error {
	f := o.f
	a, err := findApproval(view, name)
	if err != nil {
		return err
	}
	if a == nil && slices.ContainsFunc(view.Jobs, func(j wire.Job) bool { return string(j.Job) == name }) {
		return &fault{code: exitConflict, message: name + " has no question that waits for an answer", next: "see what was answered: scv approvals list --all"}
	}
	cmd := wire.WorkbenchApprove{
		ID: wire.ApprovalID(name), Approved: o.approved, Reason: o.reason, Equal: o.equal, Remember: remember, Key: client.NewKey(),
	}
	if a != nil {
		cmd.ID, cmd.Digest = a.ID, a.Digest
	}
	st, err := f.call(ctx, cmd)
	if err != nil {
		return err
	}
	did := deed{string(cmd.ID), orElse(value(st.WorkbenchNote), string(cmd.ID)+" is answered"), "scv approvals"}
	return did.tell(f.screen, st, &o.json, o.quiet)
}
