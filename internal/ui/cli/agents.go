package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/daemon"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

func newAgentsCmd(f *factory) *cobra.Command {
	return listing(&cobra.Command{
		Use:     "agents",
		Short:   "Show the agents that can work, and what runs",
		Example: "  scv agents\n  scv agents check codex\n  scv agents ps",
	}, newAgentsListCmd(f, nil),
		newAgentsListCmd(f, nil), newAgentsPsCmd(f, nil), newAgentsKillCmd(f, nil), newAgentsCheckCmd(f, nil),
		newAgentsLoginCmd(f), newAgentsStatusCmd(f), newAgentsLogoutCmd(f),
		newWorktreesCmd(f),
	)
}

type agentsListOptions struct {
	f    *factory
	json jsonFlag
}

// An agentRow is an agent as --json prints it.
type agentRow struct {
	Name      string   `json:"name"`
	Command   string   `json:"command"`
	Path      string   `json:"path"` // empty when it was not found
	Found     bool     `json:"found"`
	Transport string   `json:"transport"`  // of a job that asks for none: live or cli
	Can       []string `json:"transports"` // that a job may ask for
	Mode      string   `json:"mode"`
	Model     string   `json:"model"`
	SignIn    string   `json:"sign_in"`
	Install   string   `json:"install"`
	Passed    []string `json:"passed"` // names of variables that it inherits
	Problem   string   `json:"problem"`
}

func newAgentsListCmd(f *factory, runF func(context.Context, *agentsListOptions) error) *cobra.Command {
	opts := &agentsListOptions{f: f}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: exactly(),
		Short:   "List the agents, where they were found, and how to get them",
		Example: "  scv agents list\n  scv agents list --json=name,path,passed",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runAgentsList(opts)
		},
	}
	addJSON[agentRow](cmd, &opts.json)
	return cmd
}

func (f *factory) agents() ([]agentRow, error) {
	opt, err := f.daemonOptions(config.Overrides{})
	if err != nil {
		return nil, err
	}
	rows := []agentRow{}
	for _, a := range daemon.Agents(opt) {
		rows = append(rows, agentRow{
			Name: a.Name, Command: a.Command, Path: a.Path, Found: a.Path != "", Transport: transportWord(a.Transport), Can: a.Can, Mode: a.Mode,
			Model: a.Model, SignIn: a.SignIn, Install: a.Install, Passed: a.Passed, Problem: a.Problem,
		})
	}
	return rows, nil
}

// transportWord is the word for a transport that a job would ask for it by.
func transportWord(onWire string) string {
	if onWire == wire.TransportCLI {
		return wire.TransportCLI
	}
	return wire.TransportLive
}

// shownTransport is the chosen transport, and that there is another.
func shownTransport(a *agentRow) string {
	for _, other := range a.Can {
		if other != a.Transport {
			return a.Transport + " (or " + other + ")"
		}
	}
	return a.Transport
}

func runAgentsList(opts *agentsListOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	list, err := f.agents()
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, list)
	}
	rows := make([][]cell, 0, len(list))
	for i := range list {
		a := &list[i]
		state, next := cell{show: "found", colour: "32"}, orElse(a.SignIn, "-")
		if !a.Found {
			state, next = cell{show: "missing", colour: "33"}, orElse(a.Install, "-")
		}
		rows = append(rows, []cell{
			text(a.Name), state, text(a.Mode), {show: orElse(plain.Line(home.Pretty(a.Path)), "-"), pipe: a.Path}, text(next), text(shownTransport(a)),
		})
	}
	columns := []column{{name: "AGENT"}, {name: "STATE"}, {name: "MODE", keep: 2}, {name: "PATH", keep: 1, shrink: 8}, {name: "SIGN IN OR INSTALL", shrink: 12}, {name: "TRANSPORT", keep: 3}}
	if err := f.printTable(f.sys.Out, columns, rows); err != nil {
		return err
	}
	f.say("an agent inherits %d named variables of the environment and no others;", len(list[0].Passed))
	f.say("see them: scv agents --json=name,passed   Next: scv agents check NAME")
	return nil
}

type agentsPsOptions struct {
	f      *factory
	all    bool
	quiet  bool
	filter filterFlag
	json   jsonFlag
}

func newAgentsPsCmd(f *factory, runF func(context.Context, *agentsPsOptions) error) *cobra.Command {
	opts := &agentsPsOptions{f: f}
	cmd := &cobra.Command{
		Use: "ps", Args: exactly(),
		Short:   "List the runs that are alive",
		Example: "  scv agents ps\n  scv agents ps --all --json=handle,state",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runAgentsPs(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.all, "all", "a", false, "runs that ended lately too")
	cmd.Flags().BoolVarP(&opts.quiet, "quiet", "q", false, "print only the handles")
	addJSON[wire.Run](cmd, &opts.json)
	addFilter[wire.Run](cmd, &opts.filter)
	return cmd
}

func runAgentsPs(ctx context.Context, opts *agentsPsOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, view, err := f.view(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	runs := []wire.Run{}
	for _, run := range view.Runs {
		if run.Live || opts.all {
			runs = append(runs, run)
		}
	}
	if runs, err = filtered(&opts.filter, runs); err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, runs)
	}
	rows := make([][]cell, 0, len(runs))
	for _, run := range runs {
		if opts.quiet {
			if _, err := fmt.Fprintln(f.sys.Out, run.Handle); err != nil {
				return err
			}
			continue
		}
		job := "-"
		if run.Job != nil {
			job = string(*run.Job)
		}
		rows = append(rows, []cell{
			text(string(run.Handle)),
			{show: run.State.String(), colour: stateColour(run.State)},
			text(job),
			f.when(run.StartedUnixSeconds), text(home.Pretty(run.Cwd)), text(value(run.Detail)),
		})
	}
	if opts.quiet {
		return nil
	}
	if len(rows) == 0 {
		f.say("nothing runs. Next: scv jobs start --agent codex PROMPT")
		return nil
	}
	return f.printTable(f.sys.Out, []column{
		{name: "RUN"}, {name: "STATE"}, {name: "JOB"}, {name: "SINCE", keep: 3}, {name: "CWD", keep: 2, shrink: 12}, {name: "DETAIL", keep: 1, shrink: 10},
	}, rows)
}

type agentsKillOptions struct {
	f       *factory
	handles []string
	quiet   bool
}

func newAgentsKillCmd(f *factory, runF func(context.Context, *agentsKillOptions) error) *cobra.Command {
	opts := &agentsKillOptions{f: f}
	cmd := &cobra.Command{
		Use: "kill RUN...", Args: atLeastOne("a run, such as codex-3f9a2c"), ValidArgsFunction: f.completeRuns,
		Short: "End the processes of a run", Example: "  scv agents kill codex-3f9a2c",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.handles = args
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runAgentsKill(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.quiet, "quiet", "q", false, "print only the handles")
	return cmd
}

func runAgentsKill(ctx context.Context, opts *agentsKillOptions) error {
	f := opts.f
	c, err := f.dial(ctx)
	if err != nil {
		return err
	}
	r := &reading{f: f, h: f.opened, conn: c}
	defer r.close()
	view, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	for _, name := range opts.handles {
		handle, ok := findRun(view, name)
		if !ok {
			return &fault{code: exitNotFound, message: fmt.Sprintf("there is no run %q", name), next: "list them: scv agents ps"}
		}
		st, err := f.call(ctx, wire.DelegationKillCommand{Handle: &handle, Key: client.NewKey()})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(f.sys.Out, handle); err != nil {
			return err
		}
		if !opts.quiet {
			f.say("%s. Next: scv agents ps", orElse(trimDot(value(st.WorkbenchNote)), string(handle)+" is being stopped"))
		}
	}
	return nil
}
