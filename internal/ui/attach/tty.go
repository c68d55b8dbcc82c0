package attach

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// tty is the owner's terminal.
type tty struct {
	in, out *os.File
	was     *unix.Termios
	once    sync.Once
}

// ErrNoTerminal says that there is no terminal to show anything in.
var ErrNoTerminal = errors.New("this needs a terminal")

func openTTY(in, out *os.File) (*tty, error) {
	was, err := unix.IoctlGetTermios(int(in.Fd()), getModes)
	if err == nil {
		_, err = unix.IoctlGetTermios(int(out.Fd()), getModes)
	}
	if err != nil {
		return nil, ErrNoTerminal
	}
	return &tty{in: in, out: out, was: was}, nil
}

// enter makes the terminal ours.
func (t *tty) enter() error {
	raw := *t.was
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(t.in.Fd()), setModes, &raw); err != nil {
		return err
	}
	return t.write([]byte(enterScreen))
}

// restore gives the terminal back.
func (t *tty) restore() {
	t.once.Do(func() {
		_, _ = io.WriteString(t.out, leaveScreen) // a terminal that is gone needs nothing
		_ = unix.IoctlSetTermios(int(t.in.Fd()), setModes, t.was)
	})
}

func (t *tty) write(p []byte) error {
	_, err := t.out.Write(p)
	return err
}

func (t *tty) size() (cols, rows int) { return Size(t.out) }

// Size is that of a window in cells; one that does not say is 80x24.
func Size(out *os.File) (cols, rows int) {
	w, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil || w.Col == 0 || w.Row == 0 {
		return 80, 24
	}
	return int(w.Col), int(w.Row)
}
