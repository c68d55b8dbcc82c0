package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/home/config"
	"scv/internal/home/offer"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// completionPatience bounds a look at the daemon while a person waits at a half-typed word.
const completionPatience = 90 * time.Millisecond

func newCompletionCmd(f *factory) *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Args: exactly("a shell: bash, zsh, fish or powershell"),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Short:     "Print the completion script of a shell",
		Long:      "Print the completion script of a shell: bash, zsh, fish or powershell.",
		Example:   "  source <(scv completion bash)\n  scv completion fish > ~/.config/fish/completions/scv.fish",
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), f.sys.Out
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return oneOf("completion for", "scv completion", args[0], cmd.ValidArgs)
		},
	}
}

// completeJobs offers the jobs that the daemon lists, and nothing when it does not answer at once.
func (f *factory) completeJobs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	view, err := f.glance(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for i := range view.Jobs {
		job := &view.Jobs[i]
		out = append(out, wording.Name(view, job)+"\t"+job.State.String()+" "+plain.Line(job.Task))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRuns offers the live runs.
func (f *factory) completeRuns(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	view, err := f.glance(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for i := range view.Runs {
		if view.Runs[i].Live {
			out = append(out, string(view.Runs[i].Handle))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeAgents offers the agents of this release and the owner's own.
func (f *factory) completeAgents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	h, err := f.openHome()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := config.Load(h, f.sys.Environ, config.Overrides{})
	if err != nil { // which the command itself will say
		return config.Served(), cobra.ShellCompDirectiveNoFileComp
	}
	return c.Served(), cobra.ShellCompDirectiveNoFileComp
}

// completeOffered offers what the agent of --agent said at its last start that it can do.
func (f *factory) completeOffered(choices func(offer.Offer, *cobra.Command) []wire.AgentChoice) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		h, err := f.openHome()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		name, _ := cmd.Flags().GetString("agent") // without it nothing is known, which Read tells
		o, err := offer.Read(h, name)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, c := range choices(o, cmd) {
			out = append(out, strings.TrimSuffix(c.ID+"\t"+plain.Line(c.Name), "\t"))
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// offeredEfforts are those of the model that the command names, else all of the agent's.
func offeredEfforts(o offer.Offer, cmd *cobra.Command) (out []wire.AgentChoice) {
	model, _ := cmd.Flags().GetString("model")
	for _, effort := range o.EffortsOf(model) {
		out = append(out, wire.AgentChoice{ID: effort})
	}
	return out
}

// glance asks a running daemon for the workbench, quickly or not at all.
func (f *factory) glance(ctx context.Context) (*wire.Snapshot, error) {
	h, err := f.openHome()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	c, err := client.Dial(ctx, f.target(h), f.peer())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	st, err := c.Call(ctx, wire.WorkbenchCommand{})
	if err != nil || st.Workbench == nil {
		return nil, client.ErrSilent
	}
	return st.Workbench, nil
}
