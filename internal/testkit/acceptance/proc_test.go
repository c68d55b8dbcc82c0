//go:build linux

package acceptance

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"scv/internal/testkit/census"
	"scv/internal/testkit/need"
)

// processes are those of the lab whose command line holds a word.
func (l *lab) processes(word string) map[int]string {
	all := census.Processes(l.base)
	maps.Copy(all, census.Processes(l.home))
	maps.DeleteFunc(all, func(_ int, line string) bool { return !strings.Contains(line, word) })
	return all
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
