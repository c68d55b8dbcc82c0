// Package offline reads what a daemon would tell from the disk, when none answers: the ledger, read-only, and the run
// logs. It starts nothing, changes nothing and is as of the last commit; the caller says so to the person.
package offline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"scv/internal/home"
	"scv/internal/run/runlog"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// Bounds of a page of history, in jobs.
const (
	defaultPage = 100
	maxPage     = 500
)

// A Reader reads one home. It serves one goroutine.
type Reader struct {
	home   *home.Home
	ledger *ledger.Reader // nil until it is asked for
	none   bool           // there is no ledger: nothing was ever started here
}

// Open returns a reader of a home. The ledger is opened by what needs it first.
func Open(h *home.Home) (*Reader, error) { return &Reader{home: h}, nil }

// Close gives the ledger back.
func (r *Reader) Close() error {
	if r.ledger == nil {
		return nil
	}
	return r.ledger.Close()
}

// open reports false when the home has no ledger.
func (r *Reader) open(ctx context.Context) (bool, error) {
	if r.ledger != nil || r.none {
		return !r.none, nil
	}
	l, err := ledger.OpenReader(ctx, r.home)
	switch {
	case errors.Is(err, fs.ErrNotExist) && ledger.Missing(r.home):
		return false, wire.Refuse(wire.ReasonUnavailable, "start the daemon, which builds it anew from what lies beside it: scv start",
			"the ledger %s is missing", home.Pretty(r.home.LedgerPath()))
	case errors.Is(err, fs.ErrNotExist):
		r.none = true
		return false, nil
	case err != nil:
		return false, err
	}
	r.ledger = l
	return true, nil
}

// Snapshot is what the daemon would list, as of the last commit. A home without a ledger is an empty one.
func (r *Reader) Snapshot(ctx context.Context) (wire.Snapshot, error) {
	if ok, err := r.open(ctx); !ok {
		return wire.Snapshot{}, err
	}
	return r.ledger.Snapshot(ctx)
}

// Job finds a job; a dismissed one is gone.
func (r *Reader) Job(ctx context.Context, session wire.SessionID, id wire.JobID) (row.Job, error) {
	missing := wire.Refuse(wire.ReasonNotFound, "scv jobs list --all", "there is no job %s", session.Ref(id))
	ok, err := r.open(ctx)
	if err != nil {
		return row.Job{}, err
	}
	if !ok {
		return row.Job{}, missing
	}
	job, found, err := r.ledger.Job(ctx, session, id)
	if err != nil {
		return row.Job{}, err
	}
	if !found || job.Hidden() {
		return row.Job{}, missing
	}
	return job, nil
}

// JobResult is where a job stands and its reply from byte after on, as the action job_result tells it.
func (r *Reader) JobResult(ctx context.Context, session wire.SessionID, id wire.JobID, after uint64) (wire.JobResult, error) {
	job, err := r.Job(ctx, session, id)
	if err != nil {
		return wire.JobResult{}, err
	}
	var result row.Result
	if job.State.Final() {
		if result, _, err = r.ledger.Result(ctx, id); err != nil {
			return wire.JobResult{}, err
		}
	}
	return result.Page(job, after)
}

// Prompt is the masked prompt of a job, whole; empty when none is kept. No action of a daemon tells it.
func (r *Reader) Prompt(ctx context.Context, session wire.SessionID, id wire.JobID) (string, error) {
	if _, err := r.Job(ctx, session, id); err != nil {
		return "", err
	}
	text, _, err := r.ledger.Prompt(ctx, id)
	return text, err
}

// Why lists what the state of a job rests on, as of the last commit.
func (r *Reader) Why(ctx context.Context, session wire.SessionID, id wire.JobID) (wire.WhyReport, error) {
	job, err := r.Job(ctx, session, id)
	if err != nil {
		return wire.WhyReport{}, err
	}
	return wire.WhyReport{
		Session: job.Session, Job: job.Job.Job, State: job.State,
		SinceUnixSeconds: job.UpdatedUnixSeconds, Evidence: job.Evidence,
	}, nil
}

// Jobs is a page of jobs, newest first, from where the page before ended; limit 0 is 100.
func (r *Reader) Jobs(ctx context.Context, after *string, limit int) (wire.JobHistory, error) {
	before := uint64(0)
	if after != nil {
		n, err := strconv.ParseUint(*after, 10, 64)
		if err != nil || n == 0 {
			return wire.JobHistory{}, wire.Refuse(wire.ReasonInvalid, "scv jobs list --all", "%.40q does not name a page", *after)
		}
		before = n
	}
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	if ok, err := r.open(ctx); !ok {
		return wire.JobHistory{}, err
	}
	rows, err := r.ledger.Jobs(ctx, before, limit)
	if err != nil {
		return wire.JobHistory{}, err
	}
	var page wire.JobHistory
	for _, job := range rows {
		if !job.Hidden() {
			page.Jobs = append(page.Jobs, job.Job)
		}
	}
	if len(rows) == limit {
		page.Next = new(strconv.FormatUint(rows[len(rows)-1].Num, 10))
	}
	return page, nil
}

// RunLog is a page of a run's log, as the action run_log tells it. Who writes the log while no daemon lives is nobody,
// so a log that says nothing of its end is merely not finished.
func (r *Reader) RunLog(_ context.Context, handle wire.RunHandle, after uint64, limit int, tail bool) (wire.RunLogPage, error) {
	if _, err := wire.ParseRunHandle(string(handle)); err != nil {
		return wire.RunLogPage{}, wire.Refuse(wire.ReasonInvalid, "scv agents ps", "%v", err)
	}
	missing := wire.Refuse(wire.ReasonNotFound, "scv jobs list", "there is no log of a run %s", handle)
	root, err := r.home.RunRoot(handle)
	if errors.Is(err, fs.ErrNotExist) {
		return wire.RunLogPage{}, missing
	}
	if err != nil {
		return wire.RunLogPage{}, err
	}
	defer root.Close()
	page, err := runlog.ReadPage(root, handle, after, limit, tail)
	if errors.Is(err, fs.ErrNotExist) {
		return wire.RunLogPage{Handle: handle, Next: after}, nil
	}
	if err != nil {
		return wire.RunLogPage{}, fmt.Errorf("read the disk: %w", err)
	}
	return page, nil
}
