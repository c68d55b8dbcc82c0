//go:build linux

package glass

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"scv/internal/terminal/screen"
)

// How says what the terminal is like.
type How struct {
	Cols, Rows int
	Silent     bool          // it answers no question
	Late       time.Duration // its answers come after so long
}

// A Terminal is one program in its terminal. Its methods may be called from any goroutine.
type Terminal struct {
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File
	before unix.Termios
	how    How

	mu      sync.Mutex
	see     *screen.Screen
	bytes   int
	draws   int
	raw     []byte
	answers []byte        // the newest of what the program was answered
	changed chan struct{} // closed and made anew with each write of the program
	read    chan struct{} // closed when nothing will come any more
	timers  sync.WaitGroup
}

// Start runs cmd in a terminal. Its standard input is the terminal unless cmd has one already.
func Start(cmd *exec.Cmd, how How) (*Terminal, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	t := &Terminal{cmd: cmd, master: master, slave: slave, how: how, see: screen.New(how.Cols, how.Rows), changed: make(chan struct{}), read: make(chan struct{})}
	t.see.Answer(!how.Silent)
	err = pty.Setsize(master, &pty.Winsize{Cols: uint16(how.Cols), Rows: uint16(how.Rows)})
	if err == nil {
		var modes *unix.Termios
		if modes, err = unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS); err == nil {
			t.before = *modes
		}
	}
	if err == nil {
		if cmd.Stdin == nil {
			cmd.Stdin = slave
		}
		cmd.Stdout = slave
		if cmd.Stderr == nil {
			cmd.Stderr = slave
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, master.Close(), slave.Close())
	}
	go t.look()
	return t, nil
}

// look reads what the program writes.
func (t *Terminal) look() {
	defer close(t.read)
	buf := make([]byte, 32<<10)
	for {
		n, err := t.master.Read(buf)
		if n > 0 {
			t.take(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (t *Terminal) take(data []byte) {
	t.mu.Lock()
	_, _ = t.see.Write(data)
	t.bytes += len(data)
	t.draws += bytes.Count(data, []byte("\x1b[?2026h")) // the library opens each drawing with it
	t.raw = append(t.raw, data...)
	t.raw = t.raw[max(0, len(t.raw)-64<<10):]
	answers := t.see.Answers()
	t.answers = append(t.answers, answers...)
	t.answers = t.answers[max(0, len(t.answers)-64<<10):]
	close(t.changed)
	t.changed = make(chan struct{})
	t.mu.Unlock()
	if len(answers) == 0 {
		return
	}
	if t.how.Late == 0 {
		_, _ = t.master.Write(answers)
		return
	}
	t.timers.Add(1)
	time.AfterFunc(t.how.Late, func() {
		defer t.timers.Done()
		_, _ = t.master.Write(answers)
	})
}

// Type writes keys as a keyboard does.
func (t *Terminal) Type(keys string) error {
	_, err := t.master.WriteString(keys)
	return err
}

// Resize gives the terminal another size.
func (t *Terminal) Resize(cols, rows int) error {
	t.mu.Lock()
	t.see.Resize(cols, rows)
	t.mu.Unlock()
	return pty.Setsize(t.master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
}

// Text is what the terminal shows, a line a row, without blanks at the ends.
func (t *Terminal) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, rows := t.see.Size()
	var b strings.Builder
	for y := range rows {
		b.WriteString(strings.TrimRight(t.see.Text(y), " ") + "\n")
	}
	return b.String()
}

// Answered is what the program was answered to its questions, in order; of a long run the newest.
func (t *Terminal) Answered() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.answers)
}

// Title is the window's title.
func (t *Terminal) Title() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.see.Title()
}

// Bytes is how much the program wrote so far.
func (t *Terminal) Bytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// Draws is how often the program drew so far.
func (t *Terminal) Draws() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.draws
}

// Raw is the end of what the program wrote, at most 64 KiB.
func (t *Terminal) Raw() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.raw)
}

// PID is the program's process id.
func (t *Terminal) PID() int { return t.cmd.Process.Pid }

// Signal sends a signal to the program.
func (t *Terminal) Signal(sig os.Signal) error { return t.cmd.Process.Signal(sig) }

// Until waits until the terminal shows what is wanted, and returns what it shows then, or last.
func (t *Terminal) Until(ctx context.Context, want func(text string) bool) (string, error) {
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		text := t.Text()
		if want(text) {
			return text, nil
		}
		select {
		case <-changed:
		case <-t.read:
			if text = t.Text(); want(text) {
				return text, nil
			}
			return text, errors.New("the program has ended")
		case <-ctx.Done():
			return text, ctx.Err()
		}
	}
}

// patience is how long a person looks at a key that did nothing before pressing it again.
const patience = 3 * time.Second

// Soon is Until for as long as a person would wait; done is false when that time went by and ctx still lasts.
func (t *Terminal) Soon(ctx context.Context, want func(text string) bool) (text string, done bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err = t.Until(bounded, want)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return text, false, nil
	}
	return text, true, err
}

// Insist types keys until the terminal shows what is wanted: a program that is busy may drop a key, and a person presses
// it again then.
func (t *Terminal) Insist(ctx context.Context, keys string, want func(text string) bool) (string, error) {
	for {
		if err := t.Type(keys); err != nil {
			return t.Text(), err
		}
		if text, done, err := t.Soon(ctx, want); done {
			return text, err
		}
	}
}

// Leave is Wait for a program that has to be told to end: it presses until that is done.
func (t *Terminal) Leave(ctx context.Context, press func() error) (Ended, error) {
	ended := make(chan Ended, 1)
	go func() { ended <- t.Wait() }()
	for {
		if err := press(); err != nil {
			return Ended{}, err
		}
		select {
		case e := <-ended:
			return e, nil
		case <-ctx.Done():
			return Ended{}, ctx.Err()
		case <-time.After(patience):
		}
	}
}

// Ended is how the terminal was left.
type Ended struct {
	Err      error // of the process
	Restored bool  // the terminal's modes are as they were
	Left     int   // bytes that a shell would take for typed
}

// Wait waits for the program's end and reads what it wrote to the last byte.
func (t *Terminal) Wait() Ended {
	e := Ended{Err: t.cmd.Wait()}
	t.timers.Wait()
	if modes, err := unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS); err == nil {
		e.Restored = *modes == t.before
		raw := *modes
		raw.Lflag &^= unix.ICANON
		if unix.IoctlSetTermios(int(t.slave.Fd()), unix.TCSETS, &raw) == nil {
			e.Left, _ = unix.IoctlGetInt(int(t.slave.Fd()), unix.TIOCINQ)
		}
	}
	_ = t.slave.Close()
	<-t.read
	_ = t.master.Close()
	return e
}
