//go:build !linux

package spool

import "os"

// syncFile flushes the file; macOS has no cheaper call that Go offers.
func syncFile(f segmentFile) error {
	if file, isFile := f.(*os.File); isFile {
		return file.Sync()
	}
	return nil
}
