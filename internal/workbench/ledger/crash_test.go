package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// writeForEver is the other process of the kill test: it stores job after job and says each number once it is stored.
func writeForEver(dir string) int {
	ctx := context.Background()
	h, err := home.Open(dir)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	s, err := ledger.Open(ctx, h, nil)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	l, err := s.Load(ctx)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	for n := l.Counters.Job + 1; ; n++ {
		b := full(n, wire.StateQueued)
		b.Accepted = []row.Accepted{{At: time.Now(), What: "start", Job: b.Jobs[0]}}
		b.Prompts[b.Jobs[0].Job.Job] = row.Prompt{Text: strings.Repeat("masked ", int(n%700)), Original: "original"}
		if err := s.Store(ctx, b); err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println(n)
	}
}

// TestKilledWriterLosesNothing kills a writing process again and again: all that it acknowledged is there, with its
// prompt and its private copy, and the database is sound.
func TestKilledWriterLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("kills 50 processes")
	}
	dir := t.TempDir()
	h := newHome(t, dir)
	acked := uint64(0)
	for round := range 50 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "SCV_TEST_LEDGER_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		left := 1 + rand.IntN(12)
		for left > 0 && lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &acked); err != nil {
				t.Fatalf("round %d: the writer says %q", round, lines.Text())
			}
			left--
		}
		cmd.Process.Signal(syscall.SIGKILL)
		for lines.Scan() { // acknowledged before the signal came
			fmt.Sscan(lines.Text(), &acked)
		}
		cmd.Wait()
	}
	s := open(t, h)
	l := load(t, s)
	if l.Counters.Job < acked || uint64(len(l.Jobs)) != l.Counters.Job {
		t.Fatalf("%d acknowledged, %d jobs, counter %d", acked, len(l.Jobs), l.Counters.Job)
	}
	for _, j := range l.Jobs {
		if want := strings.Repeat("masked ", int(j.Num%700)); l.Prompts[j.Job.Job].Text != want {
			t.Fatalf("the prompt of %s has %d bytes, want %d", j.Job.Job, len(l.Prompts[j.Job.Job].Text), len(want))
		}
		if text, err := s.Original(j.Job.Job); err != nil || text != "original" {
			t.Fatalf("the original of %s: %q, %v", j.Job.Job, text, err)
		}
	}
	seen := uint64(0)
	for a, err := range ledger.Accepted(h) {
		if err != nil {
			t.Fatal(err)
		}
		seen = max(seen, a.Job.Num)
	}
	if seen < acked {
		t.Errorf("accepted.jsonl ends at %d of %d", seen, acked)
	}
	t.Logf("%d acknowledged, %d stored", acked, len(l.Jobs))
}

// TestU4_FullDiskIsAPlainError fills a real file system: the error is plain, nothing is half-written, reads go on, and
// the same batch is stored once there is room again.
func TestU4_FullDiskIsAPlainError(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small tmpfs")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m,mode=0700"); err != nil {
		t.Skip("a tmpfs cannot be mounted here:", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
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
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
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
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		t.Skip("a tmpfs cannot be mounted here:", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	h := newHome(t, filepath.Join(dir, "home"))
	s := open(t, h)
	store(t, s, full(1, wire.StateCompleted))
	s.Close(t.Context())
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skip("cannot be made read-only:", err)
	}
	r, err := ledger.OpenReader(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if snap, err := r.Snapshot(t.Context()); err != nil || len(snap.Jobs) != 1 {
		t.Errorf("%d jobs, %v", len(snap.Jobs), err)
	}
	if _, err := ledger.Open(t.Context(), h, nil); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened for writing: %v", err)
	}
}
