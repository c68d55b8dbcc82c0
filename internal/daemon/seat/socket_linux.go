package seat

import "golang.org/x/sys/unix"

// unixSocket makes a stream socket that no child inherits.
func unixSocket() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}
