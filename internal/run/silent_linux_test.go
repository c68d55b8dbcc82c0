package run

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// TestR3_SilentShimIsUnknownAndUntouched: a lock that is held and no answer says nothing about the run.
func TestR3_SilentShimIsUnknownAndUntouched(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Dial, c.Timing.Backoff = 30*time.Millisecond, 20*time.Millisecond })
	h := b.launch("fake", "tool $ x\nuntil "+b.cwd+"/go\ndone\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	b.leave()
	s, err := control.ReadShim(b.home.RunDir(h))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, s.PID, nil, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	if r.end() != nil || !strings.Contains(r.lastLife().Detail, "does not answer") {
		t.Fatalf("%+v", r.lastLife())
	}
	if _, err := os.Stat(filepath.Join(b.home.RunDir(h), control.SpoolName)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.hub.await(t, h, "adopted", life(row.LifeAdopted))
	touch(t, b.cwd+"/go")
	if r := b.hub.await(t, h, "the end", over); r.end().State != wire.StateCompleted {
		t.Fatalf("%+v", r.end())
	}
}
