package ledger_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/ledger"
)

func TestP34_LedgerThatCannotBeOpened(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(path string) error
		reason wire.Reason
	}{
		"not a database": {func(path string) error { return os.WriteFile(path, []byte("garbage\n"), 0o600) }, wire.ReasonUnavailable},
		"a link":         {func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "else"), path) }, wire.ReasonRefused},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, t.TempDir())
			if err := c.spoil(h.LedgerPath()); err != nil {
				t.Fatal(err)
			}
			s, err := ledger.Open(t.Context(), h, nil)
			if err == nil {
				s.Close(t.Context())
			}
			refused, ok := errors.AsType[*wire.Error](err)
			if !ok || refused.Reason != c.reason || refused.Hint == "" {
				t.Fatalf("%v %+v", err, refused)
			}
			if _, err := ledger.OpenReader(t.Context(), h); err == nil {
				t.Error("it was opened for reading")
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(h.LedgerPath()), "else")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the link was followed: %v", err)
			}
		})
	}
}

// TestP37_AnotherProgramHoldsTheLedger: what the database calls it is told to nobody, but what to do; nothing of the batch
// counts, and when the other one has let go the same is stored.
func TestP37_AnotherProgramHoldsTheLedger(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	db, err := sql.Open("sqlite", "file:"+h.LedgerPath()+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := full(1, wire.StateWorking)
	if err := s.Store(t.Context(), b); err == nil || strings.Contains(err.Error(), "database is locked") || !strings.Contains(err.Error(), "another program has locked") {
		t.Errorf("it is said that %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	store(t, s, b)
	if l := load(t, s); len(l.Jobs) != 1 {
		t.Errorf("%d jobs are there", len(l.Jobs))
	}
}
