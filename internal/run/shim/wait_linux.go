package shim

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// nextChild blocks until a child has ended and waits for it; ECHILD when there is none. The end is awaited without
// taking the child, which happens under the lock.
func (a *agent) nextChild() (int, syscall.WaitStatus, error) {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != nil {
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			return 0, 0, err
		}
		a.mu.Lock()
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if pid == a.id.PID {
			a.reaped = true
		}
		a.mu.Unlock()
		if pid > 0 || err != nil && !errors.Is(err, syscall.EINTR) {
			return pid, ws, err
		}
	}
}

// childless tells, just after the agent was waited for, whether anything of it is left. Its orphans came to us
// before it could be waited for.
func (a *agent) childless() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return errors.Is(err, syscall.ECHILD)
		}
	}
}
