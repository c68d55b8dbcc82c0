package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"scv/internal/home"
	"scv/internal/ui/demo"
	"scv/internal/ui/tui/model"
	"scv/internal/ui/tui/term"
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
		Long: `Start a daemon in a throw-away home, run three jobs of a built-in agent, show them in
the dashboard (as lines in a pipe), and remove everything when you leave. It needs no agent, no key, no network and no git, and touches nothing of
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
	how := demo.Options{
		Exe: f.sys.Exe, Version: f.sys.Version, Environ: f.sys.Environ, Out: f.sys.Out, Err: f.sys.Err,
		Columns: f.columns, Colour: f.colour, Keep: opts.keep,
	}
	if isTerminal(f.sys.Out) && term.Usable(f.env("TERM")) == "" && !f.plain {
		how.Dashboard = func(ctx context.Context, h *home.Home, cwd string) error {
			g := *f.service // the demo's daemon runs, and no other is started in its place
			g.noStart = true
			return (&factory{&g}).dashboard(ctx, h, false, model.Options{Home: "demo", Cwd: cwd, Quiet: true})
		}
	}
	return demo.Run(ctx, how)
}
