package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// handoverPatience is how long a restart may take from the moment when the new program was ready: its own bound, and
// what a busy machine adds.
const handoverPatience = 60 * time.Second

type restartOptions struct {
	f        *factory
	whenIdle bool
	program  string
}

func newRestartCmd(f *factory, runF func(context.Context, *restartOptions) error) *cobra.Command {
	opts := &restartOptions{f: f}
	cmd := &cobra.Command{
		Use: "restart", Args: exactly(),
		Short: "Restart the daemon; jobs go on",
		Long: `Restart the daemon with this program, for a new release or a new configuration. The
agents that work do not notice, and nobody who follows them loses a line. When the
new program cannot serve, the old daemon goes on and the command says why.`,
		Example: "  scv restart\n  scv restart --when-idle\n  scv restart --program ~/old/scv",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runRestart(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.whenIdle, "when-idle", false, "wait until no turn runs")
	cmd.Flags().StringVar(&opts.program, "program", "", "become this program of SCV, such as the release before (default this one)")
	return cmd
}

func runRestart(ctx context.Context, opts *restartOptions) error {
	f := opts.f
	h, err := f.openHome()
	if err != nil {
		return err
	}
	if _, err := config.Load(h, f.sys.Environ, config.Overrides{}); err != nil {
		return err
	}
	ask := wire.DaemonRestart{Exe: f.sys.Exe, Environ: f.daemonEnviron(h), WhenIdle: opts.whenIdle}
	if opts.program != "" {
		if ask.Exe, err = filepath.Abs(opts.program); err != nil {
			return err
		}
	}
	if opts.whenIdle {
		return f.restartWhenIdle(ctx, h, ask)
	}
	return f.restart(ctx, h, ask)
}

// restart hands the daemon over. A daemon that does not know how is ended first, and one that does not
// run is started.
func (f *service) restart(ctx context.Context, h *home.Home, ask wire.DaemonRestart) error {
	c, err := f.connect(ctx, h)
	switch {
	case errors.Is(err, client.ErrNoDaemon):
		return f.startAndReport(ctx, h, "the daemon runs")
	case errors.Is(err, client.ErrSilent):
		return silent(h)
	case err != nil:
		return err
	}
	defer c.Close()
	if !c.Has(wire.FeatureRestart) {
		note, err := f.stopDaemon(ctx, h, false)
		if err != nil && !errors.Is(err, client.ErrNoDaemon) {
			return err
		}
		f.say("%s", orElse(note, "the daemon ended"))
		return f.startAndReport(ctx, h, "the daemon runs")
	}
	asked, cancel := context.WithTimeoutCause(ctx, callPatience, client.ErrSilent)
	defer cancel()
	st, err := c.Call(asked, ask)
	if err != nil {
		return err
	}
	f.say("%s", trimDot(value(st.WorkbenchNote)))
	return f.succeeded(ctx, h, st)
}

// succeeded waits until the new daemon serves, or the old one says that it goes on.
func (f *service) succeeded(ctx context.Context, h *home.Home, before *wire.DaemonStatus) error {
	ctx, cancel := context.WithTimeoutCause(ctx, handoverPatience, client.ErrSilent)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		st, err := f.statusOnce(ctx, h)
		switch {
		case err == nil && st.PID != before.PID:
			f.say("the daemon runs: process %d, version %s, socket %s", st.PID, st.Version, home.Pretty(h.Socket()))
			for _, p := range st.Problems {
				f.say("note: %s", p)
			}
			return nil
		case err == nil && st.Successor == nil:
			return notReplaced(st)
		case err != nil && !errors.Is(err, client.ErrSilent) && !errors.Is(err, client.ErrBroken):
			return diedRestarting(h, err)
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), client.ErrSilent) {
				return silent(h)
			}
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func (f *service) statusOnce(ctx context.Context, h *home.Home) (*wire.DaemonStatus, error) {
	c, err := client.Dial(ctx, f.target(h), f.peer())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Call(ctx, wire.StatusCommand{})
}

// diedRestarting tells the end of both daemons: somebody listens all through a restart, or nobody ever will.
func diedRestarting(h *home.Home, err error) error {
	if !errors.Is(err, client.ErrNoDaemon) {
		return err
	}
	return &fault{
		code: exitUnreachable, message: fmt.Sprintf("no daemon at %s: it went away in the middle of the restart", home.Pretty(h.Socket())),
		next: "start it: scv start   Runs go on, and nothing was lost",
	}
}

// notReplaced is the failure of a restart after which the old daemon serves.
func notReplaced(st *wire.DaemonStatus) error {
	why := "the new program did not serve"
	for _, p := range st.Problems {
		if text, ok := strings.CutPrefix(p, wire.RestartFailed); ok {
			why = text
		}
	}
	return &fault{
		code: exitFailed, message: fmt.Sprintf("the daemon was not replaced: %s", why),
		next: fmt.Sprintf("process %d goes on and nothing was lost; look at its log: scv status   Then try again: scv restart", st.PID),
	}
}

// errIdle ends the watching once no turn runs.
var errIdle = errors.New("no turn runs")

// restartWhenIdle restarts at a moment when no turn runs. One may begin in the very moment of the restart, which it
// survives as always.
func (f *service) restartWhenIdle(ctx context.Context, h *home.Home, ask wire.DaemonRestart) error {
	for {
		err := f.restart(ctx, h, ask)
		if we, ok := errors.AsType[*wire.Error](err); !ok || we.Reason != wire.ReasonBusy || we.Code != wire.CodeWorkbenchError {
			return err
		}
		told := false
		err = client.WatchWorkbench(ctx, f.target(h), func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
			busy := busyJobs(view)
			if len(busy) == 0 {
				return errIdle
			}
			if !told {
				told = true
				f.say("waits for the end of %s: %s. Restart now: scv restart", plain.Count(len(busy), "turn"), strings.Join(busy, ", "))
			}
			return nil
		})
		if !errors.Is(err, errIdle) {
			return err
		}
	}
}

// busyJobs are the jobs whose turn runs.
func busyJobs(view *wire.Snapshot) (names []string) {
	for i := range view.Jobs {
		if job := &view.Jobs[i]; !job.State.Final() && job.State != wire.StateQueued {
			names = append(names, string(job.Job))
		}
	}
	return names
}
