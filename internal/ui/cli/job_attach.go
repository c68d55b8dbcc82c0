package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/ui/attach"
	"scv/internal/wire"
)

type jobAttachOptions struct {
	f         *factory
	id        string
	shell     bool
	readOnly  bool
	interrupt bool
	end       bool
	detach    string
}

func newJobAttachCmd(f *factory, runF func(context.Context, *jobAttachOptions) error) *cobra.Command {
	opts := &jobAttachOptions{f: f}
	cmd := &cobra.Command{
		Use: "attach ID", Args: exactly("a job or a conversation, such as job-3, @last or codex-2"), ValidArgsFunction: f.completeJobs,
		Short: "Take a job's conversation over, in its agent's own terminal",
		Long: `Take a job's conversation over, in its agent's own terminal, here. Prompts wait until
you leave the agent (with its own command, such as /quit); the next one goes on with
the same conversation. Letting go (ctrl-], or the key of --detach or $SCV_DETACH_KEY)
leaves the agent open: attach again, from any terminal. Alt-PageUp shows what went up
over the top. The mouse goes to an agent that asks for it.`,
		Example: "  scv jobs attach job-3\n  scv jobs attach --read-only job-3\n  scv jobs attach --interrupt job-3   stop its turn first, to be resumed later\n  scv jobs attach --end job-3         close the agent's terminal",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobAttach(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.interrupt, "interrupt", false, "stop a turn that runs")
	opts.flags(cmd)
	return cmd
}

func newJobShellCmd(f *factory, runF func(context.Context, *jobAttachOptions) error) *cobra.Command {
	opts := &jobAttachOptions{f: f, shell: true}
	cmd := &cobra.Command{
		Use: "shell ID", Args: exactly("a job or a conversation, such as job-3, @last or codex-2"), ValidArgsFunction: f.completeJobs,
		Short: "Open your shell where a job works",
		Long: `Open your shell in the directory of a job, its worktree if it has one. The shell goes
on when you let go of it (ctrl-]); attach to it again by the same command.`,
		Example: "  scv jobs shell job-3\n  scv jobs shell --end job-3",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobAttach(cmd.Context(), opts)
		},
	}
	opts.flags(cmd)
	return cmd
}

func (o *jobAttachOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.readOnly, "read-only", "r", false, "only look at a terminal that is open")
	cmd.Flags().BoolVar(&o.end, "end", false, "close the terminal")
	cmd.Flags().StringVar(&o.detach, "detach", "", "key that lets go (default $SCV_DETACH_KEY, or ctrl-])")
}

// key is the key that lets go.
func (o *jobAttachOptions) key() (attach.Key, error) {
	if o.detach == "" {
		return o.f.detachKey()
	}
	return detachKey(o.detach)
}

// detachKey is the key that lets go of a terminal, as the environment says it.
func (f *screen) detachKey() (attach.Key, error) {
	name := f.env("SCV_DETACH_KEY")
	if name == "" {
		return attach.DefaultKey, nil
	}
	return detachKey(name)
}

func detachKey(name string) (attach.Key, error) {
	key, err := attach.ParseKey(name)
	if err != nil {
		return 0, usage("such as --detach ctrl-a", "%v", err)
	}
	return key, nil
}

func runJobAttach(ctx context.Context, opts *jobAttachOptions) error {
	f := opts.f
	key, err := opts.key()
	if err != nil {
		return err
	}
	if opts.readOnly && (opts.interrupt || opts.end) {
		return usage("choose one", "--read-only excludes --interrupt and --end")
	}
	r, view, err := f.asking(ctx)
	if err != nil {
		return err
	}
	session, conversation, err := r.findConversation(ctx, view, opts.id)
	target := f.target(r.h)
	r.close()
	if err != nil {
		return err
	}
	if opts.end {
		return opts.close(ctx, wire.AttachEnd{Session: session, Conversation: conversation, Shell: opts.shell, Key: client.NewKey()})
	}
	what := client.Attachment{Session: session, Conversation: conversation, Shell: opts.shell, Interrupt: opts.interrupt}
	if opts.readOnly {
		if what.Run = openTerminal(view, conversation, opts.shell); what.Run == nil {
			return &fault{code: exitNotFound, message: string(conversation) + " has no terminal open", next: "open it: scv jobs attach " + opts.id + "   Or read its log: scv jobs log " + opts.id}
		}
	}
	if opts.interrupt {
		f.say("a turn that runs in %s is stopped first", conversation)
	}
	in, _ := f.sys.In.(*os.File)
	out, _ := f.sys.Out.(*os.File)
	if in == nil || out == nil {
		return opts.noTerminal()
	}
	end, err := attach.Run(ctx, attach.Options{
		Target: target, What: what, Name: opts.title(conversation), Detach: key, ReadOnly: opts.readOnly, In: in, Out: out,
	})
	if errors.Is(err, attach.ErrNoTerminal) {
		return opts.noTerminal()
	}
	if err != nil {
		return err
	}
	return opts.report(end, conversation)
}

func (o *jobAttachOptions) noTerminal() error {
	return &fault{code: exitFailed, message: "this needs a terminal, for input and output", next: "see what the job does: scv jobs log -f " + o.id}
}

func (o *jobAttachOptions) title(c wire.ConversationID) string {
	if o.shell {
		return "shell of " + string(c)
	}
	return string(c)
}

func (o *jobAttachOptions) report(end attach.Ended, c wire.ConversationID) error {
	verb := "attach"
	if o.shell {
		verb = "shell"
	}
	switch {
	case end.Detached && o.readOnly:
		return nil
	case end.Detached:
		if end.Note != "" {
			o.f.say("Note: %s.", strings.TrimSuffix(end.Note, "."))
		}
		o.f.say("You let go of the terminal of %s, which goes on. Again: scv jobs %s %s   Close it: scv jobs %s --end %s", c, verb, o.id, verb, o.id)
	case strings.HasPrefix(end.Exit, "exit ") && end.Exit != "exit 0": // why may stand on what nobody had the time to read
		for _, line := range end.Last {
			if _, err := fmt.Fprintln(o.f.sys.Out, line); err != nil {
				return err
			}
		}
		fallthrough
	default:
		o.f.say("The terminal of %s is closed (%s).", c, orElse(end.Exit, "it is not known how"))
	}
	return nil
}

// close ends a terminal.
func (o *jobAttachOptions) close(ctx context.Context, cmd wire.AttachEnd) error {
	st, err := o.f.call(ctx, cmd)
	if err != nil {
		return err
	}
	o.f.say("%s", orElse(value(st.WorkbenchNote), fmt.Sprintf("The terminal of %s was closed.", cmd.Conversation)))
	return nil
}

// openTerminal is the run whose terminal is open in a conversation.
func openTerminal(view *wire.Snapshot, c wire.ConversationID, shell bool) *wire.RunHandle {
	i := slices.IndexFunc(view.Runs, func(r wire.Run) bool {
		return r.Live && r.Transport == wire.TransportTerminal && r.Conversation != nil && *r.Conversation == c && (r.Agent == wire.ShellAgent) == shell
	})
	if i < 0 {
		return nil
	}
	return &view.Runs[i].Handle
}
