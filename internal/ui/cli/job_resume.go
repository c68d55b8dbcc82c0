package cli

import (
	"context"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/wire"
)

// followOptions is what resume, retry and fork share: a job that follows another one.
type followOptions struct {
	f           *factory
	id          string
	args        []string
	file, agent string
	same, share bool
	quiet       bool
	json        jsonFlag
	command     func(ctx context.Context, o *followOptions, job *wire.Job) (wire.Command, error)
}

func newJobResumeCmd(f *factory) *cobra.Command {
	return followCmd(f, &cobra.Command{
		Use: "resume ID", Args: exactly("a job that was interrupted, such as job-3"), Short: "Go on with a job that was interrupted",
		Long: `Go on with a job that was interrupted, as a new job: in its conversation where the agent
can, else from its whole prompt. The agent is told what happened and compares the
files first. A resume that came to nothing can be tried again.`,
		Example: "  scv jobs resume job-3",
	}, &followOptions{command: func(_ context.Context, _ *followOptions, job *wire.Job) (wire.Command, error) {
		return wire.WorkbenchResume{Session: job.Session, Job: job.Job, Key: client.NewKey()}, nil
	}})
}

func newJobRetryCmd(f *factory) *cobra.Command {
	opts := &followOptions{command: func(_ context.Context, o *followOptions, job *wire.Job) (wire.Command, error) {
		return wire.WorkbenchRetry{Session: job.Session, Job: job.Job, Same: o.same, Key: client.NewKey()}, nil
	}}
	cmd := followCmd(f, &cobra.Command{
		Use: "retry ID", Args: exactly("a job that has ended, such as job-3"), Short: "Give the prompt of a job that has ended anew",
		Long: `Give the whole prompt of a job that has ended anew, as a new job in a new conversation,
or with --same in the one that knows of the first try.`,
		Example: "  scv jobs retry job-3\n  scv jobs retry job-3 --same",
	}, opts)
	cmd.Flags().BoolVar(&opts.same, "same", false, "in the same conversation")
	return cmd
}

func newJobForkCmd(f *factory) *cobra.Command {
	opts := &followOptions{command: func(ctx context.Context, o *followOptions, job *wire.Job) (wire.Command, error) {
		return o.fork(ctx, job)
	}}
	cmd := followCmd(f, &cobra.Command{
		Use: "fork ID [PROMPT]", Args: atLeastOne("a job that has ended, such as job-3"), Short: "Go on from a job in a new conversation, also with another agent",
		Long: `Go on from a job that has ended in a new conversation, with the same agent or another:
it begins with a summary of what was asked and answered up to that job. Of a job that has
a worktree it gets one of its own, on another branch, with all that the job's has; with
--share it works in the same.`,
		Example: "  scv jobs fork job-3 \"try it without the cache\"\n  scv jobs fork job-3 --agent claude",
	}, opts)
	cmd.Flags().BoolVar(&opts.share, "share", false, "work in the job's own worktree")
	cmd.Flags().StringVar(&opts.agent, "agent", "", "who goes on (default: the same agent)")
	cmd.Flags().StringVarP(&opts.file, "file", "F", "", "read the prompt from this file")
	return cmd
}

func (o *followOptions) fork(ctx context.Context, job *wire.Job) (wire.Command, error) {
	cmd := wire.WorkbenchFork{Session: job.Session, Job: job.Job, Share: o.share, Key: client.NewKey()}
	if o.agent != "" {
		cmd.Agent = &o.agent
	}
	var err error
	if len(o.args) > 0 || o.file != "" {
		cmd.Prompt, err = o.f.prompt(ctx, o.args, o.file)
	}
	return cmd, err
}

func followCmd(f *factory, cmd *cobra.Command, opts *followOptions) *cobra.Command {
	opts.f = f
	cmd.ValidArgsFunction = f.completeJobs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			opts.id, opts.args = args[0], args[1:]
		}
		return runFollow(cmd.Context(), opts)
	}
	cmd.Flags().BoolVarP(&opts.quiet, "quiet", "q", false, "print only the id of the new job")
	addJSON[wire.DaemonStatus](cmd, &opts.json)
	return cmd
}

func runFollow(ctx context.Context, opts *followOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, view, err := f.asking(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	job, err := r.findAnyJob(ctx, view, opts.id)
	if err != nil {
		return err
	}
	cmd, err := opts.command(ctx, opts, job)
	if err != nil {
		return err
	}
	st, err := f.call(ctx, cmd)
	if err != nil {
		return err
	}
	if st.WorkbenchJob == nil {
		return &fault{code: exitFailed, message: "the daemon named no job", next: "look for it: scv jobs"}
	}
	_, made, _ := st.WorkbenchJob.Split()
	return accepted(st, made).tell(f.screen, st, &opts.json, opts.quiet)
}
