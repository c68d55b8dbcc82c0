package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type whyOptions struct {
	f    *factory
	id   string
	json jsonFlag
}

func newWhyCmd(f *factory, runF func(context.Context, *whyOptions) error) *cobra.Command {
	opts := &whyOptions{f: f}
	cmd := &cobra.Command{
		Use: "why ID", Args: exactly("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short:   "Tell what a job's state rests on",
		Long:    "Tell what a job's state rests on: each fact, when it was learnt and from whom.",
		Example: "  scv why job-3\n  scv why @last --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runWhy(cmd.Context(), opts)
		},
	}
	addJSON[wire.WhyReport](cmd, &opts.json)
	return cmd
}

func runWhy(ctx context.Context, opts *whyOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, view, err := f.view(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	found, err := r.findAnyJob(ctx, view, opts.id)
	if err != nil {
		return err
	}
	why, err := r.why(ctx, found.Ref())
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, why)
	}
	if _, err := fmt.Fprintf(f.sys.Out, "%s is %s since %s\n", wording.Name(view, found), why.State, f.clock(why.SinceUnixSeconds*1000)); err != nil {
		return err
	}
	for _, e := range why.Evidence {
		format := "%s\t%s\t%s\n"
		source := plain.Line(e.Source)
		if f.columns > 0 {
			format, source = "  %s  %s  %s\n", plain.Pad(source, 8)
		}
		clock := f.clock(e.AtMs)
		if _, err := fmt.Fprintf(f.sys.Out, format, clock, source, f.hang(2+len(clock)+2+plain.Width(source)+2, plain.Line(e.Fact))); err != nil {
			return err
		}
	}
	return nil
}
