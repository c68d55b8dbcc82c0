//go:build !linux

package seat

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unixSocket makes a stream socket that no child inherits. Systems without SOCK_CLOEXEC need the fork lock.
func unixSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
