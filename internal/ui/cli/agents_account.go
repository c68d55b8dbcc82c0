package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/daemon"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/plain"
	"scv/internal/safe/redact"
	"scv/internal/wire"
)

// accountPatience bounds an agent's own answer on who is signed in.
const accountPatience = time.Minute

type agentsAccountOptions struct {
	f    *factory
	name string
	json jsonFlag
}

// newAgentsAccountCmd makes one of the three commands on an agent's account.
func newAgentsAccountCmd(f *factory, cmd *cobra.Command, runF func(context.Context, *agentsAccountOptions) error) *cobra.Command {
	opts := &agentsAccountOptions{f: f}
	cmd.Args, cmd.ValidArgsFunction = exactly("an agent, such as codex"), f.completeAgents
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			opts.name = args[0]
		}
		return runF(cmd.Context(), opts)
	}
	return cmd
}

func newAgentsLoginCmd(f *factory) *cobra.Command {
	return newAgentsAccountCmd(f, &cobra.Command{
		Use: "login NAME", Short: "Sign in to an agent, by its own command",
		Long:    "Sign in to an agent by its own command, in your own home or in its private one\n(agents.NAME.home). What waits for the sign-in then goes on.",
		Example: "  scv agents login codex",
	}, runAgentsLogin)
}

func newAgentsLogoutCmd(f *factory) *cobra.Command {
	return newAgentsAccountCmd(f, &cobra.Command{
		Use: "logout NAME", Short: "Sign out of an agent, by its own command",
		Example: "  scv agents logout codex",
	}, runAgentsLogout)
}

func newAgentsStatusCmd(f *factory) *cobra.Command {
	opts := &agentsAccountOptions{f: f}
	cmd := newAgentsAccountCmd(f, &cobra.Command{
		Use: "status NAME", Short: "Tell whether an agent is signed in, and in which home",
		Long:    "Ask an agent's own command whether somebody is signed in. If so, what waits for a\nsign-in goes on: one job first, and the others once that one worked.",
		Example: "  scv agents status codex\n  scv agents status codex --json=signed_in,home",
	}, func(ctx context.Context, o *agentsAccountOptions) error {
		opts.name = o.name
		return runAgentsStatus(ctx, opts)
	})
	addJSON[accountReport](cmd, &opts.json)
	return cmd
}

// An accountReport is what scv agents status prints.
type accountReport struct {
	Agent    string                    `json:"agent"`
	SignedIn *bool                     `json:"signed_in"` // null: its command does not tell
	Said     string                    `json:"said"`      // the first line of its own answer, masked
	Home     string                    `json:"home"`      // own or private
	Path     string                    `json:"path"`      // of a private home
	Endpoint string                    `json:"endpoint"`  // the service that is spoken to, where a variable names it
	Carried  []daemon.CarriedVariables `json:"carried"`   // what a private home shares with yours
	Held     string                    `json:"held"`      // what the daemon says of held jobs
}

// account finds an agent's account, and its program.
func (o *agentsAccountOptions) account() (daemon.Account, error) {
	f := o.f
	opt, err := f.daemonOptions(config.Overrides{})
	if err != nil {
		return daemon.Account{}, err
	}
	a, found, err := daemon.AccountOf(opt, o.name)
	if err != nil {
		return a, err
	}
	if !found {
		_, err := f.agentNamed(o.name)
		return a, err
	}
	if a.Path == "" {
		row, err := f.agentNamed(o.name)
		if err != nil {
			return a, err
		}
		return a, &fault{code: exitNotFound, message: fmt.Sprintf("the program of %s was not found", o.name), next: orElse(row.Install, "scv agents")}
	}
	return a, nil
}

// own runs the agent's own command with this terminal.
func (o *agentsAccountOptions) own(ctx context.Context, a daemon.Account, args []string, what string) error {
	f := o.f
	if err := ownersAlone(f.sys.Environ, f.opened, what); err != nil { // besides, the agent's command may wait for him for ever
		return err
	}
	if args == nil {
		return &fault{code: exitFailed, message: fmt.Sprintf("%s has no command to %s", a.Agent, what), next: "do it as its own manual says, then: scv agents check " + a.Agent}
	}
	f.say("%s", plain.Line(strings.Join(append([]string{a.Agent + ":", home.Pretty(a.Path)}, args...), " ")))
	if len(args) == 0 {
		f.say("it has no command of its own for that: do it inside, and leave it")
	}
	cmd := exec.CommandContext(ctx, a.Path, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Environ, os.Stdin, f.sys.Out, f.sys.Err
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &fault{code: exitFailed, message: fmt.Sprintf("%s ended with code %d", home.Pretty(a.Path), exit.ExitCode()), next: "scv agents status " + a.Agent}
	}
	return err
}

func runAgentsLogin(ctx context.Context, opts *agentsAccountOptions) error {
	a, err := opts.account()
	if err != nil {
		return err
	}
	if err := opts.own(ctx, a, a.Login, "sign in"); err != nil {
		return err
	}
	in, said := signedIn(ctx, a)
	if in != nil && !*in {
		return &fault{code: exitSignIn, message: fmt.Sprintf("%s says that nobody is signed in: %s", a.Agent, said), next: "scv agents login " + a.Agent}
	}
	opts.f.say("%s", orElse(opts.goOn(ctx), a.Agent+" is signed in. Next: scv agents check "+a.Agent))
	return nil
}

func runAgentsLogout(ctx context.Context, opts *agentsAccountOptions) error {
	a, err := opts.account()
	if err != nil {
		return err
	}
	return opts.own(ctx, a, a.Logout, "sign out")
}

// signedIn asks the agent's own command who is signed in; nil when it has none, or does not answer.
func signedIn(ctx context.Context, a daemon.Account) (in *bool, said string) {
	if a.Status == nil {
		return nil, "its program has no command that tells"
	}
	ctx, cancel := context.WithTimeout(ctx, accountPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.Path, a.Status...)
	cmd.Env, cmd.WaitDelay = a.Environ, time.Second
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		return nil, "its program did not answer"
	}
	text := redact.New().Text(string(out[:min(len(out), 4096)]))
	for line := range strings.Lines(text) {
		if line = strings.Trim(plain.Line(line), " {}"); line != "" && !strings.HasPrefix(line, "WARNING") {
			said = line
			break
		}
	}
	return new(err == nil), said
}

// goOn lets what waits for the sign-in try, when a daemon runs, and returns what it says; empty when nothing was held.
func (o *agentsAccountOptions) goOn(ctx context.Context) string {
	return o.running(ctx, func(ctx context.Context, c *client.Conn) string {
		if !c.Has(wire.FeatureHolds) || held(ctx, c, o.name) == "" {
			return ""
		}
		st, err := c.Call(ctx, wire.AgentResume{Agent: o.name, Key: client.NewKey()})
		if err != nil {
			return err.Error()
		}
		return value(st.WorkbenchNote)
	})
}

// running asks the daemon something, if one runs.
func (o *agentsAccountOptions) running(ctx context.Context, do func(context.Context, *client.Conn) string) string {
	h, err := o.f.openHome()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readPatience, client.ErrSilent)
	defer cancel()
	c, err := o.f.connect(ctx, h)
	if err != nil {
		return ""
	}
	defer c.Close()
	return do(ctx, c)
}

// held is what the daemon says of an agent whose jobs are held.
func held(ctx context.Context, c *client.Conn, agent string) string {
	st, err := c.Call(ctx, wire.StatusCommand{})
	if err != nil {
		return ""
	}
	for _, h := range st.Held {
		if h.Agent == agent {
			return h.Text
		}
	}
	return ""
}

func runAgentsStatus(ctx context.Context, opts *agentsAccountOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	a, err := opts.account()
	if err != nil {
		return err
	}
	rep := &accountReport{Agent: a.Agent, Home: config.HomeOwn, Path: a.Home, Endpoint: redact.New().Text(a.Endpoint), Carried: []daemon.CarriedVariables{}}
	if a.Home != "" {
		rep.Home, rep.Carried = config.HomePrivate, a.Carried
	}
	rep.SignedIn, rep.Said = signedIn(ctx, a)
	if rep.SignedIn != nil && *rep.SignedIn {
		if note := opts.goOn(ctx); note != "" {
			f.say("%s", note)
		}
	}
	rep.Held = opts.running(ctx, func(ctx context.Context, c *client.Conn) string { return held(ctx, c, a.Agent) })
	if opts.json.on() {
		err = opts.json.print(f.sys.Out, rep)
	} else {
		err = rep.print(f.screen)
	}
	if err == nil && rep.SignedIn != nil && !*rep.SignedIn {
		f.say("Next: scv agents login %s", a.Agent)
		return status(exitSignIn)
	}
	return err
}

func (rep *accountReport) print(f *screen) error {
	signed := "not known"
	if rep.SignedIn != nil {
		signed = map[bool]string{true: "yes", false: "no"}[*rep.SignedIn]
	}
	where := "your own"
	if rep.Home == config.HomePrivate {
		where = "private, " + home.Pretty(rep.Path)
	}
	lines := [][2]string{
		{"agent", rep.Agent},
		{"signed in", signed},
		{"says", rep.Said},
		{"home", where},
		{"endpoint", orElse(rep.Endpoint, "as the agent's own settings say")},
		{"held", rep.Held},
	}
	for _, c := range rep.Carried {
		set := ""
		if !c.Set {
			set = " (not set here)"
		}
		lines = append(lines, [2]string{"carried", strings.Join(c.Names, " ") + ": " + c.Why + set})
	}
	for _, l := range lines {
		if l[1] == "" {
			continue
		}
		name, sep := l[0], "\t"
		if f.columns > 0 {
			name, sep = plain.Pad(l[0], 10), " "
		}
		if _, err := fmt.Fprintln(f.sys.Out, name+sep+f.hang(len(name+sep), plain.Line(l[1]))); err != nil {
			return err
		}
	}
	return nil
}
