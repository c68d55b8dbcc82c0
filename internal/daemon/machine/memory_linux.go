// Package machine tells what the system has left, without asking more often than it is asked. The daemon alone uses it.
package machine

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
)

// FreeMemory is how many bytes the system could give to new processes, or false when it cannot tell.
func FreeMemory() (uint64, bool) {
	f, err := meminfo()
	if err != nil {
		return 0, false
	}
	data := make([]byte, 8<<10) // the line that counts is the third
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, false
	}
	return parseMeminfo(data[:n])
}

// meminfo is opened once for the life of the process: each job asks.
var meminfo = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/meminfo") })

func parseMeminfo(data []byte) (uint64, bool) {
	for line := range bytes.Lines(data) {
		rest, ok := bytes.CutPrefix(line, []byte("MemAvailable:"))
		if !ok {
			continue
		}
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			return 0, false
		}
		kib, err := strconv.ParseUint(string(fields[0]), 10, 54)
		return kib << 10, err == nil
	}
	return 0, false
}
