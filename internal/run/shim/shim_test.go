package shim_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

func TestR2_StartPipeEndsNothingStarted(t *testing.T) {
	s := newStage(t, "say hello")
	sp := s.spawned()
	l, err := control.Probe(s.dir)
	if err != nil || l.Life != control.LifeHeld {
		t.Fatalf("before the start byte: %v %v", l.Life, err)
	}
	sp.Abort()
	<-sp.Gone()
	if l := s.end(); l.Life != control.LifeNotStarted {
		t.Errorf("life is %s", l.Life)
	}
	if f := s.frames(); len(f) != 0 {
		t.Errorf("something was started: %v", f)
	}
	if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("socket: %v", err)
	}
}

func TestS2_ExitKeptWithNobodyConnected(t *testing.T) {
	for _, c := range []struct {
		step, signal string
		code         int
	}{{"exit 7", "", 7}, {"segv", "SIGSEGV", -1}, {"exit 0", "", 0}} {
		t.Run(c.step, func(t *testing.T) {
			s := newStage(t, "say one", "complain two", c.step)
			s.start()
			l := s.end()
			if l.Life != control.LifeEnded || l.Exit.Code != c.code || l.Exit.Signal != c.signal || l.Exit.OOM {
				t.Fatalf("%s %+v", l.Life, l.Exit)
			}
			frames := s.frames()
			if got := frames[len(frames)-1].Seq; got != l.Exit.LastSeq {
				t.Errorf("last frame %d, exit says %d", got, l.Exit.LastSeq)
			}
			if out, err := text(frames, spool.KindOut), text(frames, spool.KindErr); out != "one\n" || err != "two\n" {
				t.Errorf("out %q err %q", out, err)
			}
			first, noteErr := spool.DecodeNote(frames[0].Payload)
			if noteErr != nil || first.Started == nil || first.Started.PID != l.Shim.Agent {
				t.Errorf("first frame %q of %+v", frames[0].Payload, l.Shim)
			}
			checkOrder(t, frames, c.code, c.signal)
			if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("socket: %v", err)
			}
		})
	}
}

// checkOrder wants the agent's own output in front of its exit.
func checkOrder(t *testing.T, frames []spool.Frame, code int, signal string) {
	t.Helper()
	exited := false
	for _, f := range frames {
		if f.Kind != spool.KindNote {
			if exited {
				t.Errorf("%s %q after the exit", f.Kind, f.Payload)
			}
			continue
		}
		n, err := spool.DecodeNote(f.Payload)
		if err != nil {
			t.Error(err)
		}
		if n.AgentExit != nil {
			exited = true
			if n.AgentExit.Code != code || n.AgentExit.Signal != signal {
				t.Errorf("exit %+v", n.AgentExit)
			}
		}
	}
	if !exited {
		t.Error("no exit frame")
	}
}

func TestR7_AgentGetsOnlyItsOwn(t *testing.T) {
	s := newStage(t, "print fds", "print env", "print blocking", "print signals", "print pids", "print oom")
	s.spawn.Spec.Stdin = control.StdinNull
	s.start()
	if l := s.end(); l.Life != control.LifeEnded || l.Exit.Code != 0 {
		t.Fatalf("%s %+v", l.Life, l.Exit)
	}
	l, _ := control.Probe(s.dir)
	out := text(s.frames(), spool.KindOut)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "fd ") && (strings.Contains(line, s.dir) || strings.Contains(line, "true")) {
			t.Errorf("agent has %q", line)
		}
	}
	for _, want := range []string{
		"PROMISE=kept\n", control.MarkerName + "=" + s.run + "\n",
		fmt.Sprintf("pids %d %d %d\n", l.Shim.Agent, l.Shim.PID, l.Shim.Agent),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	for _, bad := range []string{"GOGC=", "GOMAXPROCS="} {
		if strings.Contains(out, bad) {
			t.Errorf("%q in %s", bad, out)
		}
	}
	if strings.Contains(out, "SigIgn:\t0000000000000001") || strings.Contains(out, "SigIgn:\t0000000000000003") {
		t.Errorf("signals ignored: %s", out)
	}
	spec, err := os.ReadFile(filepath.Join(s.dir, control.SpecName))
	if err != nil || strings.Contains(string(spec), "kept") || !strings.Contains(string(spec), `"PROMISE"`) {
		t.Errorf("spec.json: %s %v", spec, err)
	}
}

func TestR7_LockIsFreeThoughAGrandchildLives(t *testing.T) {
	s := newStage(t, "spawn deaf;say ready;hang", "hang")
	sp := s.start()
	l, _ := s.dial()
	s.follow(l).untilOut("ready")
	if err := syscall.Kill(sp.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-sp.Gone()
	life, err := control.Probe(s.dir)
	if err != nil || life.Life != control.LifeBroken {
		t.Fatalf("S7: %s %v", life.Life, err)
	}
	left, err := proc.KillMarked(nil, control.MarkerName, s.run, nil)
	if err != nil || len(left) == 0 {
		t.Errorf("S7: swept %v %v", left, err)
	}
}

func TestStartFailures(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	script := filepath.Join(dir, "script")
	if err := errors.Join(os.WriteFile(plain, []byte("x"), 0o600), os.WriteFile(script, []byte("#!/nowhere/at/all\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, program, cwd string
		class              spool.StartClass
	}{
		{"missing path", filepath.Join(dir, "none"), dir, spool.StartNotFound},
		{"missing name", "no-such-program-at-all", dir, spool.StartNotFound},
		{"not executable", plain, dir, spool.StartNotExecutable},
		{"interpreter missing", script, dir, spool.StartNotExecutable},
		{"directory", dir, dir, spool.StartNotExecutable},
		{"cwd gone", "/bin/sh", filepath.Join(dir, "gone"), spool.StartCwd},
		{"cwd a file", "/bin/sh", plain, spool.StartCwd},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.spawn.Argv, s.spawn.Spec.Cwd = []string{c.program}, c.cwd
			s.start()
			l := s.end()
			if l.Life != control.LifeEnded || l.Exit.StartFailed == nil || l.Exit.StartFailed.Class != c.class {
				t.Fatalf("%s %+v", l.Life, l.Exit)
			}
			if notes := s.notes(); len(notes) != 1 || notes[0].StartFailed == nil || notes[0].StartFailed.Class != c.class {
				t.Errorf("notes %+v", notes)
			}
		})
	}
}

func TestShimShowsItself(t *testing.T) {
	s := newStage(t, "echo")
	sp := s.start()
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", sp.PID()))
	if err != nil {
		t.Skipf("no process table to look into: %v", err)
	}
	if got := strings.ReplaceAll(strings.TrimSuffix(string(cmdline), "\x00"), "\x00", " "); got != "agent-shim "+s.run {
		t.Errorf("it shows as %q", got)
	}
	p, err := proc.Lookup(sp.PID())
	if err != nil || !strings.HasPrefix("agent-shim "+s.run, p.Name) || len(p.Name) < 10 {
		t.Errorf("name %q %v", p.Name, err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if err := syscall.Kill(sp.PID(), sig); err != nil {
			t.Error(err)
		}
	}
	l, h := s.dial()
	if h.PID != sp.PID() || h.Agent == 0 || h.Start != p.Start {
		t.Errorf("hello %+v", h)
	}
	if r, err := l.Write(t.Context(), 1, "end", nil, true); err != nil || r.Verdict != control.VerdictOK {
		t.Errorf("%+v %v", r, err)
	}
	if end := s.end(); end.Exit == nil || end.Exit.Code != 0 {
		t.Errorf("%+v", end)
	}
}

func TestControlSocket(t *testing.T) {
	listen := func(s *stage) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		return l
	}
	t.Run("stale", func(t *testing.T) {
		s := newStage(t, "exit 0")
		if err := listen(s).Close(); err != nil {
			t.Fatal(err)
		}
		sp := s.spawned()
		info, err := os.Lstat(s.socket)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
		if err := sp.Go(t.Context()); err != nil {
			t.Error(err)
		}
		s.end()
	})
	t.Run("another's", func(t *testing.T) {
		s := newStage(t, "exit 0")
		l := listen(s)
		if _, err := control.Spawn(t.Context(), s.spawn); !errors.Is(err, control.ErrNotStarted) || !strings.Contains(err.Error(), "another shim answers") {
			t.Error(err)
		}
		if _, err := os.Lstat(s.socket); err != nil {
			t.Errorf("its socket was taken away: %v", err)
		}
		_ = l.Close()
		s.end()
	})
	t.Run("too long", func(t *testing.T) {
		s := newStage(t, "exit 0")
		s.spawn.Spec.Socket = filepath.Join(filepath.Dir(s.dir), strings.Repeat("x", 120))
		if _, err := control.Spawn(t.Context(), s.spawn); !errors.Is(err, control.ErrNotStarted) || !strings.Contains(err.Error(), "path of the control socket") {
			t.Error(err)
		}
		s.end()
	})
}
