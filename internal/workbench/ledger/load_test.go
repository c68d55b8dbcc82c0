package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// fill stores n finished jobs, a thousand to a batch.
func fill(t testing.TB, s *ledger.Store, n uint64) {
	t.Helper()
	var b row.Batch
	for i := uint64(1); i <= n; i++ {
		one := full(i, wire.StateCompleted)
		b.Jobs = append(b.Jobs, one.Jobs...)
		b.Runs = append(b.Runs, one.Runs...)
		b.Conversations = append(b.Conversations, one.Conversations...)
		b.Sessions, b.Counters = one.Sessions, one.Counters
		if i%1000 == 0 || i == n {
			store(t, s, b)
			b = row.Batch{}
		}
	}
}

// TestS14_LoadDoesNotReadHistory: each query that a start makes of the ledger, heard as it is made, goes by an index or ends
// with its limit, and sorts nothing. Rules and holds alone are looked through: a person made them, or there is one an agent.
func TestS14_LoadDoesNotReadHistory(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	fill(t, s, 450)
	store(t, s, full(451, wire.StateWorking))
	heard, db, by := ledger.Listened(h)
	defer db.Close()
	l := load(t, heard)
	if len(l.Jobs) != 201 || l.Jobs[0].Num != 451 || l.Jobs[1].Num != 450 || len(l.Runs) != 201 || len(l.Conversations) != 201 || len(l.Sessions) != 1 {
		t.Fatalf("%d jobs, %d runs, %d conversations, %d sessions", len(l.Jobs), len(l.Runs), len(l.Conversations), len(l.Sessions))
	}
	if _, err := ledger.TalksOf(heard).OpenTalks(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := by.Asked()
	for _, table := range []string{"job", "run", "prompt", "conversation", "session", "approval", "usage", "talk"} {
		if !slices.ContainsFunc(asked, func(q ledger.Asked) bool { return strings.Contains(q.Query, " "+table+" ") }) {
			t.Errorf("a start did not ask for %s", table)
		}
	}
	for _, q := range asked {
		if strings.Contains(q.Query, "FROM rule ") || strings.Contains(q.Query, "FROM hold ") {
			continue
		}
		for line := range strings.Lines(planOf(t, db, q)) {
			whole := strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "INDEX") && !strings.Contains(line, "json_each")
			if strings.Contains(line, "TEMP B-TREE") || whole && !strings.Contains(q.Query, "LIMIT") {
				t.Errorf("%s\n%s", q.Query, line)
			}
		}
	}
}

func planOf(t *testing.T, db *sql.DB, q ledger.Asked) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.Query, q.Args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// BenchmarkStart is what a daemon's start pays for the ledger: open, load, close, with history behind it.
func BenchmarkStart(b *testing.B) {
	for _, n := range []uint64{0, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h, err := home.Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer h.Close()
			s := open(b, h)
			if n > 0 {
				fill(b, s, n)
			}
			s.Close(b.Context())
			for b.Loop() {
				s, err := ledger.Open(b.Context(), h, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				s.Close(context.WithoutCancel(b.Context()))
				b.StartTimer()
			}
		})
	}
}

// BenchmarkStore is one commit of a job's first rows.
func BenchmarkStore(b *testing.B) {
	s := open(b, newHome(b, b.TempDir()))
	n := uint64(0)
	for b.Loop() {
		n++
		store(b, s, full(n, wire.StateQueued))
	}
}
