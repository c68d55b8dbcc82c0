package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"scv/internal/ui/demo"
)

type demoOptions struct {
	f    *factory
	keep bool
}

func newDemoCmd(f *factory, runF func(context.Context, *demoOptions) error) *cobra.Command {
	opts := &demoOptions{f: f}
	cmd := &cobra.Command{
		Use: "demo", Args: exactly(),
		Short: "See it work: three jobs of a built-in agent, nothing left behind",
		Long: `Start a daemon in a throw-away home, run three jobs of a built-in agent, and remove
everything. It needs no agent, no key, no network and no git, and touches nothing of
yours.`,
		Example: "  scv demo\n  scv demo --keep",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runDemo(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.keep, "keep", false, "leave the home and tell how to look around in it")
	return cmd
}

func runDemo(ctx context.Context, opts *demoOptions) error {
	f := opts.f
	// A reader that goes away must not keep the demo from cleaning up: the write fails instead.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	return demo.Run(ctx, demo.Options{
		Exe: f.sys.Exe, Version: f.sys.Version, Environ: f.sys.Environ, Out: f.sys.Out, Err: f.sys.Err,
		Columns: f.columns, Colour: f.colour, Keep: opts.keep,
	})
}
