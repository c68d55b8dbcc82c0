//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/internal/testkit/need"
)

// mounted gives a small file system of its own, under a short path.
func mounted(t *testing.T, size string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	need.Disk(t, dir, size)
	return dir
}

// scv runs the program on a home and returns its exit code and what it said.
func scv(t *testing.T, home string, args ...string) (code int, out, errs string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("SCV_TEST_BIN"), "scv"), args...)
	cmd.Env = append(os.Environ(), "SCV_HOME="+home)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		code = x.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return code, o.String(), e.String()
}

func sentence(t *testing.T, what string, code int, errs, want string) {
	t.Helper()
	if code == 0 || !strings.HasPrefix(errs, "scv: ") || !strings.Contains(errs, want) || !strings.Contains(errs, "Next: ") || strings.Count(errs, "\n") > 2 {
		t.Errorf("%s: code %d, said %q, want %q and a next step", what, code, errs, want)
	}
}

func TestE34_HomeOnAFullDisk(t *testing.T) {
	disk := mounted(t, "64k,nr_inodes=64")
	if err := os.WriteFile(filepath.Join(disk, "fill"), bytes.Repeat([]byte("x"), 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	home := filepath.Join(disk, "h")
	for _, args := range [][]string{{"start"}, {"jobs", "start", "--agent", "demo", "quick"}, {"run"}, {"config", "set", "policy.mode", "auto"}} {
		code, out, errs := scv(t, home, args...)
		if out != "" {
			t.Errorf("%v printed %q", args, out)
		}
		sentence(t, strings.Join(args, " "), code, errs, "")
	}
}

func TestE34_HomeThatIsReadOnly(t *testing.T) {
	disk := mounted(t, "16m")
	home := filepath.Join(disk, "h")
	if code, out, errs := scv(t, home, "jobs", "start", "--agent", "demo", "--wait", "@@say:kept"); code != 0 || out != "kept\n" {
		t.Fatalf("a job: code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := scv(t, home, "stop", "--all"); code != 0 {
		t.Fatalf("stop: code %d, %q", code, errs)
	}
	need.Remount(t, disk, "ro")
	for _, args := range [][]string{{"start"}, {"jobs", "start", "--agent", "demo", "quick"}, {"run"}, {"config", "set", "policy.mode", "auto"}} {
		code, _, errs := scv(t, home, args...)
		sentence(t, strings.Join(args, " "), code, errs, "read-only file system")
	}
	code, _, errs := scv(t, filepath.Join(disk, "new"), "jobs")
	sentence(t, "a new home", code, errs, "read-only")
	// What is on the disk can be read all the same.
	if code, out, errs := scv(t, home, "jobs", "result", "job-1"); code != 0 || out != "kept\n" {
		t.Errorf("result: code %d, %q, %q", code, out, errs)
	}
}
