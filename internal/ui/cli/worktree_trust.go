package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"scv/internal/home"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type worktreeTrustOptions struct {
	f   *factory
	dir string
	yes bool
}

func newWorktreeTrustCmd(f *factory, runF func(context.Context, *worktreeTrustOptions) error) *cobra.Command {
	opts := &worktreeTrustOptions{f: f}
	cmd := &cobra.Command{
		Use: "trust [DIR]", Args: cobra.MaximumNArgs(1), Short: "Show a repository's set-up script; --yes lets it run",
		Long: `Show the set-up script of a repository (.scv/setup), which runs once in each new worktree,
before its agent. It runs only while its content is what you trusted with --yes.`,
		Example: "  scv agents worktrees trust\n  scv agents worktrees trust --yes ~/app",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.dir = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runWorktreeTrust(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "trust what it holds")
	return cmd
}

func runWorktreeTrust(ctx context.Context, opts *worktreeTrustOptions) error {
	f := opts.f
	dir, err := directory(opts.dir)
	if err != nil {
		return err
	}
	ask := wire.WorktreeTrust{Workspace: workspace(dir)}
	st, err := f.call(ctx, ask)
	if err != nil {
		return err
	}
	script := st.Setup
	if script == nil {
		return fmt.Errorf("the daemon did not tell the set-up script")
	}
	if _, err := io.WriteString(f.sys.Out, plain.Block(script.Text)); err != nil {
		return err
	}
	if opts.yes && !script.Trusted {
		ask.Digest = &script.Digest
		if _, err := f.call(ctx, ask); err != nil {
			return err
		}
		script.Trusted = true
	}
	if script.Trusted {
		f.say("%s is trusted as it is shown (%.12s)", home.Pretty(script.Path), script.Digest)
		return nil
	}
	f.say("%s is not trusted (%.12s). Trust it: scv agents worktrees trust --yes %s", home.Pretty(script.Path), script.Digest, home.Pretty(dir))
	return nil
}
