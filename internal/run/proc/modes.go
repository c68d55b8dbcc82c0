package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TerminalModes prepares a terminal before its program starts: its input is UTF-8, and ctrl-S stops nothing.
func TerminalModes(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var changed error
	err = conn.Control(func(fd uintptr) {
		var modes *unix.Termios
		if modes, changed = unix.IoctlGetTermios(int(fd), getModes); changed != nil {
			return
		}
		modes.Iflag |= unix.IUTF8
		modes.Iflag &^= unix.IXON
		changed = unix.IoctlSetTermios(int(fd), setModes, modes)
	})
	return errors.Join(err, changed)
}
