package server

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"scv/internal/run/proc"
)

// credentials asks the kernel who is at the other end of the connected socket fd. The answer is of the moment of the
// connection and cannot be forged.
func credentials(fd int) (peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	p := peer{uid: cred.Uid, pid: int(cred.Pid)}
	if peerFD, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
		if l, err := held(peerFD); err == nil && l.pid == p.pid {
			p.born = l.born
		}
		err = unix.Close(peerFD)
		return p, err
	}
	return p, nil
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

// look finds a process's parent and what tells it from a later one of its number. The kernel is asked by a descriptor of
// the process (6.13 and later), which reads no file; an older one by its process table.
func look(pid int) (link, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		l, err := held(fd)
		if err = errors.Join(err, unix.Close(fd)); err == nil {
			return l, nil
		}
	}
	p, err := proc.Lookup(pid)
	return link{pid: p.PID, ppid: p.PPID, born: birth{start: p.Start}, name: p.Name}, err
}

// held is the process behind a descriptor. The kernels that tell its parent also never use an inode of these twice.
func held(fd int) (link, error) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_PID}
	if err := unix.IoctlPidfdInfo(fd, &info); err != nil {
		return link{}, err
	}
	if info.Mask&unix.PIDFD_INFO_PID == 0 || info.Tgid == 0 {
		return link{}, proc.ErrGone
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return link{}, err
	}
	return link{pid: int(info.Tgid), ppid: int(info.Ppid), born: birth{inode: st.Ino}}, nil
}

// identify looks the process's name up.
func (l *link) identify() error {
	if l.name != "" {
		return nil
	}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(l.pid) + "/comm")
	if err != nil {
		return err
	}
	l.name = strings.TrimSuffix(string(data), "\n")
	return nil
}
