package server

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"scv/internal/run/proc"
)

// credentials asks the kernel who is at the other end of the connected socket fd.
func credentials(fd int) (peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return peer{}, err
	}
	return peer{uid: cred.Uid, pid: pid}, nil
}

// environ is the environment of a process of ours as it was at its start, in the form name=value.
func environ(pid int) ([][]byte, error) {
	_, env, err := procArgs(pid)
	return env, err
}

// arguments is the command line of a process of ours.
func arguments(pid int) ([][]byte, error) {
	args, _, err := procArgs(pid)
	return args, err
}

// procArgs is what the kernel keeps of a process's start: the count of arguments, the program's path, the arguments and
// the environment.
func procArgs(pid int) (args, env [][]byte, err error) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil, nil, err
	}
	if len(data) < 4 {
		return nil, nil, errProc
	}
	count := int(binary.LittleEndian.Uint32(data))
	var words [][]byte
	for word := range bytes.SplitSeq(data[4:], []byte{0}) {
		if len(word) > 0 {
			words = append(words, word)
		}
	}
	if count < 0 || len(words) < count+1 {
		return nil, nil, errProc
	}
	return words[1 : count+1], words[count+1:], nil
}

// look finds a process's parent and the time of its start.
func look(pid int) (link, error) {
	p, err := proc.Lookup(pid)
	return link{pid: p.PID, ppid: p.PPID, born: birth{start: p.Start}, name: p.Name}, err
}

// identify has nothing to look up: look does.
func (*link) identify() error { return nil }
