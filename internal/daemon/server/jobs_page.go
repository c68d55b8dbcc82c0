package server

import (
	"strconv"

	"scv/internal/wire"
)

// Bounds of a page of history, in jobs.
const (
	defaultPage = 100
	maxPage     = 500
)

// jobsPage lists jobs from the ledger, newest first, from where a page before ended. Jobs of the hub that changed since
// their last commit are given as the hub has them.
func (r archivist) jobsPage(cmd wire.JobsPage) (answer, error) {
	before := uint64(0)
	if cmd.After != nil {
		n, err := strconv.ParseUint(*cmd.After, 10, 64)
		if err != nil || n == 0 {
			return answer{}, wire.Refuse(wire.ReasonInvalid, "pass what the page before gave as next", "%.40q does not name a page", *cmd.After)
		}
		before = n
	}
	limit := defaultPage
	if cmd.Limit != nil {
		limit = int(min(max(*cmd.Limit, 1), maxPage))
	}
	rows, err := r.Records.Jobs(r.ctx, before, limit)
	if err != nil {
		return answer{}, err
	}
	page := &wire.JobHistory{}
	for _, job := range rows {
		if live, ok := r.Hub.Jobs().Find(job.Session, job.Job.Job); ok {
			job = live
		}
		if !job.Hidden() {
			page.Jobs = append(page.Jobs, job.Job)
		}
	}
	if len(rows) == limit {
		page.Next = new(strconv.FormatUint(rows[len(rows)-1].Num, 10))
	}
	st := r.light()
	st.JobsPage = page
	return answer{status: st}, nil
}
