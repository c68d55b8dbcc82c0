package control

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"scv/internal/run/proc"
)

// PeerUID is the user of the process at the other end of a unix socket, as the kernel recorded it.
func PeerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("ask for the peer: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil {
		return -1, fmt.Errorf("ask for the peer: %w", err)
	}
	if credErr != nil {
		return -1, fmt.Errorf("ask for the peer: %w", credErr)
	}
	return int(cred.Uid), nil
}

// awaitChild waits for the end of a child without a thread of its own; Wait after it returns at once.
func awaitChild(p *os.Process) error { return proc.AwaitChild(p.Pid) }
