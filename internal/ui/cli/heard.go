package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// whileHeard returns a context that ends, with syscall.EPIPE as its cause, when nobody reads standard output any more: what
// follows something quiet would else stay until its next line. done ends the watching; nothing wakes for it before.
func whileHeard(ctx context.Context, out io.Writer) (heard context.Context, done func()) {
	heard, cancel := context.WithCancelCause(ctx)
	file, ok := out.(*os.File)
	if !ok {
		return heard, func() { cancel(nil) }
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return heard, func() { cancel(nil) }
	}
	wake, end, err := os.Pipe()
	if err != nil {
		return heard, func() { cancel(nil) }
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		if readerLeft(file, wake) {
			cancel(syscall.EPIPE)
		}
	})
	return heard, func() {
		_ = end.Close()
		watch.Wait()
		_ = wake.Close()
		cancel(nil)
	}
}

// readerLeft waits until the other end of a pipe or socket is closed, and is false when wake ends before.
func readerLeft(out, wake *os.File) (left bool) {
	conn, err := out.SyscallConn()
	if err != nil {
		return false
	}
	_ = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(fds, -1)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
			if n > 0 {
				left = fds[1].Revents == 0
				return
			}
		}
	})
	return left
}
