package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type uninstallOptions struct {
	f    *factory
	keep bool
	yes  bool
}

func newUninstallCmd(f *factory, runF func(context.Context, *uninstallOptions) error) *cobra.Command {
	opts := &uninstallOptions{f: f}
	cmd := &cobra.Command{
		Use: "uninstall", Args: exactly(),
		Short: "Stop the daemon and remove the home",
		Long: `Stop the daemon and remove the home with all jobs, logs and settings. Without --yes it
says what it would do and does nothing; with it the agents that work are ended too. The
program, units of a service manager, your projects, and what is not SCV's in the home
stay, and it says so.`,
		Example: "  scv uninstall                 tell what would be removed\n  scv uninstall --yes\n  scv uninstall --keep-data --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runUninstall(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.keep, "keep-data", false, "stop the daemon and leave the home as it is")
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "do it, and end the agents that work")
	return cmd
}

func runUninstall(ctx context.Context, opts *uninstallOptions) error {
	f := opts.f
	h, err := f.openHome()
	if err != nil {
		return err
	}
	live, jobs, err := opts.whatIsThere(ctx)
	if err != nil {
		return err
	}
	where := home.Pretty(h.Path())
	if !opts.yes {
		what := fmt.Sprintf("the daemon would be stopped, %s ended and %s removed with %s", plain.Count(live, "live run"), where, plain.Count(jobs, "job"))
		if opts.keep {
			what = fmt.Sprintf("the daemon would be stopped and %s ended; %s would stay", plain.Count(live, "live run"), where)
		}
		next := "do it: scv uninstall --yes   Keep the jobs: scv export DIR"
		if live > 0 {
			next = "wait for them, or end them too: scv uninstall --yes   Look at them: scv agents ps"
		}
		return &fault{code: exitRefused, message: what + "; nothing was done", next: next}
	}
	if err := ownersAlone(f.sys.Environ, h, "remove SCV"); err != nil {
		return err
	}
	if err := opts.endAll(ctx, h, live); err != nil {
		return err
	}
	if opts.keep {
		f.say("the daemon is stopped; %s stays. The program stays too: %s", where, home.Pretty(f.sys.Exe))
		return nil
	}
	left, err := opts.removeHome(h)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		f.say("what is SCV's in %s is removed; there stays what may be yours: %s", where, strings.Join(left, " "))
	} else {
		f.say("%s is removed", where)
	}
	f.say("what stays: the program %s, a unit of a service manager if you made one, and your projects", home.Pretty(f.sys.Exe))
	return nil
}

// homeEntries is what SCV makes in a home. Anything else there is somebody's, and a directory named by mistake is full
// of it.
func homeEntries() []string { return []string{"state", "runs", "private", "agents", "config.toml"} }

// removeHome removes what SCV made, and the home when nothing else is in it; it returns what is left.
func (o *uninstallOptions) removeHome(h *home.Home) (left []string, err error) {
	for _, name := range homeEntries() {
		if err := h.Root().RemoveAll(name); err != nil {
			return nil, fmt.Errorf("remove the home: %w", err)
		}
	}
	path := h.Path()
	o.f.opened.Close()
	o.f.opened = nil
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("look at what is left of the home: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() && os.Remove(filepath.Join(path, entry.Name())) == nil { // only an empty one
			continue
		}
		left = append(left, plain.Line(entry.Name()))
	}
	if len(left) > 0 {
		return left, nil
	}
	if err := os.Remove(path); err != nil {
		return nil, fmt.Errorf("remove the home: %w", err)
	}
	return nil, nil
}

// whatIsThere counts live runs and all jobs. No daemon is started for it.
func (o *uninstallOptions) whatIsThere(ctx context.Context) (live, jobs int, err error) {
	r, view, err := o.f.view(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer r.close()
	for _, run := range view.Runs {
		if run.Live && run.State != wire.StateIdle {
			live++
		}
	}
	err = r.eachJob(ctx, func(*wire.Job) { jobs++ })
	return live, jobs, err
}

// endAll ends the daemon and every run, also those that go on without a daemon: only a daemon finds them.
func (o *uninstallOptions) endAll(ctx context.Context, h *home.Home, live int) error {
	f := o.f
	_, err := f.stopDaemon(ctx, h, true)
	if !errors.Is(err, client.ErrNoDaemon) {
		return err
	}
	if live == 0 {
		return nil
	}
	c, err := f.startDaemon(ctx, h)
	if err != nil {
		return err
	}
	c.Close()
	_, err = f.stopDaemon(ctx, h, true)
	return err
}
