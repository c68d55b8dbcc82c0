package seat

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// LeaveInherited lets go of the descriptors beyond the standard three that the starting program left open, such as a
// pipe whose reader waits for its end or a lock file. Ours are closed on exec, so what is not was inherited. A daemon in
// the background closes them; one in the foreground keeps them for itself, and passes none on to shims and agents.
func LeaveInherited(foreground bool) error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		switch {
		case err != nil || flags&unix.FD_CLOEXEC != 0:
		case foreground:
			unix.CloseOnExec(fd)
		default:
			_ = unix.Close(fd)
		}
	}
	return nil
}
