//go:build !linux

package cli

import (
	"context"
	"syscall"
	"time"
)

// leaving returns a function that waits until a process is gone, or ctx is over.
func leaving(pid uint32) func(ctx context.Context) {
	return func(ctx context.Context) {
		for syscall.Kill(int(pid), 0) == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}
