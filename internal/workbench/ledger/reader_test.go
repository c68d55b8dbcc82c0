package ledger_test

import (
	"errors"
	"io/fs"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/ledger"
)

func TestReader(t *testing.T) {
	h := newHome(t, t.TempDir())
	if _, err := ledger.OpenReader(t.Context(), h); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a reader of nothing: %v", err)
	}
	s := open(t, h)
	store(t, s, full(1, wire.StateCompleted))
	store(t, s, full(2, wire.StateWorking))
	for _, when := range []string{"while a daemon writes", "while none runs"} {
		r, err := ledger.OpenReader(t.Context(), h)
		if err != nil {
			t.Fatal(when, err)
		}
		snap, err := r.Snapshot(t.Context())
		if err != nil || len(snap.Jobs) != 2 || snap.Jobs[0].Job != "job-2" || len(snap.Runs) != 2 || len(snap.Sessions) != 1 || snap.Sessions[0].Live {
			t.Errorf("%s: %+v, %v", when, snap, err)
		}
		if res, ok, err := r.Result(t.Context(), "job-1"); err != nil || !ok || res.Reply != "reply job-1" {
			t.Errorf("%s: %+v %v %v", when, res, ok, err)
		}
		if _, ok, err := r.Job(t.Context(), session, "job-2"); err != nil || !ok {
			t.Errorf("%s: %v %v", when, ok, err)
		}
		if page, err := r.Jobs(t.Context(), 2, 5); err != nil || len(page) != 1 {
			t.Errorf("%s: %d, %v", when, len(page), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		s.Close(t.Context())
	}
}
