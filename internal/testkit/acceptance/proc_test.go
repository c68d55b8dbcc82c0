//go:build linux

package acceptance

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"scv/internal/testkit/need"
)

// processes are those of the lab whose command line holds a word. A process is known by its environment or, where that
// says nothing, by an open file below the lab's folder.
func (l *lab) processes(word string) map[int]string {
	l.t.Helper()
	out := map[int]string{}
	entries, err := os.ReadDir("/proc")
	l.must(err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || len(line) == 0 || !strings.Contains(string(line), word) {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if bytes.Contains(environ, []byte("SCV_HOME="+l.home+"\x00")) || l.holds(pid) {
			out[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		}
	}
	return out
}

func (l *lab) holds(pid int) bool {
	for _, to := range descriptors(pid) {
		if strings.HasPrefix(to, l.base+"/") || strings.HasPrefix(to, l.home+"/") {
			return true
		}
	}
	return false
}

// descriptors are the open files of a process.
func descriptors(pid int) []string {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	var out []string
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			out = append(out, to)
		}
	}
	return out
}

// leaves waits for a process that may be on its way out.
func leaves(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 15_000)
	return err == nil && n > 0
}

// switches sums the voluntary context switches of a process's threads.
func switches(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	sum := 0
	for _, task := range tasks {
		data, _ := os.ReadFile(task) // a thread may have ended
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				n, err := strconv.Atoi(strings.TrimSpace(rest))
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
		}
	}
	return sum
}

// A trace is strace on the daemon and, where asked for, on what it starts.
type trace struct {
	l    *lab
	cmd  *exec.Cmd
	file string
	said *bufio.Scanner
}

// traced begins to record the system calls of the daemon, and of its children with it.
func (l *lab) traced(calls string) *trace {
	l.t.Helper()
	tr := &trace{l: l, file: filepath.Join(l.base, "trace")}
	tr.cmd = exec.CommandContext(l.ctx, need.Program(l.t, "strace"), "-f", "-y", "-s", "300", "-o", tr.file, "-e", "trace="+calls, "-p", strconv.Itoa(l.daemon()))
	pipe, err := tr.cmd.StderrPipe()
	l.must(err)
	l.must(tr.cmd.Start())
	tr.said = bufio.NewScanner(pipe)
	for tr.said.Scan() {
		if strings.Contains(tr.said.Text(), "attached") {
			return tr
		}
		l.t.Logf("strace: %s", tr.said.Text())
	}
	_ = tr.cmd.Wait()
	l.t.Skip("strace may not attach to a process here")
	return nil
}

// lines ends the recording and returns it: each call in one piece, whatever came between.
func (tr *trace) lines() []string {
	tr.l.t.Helper()
	tr.l.must(tr.cmd.Process.Signal(syscall.SIGINT))
	for tr.said.Scan() {
	}
	_ = tr.cmd.Wait() // it was interrupted
	data, err := os.ReadFile(tr.file)
	tr.l.must(err)
	var out []string
	for line := range strings.Lines(string(data)) {
		if !strings.Contains(line, " resumed>") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}
