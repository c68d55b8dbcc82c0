package shim_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/run/control"
)

// summon tells the stage's shim that its socket is not found.
func (s *stage) summon() {
	s.t.Helper()
	rec, err := control.ReadShim(s.dir)
	if err == nil {
		err = control.Summon(rec)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// found waits until the stage's shim answers at its socket.
func (s *stage) found() *control.Link {
	s.t.Helper()
	for {
		l, err := control.Dial(s.t.Context(), s.socket)
		if err == nil {
			if _, err = l.Hello(s.t.Context(), s.run); err != nil {
				s.t.Fatal(err)
			}
			return l
		}
		if !control.NobodyListens(err) {
			s.t.Fatal(err)
		}
		s.wait(func() bool { _, err := os.Lstat(s.socket); return err == nil })
	}
}

// complains waits until the shim's log has a text.
func (s *stage) complains(text string) {
	s.t.Helper()
	s.wait(func() bool {
		b, _ := os.ReadFile(filepath.Join(s.dir, control.LogName))
		return strings.Contains(string(b), text)
	})
}

func (s *stage) wait(fact func() bool) {
	s.t.Helper()
	for look := time.NewTicker(time.Millisecond); !fact(); {
		select {
		case <-look.C:
		case <-s.t.Context().Done():
			s.t.Fatal("it never came")
		}
	}
}

// TestSocketIsMadeAnew: whatever became of the file of its socket, a shim that is told makes it anew, private, and who
// is connected stays so. At the end it is gone.
func TestSocketIsMadeAnew(t *testing.T) {
	for name, harm := range map[string]func(socket string) error{
		"removed": os.Remove,
		"another file": func(socket string) error {
			return errors.Join(os.Remove(socket), os.WriteFile(socket, []byte("x"), 0o600))
		},
		"a link": func(socket string) error { return errors.Join(os.Remove(socket), os.Symlink("/nowhere", socket)) },
		"a copy": func(socket string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket + ".new", Net: "unix"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return errors.Join(l.Close(), os.Rename(socket+".new", socket))
		},
		"its folder removed": func(socket string) error { return os.RemoveAll(filepath.Dir(socket)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "echo")
			s.inFolder()
			s.start()
			early, _ := s.dial()
			if err := harm(s.socket); err != nil {
				t.Fatal(err)
			}
			if l, err := control.Dial(t.Context(), s.socket); err == nil || !control.NobodyListens(err) {
				t.Fatalf("%v %v", l, err)
			}
			s.summon()
			late := s.found()
			defer late.Close()
			if info, err := os.Lstat(s.socket); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v %v", info, err)
			}
			if r, err := early.Write(t.Context(), 1, "a", []byte("to the early one\n"), false); err != nil || r.Verdict != control.VerdictOK {
				t.Errorf("who was connected: %+v %v", r, err)
			}
			if r, err := late.Write(t.Context(), 2, "b", nil, true); err != nil || r.Verdict != control.VerdictOK {
				t.Errorf("who came later: %+v %v", r, err)
			}
			if end := s.end(); end.Life != control.LifeEnded || end.Exit.Code != 0 {
				t.Errorf("%+v", end)
			}
			if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket is left: %v", err)
			}
		})
	}
}

// inFolder gives the stage's socket a folder of its own.
func (s *stage) inFolder() {
	s.t.Helper()
	s.socket = filepath.Join(filepath.Dir(s.dir), "sockets", "ctl")
	s.spawn.Spec.Socket = s.socket
	if err := os.Mkdir(filepath.Dir(s.socket), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// TestSocketIsLeftToOthers: a folder in its place, empty or not, and a socket at which somebody answers stay, at the
// shim's end too; and once they are away the next call is heard.
func TestSocketIsLeftToOthers(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(socket string) error
		says string
	}{
		"a folder": {func(socket string) error { return os.Mkdir(socket, 0o700) }, "cannot be replaced"},
		"another's": {func(socket string) error {
			l, err := net.Listen("unix", socket)
			if err == nil {
				t.Cleanup(func() { _ = l.Close() })
			}
			return err
		}, "another shim answers"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "echo")
			s.start()
			l, _ := s.dial()
			aside := s.socket + ".aside"
			if err := errors.Join(os.Rename(s.socket, aside), c.put(s.socket)); err != nil {
				t.Fatal(err)
			}
			other, err := os.Lstat(s.socket)
			if err != nil {
				t.Fatal(err)
			}
			s.summon()
			s.complains(c.says)
			if now, err := os.Lstat(s.socket); err != nil || !os.SameFile(now, other) {
				t.Errorf("it was replaced: %v", err)
			}
			if err := os.Rename(s.socket, s.socket+".theirs"); err != nil {
				t.Fatal(err)
			}
			s.summon()
			_ = s.found().Close()
			if err := errors.Join(os.Remove(s.socket), os.Rename(s.socket+".theirs", s.socket)); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Write(t.Context(), 1, "end", nil, true); err != nil {
				t.Error(err)
			}
			s.end()
			if now, err := os.Lstat(s.socket); err != nil || !os.SameFile(now, other) {
				t.Errorf("the shim took it away at its end: %v", err)
			}
		})
	}
}

// TestSocketFollowsItsHome: of a home that was moved the socket is made anew where the run's folder is now, and one that
// stands is not touched.
func TestSocketFollowsItsHome(t *testing.T) {
	s := newStage(t, "echo")
	outer := filepath.Dir(s.dir)
	l := s.inside("a")
	s.start()
	moved := filepath.Join(outer, "b")
	if err := os.Rename(l, moved); err != nil {
		t.Fatal(err)
	}
	s.dir, s.socket = filepath.Join(moved, "run"), filepath.Join(moved, "ctl")
	before, err := os.Lstat(s.socket)
	if err != nil {
		t.Fatal(err)
	}
	s.summon()
	if err := os.Remove(s.socket); err != nil {
		t.Fatal(err)
	}
	s.summon()
	link := s.found()
	defer link.Close()
	if now, err := os.Lstat(s.socket); err != nil || os.SameFile(now, before) {
		t.Error("it was not made anew", err)
	}
	if _, err := link.Write(t.Context(), 1, "end", nil, true); err != nil {
		t.Error(err)
	}
	s.end()
	if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// inside puts the stage one folder deeper and returns that.
func (s *stage) inside(name string) string {
	s.t.Helper()
	dir := filepath.Join(filepath.Dir(s.dir), name)
	s.dir, s.socket = filepath.Join(dir, "run"), filepath.Join(dir, "ctl")
	s.spawn.RunDir, s.spawn.Spec.Socket = s.dir, s.socket
	if err := os.Mkdir(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// TestStrangersAreNotSummoned: a record that names a process which is no shim makes nobody send it a signal.
func TestStrangersAreNotSummoned(t *testing.T) {
	s := newStage(t, "echo")
	s.start()
	rec, err := control.ReadShim(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	agent := *rec
	agent.PID, agent.Start = rec.Agent, rec.Born
	if err := control.Summon(&agent); err == nil {
		t.Error("the agent was sent a signal")
	}
	other := *rec
	other.Start++
	if err := control.Summon(&other); err == nil {
		t.Error("another process of the same number was sent a signal")
	}
	l, _ := s.dial()
	if _, err := l.Write(t.Context(), 1, "end", nil, true); err != nil {
		t.Error(err)
	}
	if end := s.end(); end.Exit == nil || end.Exit.Signal != "" {
		t.Errorf("%+v", end.Exit)
	}
}
