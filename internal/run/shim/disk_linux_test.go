package shim_test

import (
	"os"
	"strings"
	"testing"

	"scv/internal/run/control"
	"scv/internal/run/spool"
	"scv/internal/testkit/need"
)

// S10: on a full disk the agent waits, nothing is dropped, and the run goes on by itself when there is room.
func TestS10_FullDisk(t *testing.T) {
	s := newStage(t, "flood 2000000", "exit 9")
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	need.Disk(t, s.dir, "1m")
	s.spawn.Spec.Timing.SegmentBytes = 256 << 10
	s.start()
	l, _ := s.dial()
	f := s.follow(l)
	f.until(func([]spool.Frame) bool {
		h, err := l.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(h.Waiting, "no space")
	})
	if _, err := l.Write(t.Context(), 1, "k", make([]byte, 1<<20), false); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("write: %v", err)
	}
	out := text(f.seen, spool.KindOut)
	last := f.seen[len(f.seen)-1]
	f.seen = nil
	need.Remount(t, s.dir, "size=30m")
	end := s.end()
	if end.Life != control.LifeEnded || end.Exit.Code != 9 {
		t.Fatalf("%s %+v", end.Life, end.Exit)
	}
	f.fold()
	if first, end := f.seen[0].Seq, f.seen[len(f.seen)-1].Seq; first != last.Seq+1 || end != s.end().Exit.LastSeq {
		t.Errorf("frames %d to %d after %d", first, end, last.Seq)
	}
	if n := numbered(t, out+text(f.seen, spool.KindOut)); n < 2000000 {
		t.Errorf("%d bytes", n)
	}
}
