package shim_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

// numbered checks that out is the lines 0, 1, 2, ... and returns how many bytes it is.
func numbered(t *testing.T, out string) int {
	t.Helper()
	i := 0
	for line := range strings.Lines(out) {
		if line != strconv.Itoa(i)+"\n" {
			t.Fatalf("line %d is %q", i, line)
		}
		i++
	}
	return len(out)
}

func TestR6_AgentWaitsWhenNobodyFolds(t *testing.T) {
	const limit, total = 512 << 10, 3 << 20
	s := newStage(t, "flood "+strconv.Itoa(total), "exit 0")
	s.spawn.Spec.Timing.Unfolded = limit
	s.spawn.Spec.Timing.SegmentBytes = 128 << 10
	s.start()
	l, _ := s.dial()
	f := s.follow(l)
	size, last := 0, spool.Frame{}
	take := func() { // count what was read and forget it
		size += len(text(f.seen, spool.KindOut))
		if n := len(f.seen); n > 0 {
			last, f.seen = f.seen[n-1], nil
		}
	}
	waited := 0
	for full := true; full; {
		f.until(func([]spool.Frame) bool { // until the shim says that it waits, or the agent has ended
			h, err := l.Status(t.Context())
			if full = err == nil && !h.Exited; full && h.Unfolded > limit+64<<10 {
				t.Errorf("%d bytes wait", h.Unfolded)
			}
			return !full || h.Waiting == "folded"
		})
		if full {
			waited++
		}
		take()
		if freed, err := spool.DeleteBefore(filepath.Join(s.dir, control.SpoolName), last.Pos); err != nil {
			t.Errorf("freed %d: %v", freed, err)
		}
		if err := l.Folded(t.Context(), last.Seq); err != nil {
			full = false
		}
	}
	if least := total/(limit+64<<10) - 1; waited < least {
		t.Errorf("it waited %d times, want %d: it went on when it should not", waited, least)
	}
	end := s.end()
	if end.Life != control.LifeEnded || end.Exit.Code != 0 {
		t.Fatalf("%s %+v", end.Life, end.Exit)
	}
	f.fold()
	take()
	if size < total || last.Seq != end.Exit.LastSeq {
		t.Errorf("%d bytes of %d, to frame %d of %d", size, total, last.Seq, end.Exit.LastSeq)
	}
}

func TestBurstIsWhole(t *testing.T) {
	s := newStage(t, "flood 3000000", "complain done", "exit 3")
	s.spawn.Spec.Timing.SegmentBytes = 512 << 10
	s.start()
	if end := s.end(); end.Exit == nil || end.Exit.Code != 3 {
		t.Fatalf("%+v", end.Exit)
	}
	frames := s.frames()
	if n := numbered(t, text(frames, spool.KindOut)); n < 3000000 {
		t.Errorf("%d bytes", n)
	}
	if segments, err := filepath.Glob(filepath.Join(s.dir, control.SpoolName, "*.seg")); err != nil || len(segments) < 4 {
		t.Errorf("%q %v", segments, err)
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	const runs = 8
	var stages []*stage
	for i := range runs {
		s := newStage(t, fmt.Sprint("say run ", i), "echo", fmt.Sprint("exit ", i))
		s.start()
		stages = append(stages, s)
	}
	for i, s := range stages {
		l, _ := s.dial()
		if _, err := l.Write(t.Context(), 1, "turn:1", []byte("hello\n"), true); err != nil {
			t.Error(err)
		}
		if end := s.end(); end.Exit == nil || end.Exit.Code != i {
			t.Errorf("run %d: %+v", i, end.Exit)
		}
		if got := text(s.frames(), spool.KindOut); got != fmt.Sprintf("run %d\nhello\nend of input\n", i) {
			t.Errorf("run %d: %q", i, got)
		}
	}
}

// R6: what the agent wrote before its end is kept though nobody folds and the bound is reached, and the run ends.
func TestR6_EndBehindAFullBacklog(t *testing.T) {
	s := newStage(t, "say up", "await", "flood 50000", "exit 5")
	s.spawn.Spec.Timing.Unfolded = 1
	s.start()
	l, _ := s.dial()
	if _, err := l.Write(t.Context(), 1, "go", []byte("go\n"), false); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if end := s.end(); end.Life != control.LifeEnded || end.Exit.Code != 5 {
		t.Fatalf("%s %+v", end.Life, end.Exit)
	}
	out, up := strings.CutPrefix(text(s.frames(), spool.KindOut), "up\n")
	if n := numbered(t, out); n < 50000 || !up {
		t.Errorf("%d bytes", n)
	}
}

// S7: a shim that is killed while it writes takes its agent with it and leaves a spool that reads to its end.
func TestS7_KilledShim(t *testing.T) {
	for i := range 10 {
		s := newStage(t, "spawn flood 100000000", "flood 100000000")
		sp := s.start()
		l, _ := s.dial()
		f := s.follow(l)
		f.until(func(seen []spool.Frame) bool { return len(seen) > 3*i+3 })
		if err := syscall.Kill(sp.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		end := s.end()
		if end.Life != control.LifeBroken {
			t.Fatalf("%s", end.Life)
		}
		if _, err := proc.KillMarked(nil, control.MarkerName, s.run, nil); err != nil {
			t.Error(err)
		}
		// One that is on its way out carries no mark any more and is not waited for by the sweep.
		if err := proc.Await(t.Context(), end.Shim.AgentIdentity()); err != nil {
			t.Errorf("the agent lives: %v", err)
		}
		f.until(func([]spool.Frame) bool { _, err := f.r.Next(); return errors.Is(err, spool.ErrNotYet) })
		w, err := spool.OpenWriter(filepath.Join(s.dir, control.SpoolName), spool.Options{})
		if err != nil || w.Repaired() != f.r.Pending() {
			t.Errorf("%v", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
