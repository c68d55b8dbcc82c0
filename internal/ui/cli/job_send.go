package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/wire"
)

type jobSendOptions struct {
	f            *factory
	id           string
	args         []string
	file         string
	queue, steer bool
	auto         bool
	quiet        bool
	json         jsonFlag
}

func newJobSendCmd(f *factory, runF func(context.Context, *jobSendOptions) error) *cobra.Command {
	opts := &jobSendOptions{f: f}
	cmd := &cobra.Command{
		Use: "send ID [PROMPT]", Args: atLeastOne("a job or a conversation, such as job-3, @last or codex-2"), ValidArgsFunction: f.completeJobs,
		Short: "Send a further prompt to a job's conversation",
		Long: `Send a further prompt to a job's conversation. While a turn runs the prompt goes into
it if the agent can take it, else it waits behind it. The exit code tells: 0 it was
taken or started (or queued, as --queue asked), 9 it waits behind the running turn.`,
		Example: "  scv jobs send job-3 \"also update the docs\"\n  scv jobs send job-3 --queue --file more.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id, opts.args = args[0], args[1:]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobSend(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.queue, "queue", false, "always wait behind the running turn")
	flags.BoolVar(&opts.steer, "steer", false, "into the running turn, or fail; where none runs and nothing waits it starts one")
	flags.BoolVar(&opts.auto, "auto", false, "into the running turn if it can be, else wait behind it (the default)")
	flags.StringVarP(&opts.file, "file", "F", "", "read the prompt from this file")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "print only the id of the new job, if there is one")
	addJSON[wire.DaemonStatus](cmd, &opts.json)
	return cmd
}

func runJobSend(ctx context.Context, opts *jobSendOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	if opts.queue && opts.steer || opts.auto && (opts.queue || opts.steer) {
		return usage("choose one", "--queue, --steer and --auto exclude each other")
	}
	prompt, err := f.prompt(ctx, opts.args, opts.file)
	if err != nil {
		return err
	}
	session, conversation, err := f.conversation(ctx, opts.id)
	if err != nil {
		return err
	}
	cmd := wire.WorkbenchSend{Session: session, Conversation: conversation, Prompt: prompt, Mode: opts.mode(), Key: client.NewKey()}
	st, err := f.call(ctx, cmd)
	if err != nil {
		return err
	}
	return opts.report(st)
}

func (o *jobSendOptions) mode() wire.SendMode {
	switch {
	case o.queue:
		return wire.SendQueue
	case o.steer:
		return wire.SendSteer
	}
	return wire.SendAuto
}

func (o *jobSendOptions) report(st *wire.DaemonStatus) error {
	delivery := wire.DeliverySteered
	switch {
	case st.Delivery != nil:
		delivery = *st.Delivery
	case st.WorkbenchJob != nil: // a daemon that does not tell
		delivery = wire.DeliveryStarted
		if queuedIn(st) {
			delivery = wire.DeliveryQueued
		}
	}
	if err := o.print(st); err != nil {
		return err
	}
	if delivery == wire.DeliveryQueued && !o.queue && behindTurn(st) {
		return status(exitQueued)
	}
	return nil
}

// behindTurn reports whether the new job waits for another one of its conversation, and not only for room or for the
// end of the last process.
func behindTurn(st *wire.DaemonStatus) bool {
	if st.Workbench == nil || st.WorkbenchJob == nil {
		return true
	}
	at := slices.IndexFunc(st.Workbench.Jobs, func(j wire.Job) bool { return j.Ref() == *st.WorkbenchJob })
	if at < 0 || st.Workbench.Jobs[at].Conversation == nil {
		return true
	}
	mine := &st.Workbench.Jobs[at]
	return slices.ContainsFunc(st.Workbench.Jobs, func(j wire.Job) bool {
		return j.Job != mine.Job && j.Conversation != nil && *j.Conversation == *mine.Conversation && !j.State.Final()
	})
}

func queuedIn(st *wire.DaemonStatus) bool {
	return st.Workbench != nil && slices.ContainsFunc(st.Workbench.Jobs, func(j wire.Job) bool {
		return j.Ref() == *st.WorkbenchJob && j.State == wire.StateQueued
	})
}

func (o *jobSendOptions) print(st *wire.DaemonStatus) error {
	f := o.f
	if st.WorkbenchJob != nil {
		_, job, _ := st.WorkbenchJob.Split()
		return accepted(st, job).tell(f.screen, st, &o.json, o.quiet)
	}
	if o.json.on() {
		return o.json.print(f.sys.Out, st)
	}
	if !o.quiet {
		f.say("%s. Next: scv jobs log -f %s", orElse(trimDot(value(st.WorkbenchNote)), "it went into the running turn"), o.id)
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
