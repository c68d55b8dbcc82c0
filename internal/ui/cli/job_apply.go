package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"scv/internal/wire"
)

type jobApplyOptions struct {
	f                            *factory
	id, onto, message            string
	merge, squash, rebase, files bool
}

func newJobApplyCmd(f *factory, runF func(context.Context, *jobApplyOptions) error) *cobra.Command {
	opts := &jobApplyOptions{f: f}
	cmd := &cobra.Command{
		Use: "apply ID", Args: exactly("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short: "Bring the work of a job's worktree home",
		Long: `Bring the work of a job's worktree onto the branch that the checkout has, or onto another
one. What is not committed in the worktree is committed on its branch first, but for
--worktree-only. Before any conflict it stops, names the files and changes nothing.`,
		Example: "  scv jobs apply job-3\n  scv jobs apply --squash --onto main job-3\n  scv jobs apply --worktree-only @last",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobApply(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&opts.merge, "merge", false, "as a merge (default)")
	flags.BoolVar(&opts.squash, "squash", false, "as one commit")
	flags.BoolVar(&opts.rebase, "rebase", false, "each of its commits anew on top")
	flags.BoolVar(&opts.files, "worktree-only", false, "only into the files of the checkout, without a commit")
	flags.StringVar(&opts.onto, "onto", "", "branch to bring it to (default: what the checkout has)")
	flags.StringVarP(&opts.message, "message", "m", "", "message of the commit (default: the job's task)")
	return cmd
}

func runJobApply(ctx context.Context, opts *jobApplyOptions) error {
	n, how := 0, wire.ApplyMerge
	for _, choice := range []struct {
		on  bool
		how wire.ApplyHow
	}{{opts.merge, wire.ApplyMerge}, {opts.squash, wire.ApplySquash}, {opts.rebase, wire.ApplyRebase}, {opts.files, wire.ApplyFiles}} {
		if choice.on {
			n, how = n+1, choice.how
		}
	}
	if n > 1 {
		return usage("choose one", "--merge, --squash, --rebase and --worktree-only exclude each other")
	}
	job, err := opts.f.namedJob(ctx, opts.id)
	if err != nil {
		return err
	}
	cmd := wire.JobApply{Session: job.Session, Job: job.Job, How: how, Message: opts.message}
	if opts.onto != "" {
		cmd.Onto = &opts.onto
	}
	return done(ctx, opts.f, cmd)
}

// namedJob finds a job for a command that changes something.
func (f *factory) namedJob(ctx context.Context, name string) (*wire.Job, error) {
	r, view, err := f.asking(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.findAnyJob(ctx, view, name)
}

// done asks for a command and says what the daemon did.
func done(ctx context.Context, f *factory, cmd wire.Command) error {
	st, err := f.call(ctx, cmd)
	if err != nil {
		return err
	}
	f.say("%s", value(st.WorkbenchNote))
	return nil
}

type jobCommitOptions struct {
	f           *factory
	id, message string
}

func newJobCommitCmd(f *factory, runF func(context.Context, *jobCommitOptions) error) *cobra.Command {
	opts := &jobCommitOptions{f: f}
	cmd := &cobra.Command{
		Use: "commit ID", Args: exactly("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short: "Commit what a job left in its worktree",
		Long: `Commit all that is not committed in a job's worktree, on the worktree's branch and in your
name. Hooks and signing of the repository do not run.`,
		Example: "  scv jobs commit job-3\n  scv jobs commit -m \"Retry the upload\" @last",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			job, err := f.namedJob(cmd.Context(), opts.id)
			if err != nil {
				return err
			}
			return done(cmd.Context(), f, wire.JobCommit{Session: job.Session, Job: job.Job, Message: opts.message})
		},
	}
	cmd.Flags().StringVarP(&opts.message, "message", "m", "", "message of the commit (default: the job's task)")
	return cmd
}

// inWorktree is a job that works in a worktree of its own.
func inWorktree(ctx context.Context, f *factory, name string) (*wire.Job, error) {
	job, err := f.namedJob(ctx, name)
	if err == nil && job.Worktree == nil {
		err = &fault{code: exitConflict, message: fmt.Sprintf("%s does not work in a worktree of its own", job.Job), next: "its directory is " + job.Cwd}
	}
	return job, err
}
