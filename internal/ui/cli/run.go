package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/daemon"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/wire"
)

type runOptions struct {
	f          *factory
	background bool
	policy     string
	configPath string
	takeOver   int
}

func newRunCmd(f *factory, runF func(context.Context, *runOptions) error) *cobra.Command {
	opts := &runOptions{f: f}
	cmd := &cobra.Command{
		Use: "run", Args: exactly(),
		Short:   "Run the daemon in the foreground",
		Long:    "Run the daemon in the foreground until ctrl-C or SIGTERM. Jobs go on without it.",
		Example: "  scv run\n  scv run --policy read-only",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.policy, "policy", "", "permission mode of all jobs that name none")
	flags.StringVar(&opts.policy, "approval-policy", "", "upstream's name of --policy")
	flags.StringVar(&opts.configPath, "config-path", "", "a second configuration file (default $SCV_CONFIG)")
	flags.BoolVar(&opts.background, "background", false, "write to the home's log instead of standard error")
	flags.IntVar(&opts.takeOver, "take-over", 0, "descriptor at which a daemon hands over")
	hide(flags, "approval-policy")
	hide(flags, "take-over")
	hide(flags, "background")
	return cmd
}

func runRun(ctx context.Context, opts *runOptions) error {
	opt, err := opts.f.daemonOptions(config.Overrides{Mode: opts.policy, File: opts.configPath})
	if err == nil {
		err = opts.f.ownRun(opt.Home)
	}
	if err != nil {
		if opts.takeOver != 0 {
			daemon.Refuse(opts.takeOver, refusalOf(err))
		}
		return err
	}
	opt.Foreground, opt.TakeOver, opt.Args = !opts.background, opts.takeOver, opts.args()
	// A reader of our standard error that goes away must not end the daemon. Caught, not ignored: an ignored signal
	// would be ignored by every agent too.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	return released(ctx, opts.f.service, opt.Home, daemon.Run(ctx, opt))
}

// released adds to a refusal for another daemon's sake of which release that is, as far as it says so at once.
func released(ctx context.Context, f *service, h *home.Home, err error) error {
	busy, ok := errors.AsType[*wire.Error](err)
	if !ok || busy.Reason != wire.ReasonBusy {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, client.ErrSilent)
	defer cancel()
	c, dialErr := f.connect(ctx, h)
	if dialErr != nil {
		return err // it may be on its way out, and who it is was said
	}
	defer c.Close()
	st, callErr := c.Call(ctx, wire.StatusCommand{})
	if callErr != nil {
		return err
	}
	said := *busy
	said.Message += "; it is of release " + st.Version
	if st.Version != f.sys.Version {
		said.Message += ", and this program of " + f.sys.Version
	}
	return &said
}

// args are the arguments with which the daemon that comes after this one is started.
func (o *runOptions) args() []string {
	args := []string{"run", "--home", o.f.opened.Path()}
	if o.background {
		args = append(args, "--background")
	}
	if o.policy != "" {
		args = append(args, "--policy", o.policy)
	}
	if o.configPath != "" {
		args = append(args, "--config-path", o.configPath)
	}
	return args
}

// refusalOf is an error of the command line as one daemon tells it another.
func refusalOf(err error) error {
	if f, ok := errors.AsType[*fault](err); ok {
		return wire.Refuse(wire.ReasonUnavailable, f.next, "%s", f.message)
	}
	if list := config.Problems(err); len(list) > 0 {
		return refusalOf(badConfig(list))
	}
	return err
}

// daemonOptions opens the home and loads the settings, all problems at once.
func (f *service) daemonOptions(o config.Overrides) (daemon.Options, error) {
	h, err := f.openHome()
	if err != nil {
		return daemon.Options{}, err
	}
	c, err := config.Load(h, f.sys.Environ, o)
	if err != nil {
		return daemon.Options{}, err
	}
	return daemon.Options{
		Home: h, Config: c, Settings: func() (*config.Config, error) { return config.Load(h, f.sys.Environ, o) }, Version: f.sys.Version, Exe: f.sys.Exe, Environ: f.daemonEnviron(h), Stderr: f.sys.Err, Now: f.sys.Now,
	}, nil
}
