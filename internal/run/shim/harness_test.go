package shim_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

// stage is one run directory with its shim, as a daemon sees it.
type stage struct {
	t      *testing.T
	dir    string // of the run
	run    string
	socket string
	spawn  control.SpawnSpec
}

// quick is short enough for tests and long enough that nothing ends by it unless it must.
func quick() control.Timing {
	return control.Timing{
		Drain: 200 * time.Millisecond, Interrupt: 200 * time.Millisecond, Terminate: 200 * time.Millisecond,
		Grace: 200 * time.Millisecond, Retry: 10 * time.Millisecond, Flush: 5 * time.Millisecond, Deliver: 200 * time.Millisecond,
	}
}

// quickRace spares each process of a race build the second that it waits at its end.
const quickRace = "GORACE=atexit_sleep_ms=0"

// newStage prepares a run of the fake agent with this script. What is left of it at the end of the test fails it.
func newStage(t *testing.T, script ...string) *stage {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp("", "shim") // short: a socket's path is at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	run := "fake-" + strings.TrimPrefix(filepath.Base(base), "shim")
	s := &stage{t: t, dir: filepath.Join(base, "run"), run: run, socket: filepath.Join(base, "ctl")}
	s.spawn = control.SpawnSpec{
		Exe: exe, RunDir: s.dir,
		Spec:    control.Spec{Run: run, Cwd: base, Stdin: control.StdinPipe, Socket: s.socket, Timing: quick()},
		Argv:    append([]string{exe, fakeAgentWord}, script...),
		Env:     append(os.Environ(), "PROMISE=kept", quickRace),
		ShimEnv: []string{quickRace},
	}
	t.Cleanup(func() {
		left, err := proc.Marked(control.MarkerName, run)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
		if _, err := proc.KillMarked(nil, control.MarkerName, run, nil); err != nil {
			t.Errorf("sweep: %v", err)
		}
		if t.Failed() {
			b, _ := os.ReadFile(filepath.Join(s.dir, control.LogName))
			t.Logf("shim log: %s", b)
		}
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start spawns the shim and lets it start the agent.
func (s *stage) start() *control.Spawned {
	s.t.Helper()
	sp := s.spawned()
	if err := sp.Go(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return sp
}

func (s *stage) spawned() *control.Spawned {
	s.t.Helper()
	sp, err := control.Spawn(s.t.Context(), s.spawn)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.t.Failed() { // an agent that waits for what the test did not come to say
			_, _ = proc.KillMarked(nil, control.MarkerName, s.run, nil)
		}
		<-sp.Gone()
	})
	return sp
}

// dial connects as a daemon does, hello included.
func (s *stage) dial() (*control.Link, control.Hello) {
	s.t.Helper()
	l, err := control.Dial(s.t.Context(), s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	h, err := l.Hello(s.t.Context(), s.run)
	if err != nil {
		s.t.Fatal(err)
	}
	return l, h
}

// end waits until the run is over and returns how it ended.
func (s *stage) end() control.Liveness {
	s.t.Helper()
	l, err := control.AwaitGone(s.t.Context(), s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// frames reads the whole spool.
func (s *stage) frames() []spool.Frame {
	s.t.Helper()
	r, err := spool.OpenReader(filepath.Join(s.dir, control.SpoolName), spool.Pos{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var list []spool.Frame
	for {
		f, err := r.Next()
		if errors.Is(err, spool.ErrNotYet) {
			if r.Pending() != 0 {
				s.t.Errorf("%d bytes of a torn frame", r.Pending())
			}
			return list
		}
		if err != nil {
			s.t.Fatal(err)
		}
		f.Payload = slices.Clone(f.Payload)
		list = append(list, f)
	}
}

func (s *stage) notes() []spool.Note {
	s.t.Helper()
	var list []spool.Note
	for _, f := range s.frames() {
		if f.Kind == spool.KindNote {
			n, err := spool.DecodeNote(f.Payload)
			if err != nil {
				s.t.Fatal(err)
			}
			list = append(list, n)
		}
	}
	return list
}

func text(frames []spool.Frame, kind spool.Kind) string {
	var b bytes.Buffer
	for _, f := range frames {
		if f.Kind == kind {
			b.Write(f.Payload)
		}
	}
	return b.String()
}

// follower reads frames as they come, woken by nudges only.
type follower struct {
	t    *testing.T
	l    *control.Link
	r    *spool.Reader
	seen []spool.Frame
}

func (s *stage) follow(l *control.Link) *follower {
	s.t.Helper()
	r, err := spool.OpenReader(filepath.Join(s.dir, control.SpoolName), spool.Pos{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = r.Close() })
	return &follower{t: s.t, l: l, r: r}
}

// until folds on until the frames read so far satisfy done.
func (f *follower) until(done func(seen []spool.Frame) bool) {
	f.t.Helper()
	for gone := false; ; {
		f.fold()
		if done(f.seen) {
			return
		}
		if gone {
			f.t.Fatalf("the shim went away: %q", text(f.seen, spool.KindOut))
		}
		select {
		case <-f.l.Nudges():
		case <-f.l.Closed():
			gone = true // and fold what it left
		case <-f.t.Context().Done():
			f.t.Fatal("the test ended")
		}
	}
}

// fold reads what is there.
func (f *follower) fold() {
	f.t.Helper()
	for {
		frame, err := f.r.Next()
		if errors.Is(err, spool.ErrNotYet) {
			return
		}
		if err != nil {
			f.t.Fatal(err)
		}
		frame.Payload = slices.Clone(frame.Payload)
		f.seen = append(f.seen, frame)
	}
}

func (f *follower) untilOut(part string) {
	f.t.Helper()
	f.until(func(seen []spool.Frame) bool { return strings.Contains(text(seen, spool.KindOut), part) })
}
