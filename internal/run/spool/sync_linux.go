package spool

import (
	"fmt"
	"os"
	"syscall"
)

// syncFile flushes data and what is needed to find it (not times), which is enough for a spool.
func syncFile(f segmentFile) error {
	file, isFile := f.(*os.File)
	if !isFile {
		return nil
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	var syncErr error
	err = conn.Control(func(fd uintptr) {
		for {
			if syncErr = syscall.Fdatasync(int(fd)); syncErr != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if syncErr != nil {
		return fmt.Errorf("flush: %w", syncErr)
	}
	return nil
}
