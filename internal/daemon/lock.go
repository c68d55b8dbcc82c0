package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"scv/internal/home"
	"scv/internal/wire"
)

// A lock is held for the daemon's life. The kernel gives it back at the process's end, so it never lies; the number in
// the file only helps a person.
type lock struct{ file *os.File }

// takeLock takes the home's lock without waiting. It follows no link, and it refuses when another daemon holds it,
// saying where that one is.
func takeLock(h *home.Home) (*lock, error) {
	path := h.LockPath()
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(home.FileMode))
	if errors.Is(err, unix.ELOOP) {
		return nil, refused(wire.ReasonRefused, home.Pretty(path)+" is a link, and SCV follows none there",
			"look who made it, then remove it: rm "+home.Pretty(path))
	}
	if err != nil {
		return nil, fmt.Errorf("open the lock %s: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = refused(wire.ReasonRefused, home.Pretty(path)+" is not a plain file", "look who made it, then move it away")
	}
	if err == nil {
		err = flock(fd)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = running(h, file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	if err := errors.Join(file.Chmod(home.FileMode), file.Truncate(0)); err != nil {
		file.Close()
		return nil, fmt.Errorf("prepare the lock %s: %w", path, err)
	}
	if _, err := file.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0); err != nil {
		file.Close()
		return nil, fmt.Errorf("write the lock %s: %w", path, err)
	}
	return &lock{file: file}, nil
}

func flock(fd int) error {
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// running is the refusal of a second daemon. The holder wrote its number, which may be missing for a moment.
func running(h *home.Home, file *os.File) error {
	where := "its socket is " + home.Pretty(h.Socket())
	buf := make([]byte, 20)
	n, _ := file.ReadAt(buf, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err == nil {
		where = fmt.Sprintf("process %d, %s", pid, where)
	}
	return refused(wire.ReasonBusy, fmt.Sprintf("a daemon runs already for %s (%s)", home.Pretty(h.Path()), where),
		"use it: scv status   Or end it first: scv stop")
}

// release gives the lock back. The file stays, as a removed one could be locked twice.
func (l *lock) release() error { return l.file.Close() }

func refused(reason wire.Reason, message, hint string) error {
	return &wire.Error{Code: wire.CodeWorkbenchError, Message: message, Reason: reason, Hint: hint}
}
