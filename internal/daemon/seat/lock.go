package seat

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/home"
	"scv/internal/wire"
)

// A Lock is held for the daemon's life. The kernel gives it back at the process's end, so it never lies; the number in
// the file only helps a person.
type Lock struct{ file *os.File }

// TakeLock takes the home's lock without waiting for a daemon that lives. It follows no link, and it refuses when another daemon holds it,
// saying where that one is.
func TakeLock(h *home.Home) (*Lock, error) {
	path := h.LockPath()
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(home.FileMode))
	if errors.Is(err, unix.ELOOP) {
		return nil, wire.Refuse(wire.ReasonRefused, "look who made it, then remove it: rm "+home.Pretty(path),
			"%s is a link, and SCV follows none there", home.Pretty(path))
	}
	if err != nil {
		return nil, fmt.Errorf("open the lock %s: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = wire.Refuse(wire.ReasonRefused, "look who made it, then move it away", "%s is not a plain file", home.Pretty(path))
	}
	if err == nil {
		err = flock(file)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = running(h, file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return named(file)
}

// named writes this process's number into a lock that it holds.
func named(file *os.File) (*Lock, error) {
	l := &Lock{file: file}
	err := file.Chmod(home.FileMode)
	if err == nil {
		err = l.Name(os.Getpid())
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("write the lock %s: %w", file.Name(), err)
	}
	return l, nil
}

// Name writes the number of the process that has the seat, for people.
func (l *Lock) Name(pid int) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt(strconv.AppendInt(nil, int64(pid), 10), 0)
	return err
}

// Tries and pauses for what the holder of a lock that is dead has left to a child, together one second.
const (
	lockTries = 200
	lockPause = 5 * time.Millisecond
)

// flock takes the lock. A daemon that is killed in the instant between fork and exec of a shim leaves its descriptors,
// and so its lock, to the child for that long: while the process that the file names is gone it is tried again.
func flock(file *os.File) error {
	for tries := 0; ; tries++ {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK) && tries < lockTries && gone(holder(file)):
			time.Sleep(lockPause)
		default:
			return err
		}
	}
}

// holder is the process that wrote its number into the lock, 0 when it cannot be read.
func holder(file *os.File) int {
	buf := make([]byte, 20)
	n, _ := file.ReadAt(buf, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	return pid
}

func gone(pid int) bool { return pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// running is the refusal of a second daemon. The holder wrote its number, which may be missing for a moment.
func running(h *home.Home, file *os.File) error {
	where := "its socket is " + home.Pretty(h.Socket())
	if pid := holder(file); pid > 0 {
		where = fmt.Sprintf("process %d, %s", pid, where)
	}
	return wire.Refuse(wire.ReasonBusy, "use it: scv status   Or end it first: scv stop",
		"a daemon runs already for %s (%s)", home.Pretty(h.Path()), where)
}

// Release gives the lock back, unless it was passed on: then the successor holds it. The file stays, as a removed one
// could be locked twice.
func (l *Lock) Release() error { return l.file.Close() }
