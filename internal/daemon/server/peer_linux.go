package server

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// credentials asks the kernel who is at the other end of the connected socket fd. The answer is of the moment of the
// connection and cannot be forged.
func credentials(fd int) (peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	return peer{uid: cred.Uid, pid: int(cred.Pid)}, nil
}

// environ is the environment of a process of ours as it was at its start, in the form name=value.
func environ(pid int) ([][]byte, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil, err
	}
	return bytes.Split(data, []byte{0}), nil
}

// arguments is the command line of a process of ours as it is now.
func arguments(pid int) ([][]byte, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte{0}), []byte{0}), nil
}

// parent is a process's name and the number of its parent. The name may hold any byte, so the line is read from its
// last parenthesis on.
func parent(pid int) (name string, ppid int, err error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, err
	}
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return "", 0, errProc
	}
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 2 {
		return "", 0, errProc
	}
	ppid, err = strconv.Atoi(string(fields[1]))
	return string(data[open+1 : end]), ppid, err
}
