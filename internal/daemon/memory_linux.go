package daemon

import (
	"bytes"
	"os"
	"strconv"
)

// freeMemory is how many bytes the system could give to new processes, or false when it cannot tell.
func freeMemory() (uint64, bool) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	return parseMeminfo(data)
}

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
