package control

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// PeerUID is the user of the process at the other end of a unix socket, as the kernel recorded it.
func PeerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("ask for the peer: %w", err)
	}
	var cred *unix.Xucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if err != nil {
		return -1, fmt.Errorf("ask for the peer: %w", err)
	}
	if credErr != nil {
		return -1, fmt.Errorf("ask for the peer: %w", credErr)
	}
	return int(cred.Uid), nil
}

// awaitChild leaves the waiting to Wait, which holds a thread.
func awaitChild(*os.Process) error { return nil }
