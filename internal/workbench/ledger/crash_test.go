package ledger_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
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

// TestS3_KilledWhileTheLedgerWasMade: a daemon dies before its new ledger has a write-ahead log, with a change half in the
// file and its journal beside it. The next one takes that back and goes on.
func TestS3_KilledWhileTheLedgerWasMade(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "made.db")
	db, err := sql.Open("sqlite", "file:"+made+"?_pragma=cache_size(1)&_pragma=cache_spill(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"CREATE TABLE before (x)", "BEGIN IMMEDIATE", "CREATE TABLE half (x)", "INSERT INTO half VALUES (zeroblob(200000))", "INSERT INTO before VALUES (zeroblob(200000))",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	h := newHome(t, filepath.Join(dir, "h"))
	if err := os.MkdirAll(filepath.Dir(h.LedgerPath()), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-journal"} { // what a kill at this moment leaves
		data, err := os.ReadFile(made + end)
		if err != nil || len(data) == 0 {
			t.Fatalf("%s%s has %d bytes: %v", made, end, len(data), err)
		}
		if err := os.WriteFile(h.LedgerPath()+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, h)
	if _, err := os.Stat(h.LedgerPath() + "-journal"); err == nil {
		t.Error("the journal is still there")
	}
	store(t, s, row.Batch{})
}
