package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"scv/internal/wire"
)

// Check reports whether the home can hold a daemon: its sockets must fit the system's bound on a socket's path, and
// it must not lie on a network file system, where locks and sockets do not work (security.md section 5).
func (h *Home) Check() error {
	if n := len(h.Socket()); n > maxSocketPath {
		return problem(wire.ReasonTooLarge,
			fmt.Sprintf("the socket's path %s has %d bytes, and this system takes at most %d", Pretty(h.Socket()), n, maxSocketPath),
			"choose a shorter home, such as: export SCV_HOME=/home/you/.scv")
	}
	if kind := networkFS(h.path); kind != "" {
		return problem(wire.ReasonUnavailable,
			fmt.Sprintf("%s lies on a network file system (%s), where locks and sockets are not to be trusted", Pretty(h.path), kind),
			"put the home on a local disk: export SCV_HOME=/var/tmp/you/.scv")
	}
	return nil
}

// checkTree refuses a home that somebody else could replace or change: each directory above must be ours or root's and
// not writable for all, unless sticky; the home itself must be ours alone to write.
func checkTree(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return unusable(path, err)
	}
	if err := checkOwn(path, info); err != nil {
		return err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return unusable(dir, err)
		}
		uid, ok := owner(info)
		if ok && uid != 0 && uid != os.Getuid() {
			return problem(wire.ReasonRefused,
				fmt.Sprintf("%s cannot be trusted: %s above it belongs to another user (uid %d), who could replace it", Pretty(path), Pretty(dir), uid),
				"choose a home below a directory of yours: export SCV_HOME=/home/you/.scv")
		}
		if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return problem(wire.ReasonRefused,
				fmt.Sprintf("%s cannot be trusted: everybody may write to %s above it and could replace it", Pretty(path), Pretty(dir)),
				fmt.Sprintf("take that right away: chmod o-w %s   Or set SCV_HOME to another directory", Pretty(dir)))
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// checkOwn refuses what is no directory of ours, or what others may write to.
func checkOwn(path string, info fs.FileInfo) error {
	if !info.IsDir() {
		what := "is not a directory"
		if info.Mode()&fs.ModeSymlink != 0 {
			what = "is a link, and SCV follows none inside its home"
		}
		return problem(wire.ReasonRefused, fmt.Sprintf("%s %s", Pretty(path), what),
			"set SCV_HOME to a directory of yours, or look what it is and move it away")
	}
	uid, ok := owner(info)
	if ok && uid != os.Getuid() {
		return problem(wire.ReasonRefused,
			fmt.Sprintf("%s belongs to another user (uid %d; you are %d), who could read and change your work", Pretty(path), uid, os.Getuid()),
			"set SCV_HOME to a directory of yours, or run scv as its owner")
	}
	if info.Mode().Perm()&0o022 != 0 {
		return problem(wire.ReasonRefused,
			fmt.Sprintf("%s can be written by other users (mode %04o)", Pretty(path), info.Mode().Perm()),
			fmt.Sprintf("look whether anything in it is not yours, then: chmod 700 %s", Pretty(path)))
	}
	return nil
}

func owner(info fs.FileInfo) (int, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// unusable turns what the system said about a path of the home into a sentence and a next step.
func unusable(path string, err error) error {
	show := Pretty(path)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return problem(wire.ReasonUnavailable, fmt.Sprintf("%s cannot be made: the disk is full", show),
			"free some space, or set SCV_HOME to a directory on another disk")
	case errors.Is(err, syscall.EROFS):
		return problem(wire.ReasonUnavailable, fmt.Sprintf("%s cannot be made: its file system is read-only", show),
			"set SCV_HOME to a directory that you may write to")
	case errors.Is(err, fs.ErrPermission):
		return problem(wire.ReasonUnavailable, fmt.Sprintf("%s cannot be used: permission denied", show),
			"set SCV_HOME to a directory of yours, or correct its rights with chmod")
	case errors.Is(err, syscall.ENOTDIR):
		return problem(wire.ReasonInvalid, fmt.Sprintf("%s cannot be made: something on its way is not a directory", show),
			"set SCV_HOME to another path")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return problem(wire.ReasonTooLarge, fmt.Sprintf("the path of SCV's home is too long (%d bytes)", len(path)),
			"choose a shorter home, such as: export SCV_HOME=/home/you/.scv")
	case errors.Is(err, syscall.ELOOP):
		return problem(wire.ReasonInvalid, fmt.Sprintf("%s is a link that leads to itself", show), "set SCV_HOME to another path")
	}
	return problem(wire.ReasonUnavailable, fmt.Sprintf("%s cannot be used: %v", show, err), "set SCV_HOME to a directory of yours")
}

func problem(reason wire.Reason, message, hint string) error {
	return &wire.Error{Code: wire.CodeWorkbenchError, Message: message, Reason: reason, Hint: hint}
}
