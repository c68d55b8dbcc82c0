package daemon

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"scv/internal/daemon/seat"
	"scv/internal/wire"
)

// TestT14_ModesHoldUnderAnyUmask: directory 0700 and socket 0600 from the first moment on.
func TestT14_ModesHoldUnderAnyUmask(t *testing.T) {
	for _, umask := range []int{0, 0o002, 0o022, 0o777} {
		opt := options(t)
		old := unix.Umask(umask)
		s, err := seat.Listen(opt.Home)
		now := unix.Umask(old)
		if err != nil {
			t.Fatalf("umask %04o: %v", umask, err)
		}
		if now != umask {
			t.Errorf("umask %04o became %04o", umask, now)
		}
		for path, want := range map[string]os.FileMode{s.Path(): 0o600, filepath.Dir(s.Path()): 0o700, opt.Home.Path(): 0o700} {
			info, err := os.Lstat(path)
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %04o: %s is %v, %v", umask, path, info.Mode(), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A directory that others may enter is found between bind and listen, and nothing listens then.
func TestT14_OpenDirectoryIsRefused(t *testing.T) {
	opt := options(t)
	if err := os.Chmod(filepath.Dir(opt.Home.Socket()), 0o755); err != nil {
		t.Fatal(err)
	}
	if s, err := seat.Listen(opt.Home); err == nil {
		s.Close()
		t.Fatal("listens in a directory that is open to others")
	}
	if _, err := os.Lstat(opt.Home.Socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the refused socket stays: %v", err)
	}
}

// TestT17_WhatLiesAtTheSocketsPath: links and files are refused and untouched, a stale socket is replaced, one that
// answers is respected.
func TestT17_WhatLiesAtTheSocketsPath(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		opt := options(t)
		path := opt.Home.Socket()
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		refusesToListen(t, opt)
		if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
			t.Errorf("the file became %q, %v", data, err)
		}
	})
	t.Run("link", func(t *testing.T) {
		opt := options(t)
		victim := filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, opt.Home.Socket()); err != nil {
			t.Fatal(err)
		}
		refusesToListen(t, opt)
		if target, err := os.Readlink(opt.Home.Socket()); err != nil || target != victim {
			t.Errorf("the link became %q, %v", target, err)
		}
	})
	t.Run("lock is a link", func(t *testing.T) {
		opt := options(t)
		victim := filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, opt.Home.LockPath()); err != nil {
			t.Fatal(err)
		}
		refusesToListen(t, opt)
		if data, err := os.ReadFile(victim); err != nil || string(data) != "mine" {
			t.Errorf("the victim became %q, %v", data, err)
		}
	})
	t.Run("stale socket", func(t *testing.T) {
		opt := options(t)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: opt.Home.Socket(), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
		start(t, opt).stop()
	})
	t.Run("socket that answers", func(t *testing.T) {
		opt := options(t)
		l, err := net.Listen("unix", opt.Home.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		refusesToListen(t, opt)
	})
}

func refusesToListen(t *testing.T, opt Options) {
	t.Helper()
	err := Run(t.Context(), opt)
	if we, ok := errors.AsType[*wire.Error](err); !ok || we.Message == "" || we.Hint == "" {
		t.Errorf("got %v, want a refusal", err)
	}
}

// TestT18_LongPathIsRefusedInWords names the limit.
func TestT18_LongPathIsRefusedInWords(t *testing.T) {
	dir, err := os.MkdirTemp("", "scv")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, n := range []int{107, 108} {
		pad := n - len("/state/server.sock") - len(dir) - 1
		opt := optionsAt(t, filepath.Join(dir, strings.Repeat("h", pad)))
		if len(opt.Home.Socket()) != n {
			t.Fatalf("the path has %d bytes", len(opt.Home.Socket()))
		}
		if n == 107 {
			start(t, opt).stop()
			continue
		}
		err := Run(t.Context(), opt)
		if we, ok := errors.AsType[*wire.Error](err); !ok || !strings.Contains(we.Message, "107") || !strings.Contains(we.Message, "108") {
			t.Errorf("got %v", err)
		}
	}
}

// A socket that somebody put in place of ours meanwhile is not removed.
func TestOnlyOurSocketIsRemoved(t *testing.T) {
	opt := options(t)
	s, err := seat.Listen(opt.Home)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.Path()); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(s.Path()); err != nil {
		t.Errorf("the other's socket went: %v", err)
	}
}
