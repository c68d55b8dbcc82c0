//go:build linux

package acceptance

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/internal/testkit/census"
)

// TestB21_NothingOfTheCallerIsKeptOpen: a caller may have a pipe or a lock file open; daemon, shim and agent, which live
// on, hold neither. The pipe's reader sees its end while the job still runs.
func TestB21_NothingOfTheCallerIsKeptOpen(t *testing.T) {
	l := newLab(t)
	lock, err := os.Create(filepath.Join(l.base, "u", "lock"))
	l.must(err)
	defer lock.Close()
	read, write, err := os.Pipe()
	l.must(err)
	defer read.Close()
	c := l.command("jobs", "start", "-q", "--agent", "demo", "@@say:here|hang")
	c.ExtraFiles = []*os.File{write, lock} // 3 and 4 of the caller, open over exec
	l.must(c.Run())
	l.must(write.Close())
	l.says("job-1", said("here"))
	for pid, line := range l.processes("") {
		if slices.ContainsFunc(census.Descriptors(pid), func(to string) bool { return to == lock.Name() }) {
			t.Errorf("%d %s holds the caller's lock file", pid, line)
		}
	}
	if t.Failed() {
		return // the pipe's end would not come
	}
	if rest, err := io.ReadAll(read); err != nil || len(rest) > 0 {
		t.Errorf("the pipe gave %q, %v", rest, err)
	}
	if n := len(l.processes("agent-shim")); n != 1 {
		t.Errorf("%d shims live", n)
	}
	// In the foreground the daemon may keep what it was given, but passes none of it on.
	l.ok("stop", "--all")
	d := l.command("run")
	d.ExtraFiles = []*os.File{lock}
	l.must(d.Start())
	l.answers()
	id := l.start("--agent", "demo", "@@say:here|hang")
	l.says(id, said("here"))
	for pid, line := range l.processes("") {
		if pid != d.Process.Pid && slices.ContainsFunc(census.Descriptors(pid), func(to string) bool { return to == lock.Name() }) {
			t.Errorf("%d %s holds what its daemon was given", pid, strings.TrimSpace(line))
		}
	}
	l.ok("stop", "--all")
	_ = d.Wait()
}
