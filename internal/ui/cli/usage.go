package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type usageOptions struct {
	f     *factory
	by    string
	since string
	json  jsonFlag
}

// A usageRow sums what jobs used, as far as their agents said.
type usageRow struct {
	Key          string  `json:"key"` // an agent, a day or a job
	Jobs         int     `json:"jobs"`
	Silent       int     `json:"silent"` // of them, those that said nothing of it
	InputTokens  uint64  `json:"input_tokens"`
	OutputTokens uint64  `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
}

func newUsageCmd(f *factory, runF func(context.Context, *usageOptions) error) *cobra.Command {
	opts := &usageOptions{f: f}
	cmd := &cobra.Command{
		Use: "usage", Args: exactly(),
		Short: "Sum the tokens and costs that agents told",
		Long: `Sum the tokens and the costs of all jobs, by agent, by day or by job. The figures are
what the agents said; a job whose agent said nothing counts as silent, not as free.`,
		Example: "  scv usage\n  scv usage --by day --since 7d\n  scv usage --by job --json=key,cost_usd",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runUsage(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.by, "by", "agent", "sum for each agent, day or job")
	addSince(cmd.Flags(), &opts.since)
	addJSON[usageRow](cmd, &opts.json)
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(usageKeys(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func usageKeys() []string { return []string{"agent", "day", "job"} }

func runUsage(ctx context.Context, opts *usageOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	if err := oneOf("sum by", "--by", opts.by, usageKeys()); err != nil {
		return err
	}
	since, err := sinceTime(opts.since, f.now())
	if err != nil {
		return err
	}
	r, err := f.read(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	rows := []*usageRow{}
	sums := map[string]*usageRow{}
	err = r.eachJob(ctx, func(job *wire.Job) {
		if int64(job.UpdatedUnixSeconds) < since.Unix() {
			return
		}
		key := opts.key(job)
		if sums[key] == nil {
			sums[key] = &usageRow{Key: key}
			rows = append(rows, sums[key])
		}
		sums[key].add(job.Usage)
	})
	if err != nil {
		return err
	}
	if opts.by == "agent" {
		slices.SortFunc(rows, func(a, b *usageRow) int { return b.Jobs - a.Jobs })
	}
	return opts.print(rows)
}

// eachJob goes through all jobs, newest first, from the daemon or the disk.
func (r *reading) eachJob(ctx context.Context, visit func(*wire.Job)) error {
	var after *string
	for {
		page, err := r.history(ctx, after)
		if err != nil {
			return err
		}
		for i := range page.Jobs {
			visit(&page.Jobs[i])
		}
		if page.Next == nil {
			return nil
		}
		after = page.Next
	}
}

func (o *usageOptions) key(job *wire.Job) string {
	switch o.by {
	case "day":
		return time.Unix(int64(job.UpdatedUnixSeconds), 0).Local().Format("2006-01-02")
	case "job":
		return string(job.Job)
	}
	return job.Agent
}

func (u *usageRow) add(told *wire.JobUsage) {
	u.Jobs++
	if told == nil {
		u.Silent++
		return
	}
	if told.InputTokens != nil {
		u.InputTokens += *told.InputTokens
	}
	if told.OutputTokens != nil {
		u.OutputTokens += *told.OutputTokens
	}
	if told.CostUSD != nil {
		u.CostUSD += *told.CostUSD
	}
}

func (o *usageOptions) print(rows []*usageRow) error {
	f := o.f
	if o.json.on() {
		return o.json.print(f.sys.Out, rows)
	}
	if len(rows) == 0 {
		f.say("no jobs, so nothing was used. Next: scv jobs start --agent codex PROMPT")
		return nil
	}
	table, silent := make([][]cell, 0, len(rows)), 0
	for _, u := range rows {
		silent += u.Silent
		table = append(table, []cell{
			text(u.Key), text(fmt.Sprint(u.Jobs)), text(fmt.Sprint(u.InputTokens)), text(fmt.Sprint(u.OutputTokens)), text(fmt.Sprintf("%.4f", u.CostUSD)),
		})
	}
	err := f.printTable(f.sys.Out, []column{{name: strings.ToUpper(o.by)}, {name: "JOBS", keep: 1}, {name: "TOKENS IN", keep: 3}, {name: "TOKENS OUT", keep: 2}, {name: "USD", keep: 4}}, table)
	if err == nil && silent > 0 {
		f.say("%s told no figures", plain.Count(silent, "job"))
	}
	return err
}
