package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

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
			text(strconv.Itoa(i + 1)), {show: string(id), pipe: string(b.Job)}, text(b.Branch), text(work(b)), text(meets(c, b)),
		})
	}
	return f.printTable(f.sys.Out, []column{{name: "LAND"}, {name: "JOB"}, {name: "BRANCH", keep: 2, shrink: 12}, {name: "WORK", keep: 3}, {name: "CONFLICTS", shrink: 16}}, rows)
}

func work(b *wire.ForecastBranch) string {
	if b.Note != nil {
		return "not known"
	}
	text := strconv.FormatUint(uint64(b.Files), 10) + " files"
	if b.Loose > 0 {
		text += fmt.Sprintf(", %d not committed", b.Loose)
	}
	return text
}

// meets tells with what a branch conflicts, and where.
func meets(c *wire.Forecast, b *wire.ForecastBranch) string {
	var parts []string
	if b.Note != nil {
		parts = append(parts, *b.Note)
	}
	if len(b.Base) > 0 {
		parts = append(parts, strings.TrimPrefix(b.Onto, "refs/heads/")+" in "+few(b.Base))
	}
	for i := range c.Conflicts {
		x := &c.Conflicts[i]
		other := x.One
		switch b.Job {
		case x.One:
			other = x.Other
		case x.Other:
		default:
			continue
		}
		_, id, _ := other.Split()
		parts = append(parts, string(id)+" in "+few(x.Files))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}

func few(files []string) string {
	shown := strings.Join(files[:min(len(files), 3)], ", ")
	if more := len(files) - 3; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return shown
}
