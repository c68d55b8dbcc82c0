package shim_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

func steps(notes []spool.Note) (list []string) {
	for _, n := range notes {
		if n.Stop != nil {
			list = append(list, n.Stop.Step)
		}
	}
	return list
}

func strays(notes []spool.Note) (names []string) {
	for _, n := range notes {
		if n.Strays != nil {
			names = append(names, n.Strays.Names...)
		}
	}
	return names
}

func TestStopLadder(t *testing.T) {
	for _, c := range []struct {
		name   string
		script []string
		step   control.Step
		signal string
		code   int
		steps  string
	}{
		{"interrupt ends it", []string{"say up", "hang"}, "", "SIGINT", -1, "interrupt"},
		{"end of input ends it", []string{"ignoreint", "say up", "echo"}, "", "", 0, "interrupt eof terminate"},
		{"only kill ends it", []string{"deaf", "say up", "hang"}, "", "SIGKILL", -1, "interrupt eof terminate kill"},
		{"from eof", []string{"deaf", "say up", "hang"}, control.StepEOF, "SIGKILL", -1, "eof terminate kill"},
		{"at once", []string{"deaf", "say up", "hang"}, control.StepKill, "SIGKILL", -1, "kill"},
		{"tree", []string{"deaf", "spawn deaf;orphan deaf,say up,hang;hang", "spawn deaf;hang", "hang"}, "", "SIGKILL", -1, "interrupt eof terminate kill"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, c.script...)
			if c.signal != "SIGKILL" { // it must end by itself, however slow the machine is
				s.spawn.Spec.Timing.Terminate = time.Hour
			}
			s.start()
			l, _ := s.dial()
			s.follow(l).untilOut("up")
			if err := l.Stop(t.Context(), c.step); err != nil {
				t.Fatal(err)
			}
			end := s.end()
			if end.Life != control.LifeEnded || end.Exit.Signal != c.signal || end.Exit.Code != c.code || end.Exit.OOM {
				t.Errorf("%s %+v", end.Life, end.Exit)
			}
			if got := strings.Join(steps(s.notes()), " "); got != c.steps {
				t.Errorf("steps %q", got)
			}
		})
	}
}

func TestTermToTheShimStopsTheRun(t *testing.T) {
	s := newStage(t, "say up", "hang")
	sp := s.start()
	l, _ := s.dial()
	s.follow(l).untilOut("up")
	if err := syscall.Kill(sp.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if end := s.end(); end.Life != control.LifeEnded || end.Exit.Signal != "SIGINT" {
		t.Errorf("%s %+v", end.Life, end.Exit)
	}
}

// The ladder's own waits are within what the daemon's protocol cancel leaves of eight seconds.
func TestS6_LadderKillsWithinEightSeconds(t *testing.T) {
	d := control.Timing{}.WithDefaults()
	const protocolCancel = 3 * time.Second
	if total := protocolCancel + d.Interrupt + d.Terminate; total > 8*time.Second {
		t.Errorf("the kill comes after %s", total)
	}
}

func TestS6_NothingIsLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		script []string
		stray  bool
	}{
		{"clean", []string{"say up", "await", "exit 0"}, false},
		{"setsid child that holds the outputs and ignores signals", []string{"spawn deaf;print pids;say up;hang", "await", "exit 0"}, true},
		{"double fork", []string{"orphan deaf,print pids,say up,hang", "await", "exit 0"}, true},
		{"without our environment", []string{"spawnbare deaf;print pids;say up;hang", "await", "exit 0"}, true},
		{"polite", []string{"spawn print pids;say up;hang", "await", "exit 0"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, c.script...)
			s.start()
			l, _ := s.dial()
			f := s.follow(l)
			f.untilOut("up")
			left := printed(t, text(f.seen, spool.KindOut))
			if (len(left) > 0) != c.stray {
				t.Fatalf("%v", left)
			}
			if _, err := l.Write(t.Context(), 1, "go", []byte("go\n"), false); err != nil {
				t.Fatal(err)
			}
			f.until(func(seen []spool.Frame) bool { // the exit is told before the rest is ended
				return slices.ContainsFunc(seen, func(f spool.Frame) bool {
					n, err := spool.DecodeNote(f.Payload)
					return f.Kind == spool.KindNote && err == nil && n.AgentExit != nil
				})
			})
			end := s.end()
			if end.Life != control.LifeEnded || end.Exit.Code != 0 {
				t.Fatalf("%s %+v", end.Life, end.Exit)
			}
			if got := strays(s.notes()); (len(got) > 0) != c.stray {
				t.Errorf("strays %q", got)
			}
			checkGone(t, end)
			for _, id := range left {
				if alive, err := proc.Alive(id); err != nil || alive {
					t.Errorf("%+v lives: %v", id, err)
				}
			}
		})
	}
}

// printed is who wrote lines of "print pids".
func printed(t *testing.T, out string) (ids []proc.Identity) {
	t.Helper()
	for line := range strings.Lines(out) {
		var pid, ppid, group int
		if n, _ := fmt.Sscanf(line, "pids %d %d %d", &pid, &ppid, &group); n == 3 {
			id, err := proc.Of(pid)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// checkGone wants no process with the agent's group or below the shim, whatever its environment.
func checkGone(t *testing.T, end control.Liveness) {
	t.Helper()
	all, err := proc.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.PGID == end.Shim.Group || p.PPID == end.Shim.PID {
			t.Errorf("left: %+v", p)
		}
	}
}

func TestS6_ForkLoopEnds(t *testing.T) {
	s := newStage(t, "say up", "forkloop")
	s.start()
	end := s.end()
	if end.Life != control.LifeEnded {
		t.Fatalf("%s %+v", end.Life, end.Exit)
	}
	checkGone(t, end)
}

func TestAgentThatClosesItsOutputLives(t *testing.T) {
	s := newStage(t, "say up", "closeout", "echo", "exit 4")
	s.start()
	l, _ := s.dial()
	f := s.follow(l)
	f.until(func(seen []spool.Frame) bool {
		n, err := spool.DecodeNote(seen[len(seen)-1].Payload)
		return err == nil && n.EOF != nil && n.EOF.Stream == "out" && !n.EOF.Cut
	})
	if h, err := l.Status(t.Context()); err != nil || h.Exited {
		t.Errorf("%+v %v", h, err)
	}
	if _, err := l.Write(t.Context(), 1, "end", nil, true); err != nil {
		t.Error(err)
	}
	if end := s.end(); end.Exit == nil || end.Exit.Code != 4 {
		t.Errorf("%+v", end.Exit)
	}
}

// S12: a handle is unique in one home only; a process of another home that carries the same one is not ours to end.
func TestS12_AnotherHomesProcessIsLeftAlone(t *testing.T) {
	s := newStage(t, "spawn print pids;say up;hang", "await", "exit 0")
	s.spawn.Env = append(s.spawn.Env, "SCV_HOME=/ours")
	stranger := exec.Command(s.spawn.Exe, fakeAgentWord, "echo")
	stranger.Env = append(os.Environ(), quickRace, "SCV_HOME=/theirs", control.MarkerName+"="+s.run)
	input, err := stranger.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(stranger.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = stranger.Wait()
	})
	s.start()
	l, _ := s.dial()
	f := s.follow(l)
	f.untilOut("up")
	left := printed(t, text(f.seen, spool.KindOut))
	if _, err := l.Write(t.Context(), 1, "go", []byte("go\n"), false); err != nil {
		t.Fatal(err)
	}
	if end := s.end(); end.Life != control.LifeEnded || len(strays(s.notes())) != 1 {
		t.Errorf("%s, strays %q", end.Life, strays(s.notes()))
	}
	if alive, err := proc.Alive(left[0]); err != nil || alive {
		t.Errorf("our own: %v %v", alive, err)
	}
	if alive, err := proc.Alive(id); err != nil || !alive {
		t.Errorf("the other home's: %v %v", alive, err)
	}
}

// TestS10_DirectoryGone: whoever removes a run's directory under it, such as its own agent, leaves no shim behind that
// tries for ever to write there.
func TestS10_DirectoryGone(t *testing.T) {
	s := newStage(t, "say up", "echo", "flood 300000")
	s.spawn.Spec.Timing.SegmentBytes = 64 << 10 // a new segment has no directory either
	sp := s.start()
	l, _ := s.dial()
	s.follow(l).untilOut("up")
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write(t.Context(), 1, "k", []byte("go on\n"), true); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sp.Gone():
	case <-t.Context().Done():
		t.Fatal("the shim stays")
	}
}
