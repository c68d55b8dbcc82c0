package census

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// leaveMillis bounds the wait for a process that is on its way out.
const leaveMillis = 15_000

// Main runs the tests of a package with a temporary folder of their own and fails when something of them is left
// afterwards. It returns the exit code. Processes of the tests are known by the folder's name in their environment, so
// homes have to be made in os.TempDir, which is short enough for a socket.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "c")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Chmod(dir, 0o711); err != nil { // some tests have another user come to what lies in it
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("TMPDIR", dir)
	before := len(Descriptors(os.Getpid()))
	code := m.Run()
	left := Left(dir)
	for _, pid := range zombies() {
		left = append(left, fmt.Sprintf("zombie %d", pid))
	}
	if err := goleak.Find(); err != nil {
		left = append(left, err.Error())
	}
	if after := Descriptors(os.Getpid()); len(after) > before+runtimeDescriptors {
		left = append(left, fmt.Sprintf("%d descriptors were open, and now %d are: %q", before, len(after), after))
	}
	files, err := filepath.Glob(dir + "/*")
	files = slices.DeleteFunc(files, func(path string) bool { // testscript's own, when only some scripts are run
		return strings.HasPrefix(filepath.Base(path), "go-test-script") && os.Remove(path) == nil
	})
	if len(files) > 0 || err != nil {
		left = append(left, fmt.Sprintf("files %q, %v", files, err))
	}
	if err := os.RemoveAll(dir); err != nil {
		left = append(left, err.Error())
	}
	if code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind by the tests:\n"+strings.Join(left, "\n"))
		return 1
	}
	return code
}

// runtimeDescriptors are those that the runtime opens once and keeps: the poller's, and the limits of a cgroup.
const runtimeDescriptors = 6

// Left tells, in a sentence each, what lives of the tests that worked below dir: processes, after a wait for those that
// are on their way out, listening sockets, and locks of worktrees that a run took and nobody gave back. Processes are
// ended.
func Left(dir string) []string { return leftWithin(dir, leaveMillis) }

func leftWithin(dir string, millis int) (left []string) {
	for pid, line := range Processes(dir) {
		if !leaves(pid, millis) {
			left = append(left, fmt.Sprintf("process %d %s", pid, line))
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	for _, path := range sockets(dir) {
		left = append(left, "socket "+path)
	}
	for _, path := range locks(dir) {
		left = append(left, "the lock of a worktree "+path)
	}
	return left
}

// lockLead is how the reason begins that a run gives for the lock of its worktree.
const lockLead = "scv: "

// locks are those of worktrees below dir that were taken for a run. Somebody else's are theirs.
func locks(dir string) (out []string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != "locked" || filepath.Base(filepath.Dir(filepath.Dir(path))) != "worktrees" {
			return nil // what cannot be read, or went meanwhile, holds none
		}
		if reason, err := os.ReadFile(path); err == nil && bytes.HasPrefix(reason, []byte(lockLead)) {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// Processes are the command lines of those that work below dir, this one excepted. A process is known by its
// environment or, where that says nothing, by an open file.
func Processes(dir string) map[int]string {
	out := map[int]string{}
	for _, pid := range pids() {
		line, err := os.ReadFile(proc(pid, "cmdline"))
		if err != nil || len(line) == 0 || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(proc(pid, "environ")) // of another user's, or gone
		if bytes.Contains(environ, []byte(dir+"/")) || holds(pid, dir) {
			out[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		}
	}
	return out
}

func proc(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

func pids() (all []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func holds(pid int, dir string) bool {
	for _, to := range Descriptors(pid) {
		if strings.HasPrefix(to, dir+"/") {
			return true
		}
	}
	return false
}

// Descriptors are the open files of a process.
func Descriptors(pid int) (out []string) {
	links, _ := filepath.Glob(proc(pid, "fd/*"))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			out = append(out, to)
		}
	}
	return out
}

// Leaves waits for a process that may be on its way out, and reports whether it went.
func Leaves(pid int) bool { return leaves(pid, leaveMillis) }

func leaves(pid, millis int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, millis)
	return err == nil && n > 0
}

// zombies are the children of this process that nobody waited for.
func zombies() (out []int) {
	for _, pid := range pids() {
		stat, err := os.ReadFile(proc(pid, "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			out = append(out, pid)
		}
	}
	return out
}

// sockets are the named ones below dir that somebody holds.
func sockets(dir string) (out []string) {
	table, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) == 8 && strings.HasPrefix(fields[7], dir+"/") {
			out = append(out, fields[7])
		}
	}
	return out
}

// Memory is the resident memory of a process in KiB, 0 when it is gone.
func Memory(pid int) (kib int) { return figure(pid, "status", "VmRSS:") }

// Share is what a process takes of the memory in KiB: its own, and its part of what it shares; 0 when it is gone.
func Share(pid int) (kib int) { return figure(pid, "smaps_rollup", "Pss:") }

func figure(pid int, file, key string) (n int) {
	text, _ := os.ReadFile(proc(pid, file))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			_, _ = fmt.Sscan(rest, &n)
		}
	}
	return n
}

// Threads is the number of threads of a process, 0 when it is gone.
func Threads(pid int) int {
	tasks, _ := os.ReadDir(proc(pid, "task"))
	return len(tasks)
}
