package sheet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/widget"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// usageDays is how many days are summed one by one.
const usageDays = 7

// A sum is what several jobs used, as far as their agents said.
type sum struct {
	jobs int
	used *wire.JobUsage
}

// Usage says what a job used, and all listed jobs by agent and by day.
func Usage(view *wire.Snapshot, job *wire.Job, zone *time.Location) []widget.Line {
	out := []widget.Line{{Role: canvas.Strong, Text: wording.Name(view, job) + ": " + told(job.Usage)}}
	agents, days := map[string]*sum{}, map[string]*sum{}
	for i := range view.Jobs {
		j := &view.Jobs[i]
		count(agents, j.Agent, j.Usage)
		count(days, time.Unix(int64(j.UpdatedUnixSeconds), 0).In(zone).Format("2006-01-02"), j.Usage)
	}
	table := func(title string, sums map[string]*sum, names []string) {
		out = append(out, widget.Line{}, widget.Line{Role: canvas.Faint, Text: title})
		for _, name := range names {
			head := canvas.Row{canvas.Cell(canvas.Body, name, 13), canvas.Text(" ")}
			out = append(out, widget.Line{Head: head, Text: fmt.Sprintf("%s, %s", plain.Count(sums[name].jobs, "job"), told(sums[name].used))})
		}
	}
	table("All jobs that are listed, as far as their agents said:", agents, slices.Sorted(maps.Keys(agents)))
	last := slices.Sorted(maps.Keys(days))
	slices.Reverse(last)
	table("By the day of their last change:", days, last[:min(len(last), usageDays)])
	return out
}

func count(sums map[string]*sum, key string, u *wire.JobUsage) {
	if sums[key] == nil {
		sums[key] = &sum{}
	}
	s := sums[key]
	s.jobs++
	if u == nil {
		return
	}
	if s.used == nil {
		s.used = &wire.JobUsage{}
	}
	add(&s.used.InputTokens, u.InputTokens)
	add(&s.used.OutputTokens, u.OutputTokens)
	add(&s.used.CostUSD, u.CostUSD)
}

// add adds a figure to one that may not be known yet.
func add[N uint64 | float64](to **N, n *N) {
	if n != nil {
		*to = new(*cmp.Or(*to, new(N)) + *n)
	}
}

func told(u *wire.JobUsage) string { return cmp.Or(wording.Used(u), "usage not known") }
