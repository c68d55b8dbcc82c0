package run

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A stranger holds the lock of a run and answers at its socket what it likes.
type stranger struct {
	lock *os.File
	at   net.Listener
	conn atomic.Pointer[net.Conn]
	done chan struct{}
}

// impostor is a run whose shim answers each request with the next of these lines, and any further one with the last.
func impostor(t *testing.T, b *bench, answers ...string) (wire.RunHandle, *stranger) {
	t.Helper()
	o := b.order("fake", "x")
	o.Adopt = true
	h := o.Run.Handle
	root, err := b.home.CreateRun(h)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	boot, err := proc.BootID()
	if err != nil {
		t.Fatal(err)
	}
	spec := control.Spec{Version: control.Protocol, Run: string(h), Boot: boot, Binary: "9.9.9"}
	if err := control.WriteRecord(b.home.RunDir(h), control.SpecName, spec, false); err != nil {
		t.Fatal(err)
	}
	s := &stranger{done: make(chan struct{})}
	if s.lock, err = os.Open(filepath.Join(b.home.RunDir(h), control.SpecName)); err == nil {
		err = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		s.at, err = net.Listen("unix", b.home.CtlSocket(h))
	}
	if err != nil {
		t.Fatal(err)
	}
	go s.serve(string(h), answers)
	t.Cleanup(s.leave)
	b.l.Launch(o)
	return h, s
}

func (s *stranger) serve(run string, answers []string) {
	defer close(s.done)
	for {
		conn, err := s.at.Accept()
		if err != nil {
			return
		}
		s.conn.Store(&conn)
		lines := bufio.NewReader(conn)
		for i := 0; ; i++ {
			if _, err := lines.ReadString('\n'); err != nil {
				break
			}
			answer := answers[min(i, len(answers)-1)]
			if _, err := fmt.Fprintln(conn, strings.ReplaceAll(answer, "RUN", run)); err != nil {
				break
			}
		}
		_ = conn.Close()
	}
}

// leave frees lock and socket, as the end of a process does.
func (s *stranger) leave() {
	_ = s.at.Close() // a second time at the test's end
	if conn := s.conn.Load(); conn != nil {
		_ = (*conn).Close()
	}
	<-s.done
	_ = s.lock.Close()
}

// TestR3_ShimThatMakesNoSense: what holds the lock answers nonsense, speaks of another version, or hangs up again and
// again. The run is unknown with a sentence that names what was found, nothing of it is touched, it is not asked all the
// time, and its end is seen.
func TestR3_ShimThatMakesNoSense(t *testing.T) {
	hello := `{"t":"hello","v":1,"run":"RUN","pid":1,"start":1,"agent":1,"seq":0}`
	for name, c := range map[string]struct {
		answers []string
		says    []string
	}{
		"no JSON":           {[]string{"hello?"}, []string{"makes no sense"}},
		"no hello":          {[]string{`{"t":"ok"}`}, []string{"makes no sense", `"ok"`}},
		"nonsense later":    {[]string{hello, "]"}, []string{"makes no sense"}},
		"an endless line":   {[]string{strings.Repeat("x", 9000)}, []string{"makes no sense", "4096 bytes"}},
		"not asked":         {[]string{hello + "\n" + hello + "\n" + hello}, []string{"makes no sense"}},
		"a later version":   {[]string{strings.Replace(hello, `"v":1`, `"v":7`, 1)}, []string{"version 7", "up to 1", "scv 9.9.9"}},
		"without a version": {[]string{strings.Replace(hello, `"v":1,`, "", 1)}, []string{"version 0", "speaks 1 and later"}},
		"another run":       {[]string{strings.Replace(hello, "RUN", "fake-0", 1)}, []string{`serves "fake-0"`}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
			h, s := impostor(t, b, c.answers...)
			if name == "nonsense later" {
				b.hub.await(t, h, "adopted", life(row.LifeAdopted))
				b.wish(h, func(w *row.Wishes) { w.Stop = true })
			}
			r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
			for _, part := range c.says {
				if !strings.Contains(r.lastLife().Detail, part) {
					t.Errorf("it says %q, want %q in it", r.lastLife().Detail, part)
				}
			}
			if _, err := os.Stat(filepath.Join(b.home.RunDir(h), control.SpecName)); err != nil || over(&r) {
				t.Errorf("it was touched: %v, %+v", err, r.lives)
			}
			s.leave()
			b.hub.await(t, h, "the end", over)
		})
	}
}

// TestShimThatMakesNoSenseIsStoppedForItsOwner: who wants the end of a run whose shim is not understood gets it by the
// signal that means the same.
func TestShimThatMakesNoSenseIsStoppedForItsOwner(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
	h := b.launch("fake", "tool $ x\nhang\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	b.leave()
	socket := b.home.CtlSocket(h)
	if err := os.Rename(socket, socket+".aside"); err != nil { // the shim lives on behind an impostor's socket
		t.Fatal(err)
	}
	at, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &stranger{at: at, done: make(chan struct{})}
	go s.serve(string(h), []string{"hello?"})
	defer s.leave()
	b.again()
	b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	b.wish(h, func(w *row.Wishes) { w.Stop = true })
	if r := b.hub.await(t, h, "the end", over); r.end() == nil || r.end().State != wire.StateCancelled {
		t.Errorf("%+v %+v", r.lastLife(), r.end())
	}
}

// TestReplacedSpecIsNoEnd: an agent put something else in the place of spec.json, so that the lock that is seen there is
// free. The shim answers, so the run goes on to its end.
func TestReplacedSpecIsNoEnd(t *testing.T) {
	for name, replace := range hostile(control.SpecName) {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
			h := b.launch("fake", "tool $ x\nuntil "+b.cwd+"/go\nsay after\ndone\n")
			b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
			b.leave()
			replace(t, b.home.RunDir(h), filepath.Join(b.cwd, "outside"))
			b.again()
			b.hub.await(t, h, "adopted", life(row.LifeAdopted))
			touch(t, b.cwd+"/go")
			r := b.hub.await(t, h, "the end", over)
			if e := r.end(); e == nil || e.State != wire.StateCompleted || e.Reply != "after" {
				t.Errorf("%+v %+v", r.lastLife(), e)
			}
		})
	}
}

// TestFreeLockAndALivingShim: the lock is free and the shim does not answer, and yet its process runs. It is not ended.
func TestFreeLockAndALivingShim(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
	h := b.launch("fake", "tool $ x\nhang\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	b.leave()
	spec, socket := filepath.Join(b.home.RunDir(h), control.SpecName), b.home.CtlSocket(h)
	if err := errors.Join(os.Rename(spec, spec+".aside"), os.Rename(socket, socket+".aside"), os.WriteFile(spec, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	if detail := r.lastLife().Detail; !strings.Contains(detail, "lock of the run is free") || !strings.Contains(detail, "runs") {
		t.Error(detail)
	}
	if err := errors.Join(os.Rename(spec+".aside", spec), os.Rename(socket+".aside", socket)); err != nil {
		t.Fatal(err)
	}
	b.hub.await(t, h, "adopted", life(row.LifeAdopted))
}

// TestDamagedExitIsSettledByTheSpool: exit.json is there and cannot be read. The lock is free and the spool tells how the
// agent ended, so the run is not unknown for ever.
func TestDamagedExitIsSettledByTheSpool(t *testing.T) {
	for name, spoil := range hostile(control.ExitName) {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.launch("fake", "tool $ x\nuntil "+b.cwd+"/go\nsay so\ndone\n")
			b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
			b.leave()
			touch(t, b.cwd+"/go")
			if l, err := control.AwaitGone(t.Context(), b.home.RunDir(h)); err != nil || l.Life != control.LifeEnded {
				t.Fatal(l.Life, err)
			}
			spoil(t, b.home.RunDir(h), filepath.Join(b.cwd, "outside"))
			b.again()
			r := b.hub.await(t, h, "the end", over)
			if e := r.end(); r.lastLife().Kind != row.LifeEnded || e == nil || e.State != wire.StateCompleted || e.Reply != "so" {
				t.Errorf("%+v %+v", r.lastLife(), e)
			}
		})
	}
}

// TestDamagedExitWithoutASpool: nothing tells how the run ended. It is interrupted, which is said, and it is not said that
// nothing was run.
func TestDamagedExitWithoutASpool(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "tool $ x\nuntil "+b.cwd+"/go\ndone\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	b.leave()
	touch(t, b.cwd+"/go")
	if _, err := control.AwaitGone(t.Context(), b.home.RunDir(h)); err != nil {
		t.Fatal(err)
	}
	dir := b.home.RunDir(h)
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, control.ExitName), []byte("{"), 0o600), os.Remove(filepath.Join(dir, control.ShimName)),
		os.RemoveAll(filepath.Join(dir, control.SpoolName)),
	)
	if err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "the end", over)
	if l := r.lastLife(); l.Kind != row.LifeLost || !strings.Contains(l.Detail, "record of its end is damaged") {
		t.Errorf("%+v", l)
	}
}

// TestRecordsOfALaterVersion are refused with both numbers and left alone, until a program that knows them comes.
func TestRecordsOfALaterVersion(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
	h := b.launch("fake", "tool $ x\nuntil "+b.cwd+"/go\ndone\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	b.leave()
	touch(t, b.cwd+"/go")
	dir := b.home.RunDir(h)
	was, err := control.AwaitGone(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	later := *was.Exit
	later.Version = 8
	if err := control.WriteRecord(dir, control.ExitName, later, false); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	if l := r.lastLife(); !strings.Contains(l.Detail, "version 8") || !strings.Contains(l.Detail, "up to 1") {
		t.Errorf("%+v", l)
	}
	if err := control.WriteRecord(dir, control.ExitName, was.Exit, false); err != nil {
		t.Fatal(err)
	}
	b.hub.await(t, h, "the end", over)
}

// TestRunOfAnotherMachine: the home was copied while the run lived, so its lock says nothing here. The run is unknown,
// its log shows what the copy holds, and it ends when its owner gives it up.
func TestRunOfAnotherMachine(t *testing.T) {
	if proc.MachineID() == "" {
		t.Skip("this machine has no name")
	}
	b := newBench(t)
	h := b.launch("fake", "say half\ntool $ x\nhang\n")
	b.hub.await(t, h, "a tool call", func(r *hubRun) bool {
		return len(r.steps) > 0 && r.steps[len(r.steps)-1].Detail == "$ x"
	})
	b.leave()
	killShim(t, b, h)
	dir := b.home.RunDir(h)
	spec, err := control.ReadSpec(dir)
	if err != nil || spec.Machine != proc.MachineID() || spec.Host == "" {
		t.Fatalf("%+v, %v", spec, err)
	}
	moved := *spec
	moved.Machine, moved.Host, moved.Boot = "0123456789abcdef", "elsewhere", "11111111-2222-4333-8444-555555555555"
	if err := control.WriteRecord(dir, control.SpecName, moved, false); err != nil {
		t.Fatal(err)
	}
	here := exec.Command("sleep", "1000") // the same handle on this machine is another's
	here.Env = []string{control.MarkerName + "=" + string(h)}
	if err := here.Start(); err != nil {
		t.Fatal(err)
	}
	b.again()
	r := b.hub.await(t, h, "unknown", life(row.LifeUnreachable))
	if detail := r.lastLife().Detail; !strings.Contains(detail, "machine elsewhere") || !strings.Contains(detail, "scv agents kill "+string(h)) {
		t.Error(detail)
	}
	if log := b.shown(h); strings.Count(log, "text half") != 1 {
		t.Error(log)
	}
	b.wish(h, func(w *row.Wishes) { w.Stop = true })
	if r := b.hub.await(t, h, "the end", over); r.end() == nil || r.end().State != wire.StateCancelled {
		t.Errorf("%+v %+v", r.lastLife(), r.end())
	}
	if alive, err := proc.Lookup(here.Process.Pid); err != nil || alive.Zombie {
		t.Errorf("a process of this machine was ended for a run of another: %v", err)
	}
	_ = here.Process.Kill()
	_ = here.Wait() // by its signal
}

func killShim(t *testing.T, b *bench, h wire.RunHandle) {
	t.Helper()
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
}
