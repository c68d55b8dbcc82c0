package server

import (
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// jobResult tells where a job stands and what it said: the first 4 KiB as upstream does, and the rest in pages.
func (r archivist) jobResult(cmd wire.JobResultCommand) (answer, error) {
	job, err := r.job(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	result, err := r.result(job)
	if err != nil {
		return answer{}, err
	}
	page, err := result.Page(job, cmd.After)
	if err != nil {
		return answer{}, err
	}
	if r.Ground != nil && cmd.After == 0 {
		page.Facts = r.Ground.Facts(r.ctx, job)
	}
	if job.Review != nil && cmd.After == 0 {
		page.Outcome = job.Review.Outcome
	}
	st := r.light()
	st.JobResult = &page
	return answer{status: st}, nil
}

// result is what a finished job left. State and reply become visible in one step: the hub has both until the ledger
// has both.
func (r archivist) result(job row.Job) (row.Result, error) {
	if !job.State.Final() {
		return row.Result{}, nil
	}
	if res, ok := r.Hub.Jobs().Result(job.Session, job.Job.Job); ok {
		return res, nil
	}
	res, _, err := r.Records.Result(r.ctx, job.Job.Job)
	return res, err
}
