package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// retireChunk is how many jobs one step looks at, so that no writer waits long.
const retireChunk = 200

const (
	oldJobs           = `SELECT body FROM job WHERE open = 0 AND num > ?1 ORDER BY num LIMIT ?2`
	openConversations = `SELECT DISTINCT conversation FROM job WHERE open = 1`
	runOfHandle       = `SELECT body FROM run WHERE handle = ?1 AND live = 0`
)

// A Leaving is what may leave a home for its age: jobs, and the runs that served nothing else.
type Leaving struct {
	Jobs []row.Job
	Runs []wire.RunHandle
}

// LeavingOf looks through the next jobs after number after: those that ended before a moment and cannot be resumed. next
// is where to go on, and 0 at the end: a job that was made after the moment cannot have ended before it.
func LeavingOf(ctx context.Context, s *Store, before time.Time, after uint64) (l Leaving, next uint64, err error) {
	r, err := s.reader()
	if err != nil {
		return l, 0, err
	}
	busy, err := busyConversations(ctx, r)
	if err != nil {
		return l, 0, err
	}
	jobs, err := many[row.Job](ctx, r.db, "old jobs", oldJobs, int64(after), retireChunk)
	if err != nil {
		return l, 0, err
	}
	cutoff := uint64(max(before.Unix(), 0))
	going := map[wire.JobID]bool{}
	for i := range jobs {
		j := &jobs[i]
		if j.CreatedUnixSeconds > cutoff {
			break
		}
		next = j.Num
		resumable := j.State == wire.StateInterrupted && !j.Dismissed
		if max(j.Finished, j.UpdatedUnixSeconds) >= cutoff || resumable || busy[optional(j.Conversation)] {
			continue
		}
		l.Jobs = append(l.Jobs, *j)
		going[j.Job.Job] = true
	}
	if len(jobs) < retireChunk {
		next = 0
	}
	for i := range l.Jobs {
		if err := leavingRun(ctx, r, &l, l.Jobs[i].Run, going); err != nil {
			return l, 0, err
		}
	}
	return l, next, nil
}

func busyConversations(ctx context.Context, r reads) (map[string]bool, error) {
	busy := map[string]bool{}
	err := scanAll(ctx, r.db, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		busy[id] = true
		return err
	}, openConversations)
	return busy, err
}

// leavingRun adds a run when all that it served is going or gone.
func leavingRun(ctx context.Context, r reads, l *Leaving, handle *wire.RunHandle, going map[wire.JobID]bool) error {
	if handle == nil {
		return nil
	}
	run, found, err := one[row.Run](ctx, r.db, "run", runOfHandle, string(*handle))
	if err != nil || !found {
		return err
	}
	for _, id := range run.Jobs {
		if going[id] {
			continue
		}
		if _, there, err := one[row.Job](ctx, r.db, "job", getJob, int64(id.Number())); err != nil || there {
			return err
		}
	}
	if slices.Contains(l.Runs, *handle) {
		return nil
	}
	l.Runs = append(l.Runs, *handle)
	return nil
}

// Retire removes what leaves, in one transaction: jobs with their prompts, results and private copies, runs, and
// conversations of which nothing is left and that have no worktree. The caller has removed the runs' directories.
func Retire(ctx context.Context, s *Store, l Leaving) error {
	defer write(s)()
	if s.db == nil {
		return errors.New("the ledger is not open")
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	del := func(query string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
	}
	for i := range l.Jobs {
		num := int64(l.Jobs[i].Num)
		del("DELETE FROM prompt WHERE num = ?1", num)
		del("DELETE FROM result WHERE num = ?1", num)
		del("DELETE FROM job WHERE num = ?1 AND open = 0", num)
		del(`DELETE FROM conversation WHERE id = ?1 AND json_extract(body, '$.worktree') IS NULL
			AND NOT EXISTS (SELECT 1 FROM job WHERE job.conversation = ?1)`, optional(l.Jobs[i].Conversation))
	}
	for _, h := range l.Runs {
		del("DELETE FROM run WHERE handle = ?1 AND live = 0", string(h))
	}
	if err != nil {
		return fmt.Errorf("remove old jobs: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("remove old jobs: %w", err)
	}
	for i := range l.Jobs {
		if l.Jobs[i].Private {
			if err := dropName(s.home.Root(), s.home.PrivateName(l.Jobs[i].Job.Job)); err != nil {
				s.log.Warn("the private copy of a prompt cannot be removed", "job", l.Jobs[i].Job.Job, "error", err)
			}
		}
	}
	return nil
}

// trimSize is the size of accepted.jsonl below which it is left alone, in bytes.
const trimSize = 1 << 20

// trimEvery is the least time between two looks through accepted.jsonl, which take a second for every 20 MB; trimmedName
// is a file whose time says when the last one was.
const (
	trimEvery   = 24 * time.Hour
	trimmedName = stateDir + "/accepted.trimmed"
)

// TrimAccepted drops the lines of jobs that the ledger holds as ended before a moment, or does not hold any more, once a
// copy of the ledger was made. The last line stays, for its number. It does so at most daily. The caller holds the
// daemon's lock, and nobody has the file open.
func TrimAccepted(ctx context.Context, h *home.Home, now, before time.Time) (err error) {
	info, err := h.Root().Lstat(acceptedName)
	if err != nil || info.Size() < trimSize || len(Copies(h)) == 0 {
		return nil
	}
	if last, err := h.Root().Lstat(trimmedName); err == nil && now.Sub(last.ModTime()).Abs() < trimEvery {
		return nil
	}
	if err := markTrimmed(h, now); err != nil {
		return err
	}
	r, err := OpenReader(ctx, h)
	if err != nil {
		return err
	}
	defer r.Close()
	var keep strings.Builder
	last, lastKept := "", false
	for a, lineErr := range Accepted(h) {
		if lineErr != nil {
			continue // a rebuild could not read it either
		}
		if last, err = acceptedText(a); err != nil {
			return err
		}
		j, found, err := r.Job(ctx, a.Job.Session, a.Job.Job.Job)
		if err != nil {
			return err
		}
		old := j.State.Final() && max(j.Finished, j.UpdatedUnixSeconds) < uint64(max(before.Unix(), 0))
		if lastKept = a.Job.Num == 0 || found && !old; lastKept { // rules and pauses are of no job
			keep.WriteString(last)
		}
	}
	if !lastKept {
		keep.WriteString(last)
	}
	if int64(keep.Len()) >= info.Size() {
		return nil
	}
	return replace(h, acceptedName, keep.String())
}

// markTrimmed notes when accepted.jsonl was looked through.
func markTrimmed(h *home.Home, now time.Time) error {
	f, err := h.Root().OpenFile(trimmedName, os.O_CREATE|os.O_WRONLY, home.FileMode)
	if err == nil {
		err = errors.Join(f.Close(), h.Root().Chtimes(trimmedName, now, now))
	}
	if err != nil {
		return fmt.Errorf("note when accepted.jsonl was looked through: %w", err)
	}
	return nil
}

// replace writes a file anew, whole or not at all.
func replace(h *home.Home, name, text string) error {
	root := h.Root()
	f, err := root.OpenFile(name+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, home.FileMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(name+".new", name)
	}
	if err != nil {
		return errors.Join(err, dropName(root, name+".new"))
	}
	return syncDir(h, stateDir)
}
