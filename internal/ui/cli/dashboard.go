package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/ui/tui"
	"scv/internal/ui/tui/feed"
	"scv/internal/ui/tui/model"
	"scv/internal/ui/tui/term"
	"scv/internal/wire"
)

// runDashboard is scv without a verb. A terminal gets the dashboard, or plain lines when the owner wants those; anything
// else gets the help, since nobody reads a screen there.
func runDashboard(ctx context.Context, f *factory, plainLines bool, help func() error) error {
	if !plainLines && !isTerminal(f.sys.Out) {
		return help()
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	return f.dashboard(ctx, h, plainLines, model.Options{Home: home.Pretty(h.Path())})
}

// dashboard shows the dashboard of a home.
func (f *factory) dashboard(ctx context.Context, h *home.Home, plainLines bool, shown model.Options) error {
	if why := term.Usable(f.env("TERM")); why != "" && !plainLines {
		return &fault{code: exitFailed, message: why + ", so the dashboard cannot be drawn", next: "scv --plain tells each change as a line   Or look once: scv jobs"}
	}
	shown.Zone, shown.NewKey = time.Local, client.NewKey
	if shown.Cwd == "" {
		shown.Cwd, _ = directory("") // one that is gone is said when a job is started
	}
	quiet := f.quiet()
	opts := tui.Options{
		Model: shown, Env: f.env, Out: f.sys.Out, Now: f.sys.Now, Plain: plainLines, Exit: os.Exit,
		Feed: feed.Options{
			Target: client.Target{Socket: h.Socket(), Client: wire.PeerInfo{Name: "scv-tui", Version: f.sys.Version}},
			Home:   h, Agents: quiet.dashboardAgents,
			Place: func(path string) (cwd, root string, err error) {
				if cwd, err = directory(path); err != nil {
					return "", "", spoken(err)
				}
				return cwd, workspace(cwd), nil
			},
		},
	}
	if !f.noStart {
		opts.Feed.Start = quiet.ensureDaemon
	}
	err := tui.Run(ctx, opts)
	if errors.Is(err, term.ErrNoTerminal) {
		return &fault{code: exitFailed, message: err.Error(), next: "run it in a terminal, or: scv jobs"}
	}
	return err
}

// quiet is this command line with what it says about the daemon kept for the dashboard: nothing else may write while the
// terminal is drawn on.
func (f *factory) quiet() *quietly {
	q := &quietly{}
	screen, svc := *f.screen, *f.service
	screen.sys.Err = &q.said
	svc.screen = &screen
	q.f = &factory{&svc}
	return q
}

// quietly is used by one goroutine at a time.
type quietly struct {
	f    *factory
	said bytes.Buffer
}

// ensureDaemon starts the daemon unless it runs.
func (q *quietly) ensureDaemon(ctx context.Context) error {
	c, err := q.f.dial(ctx)
	if err == nil {
		return c.Close()
	}
	if text := strings.TrimSpace(q.said.String()); text != "" {
		q.said.Reset()
		return errors.New(strings.TrimPrefix(text, "scv: "))
	}
	return spoken(err)
}

// spoken is an error as one sentence, with its next step.
func spoken(err error) error {
	if e, ok := errors.AsType[*fault](err); ok {
		return errors.New(strings.TrimPrefix(sentence(e.message, e.next), "scv: "))
	}
	return err
}

func (q *quietly) dashboardAgents() ([]model.Agent, error) {
	rows, err := q.f.agents()
	if err != nil {
		return nil, spoken(err)
	}
	var out []model.Agent
	for _, a := range rows {
		out = append(out, model.Agent{Name: a.Name, Mode: a.Mode, Model: a.Model, Path: a.Path, Install: a.Install, SignIn: a.SignIn, Problem: a.Problem})
	}
	return out, nil
}
