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
	"scv/internal/home/config"
	"scv/internal/home/offer"
	"scv/internal/ui/tui"
	"scv/internal/ui/tui/feed"
	"scv/internal/ui/tui/keys"
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
	detach, err := f.detachKey()
	if err != nil {
		return err
	}
	shown.Detach = detach.String()
	if shown.Keys, err = ownKeys(f, h); err != nil {
		return err
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
			Attach: func(path string) (wire.Attachment, error) {
				files, err := attachments([]string{path})
				if err != nil {
					return wire.Attachment{}, spoken(err)
				}
				return files[0], nil
			},
		},
	}
	if !f.noStart {
		opts.Feed.Start = quiet.ensureDaemon
	}
	err = tui.Run(ctx, opts)
	if errors.Is(err, term.ErrNoTerminal) {
		return &fault{code: exitFailed, message: err.Error(), next: "run it in a terminal, or: scv jobs"}
	}
	return err
}

// ownKeys are the keys that the owner gave other keys. All that is wrong with them is told at once.
func ownKeys(f *factory, h *home.Home) (keys.Remap, error) {
	c, err := config.Load(h, f.sys.Environ, config.Overrides{})
	if err != nil {
		return keys.Remap{}, nil //nolint:nilerr // the daemon says what is wrong with the settings; the dashboard shows it
	}
	r, err := keys.NewRemap(c.Loop().Keys, model.Keys())
	if err != nil {
		return r, &fault{code: exitFailed, message: strings.ReplaceAll(err.Error(), "\n", "; "), next: "scv config edit"}
	}
	return r, nil
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
		found := model.Agent{Name: a.Name, Mode: a.Mode, Model: a.Model, Path: a.Path, Install: a.Install, SignIn: a.SignIn, Problem: a.Problem}
		if said, err := offer.Read(q.f.opened, a.Name); err == nil { // else it has not said yet what it offers
			found.Offers = said.AgentOffer
		}
		out = append(out, found)
	}
	return out, nil
}
