package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// TestS2_TrueExitThoughNobodyWatched: the agent ends while no daemon is there.
func TestS2_TrueExitThoughNobodyWatched(t *testing.T) {
	for name, c := range map[string]struct {
		how    string
		status string
		says   string
		state  wire.AgentState
	}{
		"exit 7":  {"exit 7\n", "exited", "exit code 7", wire.StateFailed},
		"SIGSEGV": {"kill 11\n", "killed", "SIGSEGV", wire.StateFailed},
		"done":    {"say so\ndone\n", "exited", "exit code 0", wire.StateCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.launch("fake", "tool $ x\nuntil "+b.cwd+"/go\n"+c.how)
			b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
			b.leave()
			touch(t, b.cwd+"/go")
			if l, err := control.AwaitGone(t.Context(), b.home.RunDir(h)); err != nil || l.Life != control.LifeEnded {
				t.Fatal(l.Life, err)
			}
			b.again()
			r := b.hub.await(t, h, "the end", over)
			if got := r.lastLife(); got.Kind != row.LifeEnded || got.Status != c.status || !strings.Contains(got.Detail, c.says) {
				t.Errorf("%+v", got)
			}
			if e := r.end(); e == nil || e.State != c.state {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestP4_DaemonAndShimKilled in the middle of a tool call: interrupted, never completed, with an empty reply.
func TestP4_DaemonAndShimKilled(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "say half\ntool $ x\nhang\n")
	b.hub.await(t, h, "a tool call", func(r *hubRun) bool {
		return len(r.steps) > 0 && r.steps[len(r.steps)-1].Detail == "$ x"
	})
	b.leave()
	s, err := control.ReadShim(b.home.RunDir(h))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := control.AwaitGone(t.Context(), b.home.RunDir(h)); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "the end", over)
	if e := r.end(); r.lastLife().Kind != row.LifeLost || e == nil || e.State != wire.StateInterrupted || e.Reply != "" {
		t.Fatalf("%+v %+v", r.lastLife(), e)
	}
}

// TestS4_LogAheadOfTheSpool: a crash of the machine took what the spool had not flushed, and spec.json's content. What the
// log holds stays, it is closed behind that, and nothing is said twice.
func TestS4_LogAheadOfTheSpool(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "say half\ntool $ x\nhang\n")
	b.hub.await(t, h, "a tool call", func(r *hubRun) bool {
		return len(r.steps) > 0 && r.steps[len(r.steps)-1].Detail == "$ x"
	})
	b.leave()
	s, err := control.ReadShim(b.home.RunDir(h))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := control.AwaitGone(t.Context(), b.home.RunDir(h)); err != nil {
		t.Fatal(err)
	}
	dir := b.home.RunDir(h)
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, control.SpoolName)), os.Truncate(filepath.Join(dir, control.SpecName), 0)); err != nil {
		t.Fatal(err)
	}
	b.again()
	if r := b.hub.await(t, h, "the end", over); r.lastLife().Kind != row.LifeLost {
		t.Errorf("%+v", r.lastLife())
	}
	log := b.shown(h)
	for _, once := range []string{"run_started", "turn_started", "text half", "run_ended lost"} {
		if strings.Count(log, once) != 1 {
			t.Errorf("%q is there %d times in\n%s", once, strings.Count(log, once), log)
		}
	}
}

// TestLogThatCannotBeWritten: the run is unknown, says why, and goes on by itself when it can be written again.
func TestLogThatCannotBeWritten(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
	h := b.launch("fake", "say before\nuntil "+b.cwd+"/go\nsay after\ndone\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	b.leave()
	log := filepath.Join(b.home.RunDir(h), "events.jsonl")
	if err := errors.Join(os.Rename(log, log+".aside"), os.Symlink(".", log)); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	if !strings.Contains(r.lastLife().Detail, "cannot be followed") {
		t.Error(r.lastLife().Detail)
	}
	touch(t, b.cwd+"/go")
	if err := os.Rename(log+".aside", log); err != nil { // in one step, or a try between two would make a log anew
		t.Fatal(err)
	}
	if r := b.hub.await(t, h, "the end", over); r.end() == nil || r.end().State != wire.StateCompleted {
		t.Fatalf("%+v", r.end())
	}
	if log := b.shown(h); strings.Count(log, "text before") != 1 || strings.Count(log, "text after") != 1 {
		t.Error(log)
	}
}

// TestUnknownCheckpointTouchesNothing: a state that this build cannot read makes the run unknown; it goes on, can be
// stopped, and its spool stays.
func TestUnknownCheckpointTouchesNothing(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "tool $ x\nhang\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	b.leave()
	spoolDir := filepath.Join(b.home.RunDir(h), control.SpoolName)
	if err := os.WriteFile(filepath.Join(spoolDir, "checkpoint"), []byte("{}\n00000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	if !strings.Contains(r.lastLife().Detail, "cannot be read") {
		t.Fatalf("%+v", r.lastLife())
	}
	b.wish(h, func(w *row.Wishes) { w.Stop = true })
	r = b.hub.await(t, h, "the end", over)
	if r.lastLife().Kind != row.LifeLost {
		t.Fatalf("%+v", r.lastLife())
	}
	if _, err := os.Stat(spoolDir); err != nil {
		t.Fatal(err)
	}
}

// TestTidyRemovesWhatACrashLeft: the spool of a run that the ledger holds as ended goes, every other stays.
func TestTidyRemovesWhatACrashLeft(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Saved = nil })
	over1, kept := b.launch("fake", "done\n"), b.launch("fake", "done\n")
	running := b.launch("fake", "hang\n")
	b.hub.await(t, over1, "the end", over)
	b.hub.await(t, kept, "the end", over)
	b.hub.await(t, running, "the start", life(row.LifeStarted))
	b.leave()
	New(t.Context(), b.c).Tidy([]wire.RunHandle{over1, running, "fake-000000"})
	b.again()
	for h, want := range map[wire.RunHandle]bool{over1: false, kept: true, running: true} {
		if _, err := os.Stat(filepath.Join(b.home.RunDir(h), control.SpoolName)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", h, err, want)
		}
	}
}

// TestStartCutOff: a run of which only the row or the spec exists was never started.
func TestStartCutOff(t *testing.T) {
	b := newBench(t)
	o := b.order("fake", "x")
	o.Adopt = true
	b.l.Launch(o)
	r := b.hub.await(t, o.Run.Handle, "the end", over)
	if got := r.lastLife(); got.Kind != row.LifeNotStarted || got.Class != "lost" || r.end() != nil && r.end().State != wire.StateInterrupted {
		t.Fatalf("%+v %+v", got, r.end())
	}
}

// TestCheckpointLetsSegmentsGo: a run of many segments keeps few of them, and a daemon that comes later needs no more.
func TestCheckpointLetsSegmentsGo(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Saved = nil })
	h := b.launch("fake", "say first\nbig 1500\ntool $ x\nuntil "+b.cwd+"/go\nbig 10\nsay last\ndone\n")
	b.hub.await(t, h, "the middle", func(r *hubRun) bool {
		return len(r.steps) > 0 && r.steps[len(r.steps)-1].Detail == "$ x"
	})
	spoolDir := filepath.Join(b.home.RunDir(h), control.SpoolName)
	list, err := filepath.Glob(filepath.Join(spoolDir, "*.seg"))
	if err != nil || len(list) != 1 || strings.HasSuffix(list[0], "00000001.seg") {
		t.Errorf("segments %v, %v", list, err)
	}
	b.leave()
	touch(t, b.cwd+"/go")
	b.again()
	r := b.hub.await(t, h, "the end", over)
	if e := r.end(); e == nil || e.State != wire.StateCompleted || e.Reply != "last" {
		t.Fatalf("%+v", e)
	}
	if log := b.shown(h); strings.Count(log, "text first") != 1 || strings.Count(log, "text last") != 1 {
		t.Error(log)
	}
}

// TestU8_LongLineOverARealPipe: the whole way, with the shim's back-pressure in it.
func TestU8_LongLineOverARealPipe(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "long 70\nsay after\ndone\n")
	r := b.hub.await(t, h, "the end", over)
	if e := r.end(); e == nil || e.State != wire.StateCompleted || e.Reply != "after" {
		t.Fatalf("%+v", e)
	}
	if log := b.shown(h); !strings.Contains(log, "note the agent wrote a line of 73400320 bytes") || !strings.Contains(log, "text after") {
		t.Error(log)
	}
}
