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

// wentOn lets a run that waits at its gate go on, and fails the test unless it ends well with the reply "after".
func wentOn(t *testing.T, b *bench, h wire.RunHandle) {
	t.Helper()
	touch(t, b.cwd+"/go")
	r := b.hub.await(t, h, "the end", over)
	if e := r.end(); e == nil || e.State != wire.StateCompleted || e.Reply != "after" {
		t.Errorf("%+v %+v", r.lastLife(), e)
	}
}

// waiting is a run that waits at its gate, with no daemon.
func waiting(t *testing.T, b *bench) wire.RunHandle {
	t.Helper()
	h := b.launch("fake", "tool $ x\nuntil "+b.cwd+"/go\nsay after\ndone\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	b.leave()
	return h
}

// TestR3_LostSocketIsMadeAnew: a cleaner, or a restored copy of the home, took the socket of a live run away or put
// something in its place. The next daemon has the shim make it anew, and the run goes on to its end.
func TestR3_LostSocketIsMadeAnew(t *testing.T) {
	for name, harm := range map[string]func(socket string) error{
		"removed":        os.Remove,
		"a file":         func(socket string) error { return errors.Join(os.Remove(socket), os.WriteFile(socket, nil, 0o600)) },
		"a pipe":         func(socket string) error { return errors.Join(os.Remove(socket), syscall.Mkfifo(socket, 0o600)) },
		"folder removed": func(socket string) error { return os.RemoveAll(filepath.Dir(socket)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
			h := waiting(t, b)
			if err := harm(b.home.CtlSocket(h)); err != nil {
				t.Fatal(err)
			}
			b.again()
			b.hub.await(t, h, "adopted", life(row.LifeAdopted))
			wentOn(t, b, h)
		})
	}
}

// TestR3_FolderInPlaceOfASocket is said and not removed; when its owner has moved it away the run is found again.
func TestR3_FolderInPlaceOfASocket(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
	h := waiting(t, b)
	socket := b.home.CtlSocket(h)
	if err := errors.Join(os.Remove(socket), os.Mkdir(socket, 0o700)); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	if detail := r.lastLife().Detail; !strings.Contains(detail, "folder, "+socket+",") || !strings.Contains(detail, "move it away") {
		t.Error(detail)
	}
	if err := os.Rename(socket, socket+".theirs"); err != nil {
		t.Fatal(err)
	}
	b.hub.await(t, h, "adopted", life(row.LifeAdopted))
	wentOn(t, b, h)
}

// TestR3_ShimThatDoesNotComeBack: one that makes no new socket, as of an earlier release, leaves its run unknown with a
// sentence that says so, and is ended when its owner wants that.
func TestR3_ShimThatDoesNotComeBack(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
	h := waiting(t, b)
	socket := b.home.CtlSocket(h)
	if err := errors.Join(os.Remove(socket), os.Mkdir(socket, 0o700)); err != nil { // what keeps it from coming back
		t.Fatal(err)
	}
	b.again()
	b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	b.wish(h, func(w *row.Wishes) { w.Stop = true })
	r := b.hub.await(t, h, "the end", over)
	if e := r.end(); e == nil || e.State != wire.StateCancelled {
		t.Errorf("%+v %+v", r.lastLife(), e)
	}
}

// TestR3_LostSocketAndRecord: without shim.json nobody knows whom to tell, and that is said.
func TestR3_LostSocketAndRecord(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
	h := waiting(t, b)
	if err := errors.Join(os.Remove(b.home.CtlSocket(h)), os.Remove(filepath.Join(b.home.RunDir(h), control.ShimName))); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	if detail := r.lastLife().Detail; !strings.Contains(detail, control.ShimName+", by which") {
		t.Error(detail)
	}
	wentOn(t, b, h)
}
