package census

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestS6_LeftSeesEachKind: a process, a socket and the lock of a worktree that were left are each told, and what is not of
// the folder, or not a run's, is not.
func TestS6_LeftSeesEachKind(t *testing.T) {
	dir, err := os.MkdirTemp("", "left") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if left := Left(dir); len(left) > 0 {
		t.Errorf("of an empty folder: %q", left)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, reason := range map[string]string{"ours": lockLead + "job-1 boot x", "theirs": "on a stick"} {
		at := filepath.Join(dir, "repo", ".git", "worktrees", name)
		if err := errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(filepath.Join(at, "locked"), []byte(reason), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"socket " + dir + "/s", "the lock of a worktree " + dir + "/repo/.git/worktrees/ours/locked"}
	if left := Left(dir); !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

// TestS6_LeftEndsWhatItTells: a process that works below the folder is told with its command line and ended.
func TestS6_LeftEndsWhatItTells(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command("sleep", "600")
	c.Env = []string{"TMPDIR=" + dir + "/x"}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	if found := Processes(dir); len(found) != 1 || !strings.HasPrefix(found[c.Process.Pid], "sleep 600") {
		t.Errorf("processes %v", found)
	}
	if left := leftWithin(dir, 1); len(left) != 1 || !strings.Contains(left[0], "sleep 600") {
		t.Errorf("left are %q", left)
	}
	if err := <-ended; err == nil {
		t.Error("it was not ended")
	}
}
