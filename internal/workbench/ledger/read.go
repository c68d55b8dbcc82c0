package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// reads are the queries that Store and Reader share.
type reads struct{ db *sql.DB }

// one decodes the body that a query finds; false when it finds none.
func one[T any](ctx context.Context, db *sql.DB, what, query string, args ...any) (v T, found bool, err error) {
	var body string
	err = db.QueryRowContext(ctx, query, args...).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return v, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &v)
	}
	if err != nil {
		return v, false, fmt.Errorf("read %s: %w", what, err)
	}
	return v, true, nil
}

// many decodes every body that a query finds. The decoding is most of a start's work: it goes on beside the query.
func many[T any](ctx context.Context, db *sql.DB, what, query string, args ...any) ([]T, error) {
	var d decoding[T]
	err := scanAll(ctx, db, func(scan func(...any) error) error {
		var body []byte
		err := scan(&body)
		d.take(body)
		return err
	}, query, args...)
	all, failed := d.end()
	if err := errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return all, nil
}

// worth is how many bodies are worth a goroutine.
const worth = 32

// A decoding turns bodies into rows, in their order, on as many processors as there are. It has one caller.
type decoding[T any] struct {
	bodies [][]byte
	parts  []*part[T]
	wg     sync.WaitGroup
}

// A part is a run of bodies that one goroutine decodes.
type part[T any] struct {
	rows []T
	err  error
}

func (d *decoding[T]) take(body []byte) {
	if d.bodies = append(d.bodies, body); len(d.bodies) == worth {
		d.flush()
	}
}

func (d *decoding[T]) flush() {
	bodies, p := d.bodies, &part[T]{rows: make([]T, len(d.bodies))}
	d.bodies, d.parts = nil, append(d.parts, p)
	d.wg.Go(func() {
		for i, body := range bodies {
			if p.err = json.Unmarshal(body, &p.rows[i]); p.err != nil {
				return
			}
		}
	})
}

// end waits for what is being decoded and returns all rows; none is nil.
func (d *decoding[T]) end() (all []T, err error) {
	d.flush()
	d.wg.Wait()
	for _, p := range d.parts {
		all, err = append(all, p.rows...), errors.Join(err, p.err)
	}
	return all, err
}

func (r reads) job(ctx context.Context, session wire.SessionID, id wire.JobID) (row.Job, bool, error) {
	n := id.Number()
	if n == 0 || n > math.MaxInt64 {
		return row.Job{}, false, nil
	}
	j, found, err := one[row.Job](ctx, r.db, "job", getJob, int64(n))
	if err != nil || !found || j.Session != session {
		return row.Job{}, false, err
	}
	return j, true, nil
}

func (r reads) jobs(ctx context.Context, before uint64, limit int) ([]row.Job, error) {
	if before == 0 || before > math.MaxInt64 {
		before = math.MaxInt64
	}
	return many[row.Job](ctx, r.db, "jobs", listedJobs, int64(before), max(limit, 0))
}

func (r reads) result(ctx context.Context, id wire.JobID) (row.Result, bool, error) {
	var out row.Result
	err := r.db.QueryRowContext(ctx, getResult, int64(id.Number())).Scan(&out.Reply, &out.Error)
	if errors.Is(err, sql.ErrNoRows) {
		return out, false, nil
	}
	if err != nil {
		return out, false, fmt.Errorf("read a result: %w", err)
	}
	return out, true, nil
}

// recent is what is unfinished, and the newest of what is not.
func (r reads) recent(ctx context.Context, l *row.Loaded) (err error) {
	if l.Jobs, err = many[row.Job](ctx, r.db, "unfinished jobs", openJobs); err != nil {
		return err
	}
	finished, err := many[row.Job](ctx, r.db, "finished jobs", finishedJobs, int64(math.MaxInt64), wire.MaxFinishedJobs)
	if err != nil {
		return err
	}
	l.Jobs = append(l.Jobs, finished...)
	if l.Runs, err = many[row.Run](ctx, r.db, "live runs", liveRuns); err != nil {
		return err
	}
	ended, err := many[row.Run](ctx, r.db, "ended runs", endedRuns, wire.MaxEndedRuns)
	if err != nil {
		return err
	}
	l.Runs = append(l.Runs, ended...)
	return nil
}

// questions are the approvals that are not over with the newest that are, the rules, and what holds jobs back.
func (r reads) questions(ctx context.Context, l *row.Loaded) (err error) {
	if err := r.asked(ctx, l); err != nil {
		return err
	}
	if l.Rules, err = many[row.Rule](ctx, r.db, "rules", heldRules); err != nil {
		return err
	}
	if l.Holds, err = many[row.Hold](ctx, r.db, "holds", openHolds); err != nil {
		return err
	}
	l.SpentToday, err = r.today(ctx, time.Now())
	return err
}

// asked adds the approvals, which are all that a ledger of step 2 is sure to have of this.
func (r reads) asked(ctx context.Context, l *row.Loaded) (err error) {
	if l.Approvals, err = many[row.Approval](ctx, r.db, "open approvals", openApprovals); err != nil {
		return err
	}
	over, err := many[row.Approval](ctx, r.db, "approvals", overApprovals, maxOver)
	l.Approvals = append(l.Approvals, over...)
	return err
}

// maxOver is how many approvals that are over a start brings back: those that somebody may still try to answer.
const maxOver = 200

func (r reads) approvals(ctx context.Context, before uint64, limit int) ([]row.Approval, error) {
	if before == 0 || before > math.MaxInt64 {
		before = math.MaxInt64
	}
	return many[row.Approval](ctx, r.db, "approvals", listedApprovals, int64(before), max(limit, 0))
}

// around adds the conversations and sessions that the jobs and runs name.
func (r reads) around(ctx context.Context, l *row.Loaded) (err error) {
	convs := map[wire.ConversationID]bool{}
	for i := range l.Jobs {
		convs[wire.ConversationID(optional(l.Jobs[i].Conversation))] = true
	}
	for i := range l.Runs {
		convs[wire.ConversationID(optional(l.Runs[i].Conversation))] = true
	}
	names, err := encode(slices.Collect(maps.Keys(convs)))
	if err != nil {
		return err
	}
	if l.Conversations, err = many[row.Conversation](ctx, r.db, "conversations", namedConversations, names); err != nil {
		return err
	}
	sessions := map[wire.SessionID]bool{}
	for i := range l.Conversations {
		sessions[l.Conversations[i].Session] = true
	}
	if names, err = encode(slices.Collect(maps.Keys(sessions))); err != nil {
		return err
	}
	l.Sessions, err = many[row.Session](ctx, r.db, "sessions", namedSessions, names)
	return err
}

// Load reads what a start needs: its cost grows with what is live, not with what was ever done. Before anything is
// stored, the first call gets what was read while the ledger was opened.
func (s *Store) Load(ctx context.Context) (row.Loaded, error) {
	s.writing.Lock()
	l, err := s.ahead.take()
	s.ahead = nil
	s.writing.Unlock()
	if err != nil {
		l, err = reads{s.db}.start(ctx)
	}
	l.HomeID, l.Starts, l.Lost, l.Counters = s.id, s.starts, s.lost, s.counters
	if err != nil {
		return l, plain("load the ledger", err)
	}
	originals{s}.dropPrivate(l.Jobs)
	return l, nil
}

// start reads the rows that a start needs.
func (r reads) start(ctx context.Context) (row.Loaded, error) {
	l := row.Loaded{Prompts: map[wire.JobID]row.Prompt{}}
	if err := r.recent(ctx, &l); err != nil {
		return l, err
	}
	if err := errors.Join(r.around(ctx, &l), r.questions(ctx, &l)); err != nil {
		return l, err
	}
	return l, scanAll(ctx, r.db, func(scan func(...any) error) error {
		var n int64
		var text string
		if err := scan(&n, &text); err != nil {
			return err
		}
		l.Prompts[wire.NewJobID(uint64(n))] = row.Prompt{Text: text}
		return nil
	}, openPrompts)
}

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
