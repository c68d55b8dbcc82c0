package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// WorkingDir is the directory that a process works in. ok is false for one that is gone, has none, or belongs to
// somebody else; an error means that it is not known.
func WorkingDir(pid int) (dir string, ok bool, err error) {
	base := "/proc/" + strconv.Itoa(pid)
	dir, err = os.Readlink(base + "/cwd")
	switch {
	case err == nil:
		return strings.TrimSuffix(dir, " (deleted)"), true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return "", false, nil
	case errors.Is(err, fs.ErrPermission):
		// Another user's, or one that the kernel shields even from its owner (an ssh-agent, a set-uid program). It is left
		// out: such run on every machine, and would keep every worktree for ever.
		return "", false, nil
	}
	return "", false, fmt.Errorf("look where process %d works: %w", pid, err)
}

// Unborn reports whether a child of this process is still a copy of it: between its fork and its exec. It has the
// directory then that its program is to start in.
func Unborn(child int) bool {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return false
	}
	exe, err := os.Readlink("/proc/" + strconv.Itoa(child) + "/exe")
	return err == nil && exe == own
}
