package ledger

import (
	"context"
	"fmt"
	"time"

	"scv/internal/workbench/row"
)

// usage is what was used by jobs that ended at a moment or later, oldest first.
func (r reads) usage(ctx context.Context, since uint64) (used []row.Used, err error) {
	err = scanAll(ctx, r.db, func(scan func(...any) error) error {
		var u row.Used
		var in, out *int64
		if err := scan(&u.Num, &u.At, &u.Agent, &in, &out, &u.CostUSD); err != nil {
			return err
		}
		if in != nil {
			u.InputTokens = new(uint64(*in))
		}
		if out != nil {
			u.OutputTokens = new(uint64(*out))
		}
		used = append(used, u)
		return nil
	}, usedSince, int64(min(since, 1<<62)))
	if err != nil {
		return nil, fmt.Errorf("read what was used: %w", err)
	}
	return used, nil
}

// today is what was spent by each agent since midnight, in US dollars.
func (r reads) today(ctx context.Context, now time.Time) (map[string]float64, error) {
	used, err := r.usage(ctx, uint64(max(row.Midnight(now).Unix(), 0)))
	var spent map[string]float64
	for _, u := range used {
		if u.CostUSD != nil {
			if spent == nil {
				spent = map[string]float64{}
			}
			spent[u.Agent] += *u.CostUSD
		}
	}
	return spent, err
}
