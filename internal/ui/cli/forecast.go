package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type forecastOptions struct {
	f    *factory
	json jsonFlag
}

func newForecastCmd(f *factory, runF func(context.Context, *forecastOptions) error) *cobra.Command {
	opts := &forecastOptions{f: f}
	cmd := &cobra.Command{
		Use: "forecast", Args: exactly(), Short: "Tell which jobs would conflict, and how to land them",
		Long: `Tell which worktrees of jobs would conflict with each other and with what they started
from, in which files, and an order to bring them home with the fewest conflicts. Only
what is committed is compared.`,
		Example: "  scv forecast\n  scv forecast --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runForecast(cmd.Context(), opts)
		},
	}
	addJSON[wire.Forecast](cmd, &opts.json)
	return cmd
}

func runForecast(ctx context.Context, opts *forecastOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	st, err := f.call(ctx, wire.ForecastCommand{})
	if err != nil {
		return err
	}
	c := st.Forecast
	if c == nil {
		c = &wire.Forecast{}
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, c)
	}
	if len(c.Branches) == 0 {
		f.say("no job has work in a worktree. Start one: scv jobs start --worktree PROMPT")
		return nil
	}
	rows := make([][]cell, 0, len(c.Branches))
	for i := range c.Branches {
		b := &c.Branches[i]
		_, id, _ := b.Job.Split()
		rows = append(rows, []cell{
			text(strconv.Itoa(i + 1)), {show: string(id), pipe: string(b.Job)}, text(b.Branch), text(wording.BranchWork(b)), text(orElse(strings.Join(wording.Meets(c, b), "; "), "none")),
		})
	}
	return f.printTable(f.sys.Out, []column{{name: "LAND"}, {name: "JOB"}, {name: "BRANCH", keep: 2, shrink: 12}, {name: "WORK", keep: 3}, {name: "CONFLICTS", shrink: 16}}, rows)
}
