package ledger_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/testkit/need"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// TestU4_FullDiskIsAPlainError fills a real file system: the error is plain, nothing is half-written, reads go on, and
// the same batch is stored once there is room again.
func TestU4_FullDiskIsAPlainError(t *testing.T) {
	dir := t.TempDir()
	need.Disk(t, dir, "3m")
	h := newHome(t, filepath.Join(dir, "home"))
	s := open(t, h)
	stored := uint64(0)
	var failed error
	batch := func(n uint64) row.Batch {
		b := full(n, wire.StateQueued)
		b.Accepted = []row.Accepted{{At: time.Now(), What: "start", Job: b.Jobs[0]}}
		b.Prompts["job-"+wire.JobID(fmt.Sprint(n))] = row.Prompt{Text: strings.Repeat("x", 20_000)}
		return b
	}
	for failed == nil {
		if failed = s.Store(t.Context(), batch(stored+1)); failed == nil {
			stored++
		}
	}
	if stored == 0 || !strings.Contains(failed.Error(), "full") && !errors.Is(failed, syscall.ENOSPC) {
		t.Fatalf("after %d: %v", stored, failed)
	}
	t.Logf("after %d: %v", stored, failed)
	if err := s.Store(t.Context(), batch(stored+1)); err == nil {
		t.Fatal("stored on a full disk")
	}
	if _, ok, err := s.Job(t.Context(), session, wire.NewJobID(stored)); err != nil || !ok {
		t.Errorf("reads do not go on: %v %v", ok, err)
	}
	if _, ok, _ := s.Job(t.Context(), session, wire.NewJobID(stored+1)); ok {
		t.Error("half of the batch is there")
	}
	need.Remount(t, dir, "size=8m")
	store(t, s, batch(stored+1))
	s.Close(t.Context())
	s = open(t, h)
	if l := load(t, s); uint64(len(l.Jobs)) != stored+1 || l.Counters.Job != stored+1 {
		t.Errorf("%d jobs, counter %d, want %d", len(l.Jobs), l.Counters.Job, stored+1)
	}
	for _, err := range ledger.Accepted(h) {
		if err != nil {
			t.Error("accepted.jsonl is torn:", err)
		}
	}
}

func TestReadOnlyDirectoryIsRead(t *testing.T) {
	dir := t.TempDir()
	need.Disk(t, dir, "8m")
	h := newHome(t, filepath.Join(dir, "home"))
	s := open(t, h)
	store(t, s, full(1, wire.StateCompleted))
	s.Close(t.Context())
	need.Remount(t, dir, "ro")
	r, err := ledger.OpenReader(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if snap, err := r.Snapshot(t.Context()); err != nil || len(snap.Jobs) != 1 {
		t.Errorf("%d jobs, %v", len(snap.Jobs), err)
	}
	if err := ledger.Sound(t.Context(), h.LedgerPath()); err != nil {
		t.Errorf("a ledger that cannot be written is called unsound: %v", err)
	}
	if _, err := ledger.Open(t.Context(), h, nil); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened for writing: %v", err)
	}
}
