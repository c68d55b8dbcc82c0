package ledger_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// TestModel stores batches at random, reopens at random, and compares with plain maps. One ledger serves all walks, each
// with numbers of its own, and what a walk leaves is dismissed.
func TestModel(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	base := uint64(0)
	rapid.Check(t, func(r *rapid.T) {
		base += 10
		jobs, results := map[uint64]row.Job{}, map[uint64]row.Result{}
		for range rapid.IntRange(1, 4).Draw(r, "batches") {
			b := row.Batch{Results: map[wire.JobID]row.Result{}, Prompts: map[wire.JobID]row.Prompt{}}
			for _, n := range rapid.SliceOfNDistinct(rapid.Uint64Range(1, 9), 1, 5, rapid.ID[uint64]).Draw(r, "numbers") {
				n += base
				j := job(n, wire.AgentState(rapid.IntRange(0, wire.AgentStates-1).Draw(r, "state")))
				j.Dismissed = j.State.Final() && rapid.Bool().Draw(r, "dismissed")
				j.Task = rapid.String().Draw(r, "task")
				b.Jobs = append(b.Jobs, j)
				jobs[n] = j
				if j.State.Final() {
					res := row.Result{Reply: rapid.String().Draw(r, "reply")}
					b.Results[j.Job.Job], results[n] = res, res
				}
				b.Prompts[j.Job.Job] = row.Prompt{Text: j.Task}
			}
			if err := s.Store(t.Context(), b); err != nil {
				r.Fatal(err)
			}
			if rapid.IntRange(0, 7).Draw(r, "reopen") == 0 {
				s.Close(t.Context())
				s = open(t, h)
			}
		}
		compare(t, r, s, jobs, results)
		var last row.Batch
		for _, j := range jobs {
			j.State, j.Dismissed = wire.StateCancelled, true
			last.Jobs = append(last.Jobs, j)
		}
		if err := s.Store(t.Context(), last); err != nil {
			r.Fatal(err)
		}
	})
}

func compare(t *testing.T, r *rapid.T, s *ledger.Store, jobs map[uint64]row.Job, results map[uint64]row.Result) {
	l, err := s.Load(t.Context())
	if err != nil {
		r.Fatal(err)
	}
	loaded := map[uint64]row.Job{}
	for _, j := range l.Jobs {
		loaded[j.Num] = j
	}
	for n, want := range jobs {
		got, ok, err := s.Job(t.Context(), session, wire.NewJobID(n))
		if err != nil || !ok || got.State != want.State || got.Dismissed != want.Dismissed || fmt.Sprint(got.Task) != want.Task {
			r.Fatalf("job %d: %+v, %v, %v", n, got, ok, err)
		}
		if _, ok := loaded[n]; ok == want.Dismissed {
			r.Fatalf("job %d is dismissed: %v, loaded: %v", n, want.Dismissed, ok)
		}
		if p, open := l.Prompts[wire.NewJobID(n)]; open == want.State.Final() || open && p.Text != want.Task {
			r.Fatalf("job %d: prompt %q", n, p.Text)
		}
		res, ok, err := s.Result(t.Context(), wire.NewJobID(n))
		if _, has := results[n]; err != nil || ok != has || res != results[n] {
			r.Fatalf("result %d: %+v, %v, %v", n, res, ok, err)
		}
	}
}
