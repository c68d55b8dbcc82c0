package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"scv/internal/daemon"
	"scv/internal/home/config"
)

type serverOptions struct {
	f                  *factory
	stdio              bool
	policy, configPath string
}

func newServerCmd(f *factory, runF func(context.Context, *serverOptions) error) *cobra.Command {
	opts := &serverOptions{f: f}
	cmd := &cobra.Command{
		Use: "server", Args: exactly(), Short: "Speak the protocol on standard input and output",
		Long: `Speak the protocol on standard input and output: one session of SCV's own model for
one client, without a daemon. It ends with its input. Nothing of it is kept.`,
		Example: "  scv server --stdio",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runServer(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.stdio, "stdio", false, "on standard input and output; there is no other way yet")
	cmd.Flags().StringVar(&opts.policy, "policy", "", "what its tools may do unasked: auto, on-risk, always, read-only")
	cmd.Flags().StringVar(&opts.configPath, "config-path", "", "a second configuration file (default $SCV_CONFIG)")
	return cmd
}

func runServer(ctx context.Context, opts *serverOptions) error {
	if !opts.stdio {
		return usage("add --stdio; the daemon at its socket is: scv run", "a server needs to know where to speak")
	}
	opt, err := opts.f.daemonOptions(config.Overrides{Mode: opts.policy, File: opts.configPath})
	if err != nil {
		return err
	}
	opt.Environ = opts.f.sys.Environ // the marks of a run that it is inside of stay with its commands
	return daemon.ServeStdio(ctx, opt, os.Stdin, os.Stdout)
}
