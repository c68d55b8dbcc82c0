package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/wire"
)

type startOptions struct{ f *factory }

func newStartCmd(f *factory, runF func(context.Context, *startOptions) error) *cobra.Command {
	opts := &startOptions{f: f}
	return &cobra.Command{
		Use: "start", Args: exactly(),
		Short:   "Start the daemon in the background",
		Long:    "Start the daemon in the background. Other commands do it by themselves when they\nneed it, so this is hardly ever needed.",
		Example: "  scv start",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runStart(cmd.Context(), opts)
		},
	}
}

func runStart(ctx context.Context, opts *startOptions) error {
	f := opts.f
	h, err := f.openHome()
	if err != nil {
		return err
	}
	c, err := f.connect(ctx, h)
	switch {
	case err == nil:
		defer c.Close()
		return f.reportDaemon(ctx, c, h, "the daemon runs already")
	case errors.Is(err, client.ErrSilent):
		return silent(h)
	case !errors.Is(err, client.ErrNoDaemon):
		return err
	}
	return f.startAndReport(ctx, h, "the daemon runs")
}

// startAndReport checks the configuration here, where a person reads it, and starts the daemon.
func (f *service) startAndReport(ctx context.Context, h *home.Home, what string) error {
	if _, err := config.Load(h, f.sys.Environ, config.Overrides{}); err != nil {
		return err
	}
	c, err := f.startDaemon(ctx, h)
	if err != nil {
		return err
	}
	defer c.Close()
	return f.reportDaemon(ctx, c, h, what)
}

func (f *service) reportDaemon(ctx context.Context, c *client.Conn, h *home.Home, what string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, client.ErrSilent)
	defer cancel()
	st, err := c.Call(ctx, wire.StatusCommand{})
	if err != nil {
		return err
	}
	f.say("%s: process %d, version %s, socket %s", what, st.PID, st.Version, home.Pretty(h.Socket()))
	for _, p := range st.Problems {
		f.say("note: %s", p)
	}
	if st.Version != f.sys.Version {
		f.say("it is of another release than this program (%s). Next: scv restart", f.sys.Version)
	}
	return nil
}

type stopOptions struct {
	f   *factory
	all bool
}

func newStopCmd(f *factory, runF func(context.Context, *stopOptions) error) *cobra.Command {
	opts := &stopOptions{f: f}
	cmd := &cobra.Command{
		Use: "stop", Args: exactly(),
		Short:   "Stop the daemon; jobs go on, unless --all",
		Long:    "Stop the daemon. Agents that work go on without it, and the next daemon finds them\nagain; --all stops them too.",
		Example: "  scv stop\n  scv stop --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runStop(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.all, "all", "a", false, "stop the agents that work as well")
	return cmd
}

func runStop(ctx context.Context, opts *stopOptions) error {
	f := opts.f
	h, err := f.openHome()
	if err != nil {
		return err
	}
	note, err := f.stopDaemon(ctx, h, opts.all)
	if errors.Is(err, client.ErrNoDaemon) {
		if !opts.all {
			f.say("no daemon runs at %s; there is nothing to stop", home.Pretty(h.Socket()))
			return nil
		}
		// Agents may still work without it. Only a daemon can find and stop them.
		c, err := f.startDaemon(ctx, h)
		if err != nil {
			return err
		}
		c.Close()
		note, err = f.stopDaemon(ctx, h, true)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	f.say("%s", note)
	return nil
}

// stopDaemon asks the daemon to end and waits until its socket and its process are gone. One that goes away meanwhile,
// as when two people stop it, is looked for again: then there is none, or its successor, which is asked.
func (f *service) stopDaemon(ctx context.Context, h *home.Home, all bool) (note string, err error) {
	for range brokenTries {
		if note, err = f.stopOnce(ctx, h, all); !errors.Is(err, client.ErrBroken) {
			break
		}
	}
	return note, err
}

func (f *service) stopOnce(ctx context.Context, h *home.Home, all bool) (note string, err error) {
	c, err := f.connect(ctx, h)
	if errors.Is(err, client.ErrSilent) {
		return "", silent(h)
	}
	if err != nil {
		return "", err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, callPatience, client.ErrSilent)
	defer cancel()
	who, err := c.Call(ctx, wire.StatusCommand{})
	if err != nil {
		return "", err
	}
	left := leaving(who.PID)
	st, err := c.Call(ctx, wire.DaemonStop{All: all, Key: client.NewKey()})
	if err != nil {
		return "", err
	}
	if err := f.gone(ctx, h); err != nil {
		return "", err
	}
	left(ctx)
	return orElse(trimDot(value(st.WorkbenchNote)), "the daemon ended"), nil
}

// gone waits for the end of a daemon that said that it ends. One whose home was moved under it leaves its socket there,
// where nobody answers any more.
func (f *service) gone(ctx context.Context, h *home.Home) error {
	pause := 2 * time.Millisecond
	for listening(h) {
		c, err := f.connect(ctx, h)
		if errors.Is(err, client.ErrNoDaemon) {
			return nil
		}
		if err == nil {
			c.Close()
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), client.ErrSilent) {
				return silent(h)
			}
			return context.Cause(ctx)
		case <-time.After(pause):
			pause = min(2*pause, 50*time.Millisecond)
		}
	}
	return nil
}
