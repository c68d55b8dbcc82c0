package ledger_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
