package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/wire"
)

type queueEditOptions struct {
	f    *factory
	id   string
	args []string
	file string
	json jsonFlag
}

func newQueueEditCmd(f *factory) *cobra.Command {
	opts := &queueEditOptions{f: f}
	cmd := &cobra.Command{
		Use: "edit ID [PROMPT]", Args: atLeastOne("a job that waits, such as job-4"), ValidArgsFunction: f.completeJobs,
		Short: "Give a prompt that waits another text",
		Long: `Give a prompt that waits another text: the argument, a file (--file), standard input, or
on a terminal what $EDITOR makes of it. When it was changed or began meanwhile, nothing
is changed.`,
		Example: "  scv jobs queue edit job-4 \"also run the linter\"\n  EDITOR=vim scv jobs queue edit job-4",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id, opts.args = args[0], args[1:]
			return runQueueEdit(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVarP(&opts.file, "file", "F", "", "read the prompt from this file")
	addJSON[wire.DaemonStatus](cmd, &opts.json)
	return cmd
}

func runQueueEdit(ctx context.Context, opts *queueEditOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, view, err := f.asking(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	job, err := findJob(view, opts.id)
	if err != nil {
		return err
	}
	change := func(prompt string) (st *wire.DaemonStatus, err error) {
		return f.call(ctx, wire.JobEdit{Session: job.Session, Job: job.Job, Prompt: prompt, Revision: &job.Revision, Key: client.NewKey()})
	}
	var st *wire.DaemonStatus
	if len(opts.args) == 0 && opts.file == "" && isTerminal(f.sys.In) {
		st, err = opts.edited(ctx, r, job, change)
	} else if prompt, promptErr := f.prompt(ctx, opts.args, opts.file); promptErr != nil {
		return promptErr
	} else {
		st, err = change(prompt)
	}
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, st)
	}
	f.say("%s. Next: scv jobs queue", trimDot(value(st.WorkbenchNote)))
	return nil
}

// edited lets the owner change the present text in an editor. What was written there is kept when it cannot be taken,
// as when the job began meanwhile.
func (o *queueEditOptions) edited(ctx context.Context, r *reading, job *wire.Job, change func(string) (*wire.DaemonStatus, error)) (*wire.DaemonStatus, error) {
	f := o.f
	st, err := r.conn.Call(ctx, wire.JobPrompt{Session: job.Session, Job: job.Job})
	if err != nil {
		return nil, err
	}
	if st.Prompt == nil || st.Prompt.Masked {
		return nil, &fault{code: exitRefused, message: "something in the prompt of " + string(job.Job) + " is masked, so its text cannot be edited", next: "give the whole new text: scv jobs queue edit " + string(job.Job) + " PROMPT"}
	}
	job.Revision = st.Prompt.Revision
	dir, err := os.MkdirTemp("", "scv")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, string(job.Job)+".md")
	text := st.Prompt.Text
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	err = f.openEditor(ctx, path, "EDITOR=nano scv jobs queue edit "+string(job.Job))
	if err == nil {
		var prompt string
		if prompt, err = f.prompt(ctx, nil, path); err == nil {
			st, err = change(prompt)
		}
	}
	if data, _ := os.ReadFile(path); err != nil && len(data) > 0 && string(data) != text {
		f.say("the text that you wrote is kept in %s", path)
		return nil, err
	}
	return st, errors.Join(err, os.RemoveAll(dir))
}

type queueMoveOptions struct {
	f             *factory
	id            string
	before, after string
	first, last   bool
	json          jsonFlag
}

func newQueueMoveCmd(f *factory) *cobra.Command {
	opts := &queueMoveOptions{f: f}
	cmd := &cobra.Command{
		Use: "move ID", Args: exactly("a job that waits, such as job-5"), ValidArgsFunction: f.completeJobs,
		Short:   "Change the order of what waits in a conversation",
		Example: "  scv jobs queue move job-5 --before job-4\n  scv jobs queue move job-4 --last",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id = args[0]
			return runQueueMove(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.before, "before", "", "before this job of its conversation")
	flags.StringVar(&opts.after, "after", "", "after this one")
	flags.BoolVar(&opts.first, "first", false, "before all others of its conversation")
	flags.BoolVar(&opts.last, "last", false, "after all others of its conversation")
	addJSON[wire.DaemonStatus](cmd, &opts.json)
	return cmd
}

func runQueueMove(ctx context.Context, opts *queueMoveOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	given := 0
	for _, is := range []bool{opts.before != "", opts.after != "", opts.first, opts.last} {
		if is {
			given++
		}
	}
	if given != 1 {
		return usage("say where to: --before ID, --after ID, --first or --last", "one place has to be named")
	}
	r, view, err := f.asking(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	job, err := findJob(view, opts.id)
	if err != nil {
		return err
	}
	cmd := wire.JobMove{Session: job.Session, Job: job.Job, Key: client.NewKey()}
	if cmd.Before, cmd.After, err = opts.beside(view, job); err != nil {
		return err
	}
	st, err := f.call(ctx, cmd)
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, st)
	}
	f.say("%s. Next: scv jobs queue", trimDot(value(st.WorkbenchNote)))
	return nil
}

// beside is the job beside which another is put; the end of the queue needs none.
func (o *queueMoveOptions) beside(view *wire.Snapshot, job *wire.Job) (before, after *wire.JobID, err error) {
	name := orElse(o.before, o.after)
	switch {
	case o.last:
		return nil, nil, nil
	case o.first && job.Conversation != nil:
		if all := waiting(view, *job.Conversation); len(all) > 0 {
			return &all[0].Job, nil, nil
		}
		return nil, nil, nil
	}
	other, err := findJob(view, name)
	if err != nil {
		return nil, nil, err
	}
	if o.before != "" {
		return &other.Job, nil, nil
	}
	return nil, &other.Job, nil
}

// newQueueDropCmd cancels what waits, and nothing that runs.
func newQueueDropCmd(f *factory) *cobra.Command {
	opts := &jobsOptions{
		f: f, done: "is dropped", next: "scv jobs queue",
		do: func(session wire.SessionID, job wire.JobID) wire.Command {
			return wire.WorkbenchCancel{Session: session, Job: job, Waiting: true, Key: client.NewKey()}
		},
	}
	return jobsCmd(f, &cobra.Command{
		Use: "drop ID...", Aliases: []string{"rm"}, Short: "Take prompts out of the queue; what runs is left alone", Example: "  scv jobs queue drop job-4 job-5",
	}, opts, nil)
}
