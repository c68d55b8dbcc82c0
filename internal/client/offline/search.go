package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"scv/internal/run/runlog"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
)

// textPage is how many jobs are looked at before those of them that have the text are told.
const textPage = 200

// Bounds of what a search keeps of one job.
const (
	maxHits   = 100
	maxAround = 20
)

// A Query is what a search looks for.
type Query struct {
	Text   string    // as it stands, but for case and width; not empty, one line
	Agents []string  // none: all
	Since  time.Time // only jobs that changed since then; zero: all
	Jobs   int       // stop after so many jobs; 0: all
	Hits   int       // keep so many places of a job, at most 100; more are counted
	Around int       // lines before and behind a place, at most 20
}

// A Place is where a text was found.
type Place struct {
	In     string   `json:"in"`             // prompt, reply, error, or the kind of a log's line
	Run    string   `json:"run,omitempty"`  // of a log's line
	TsMs   uint64   `json:"ts_ms,omitzero"` // likewise, Unix milliseconds
	Before []string `json:"before,omitempty"`
	Line   string   `json:"line"` // a window of it when it is long
	After  []string `json:"after,omitempty"`
}

// A Found is a job that has the text.
type Found struct {
	Session            wire.SessionID  `json:"session"`
	Job                wire.JobID      `json:"job"`
	Agent              string          `json:"agent"`
	State              wire.AgentState `json:"state"`
	Task               string          `json:"task"`
	UpdatedUnixSeconds uint64          `json:"updated_unix_seconds"`
	Total              int             `json:"total"` // places, those included that are not kept
	Places             []Place         `json:"places"`
	Unread             string          `json:"unread,omitempty"` // why its log could not be read

	run  *wire.RunHandle
	scan scan
}

// Search tells the jobs whose prompt, reply, error or log has a text, those started last first. It reads the ledger and
// the logs from one end to the other; in memory are one reply and the places of 200 jobs.
func (r *Reader) Search(ctx context.Context, q Query, found func(*Found) error) error {
	if ok, err := r.open(ctx); !ok {
		return err
	}
	q.Hits, q.Around = min(max(q.Hits, 1), maxHits), min(max(q.Around, 0), maxAround)
	needle, told, before := fold(q.Text), 0, uint64(math.MaxInt64)
	for {
		var page []*Found
		seen := 0
		err := r.ledger.Texts(ctx, before, textPage, func(t *ledger.Text) error {
			seen, before = seen+1, t.Num
			if q.wants(t) {
				page = append(page, q.look(needle, t))
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		r.searchLogs(ctx, page)
		for _, f := range page {
			if f.Total, f.Places = f.scan.total, f.scan.places; f.Total == 0 {
				continue
			}
			if err := found(f); err != nil {
				return err
			}
			if told++; told == q.Jobs {
				return nil
			}
		}
		if seen < textPage || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (q *Query) wants(t *ledger.Text) bool {
	return (len(q.Agents) == 0 || slices.Contains(q.Agents, t.Agent)) && (q.Since.IsZero() || int64(t.UpdatedUnixSeconds) >= q.Since.Unix())
}

// look searches what the ledger has of a job.
func (q *Query) look(needle string, t *ledger.Text) *Found {
	f := &Found{
		Session: t.Session, Job: t.Job.Job.Job, Agent: t.Agent, State: t.State, Task: t.Task, UpdatedUnixSeconds: t.UpdatedUnixSeconds,
		run: t.Run, scan: scan{needle: needle, around: q.Around, keep: q.Hits},
	}
	for _, part := range []struct{ in, text string }{{"prompt", t.Prompt}, {"reply", t.Reply}, {"error", t.Result.Error}} {
		f.scan.text(Place{In: part.in}, part.text)
		f.scan.cut()
	}
	return f
}

// searchLogs reads the logs of a page's jobs, each once, as many at a time as there are processors. The ledger is not
// touched.
func (r *Reader) searchLogs(ctx context.Context, page []*Found) {
	served := map[wire.RunHandle][]*Found{}
	for _, f := range page {
		if f.run != nil {
			served[*f.run] = append(served[*f.run], f)
		}
	}
	runs := make(chan wire.RunHandle)
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(served)) {
		readers.Go(func() {
			for run := range runs {
				if err := r.searchLog(ctx, run, served[run]); err != nil {
					for _, f := range served[run] {
						f.Unread = err.Error()
					}
				}
			}
		})
	}
	for run := range served {
		runs <- run
	}
	close(runs)
	readers.Wait()
}

// searchLog looks whether a log has the text at all, which most have not, then reads it and gives each line to the job whose turn it belongs to. A log that is gone has no lines.
func (r *Reader) searchLog(ctx context.Context, run wire.RunHandle, jobs []*Found) error {
	if holds, err := r.mayHold(run, jobs[0].scan.needle); err != nil || !holds {
		return err
	}
	one := jobs[0]
	return r.EachLine(ctx, run, func(e *wire.RunEvent) {
		if e.Kind == wire.EventTurnStarted && e.Job != nil {
			one = nil
			for _, f := range jobs {
				if f.Job == *e.Job {
					one = f
				}
			}
		}
		if one != nil && e.Kind != wire.EventTurnStarted { // whose text is the prompt, which was searched
			one.scan.text(Place{In: string(e.Kind), Run: string(run), TsMs: e.TsMs}, e.Text)
		}
	})
}

// mayHold looks for the text as JSON writes it.
func (r *Reader) mayHold(run wire.RunHandle, needle string) (bool, error) {
	root, err := r.home.RunRoot(run)
	if err != nil {
		return false, absent(err)
	}
	defer root.Close()
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(needle); err != nil {
		return false, err
	}
	find := newFinder(fold(strings.TrimSuffix(want.String()[1:], "\"\n")))
	return runlog.MayHold(root, find.in)
}

// EachLine gives every line of a run's log, of its tail too, oldest first. A log that was never begun or is gone has
// none. It may be called beside other methods.
func (r *Reader) EachLine(ctx context.Context, run wire.RunHandle, visit func(*wire.RunEvent)) error {
	root, err := r.home.RunRoot(run)
	if err != nil {
		return absent(err)
	}
	defer root.Close()
	for _, tail := range []bool{false, true} {
		for after, more := uint64(0), true; more; {
			page, err := runlog.ReadPage(root, run, after, wire.MaxRunLogPageEvents, tail)
			if err != nil {
				if err = absent(err); err != nil {
					return err
				}
				break
			}
			for i := range page.Events {
				visit(&page.Events[i])
			}
			more = page.More && page.Next > after && ctx.Err() == nil
			after = page.Next
		}
	}
	return ctx.Err()
}

// A Record is a job with all that is kept of it but its log, masked.
type Record struct {
	wire.Job
	Finished uint64          `json:"finished_unix_seconds,omitzero"`
	Prompt   string          `json:"prompt"`
	Reply    string          `json:"reply"`
	Failure  string          `json:"error"`
	Evidence []wire.Evidence `json:"evidence,omitempty"`
}

// Each gives every job, newest first, one at a time. What visit does may read logs and nothing else of this reader.
func (r *Reader) Each(ctx context.Context, visit func(*Record) error) error {
	if ok, err := r.open(ctx); !ok {
		return err
	}
	return r.ledger.Texts(ctx, 0, math.MaxInt32, func(t *ledger.Text) error {
		return visit(&Record{
			Job: t.Job.Job, Finished: t.Finished, Prompt: t.Prompt, Reply: t.Reply, Failure: t.Result.Error, Evidence: t.Evidence,
		})
	})
}
