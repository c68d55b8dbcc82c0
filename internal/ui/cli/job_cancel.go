package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/wire"
)

// jobsOptions is what cancel and dismiss share: they do one thing to each named job.
type jobsOptions struct {
	f     *factory
	ids   []string
	quiet bool
	json  jsonFlag
	do    func(session wire.SessionID, job wire.JobID) wire.Command
	done  string // what is said when the daemon says nothing
	next  string // command to look at it, with %s for the job
}

func newJobCancelCmd(f *factory, runF func(context.Context, *jobsOptions) error) *cobra.Command {
	opts := &jobsOptions{
		f: f, done: "is asked to stop", next: "scv jobs wait %s",
		do: func(session wire.SessionID, job wire.JobID) wire.Command {
			return wire.WorkbenchCancel{Session: session, Job: job, Key: client.NewKey()}
		},
	}
	cmd := &cobra.Command{
		Use: "cancel ID...", Aliases: []string{"stop"}, Short: "Stop jobs; what they did stays",
		Example: "  scv jobs cancel job-3\n  scv jobs cancel @last",
	}
	return jobsCmd(f, cmd, opts, runF)
}

func newJobDismissCmd(f *factory, runF func(context.Context, *jobsOptions) error) *cobra.Command {
	opts := &jobsOptions{
		f: f, done: "is forgotten", next: "scv jobs",
		do: func(session wire.SessionID, job wire.JobID) wire.Command {
			return wire.WorkbenchDismiss{Session: session, Job: job, Key: client.NewKey()}
		},
	}
	cmd := &cobra.Command{
		Use: "dismiss ID...", Aliases: []string{"rm"}, Short: "Take ended jobs off the list; files and branches stay",
		Example: "  scv jobs dismiss job-3 job-4",
	}
	return jobsCmd(f, cmd, opts, runF)
}

func jobsCmd(f *factory, cmd *cobra.Command, opts *jobsOptions, runF func(context.Context, *jobsOptions) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = atLeastOne("a job, such as job-3 or @last"), f.completeJobs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts.ids = args
		if runF != nil {
			return runF(cmd.Context(), opts)
		}
		return runJobs(cmd.Context(), opts)
	}
	cmd.Flags().BoolVarP(&opts.quiet, "quiet", "q", false, "print only the ids")
	addJSON[wire.DaemonStatus](cmd, &opts.json)
	return cmd
}

// runJobs goes through all named jobs; one that is refused does not keep the others from it.
func runJobs(ctx context.Context, opts *jobsOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, refs, err := f.resolve(ctx, opts.ids)
	if err != nil {
		return err
	}
	r.close()
	var first error
	for _, ref := range refs {
		if err := opts.one(ctx, ref); err != nil {
			if first != nil {
				e := explain(ctx, nil, err)
				f.say("%s", e.Error())
				continue
			}
			first = err
		}
	}
	return first
}

func (o *jobsOptions) one(ctx context.Context, ref wire.JobRef) error {
	f := o.f
	session, job, _ := ref.Split()
	st, err := f.call(ctx, o.do(session, job))
	if err != nil {
		return err
	}
	next := o.next
	if strings.Contains(next, "%") {
		next = fmt.Sprintf(next, job)
	}
	return deed{string(job), orElse(value(st.WorkbenchNote), string(job)+" "+o.done), next}.tell(f.screen, st, &o.json, o.quiet)
}
