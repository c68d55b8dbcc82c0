package proc

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"unsafe"
)

// Numbers of proc_info(2), which libproc wraps: the path of a process's working directory stands behind the first
// vnode's description in struct proc_vnodepathinfo.
const (
	sysProcInfo     = 336
	callPidInfo     = 2
	flavorVnodePath = 9
	vnodeInfoBytes  = 152
	pathBytes       = 1024
)

// WorkingDir is the directory that a process works in. ok is false for one that is gone or belongs to somebody else; an
// error means that it is not known.
func WorkingDir(pid int) (dir string, ok bool, err error) {
	var buf [2 * (vnodeInfoBytes + pathBytes)]byte
	n, _, code := syscall.Syscall6(sysProcInfo, callPidInfo, uintptr(pid), flavorVnodePath, 0, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	switch {
	case code == 0 && n == uintptr(len(buf)):
		path, _, _ := bytes.Cut(buf[vnodeInfoBytes:vnodeInfoBytes+pathBytes], []byte{0})
		return string(path), len(path) > 0, nil
	case errors.Is(code, syscall.ESRCH), errors.Is(code, syscall.EPERM), errors.Is(code, syscall.EACCES):
		return "", false, nil
	}
	return "", false, fmt.Errorf("look where process %d works: %w", pid, code)
}

// Unborn reports whether a child of this process is still a copy of it, which this system does not tell: false.
func Unborn(int) bool { return false }
