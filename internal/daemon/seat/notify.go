package seat

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// NotifyVariable names the socket of a service manager that wants to be told.
const NotifyVariable = "NOTIFY_SOCKET"

// barrierPatience bounds the wait for a service manager to take what it was told.
const barrierPatience = 5 * time.Second

// Notify tells a service manager a state, such as READY=1 or MAINPID=4711, at its datagram socket. An empty socket is
// nobody, and nothing is done.
func Notify(socket, state string) error {
	return notify(socket, state, nil)
}

// Settle returns once the manager has taken all that it was told before: it closes a descriptor that it is handed. The
// old daemon waits for it before it ends, or the manager could see the end of the main process before the number of the
// new one.
func Settle(socket string) error {
	if socket == "" {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	fd, err := descriptor(w)
	if err == nil {
		err = notify(socket, "BARRIER=1", unix.UnixRights(fd))
	}
	if err := errors.Join(err, w.Close(), r.SetReadDeadline(time.Now().Add(barrierPatience))); err != nil {
		return err
	}
	if _, err := r.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the service manager did not answer within %s", barrierPatience)
	}
	return nil
}

func notify(socket, state string, oob []byte) error {
	if socket == "" {
		return nil
	}
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = errors.Join(unix.Sendmsg(fd, []byte(state), oob, &unix.SockaddrUnix{Name: socket}, unix.MSG_DONTWAIT), unix.Close(fd))
	}
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}
