package cli

import (
	"context"

	"golang.org/x/sys/unix"
)

// leaving returns a function that waits until a process is gone, or ctx is over. It is asked for while the process
// surely lives, so the number cannot have come to mean another one.
func leaving(pid uint32) func(ctx context.Context) {
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		return func(context.Context) {}
	}
	return func(ctx context.Context) {
		defer unix.Close(fd)
		for ctx.Err() == nil {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 200)
			if n > 0 || err != nil && err != unix.EINTR {
				return
			}
		}
	}
}
