package daemon

import (
	"context"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"scv/internal/home"
)

// awaitRemoval returns true when the home's state was removed: its folder has no name any more anywhere, which one of a
// home that was moved still has. It costs nothing while nothing happens, and returns false when ctx ends or it cannot be
// told.
func awaitRemoval(ctx context.Context, h *home.Home) bool {
	state, err := h.Root().Open("state")
	if err != nil {
		return false
	}
	defer state.Close()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return false
	}
	events := os.NewFile(uintptr(fd), "inotify")
	defer events.Close()
	if _, err := unix.InotifyAddWatch(fd, h.Path(), unix.IN_DELETE|unix.IN_ONLYDIR); err != nil {
		return false
	}
	stop := context.AfterFunc(ctx, func() { events.Close() })
	defer stop()
	buf := make([]byte, 4096)
	for ctx.Err() == nil {
		if removed(state) {
			return true
		}
		if _, err := events.Read(buf); err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
	}
	return false
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
