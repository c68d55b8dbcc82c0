package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type jobQueueOptions struct {
	f            *factory
	conversation string
	quiet        bool
	json         jsonFlag
}

// newJobQueueCmd is the queue: without a verb it lists.
func newJobQueueCmd(f *factory) *cobra.Command {
	opts := &jobQueueOptions{f: f}
	cmd := &cobra.Command{
		Use: "queue [CONVERSATION]", Args: cobra.MaximumNArgs(1), ValidArgsFunction: f.completeJobs,
		Short: "List what waits, and change it before it runs",
		Long: `List the prompts that wait, in the order in which they run, with what each waits for.
A conversation's name, or a job's, shows that conversation's alone.`,
		Example: `  scv jobs queue
  scv jobs queue edit job-4 "also run the linter"
  scv jobs queue move job-5 --before job-4
  scv jobs queue pause codex-1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.conversation = args[0]
			}
			return runJobQueue(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.quiet, "quiet", "q", false, "print only the ids")
	addJSON[wire.Job](cmd, &opts.json)
	list := &cobra.Command{
		Use: "list [CONVERSATION]", Aliases: []string{"ls"}, Args: cobra.MaximumNArgs(1), ValidArgsFunction: f.completeJobs,
		Short: "List what waits", Example: "  scv jobs queue list codex-1", RunE: cmd.RunE,
	}
	list.Flags().AddFlagSet(cmd.Flags())
	cmd.AddCommand(list, newQueueEditCmd(f), newQueueMoveCmd(f), newQueueDropCmd(f), newQueuePauseCmd(f), newQueueResumeCmd(f))
	return cmd
}

func runJobQueue(ctx context.Context, opts *jobQueueOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, view, err := f.view(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	only := wire.ConversationID("")
	if opts.conversation != "" {
		if _, only, err = r.findConversation(ctx, view, opts.conversation); err != nil {
			return err
		}
	}
	jobs := waiting(view, only)
	switch {
	case opts.json.on():
		return opts.json.print(f.sys.Out, jobs)
	case opts.quiet:
		for i := range jobs {
			if _, err := fmt.Fprintln(f.sys.Out, wording.Name(view, &jobs[i])); err != nil {
				return err
			}
		}
		return nil
	case len(jobs) == 0:
		f.say("nothing waits. Next: scv jobs")
		return nil
	}
	columns := []column{{name: "JOB"}, {name: "IN", keep: 3}, {name: "REV", keep: 1}, {name: "TASK", shrink: 8}, {name: "WAITS", keep: 2, shrink: 10}}
	rows := make([][]cell, 0, len(jobs))
	for i := range jobs {
		job := &jobs[i]
		in := ""
		if job.Conversation != nil {
			in = string(*job.Conversation)
		}
		rows = append(rows, []cell{
			{show: wording.Name(view, job), pipe: string(job.Ref())}, text(in), text(strconv.FormatUint(job.Revision, 10)), text(job.Task), text(value(job.Detail)),
		})
	}
	return f.printTable(f.sys.Out, columns, rows)
}

// waiting are the queued jobs, of one conversation or of all, in the order in which they run.
func waiting(view *wire.Snapshot, only wire.ConversationID) []wire.Job {
	place := func(j wire.Job) uint64 { return cmp.Or(j.Place, j.Job.Number()) }
	var jobs []wire.Job
	for _, job := range view.Jobs {
		if job.State == wire.StateQueued && (only == "" || job.Conversation != nil && *job.Conversation == only) {
			jobs = append(jobs, job)
		}
	}
	slices.SortFunc(jobs, func(a, b wire.Job) int { return cmp.Compare(place(a), place(b)) })
	return jobs
}

// findConversation finds what a person names by a conversation's own name, or by that of a job in it.
func (r *reading) findConversation(ctx context.Context, view *wire.Snapshot, name string) (wire.SessionID, wire.ConversationID, error) {
	if at := slices.IndexFunc(view.Jobs, func(j wire.Job) bool { return j.Conversation != nil && string(*j.Conversation) == name }); at >= 0 {
		return view.Jobs[at].Session, *view.Jobs[at].Conversation, nil
	}
	job, err := r.findAnyJob(ctx, view, name)
	if err != nil {
		return "", "", err
	}
	if job.Conversation == nil {
		id := wording.Name(view, job)
		return "", "", &fault{code: exitConflict, message: id + " has no conversation that can go on", next: "start a new job: scv jobs start --agent " + job.Agent + " PROMPT"}
	}
	return job.Session, *job.Conversation, nil
}

func newQueuePauseCmd(f *factory) *cobra.Command {
	return conversationCmd(f, &cobra.Command{
		Use: "pause CONVERSATION", Short: "Hold what waits in a conversation; a turn that runs goes on", Example: "  scv jobs queue pause codex-1",
	}, func(s wire.SessionID, c wire.ConversationID) wire.Command {
		return wire.ConversationPause{Session: s, Conversation: c, Key: client.NewKey()}
	})
}

func newQueueResumeCmd(f *factory) *cobra.Command {
	return conversationCmd(f, &cobra.Command{
		Use: "resume CONVERSATION", Short: "Let a paused queue go on", Example: "  scv jobs queue resume codex-1",
	}, func(s wire.SessionID, c wire.ConversationID) wire.Command {
		return wire.ConversationResume{Session: s, Conversation: c, Key: client.NewKey()}
	})
}

// conversationCmd does one thing to a conversation.
func conversationCmd(f *factory, cmd *cobra.Command, do func(wire.SessionID, wire.ConversationID) wire.Command) *cobra.Command {
	json := &jsonFlag{}
	cmd.Args, cmd.ValidArgsFunction = exactly("a conversation, such as codex-1, or a job of it"), f.completeJobs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if json.helps(f.sys.Out) {
			return nil
		}
		session, conversation, err := f.conversation(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		st, err := f.call(cmd.Context(), do(session, conversation))
		if err != nil {
			return err
		}
		if json.on() {
			return json.print(f.sys.Out, st)
		}
		f.say("%s. Next: scv jobs queue %s", trimDot(value(st.WorkbenchNote)), conversation)
		return nil
	}
	addJSON[wire.DaemonStatus](cmd, json)
	return cmd
}

// conversation finds a conversation by asking the daemon, which is started when there is none.
func (f *factory) conversation(ctx context.Context, name string) (wire.SessionID, wire.ConversationID, error) {
	r, view, err := f.asking(ctx)
	if err != nil {
		return "", "", err
	}
	defer r.close()
	return r.findConversation(ctx, view, name)
}

// asking is a look at the workbench by way of the daemon, for what changes something next.
func (f *factory) asking(ctx context.Context) (*reading, *wire.Snapshot, error) {
	c, err := f.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := &reading{f: f, h: f.opened, conn: c}
	view, err := r.snapshot(ctx)
	if err != nil {
		r.close()
		return nil, nil, err
	}
	return r, view, nil
}
