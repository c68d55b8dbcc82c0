//go:build !linux

package shim

import (
	"errors"
	"syscall"
)

// nextChild blocks until the agent has ended and waits for it; ECHILD afterwards. For the moment between the wait
// and the lock the agent's number is free and could be signalled, which macOS offers no way to avoid.
func (a *agent) nextChild() (int, syscall.WaitStatus, error) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		a.mu.Lock()
		if pid == a.id.PID {
			a.reaped = true
		}
		a.mu.Unlock()
		return pid, ws, err
	}
}

// childless is true after the agent was waited for: orphans are not ours here.
func (a *agent) childless() bool { return true }
