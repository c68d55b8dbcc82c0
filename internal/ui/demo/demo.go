// Package demo shows SCV at work without anything installed: a throw-away home, a daemon of its own, three jobs of the
// built-in demo agent, and nothing left behind. It is a client like any other; the command line calls it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/wire"
)

// Bounds of what should take no time.
const (
	startPatience = 15 * time.Second
	stopPatience  = 20 * time.Second
)

// Options say how the demo is shown.
type Options struct {
	Exe     string // this program, to be started as the daemon
	Version string
	Environ []string
	Out     io.Writer
	Err     io.Writer
	Columns int  // of the terminal; 0 for a pipe
	Colour  bool // write colours
	Keep    bool // leave the home for looking around
	// Dashboard shows the dashboard over a home until the owner leaves it, for a job in that directory; nil, which is
	// for a pipe, tells the demo as lines.
	Dashboard func(ctx context.Context, h *home.Home, cwd string) error
}

// Run shows the demo and cleans up, also when ctx ends in the middle. It takes about a quarter of a minute.
func Run(ctx context.Context, opts Options) (err error) {
	base, err := scratch()
	if err != nil {
		return err
	}
	s := &stage{opts: opts, base: base, home: filepath.Join(base, "home"), work: filepath.Join(base, "app")}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	if err := s.build(); err != nil {
		return err
	}
	if err := s.startDaemon(ctx); err != nil {
		return err
	}
	if opts.Dashboard != nil {
		return s.open(ctx)
	}
	return s.play(ctx)
}

// scratch makes the demo's directory: where temporary files go, unless a socket's path would be too long there.
func scratch() (string, error) {
	const room = 60 // bytes that the path of the socket adds, with space to spare
	dir := ""
	if len(os.TempDir())+room > 107 {
		dir = "/tmp"
	}
	base, err := os.MkdirTemp(dir, "scv-demo-")
	if err != nil {
		return "", &wire.Error{
			Code: wire.CodeWorkbenchError, Reason: wire.ReasonUnavailable,
			Message: "the demo's scratch directory cannot be made: " + cause(err),
			Hint:    "name a directory that you may write to: TMPDIR=/var/tmp scv demo",
		}
	}
	return base, nil
}

func cause(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// A stage is one demo. Only Run's goroutine uses it, and a Show's goroutines write under its lock.
type stage struct {
	opts   Options
	base   string
	home   string
	work   string
	target client.Target
	daemon *exec.Cmd
	ended  chan error
	live   bool // the daemon answered
}

// build makes the small project that the demo's jobs are about.
func (s *stage) build() error {
	if err := os.MkdirAll(filepath.Join(s.work, "docs"), home.DirMode); err != nil {
		return fmt.Errorf("make the demo's project: %w", err)
	}
	files := map[string]string{
		"README.md":      "# Parcel\n\nA small program that counts words.\n",
		"main.go":        "package main\n\nfunc main() { println(count(\"to be or not to be\")) }\n",
		"docs/design.md": "# Design\n\nOne function, no state.\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.work, name), []byte(text), home.FileMode); err != nil {
			return fmt.Errorf("make the demo's project: %w", err)
		}
	}
	return nil
}

// startDaemon starts a daemon on the demo's home, in a session of its own: ctrl-C reaches the demo, which ends the
// daemon in order.
func (s *stage) startDaemon(ctx context.Context) error {
	h, err := home.Open(s.home)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Check(); err != nil {
		return err
	}
	s.target = client.Target{Socket: h.Socket(), Client: s.peer()}
	s.daemon = exec.Command(s.opts.Exe, "run", "--background")
	s.daemon.Dir, s.daemon.Env = s.home, s.environ()
	s.daemon.WaitDelay = 2 * time.Second
	s.daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var said strings.Builder
	s.daemon.Stderr = &said
	if err := s.daemon.Start(); err != nil {
		s.daemon = nil
		return fmt.Errorf("start the demo's daemon: %w", err)
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.daemon.Wait() }()
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, client.ErrSilent)
	defer cancel()
	pause := 2 * time.Millisecond
	for {
		c, err := client.Dial(ctx, s.target, s.peer())
		if err == nil {
			s.live = true
			return c.Close()
		}
		if !errors.Is(err, client.ErrNoDaemon) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.ended:
			s.daemon = nil
			return fmt.Errorf("the demo's daemon ended at once: %s", strings.TrimSpace(said.String()))
		case <-time.After(pause):
			pause = min(2*pause, 50*time.Millisecond)
		}
	}
}

func (s *stage) peer() wire.PeerInfo { return wire.PeerInfo{Name: "scv-cli", Version: s.opts.Version} }

// environ is the environment without anything that is SCV's own: the demo must not touch the owner's home.
func (s *stage) environ() []string {
	out := make([]string, 0, len(s.opts.Environ)+1)
	for _, pair := range s.opts.Environ {
		if !strings.HasPrefix(pair, "SCV_") {
			out = append(out, pair)
		}
	}
	return append(out, "SCV_HOME="+s.home)
}

// leave ends the daemon with all its runs, and removes everything.
func (s *stage) leave(ctx context.Context) error {
	err := s.stopDaemon(ctx)
	if s.opts.Keep && s.live {
		s.say("")
		s.say("Kept: %s", s.base)
		s.say("Look around: SCV_HOME=%s scv jobs", s.home)
		s.say("Remove it:   rm -r %s", s.base)
		return err
	}
	if rmErr := os.RemoveAll(s.base); rmErr != nil {
		return errors.Join(err, fmt.Errorf("remove the demo's directory: %w", rmErr))
	}
	return err
}

func (s *stage) stopDaemon(ctx context.Context) error {
	if s.daemon == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stopPatience, client.ErrSilent)
	defer cancel()
	if _, err := s.call(ctx, wire.DaemonStop{All: true, Key: client.NewKey()}); err != nil {
		_ = s.daemon.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		_ = s.daemon.Process.Kill()
		<-s.ended
		return errors.New("the demo's daemon did not end in time and was killed")
	}
}

func (s *stage) call(ctx context.Context, cmd wire.Command) (*wire.DaemonStatus, error) {
	c, err := client.Dial(ctx, s.target, s.peer())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Call(ctx, cmd)
}
