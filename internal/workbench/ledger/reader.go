package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

func timeOf(ms int64) time.Time { return time.UnixMilli(ms) }

// A Reader reads a ledger without changing it, while a daemon writes it or none runs. What a daemon that died did not
// commit is not in it: live states are those of the last commit.
type Reader struct {
	r    reads
	step int // of the tables in the file, which an older build may have made
}

// approvalStep is the additive step that has approvals.
const approvalStep = 2

// OpenReader opens a home's ledger for reading. A home without one is fs.ErrNotExist, a newer one a *NewerLayoutError.
func OpenReader(ctx context.Context, h *home.Home) (*Reader, error) {
	path := h.LedgerPath()
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no job was ever started here: %w", err)
		}
		return nil, fmt.Errorf("look at the ledger: %w", err)
	}
	r, err := openReader(ctx, readerDSN(path))
	if err != nil && writeProtected(err) {
		r, err = openReader(ctx, readerDSN(path)+immutable)
	}
	if err != nil {
		return nil, unopened(h, err)
	}
	return r, nil
}

// immutable is added to the name of a database whose directory cannot be written: nobody can be writing it, so it is
// never half-written, and SQLite could not make the files beside it that it would read it with.
const immutable = "&immutable=1"

func writeProtected(err error) bool {
	return strings.Contains(err.Error(), "readonly") || strings.Contains(err.Error(), "unable to open database file")
}

func openReader(ctx context.Context, dsn string) (*Reader, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open the ledger for reading: %w", err)
	}
	db.SetMaxOpenConns(1)
	if err := layoutOf(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	r := &Reader{r: reads{db}}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&r.step); err != nil {
		return nil, errors.Join(plain("look at the ledger", err), db.Close())
	}
	return r, nil
}

// Close gives the database back.
func (r *Reader) Close() error { return r.r.db.Close() }

// Snapshot returns what a daemon would list, as of the last commit. Nothing in it is observed: what was live then says
// so, and the caller says since when no daemon answers.
func (r *Reader) Snapshot(ctx context.Context) (wire.Snapshot, error) {
	out := wire.Snapshot{GeneratedUnixSeconds: uint64(max(time.Now().Unix(), 0))}
	var l row.Loaded
	if err := r.r.recent(ctx, &l); err != nil {
		return out, plain("read the ledger", err)
	}
	if err := r.r.around(ctx, &l); err != nil {
		return out, plain("read the ledger", err)
	}
	for i := range l.Sessions {
		l.Sessions[i].Live, l.Sessions[i].State = false, wire.StateUnknown
		out.Sessions = append(out.Sessions, l.Sessions[i].Session)
	}
	for i := range l.Jobs {
		out.Jobs = append(out.Jobs, l.Jobs[i].Job)
	}
	for i := range l.Runs {
		out.Runs = append(out.Runs, l.Runs[i].Run)
	}
	if r.step >= approvalStep {
		if err := r.r.asked(ctx, &l); err != nil {
			return out, plain("read the ledger", err)
		}
	}
	for i := range l.Approvals {
		if l.Approvals[i].Waits() {
			out.Approvals = append(out.Approvals, l.Approvals[i].Shown())
		}
	}
	slices.SortFunc(out.Approvals, func(a, b wire.Approval) int {
		return cmp.Or(cmp.Compare(a.SinceUnixSeconds, b.SinceUnixSeconds), cmp.Compare(a.Rev, b.Rev))
	})
	slices.SortFunc(out.Sessions, func(a, b wire.Session) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(out.Jobs, func(a, b wire.Job) int { return cmp.Compare(b.Job.Number(), a.Job.Number()) })
	slices.SortFunc(out.Runs, func(a, b wire.Run) int { return cmp.Compare(b.LastActivityUnixSeconds, a.LastActivityUnixSeconds) })
	return out, nil
}

// Job returns a job, also a dismissed one; false when there is none of that name.
func (r *Reader) Job(ctx context.Context, session wire.SessionID, id wire.JobID) (row.Job, bool, error) {
	return r.r.job(ctx, session, id)
}

// Jobs returns at most limit jobs with a number below beforeNum (0: from the newest), newest first.
func (r *Reader) Jobs(ctx context.Context, beforeNum uint64, limit int) ([]row.Job, error) {
	return r.r.jobs(ctx, beforeNum, limit)
}

// Result returns what a finished job left, whole.
func (r *Reader) Result(ctx context.Context, id wire.JobID) (row.Result, bool, error) {
	return r.r.result(ctx, id)
}

// Prompt returns the masked prompt of a job; false when none is kept.
func (r *Reader) Prompt(ctx context.Context, id wire.JobID) (string, bool, error) {
	return r.r.prompt(ctx, id)
}

// Runs returns the handles of all runs and whether each may be alive.
func (r *Reader) Runs(ctx context.Context) (map[wire.RunHandle]bool, error) {
	all := map[wire.RunHandle]bool{}
	err := scanAll(ctx, r.r.db, func(scan func(...any) error) error {
		var handle string
		var live bool
		err := scan(&handle, &live)
		all[wire.RunHandle(handle)] = live
		return err
	}, "SELECT handle, live FROM run")
	if err != nil {
		return nil, plain("read the runs", err)
	}
	return all, nil
}

// A Text is a job with all that was written about it, masked.
type Text struct {
	row.Job
	Prompt string
	row.Result
}

// Texts gives at most limit jobs with a number below beforeNum (0: from the newest), newest first, one at a time: only
// one reply is in memory. What visit does must not use this reader.
func (r *Reader) Texts(ctx context.Context, beforeNum uint64, limit int, visit func(*Text) error) error {
	if beforeNum == 0 || beforeNum > math.MaxInt64 {
		beforeNum = math.MaxInt64
	}
	var stopped error
	err := scanAll(ctx, r.r.db, func(scan func(...any) error) error {
		var body []byte
		var t Text
		if err := scan(&body, &t.Prompt, &t.Reply, &t.Result.Error); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &t.Job); err != nil {
			return err
		}
		stopped = visit(&t)
		return stopped
	}, listedTexts, int64(beforeNum), max(limit, 0))
	if stopped != nil {
		return stopped
	}
	if err != nil {
		return plain("read the jobs' texts", err)
	}
	return nil
}
