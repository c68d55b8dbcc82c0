package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/home"
)

// vanishing is how long a home whose socket was removed may take to go as a whole.
const vanishing = time.Second

// awaitLoss returns errRemoved when the home's state was removed: its folder has no name any more anywhere, which one of
// a home that was moved still has. It returns errUnheard when only the socket was, and nil when ctx ends or it cannot be
// told. It costs nothing while nothing happens.
func awaitLoss(ctx context.Context, h *home.Home) error {
	state, err := h.Root().Open("state")
	if err != nil {
		return nil
	}
	defer state.Close()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	events := os.NewFile(uintptr(fd), "inotify")
	defer events.Close()
	for path, mask := range map[string]uint32{h.Path(): unix.IN_DELETE, filepath.Dir(h.Socket()): unix.IN_DELETE | unix.IN_MOVED_FROM} {
		if _, err := unix.InotifyAddWatch(fd, path, mask|unix.IN_ONLYDIR); err != nil {
			return nil
		}
	}
	stop := context.AfterFunc(ctx, func() { events.Close() })
	defer stop()
	buf := make([]byte, 4096)
	for ctx.Err() == nil {
		if removed(state) {
			return errRemoved
		}
		if unheard(h) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(vanishing):
			}
			if removed(state) {
				return errRemoved
			}
			if unheard(h) {
				return errUnheard
			}
		}
		if _, err := events.Read(buf); err != nil && !errors.Is(err, unix.EINTR) {
			return nil
		}
	}
	return nil
}

// unheard reports whether the socket's file is gone, so that nobody can connect any more.
func unheard(h *home.Home) bool {
	_, err := h.Root().Lstat("state/" + filepath.Base(h.Socket()))
	return errors.Is(err, fs.ErrNotExist)
}

// removed asks an open folder itself whether it still has a name.
func removed(folder *os.File) bool {
	info, err := folder.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
