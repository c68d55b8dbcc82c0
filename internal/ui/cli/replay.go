package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"scv/internal/client/offline"
	"scv/internal/ui/attach"
	"scv/internal/wire"
)

type replayOptions struct {
	f     *factory
	id    string
	cast  string
	speed float64
}

func newReplayCmd(f *factory, runF func(context.Context, *replayOptions) error) *cobra.Command {
	opts := &replayOptions{f: f}
	cmd := &cobra.Command{
		Use: "replay RUN", Args: exactly("the run of a takeover, such as codex-3f9a2c, or a job that was taken over"),
		ValidArgsFunction: f.completeJobs,
		Short:             "Play back what an agent's terminal showed",
		Long: `Play back what the terminal of a takeover showed. It was kept as you saw it, with
secrets masked, and up to 4 MiB. A job or a conversation stands for its last takeover.`,
		Example: "  scv replay codex-3f9a2c\n  scv replay job-3 --speed 4\n  scv replay job-3 --cast takeover.cast",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.id = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runReplay(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.cast, "cast", "", "write an asciicast (version 2) to this file, - for the output")
	cmd.Flags().Float64Var(&opts.speed, "speed", 1, "so many times as fast")
	return cmd
}

func runReplay(ctx context.Context, opts *replayOptions) error {
	f := opts.f
	if opts.speed <= 0 {
		return usage("such as --speed 2", "--speed has to be more than 0")
	}
	run, err := opts.run(ctx)
	if err != nil {
		return err
	}
	disk, err := offline.Open(f.opened)
	if err != nil {
		return err
	}
	pages, err := disk.Recording(run)
	if err = errors.Join(err, disk.Close()); err != nil {
		return err
	}
	if opts.cast != "" {
		return opts.write(string(run), pages)
	}
	out, _ := f.sys.Out.(*os.File)
	if out == nil || f.columns == 0 {
		return &fault{code: exitFailed, message: "this needs a terminal", next: "write it to a file: scv replay " + opts.id + " --cast FILE"}
	}
	cols, rows := attach.Size(out)
	if err := attach.Replay(ctx, out, cols, rows, string(run), pages, opts.speed); err != nil {
		return err
	}
	f.say("%s showed %d pages", run, len(pages))
	return nil
}

// run is the run that is meant.
func (o *replayOptions) run(ctx context.Context) (wire.RunHandle, error) {
	r, view, err := o.f.view(ctx)
	if err != nil {
		return "", err
	}
	defer r.close()
	if handle, ok := findRun(view, o.id); ok {
		return handle, nil
	}
	if _, conversation, err := r.findConversation(ctx, view, o.id); err == nil {
		i := slices.IndexFunc(view.Runs, func(x wire.Run) bool { // the last active one comes first
			return x.Transport == wire.TransportTerminal && x.Conversation != nil && *x.Conversation == conversation
		})
		if i < 0 {
			return "", &fault{code: exitNotFound, message: string(conversation) + " was not taken over lately", next: "take it over: scv jobs attach " + o.id}
		}
		return view.Runs[i].Handle, nil
	}
	handle, err := wire.ParseRunHandle(o.id)
	if err != nil {
		return "", &fault{code: exitNotFound, message: "there is no run or job " + o.id, next: "list runs: scv agents ps --all"}
	}
	return handle, nil
}

func (o *replayOptions) write(name string, pages []wire.RecordedPage) (err error) {
	var out io.Writer = o.f.sys.Out
	if o.cast != "-" {
		file, err := os.OpenFile(o.cast, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(attach.Cast(file, name, pages), file.Close()); err != nil {
			return err
		}
		o.f.say("%d pages were written to %s", len(pages), o.cast)
		return nil
	}
	return attach.Cast(out, name, pages)
}
