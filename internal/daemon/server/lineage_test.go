//go:build linux

package server

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"scv/internal/run/proc"
	"scv/internal/testkit/need"
)

// family starts a shell under a name and returns its number and that of a child of it. Both end with the test.
func family(t *testing.T, name string) (parent, child int) {
	t.Helper()
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(need.Program(t, "sh"), link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), link, "-c", "cat <&3 & echo $!; read -r line")
	hold, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env, cmd.ExtraFiles = []string{"PATH=" + os.Getenv("PATH")}, []*os.File{hold}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the ends of what they read end both
		held.Close()
		hold.Close()
		in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, child
}

// TestT52_ALineageForgetsNoShim: what is below a shim is inside a run each time it is asked, and nothing on that way is
// remembered as clear; a number that was another process's does not pass for it.
func TestT52_ALineageForgetsNoShim(t *testing.T) {
	shim, child := family(t, shimName)
	l := &lineage{clear: map[int]birth{shim: {inode: 1, start: 1}}}
	for range 3 {
		if inside, run, err := l.inside(peer{pid: child}); err != nil || !inside || run != "" {
			t.Fatalf("inside %v, run %q, %v", inside, run, err)
		}
	}
	if _, known := l.clear[child]; known || l.clear[shim] != (birth{inode: 1, start: 1}) {
		t.Errorf("%d or its child %d is remembered as clear: %v", shim, child, l.clear)
	}
}

// TestT52_ALineageWalksOnce: the way above an owner's shell is gone once; then the shell itself answers.
func TestT52_ALineageWalksOnce(t *testing.T) {
	shell, child := family(t, "shell")
	l := &lineage{}
	if inside, _, err := l.inside(peer{pid: child}); err != nil || inside {
		t.Fatalf("inside %v, %v", inside, err)
	}
	born, known := l.clear[shell]
	if self, err := look(shell); err != nil || !known || self.born != born || born == (birth{}) {
		t.Fatalf("the shell is %+v (%v), remembered %+v", self, err, l.clear)
	}
	if _, known := l.clear[child]; known {
		t.Error("a client is remembered, which nobody descends from")
	}
	// Without the rest of the way the answer is the same, and the way is not gone again.
	l.clear = map[int]birth{shell: born}
	if inside, _, err := l.inside(peer{pid: child}); err != nil || inside || len(l.clear) != 1 {
		t.Errorf("inside %v, %v, remembered %+v", inside, err, l.clear)
	}
	l.clear = map[int]birth{shell: {inode: born.inode + 1, start: born.start + 1}}
	if _, _, err := l.inside(peer{pid: child}); err != nil || l.clear[shell] != born {
		t.Errorf("another process of that number was taken for the shell: %v, %+v", err, l.clear)
	}
}

// TestT52_ANumberOfAnotherProcessIsNotThePeer: it connected, ended, and its number is a stranger's.
func TestT52_ANumberOfAnotherProcessIsNotThePeer(t *testing.T) {
	_, child := family(t, "shell")
	if _, _, err := (&lineage{}).inside(peer{pid: child, born: birth{inode: 1, start: 1}}); !errors.Is(err, proc.ErrGone) {
		t.Errorf("got %v", err)
	}
}

// TestT52_AParentIsOlderThanItsChild, or it is another one with the number of a parent that ended.
func TestT52_AParentIsOlderThanItsChild(t *testing.T) {
	child := link{pid: os.Getpid(), ppid: os.Getppid(), born: birth{start: 7}}
	for start, want := range map[uint64]bool{6: true, 7: true, 8: false} {
		if is, err := child.childOf(link{pid: os.Getppid(), born: birth{start: start}}); err != nil || is != want {
			t.Errorf("a parent that began at %d: %v, %v", start, is, err)
		}
	}
	own, err := look(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if own.born.inode == 0 {
		t.Skip("this kernel does not tell parents by a descriptor")
	}
	for ppid, want := range map[int]bool{os.Getppid(): true, os.Getppid() + 1: false} {
		if is, err := own.childOf(link{pid: ppid, born: birth{inode: 5}}); err != nil || is != want {
			t.Errorf("child of %d: %v, %v", ppid, is, err)
		}
	}
}

// TestT52_WhatTheDaemonStartedIsNotTheOwner: a command of a session's model is a child of the daemon, below no shim, and
// may take every marker out of its environment.
func TestT52_WhatTheDaemonStartedIsNotTheOwner(t *testing.T) {
	_, child := family(t, "shell")
	l := &lineage{daemon: os.Getpid()}
	for range 2 { // nothing is remembered that would clear it the second time
		if inside, run, err := l.inside(peer{pid: child}); err != nil || !inside || run != "" {
			t.Fatalf("inside %v, run %q, %v", inside, run, err)
		}
	}
	if inside, _, err := l.inside(peer{pid: os.Getpid()}); err != nil || inside {
		t.Errorf("the daemon's own process: inside %v, %v", inside, err)
	}
}
