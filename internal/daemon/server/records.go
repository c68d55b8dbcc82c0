package server

import (
	"context"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Records is what the server reads of the ledger: what the hub no longer holds.
type Records interface {
	Job(ctx context.Context, session wire.SessionID, job wire.JobID) (row.Job, bool, error)
	Jobs(ctx context.Context, beforeNum uint64, limit int) ([]row.Job, error)
	Approvals(ctx context.Context, beforeNum uint64, limit int) ([]row.Approval, error)
	Result(ctx context.Context, job wire.JobID) (row.Result, bool, error)
	// Prompt is a job's prompt, masked and whole; Original is the unmasked one where masking changed it.
	Prompt(ctx context.Context, job wire.JobID) (string, bool, error)
	Original(job wire.JobID) (string, error)
	// Thread is what a conversation said up to a job, newest first.
	Thread(ctx context.Context, conversation wire.ConversationID, upTo wire.JobID, limit int) ([]row.Job, error)
}

// job finds a job where it is: in the hub while it is live or recent, else in the ledger. A dismissed one is gone.
func (r *request) job(session wire.SessionID, id wire.JobID) (row.Job, error) {
	ref, err := jobRef(session, id)
	if err != nil {
		return row.Job{}, err
	}
	job, ok := r.Hub.Jobs().Find(session, id)
	if !ok {
		job, ok, err = r.Records.Job(r.ctx, session, id)
		if err != nil {
			return row.Job{}, err
		}
	}
	if !ok || job.Hidden() {
		return row.Job{}, wire.Refuse(wire.ReasonNotFound, "jobs are listed by: scv jobs list --all", "there is no job %s", ref)
	}
	return job, nil
}

// archivist answers from what is recorded of jobs.
type archivist struct{ *request }

func (r archivist) do(cmd wire.Command) (answer, error) {
	switch cmd := cmd.(type) {
	case wire.JobResultCommand:
		return r.jobResult(cmd)
	case wire.JobsPage:
		return r.jobsPage(cmd)
	case wire.Why:
		return r.why(cmd)
	}
	return answer{}, notOffered(cmd)
}
