package need

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Memory makes a group of processes that may use so many bytes together. A process joins it by writing its number into the
// file that is returned. The group is gone after the test, whose last process has ended by then. Where the system lets
// nobody make one the test is skipped, in CI too: who runs the tests cannot mend that.
func Memory(t testing.TB, bytes int64) (procs string) {
	t.Helper()
	Root(t)
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		missing(t, "this system has no groups of processes: "+err.Error())
	}
	for line := range strings.Lines(string(own)) {
		// "4:memory:/path" of the first version, "0::/path" of the second.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || parts[1] != "memory" && parts[1] != "" {
			continue
		}
		mount, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		if parts[1] == "" {
			mount, limit = "/sys/fs/cgroup", "memory.max"
		}
		dir, err := os.MkdirTemp(filepath.Join(mount, parts[2]), "scv")
		if err != nil {
			continue
		}
		// A file that is not there is not made: there it would be a failure of the system's own.
		f, err := os.OpenFile(filepath.Join(dir, limit), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(strconv.FormatInt(bytes, 10))
			_ = f.Close()
		}
		if err != nil {
			_ = os.Remove(dir)
			continue
		}
		t.Cleanup(func() { ungroup(t, dir) })
		return filepath.Join(dir, "cgroup.procs")
	}
	missing(t, "no group of processes with a bound on memory can be made here")
	return ""
}

// ungroup removes a group, which goes a little after its last process.
func ungroup(t testing.TB, dir string) {
	var err error
	for range 200 {
		if err = os.Remove(dir); err == nil || os.IsNotExist(err) {
			return
		}
		<-time.After(25 * time.Millisecond)
	}
	t.Error(err)
}
