package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// TestAcceptedIsTrimmed: what a rebuild can do without leaves accepted.jsonl, once there is a copy of the ledger, and no
// more often than daily. What is of no job stays, as does what is not over and what is not old.
func TestAcceptedIsTrimmed(t *testing.T) {
	h := newHome(t, t.TempDir())
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, h)
	add := func(n uint64, state wire.AgentState, ended time.Time) {
		t.Helper()
		b := full(n, state)
		b.Jobs[0].UpdatedUnixSeconds = uint64(ended.Unix())
		b.Accepted = []row.Accepted{{At: ended, What: "start", Job: b.Jobs[0], Prompt: strings.Repeat("p", 250_000)}}
		store(t, s, b)
	}
	add(1, wire.StateCompleted, now.AddDate(0, 0, -40))
	add(2, wire.StateWorking, now.AddDate(0, 0, -40))
	add(3, wire.StateCompleted, now.AddDate(0, 0, -2))
	store(t, s, row.Batch{Accepted: []row.Accepted{{At: now, What: "rule", Rule: &row.Rule{}}}, Rules: []row.Rule{{}}})
	add(4, wire.StateCompleted, now.AddDate(0, 0, -31))
	add(5, wire.StateCompleted, now.AddDate(0, 0, -29))
	s.Close(t.Context())

	trim := func(days int) {
		t.Helper()
		at := now.AddDate(0, 0, days)
		if err := ledger.TrimAccepted(t.Context(), h, at, at.AddDate(0, 0, -30)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want ...uint64) {
		t.Helper()
		if got := acceptedOf(t, h); !slices.Equal(got, want) {
			t.Errorf("%s: lines of jobs %v, want %v", when, got, want)
		}
	}
	trim(0)
	check("without a copy of the ledger", 1, 2, 3, 0, 4, 5)
	if err := ledger.KeepCopy(h); err != nil {
		t.Fatal(err)
	}
	trim(0)
	check("with one", 2, 3, 0, 5)
	s = open(t, h)
	add(6, wire.StateCompleted, now.AddDate(0, 0, -50))
	add(7, wire.StateCompleted, now)
	s.Close(t.Context())
	trim(0)
	check("the same day", 2, 3, 0, 5, 6, 7)
	trim(2)
	check("two days later", 2, 3, 0, 7)
}

func acceptedOf(t *testing.T, h *home.Home) (jobs []uint64) {
	t.Helper()
	for a, err := range ledger.Accepted(h) {
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, a.Job.Num)
	}
	return slices.Compact(jobs) // a job has a line for its start and one for its end
}
