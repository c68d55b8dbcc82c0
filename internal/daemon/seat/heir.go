package seat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/wire"
)

// Patience bounds each of the two waits of a handover: for ready, and for serving.
const Patience = 30 * time.Second

// Flag is the flag of `scv run` that takes the descriptor of the line; it is the first one beyond the standard three.
const (
	Flag = "take-over"
	fd0  = 3
)

// A Program is what the new daemon is started as.
type Program struct {
	Exe     string   // absolute
	Args    []string // after its name
	Env     []string
	Dir     string
	Version string        // release of the old daemon
	Wait    time.Duration // Patience when zero
}

// An Heir is a program that is about to become the home's daemon. One goroutine uses it.
type Heir struct {
	Version string // its release
	PID     int

	line line
	cmd  *exec.Cmd
	gone chan struct{}
	wait time.Duration
}

// Begin starts the program and returns once it is ready. A program that ends, is silent or refuses is ended, and the
// error is a *wire.Error with what it said; nothing of the home was given to it.
func Begin(ctx context.Context, p Program) (*Heir, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, fmt.Errorf("make the handover's line: %w", err)
	}
	l, err := newLine(ours)
	if err != nil {
		unix.Close(theirs)
		return nil, err
	}
	end := os.NewFile(uintptr(theirs), "handover")
	cmd := exec.Command(p.Exe, append(p.Args, fmt.Sprintf("--%s=%d", Flag, fd0))...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.ExtraFiles = p.Dir, p.Env, os.Stderr, []*os.File{end}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	end.Close()
	if err != nil {
		l.conn.Close()
		return nil, wire.Refuse(wire.ReasonUnavailable, again, "the new program could not be started: %v", err)
	}
	h := &Heir{line: l, cmd: cmd, PID: cmd.Process.Pid, gone: make(chan struct{}), wait: p.Wait}
	if h.wait == 0 {
		h.wait = Patience
	}
	go func() {
		defer close(h.gone)
		_ = cmd.Wait() // how it ended is read from cmd
	}()
	if err := h.line.send(message{Kind: kindHello, V: version, Version: p.Version}); err != nil && !errors.Is(err, unix.EPIPE) {
		h.Kill()
		return nil, wire.Refuse(wire.ReasonUnavailable, again, "the new program could not be spoken to: %v", err)
	}
	m, err := h.next(ctx, kindReady)
	if err != nil {
		return nil, err
	}
	h.Version = m.Version
	return h, nil
}

// again is what to do about a program that would not take over.
const again = "look at its words: scv status   The daemon that ran goes on, and nothing was lost; try again: scv restart"

// pair makes a socket pair that no child inherits by itself.
func pair() (ours, theirs int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, -1, err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

// next waits for a message of a kind. With anything else the program is ended, and the error says what was wrong.
func (h *Heir) next(ctx context.Context, kind string) (message, error) {
	m, fds, err := h.line.receive(ctx, time.Now().Add(h.wait))
	_ = closeAll(fds)
	if err == nil && m.Kind == kind {
		return m, nil
	}
	ended := false
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
		select {
		case <-h.gone:
			ended = true
		case <-time.After(time.Second): // it closed its end and lives
		}
	}
	h.Kill()
	switch {
	case ctx.Err() != nil:
		return m, ctx.Err()
	case err == nil && m.Kind == kindRefused:
		return m, wire.Refuse(reasonOf(m.Reason), orElse(m.Hint, again), "the new program refused: %s", m.Message)
	case ended:
		return m, wire.Refuse(wire.ReasonUnavailable, again, "the new program ended before it said %s (%s)", kind, h.cmd.ProcessState)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return m, wire.Refuse(wire.ReasonUnavailable, again, "the new program did not say %s within %s and was ended", kind, h.wait)
	}
	return m, wire.Refuse(wire.ReasonUnavailable, again, "the new program answered with something else than %s and was ended", kind)
}

func reasonOf(word string) wire.Reason {
	if word == "" {
		return wire.ReasonUnavailable
	}
	return wire.Reason(word)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Take gives the seat to the heir and returns once it serves. The caller has stopped accepting and closed the ledger.
// After an error the heir is gone, and the caller has the seat again.
func (h *Heir) Take(ctx context.Context, s *Socket, l *Lock) error {
	sock, err := descriptor(s.file)
	if err == nil {
		var lock int
		if lock, err = descriptor(l.file); err == nil {
			_ = l.Name(h.PID) // for people; the heir writes it again
			err = h.line.send(message{Kind: kindGo}, sock, lock)
		}
	}
	if err == nil || errors.Is(err, unix.EPIPE) {
		_, err = h.next(ctx, kindServing)
	} else {
		h.Kill()
	}
	if err != nil {
		return errors.Join(err, l.Name(os.Getpid()))
	}
	return h.line.conn.Close()
}

// Kill ends the heir and waits until it is gone.
func (h *Heir) Kill() {
	_ = h.cmd.Process.Kill() // gone already is as good
	<-h.gone
	_ = h.line.conn.Close()
}

// Gone is closed when the heir has ended.
func (h *Heir) Gone() <-chan struct{} { return h.gone }
