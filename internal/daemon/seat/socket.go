package seat

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/home"
	"scv/internal/wire"
)

// backlog is how many connections may wait to be accepted.
const backlog = 128

// A Socket is the daemon's listening socket and the file it answers at. Connections that come while nobody accepts wait
// in it, over a handover too.
type Socket struct {
	file *os.File
	path string
	id   fileID
}

// fileID tells one file from a later one at the same path.
type fileID struct{ dev, ino uint64 }

// Listen opens the home's socket. The caller holds the lock, so what answers nobody there is stale and is replaced;
// what is no socket is never touched. Between bind and listen, when nobody can connect yet, modes are checked: 0600 in
// a directory of 0700, whatever the umask (security.md section 5).
func Listen(h *home.Home) (*Socket, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	path := h.Socket()
	if err := clearStale(path); err != nil {
		return nil, err
	}
	fd, err := unixSocket()
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	id, err := bindPrivate(fd, path)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	if err := unix.Listen(fd, backlog); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	return &Socket{file: os.NewFile(uintptr(fd), path), path: path, id: id}, nil
}

// Path is where clients connect.
func (s *Socket) Path() string { return s.path }

// Listener accepts from the socket until it is closed, which leaves the socket itself open: who connects then waits for
// the next Listener.
func (s *Socket) Listener() (net.Listener, error) {
	l, err := net.FileListener(s.file)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", s.path, err)
	}
	return l, nil
}

// clearStale removes a socket that nobody answers at. One that answers belongs to a daemon that holds no lock, such as
// one whose lock file was removed.
func clearStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return wire.Refuse(wire.ReasonRefused, "look what it is, then move it away: mv "+home.Pretty(path)+" "+home.Pretty(path)+".old",
			"%s is not a socket, so SCV does not touch it", home.Pretty(path))
	}
	if who, there := answered(path); there {
		name := "a daemon"
		if who > 0 {
			name = fmt.Sprintf("a daemon (process %d)", who)
		}
		return wire.Refuse(wire.ReasonBusy, "end it first: scv stop", "%s without a lock answers at %s", name, home.Pretty(path))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the stale socket %s: %w", path, err)
	}
	return nil
}

// answered reports whether somebody goes on listening at a path, and which process; 0 where that is not known. For the instant between fork and exec of a shim the
// child of a daemon that was killed holds the listener too, a little longer than the lock.
func answered(path string) (pid int, there bool) {
	for range lockTries {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return 0, false
		}
		pid = peerPID(conn)
		conn.Close()
		time.Sleep(lockPause)
	}
	return pid, true
}

// bindPrivate binds under a umask that leaves the socket to its owner, and checks that it came out so.
func bindPrivate(fd int, path string) (fileID, error) {
	old := unix.Umask(0o177)
	err := unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	unix.Umask(old)
	if err != nil {
		return fileID{}, fmt.Errorf("bind %s: %w", path, err)
	}
	id, err := checkPrivate(path)
	if err != nil {
		return fileID{}, errors.Join(err, os.Remove(path))
	}
	return id, nil
}

func checkPrivate(path string) (fileID, error) {
	var sock, dir unix.Stat_t
	if err := unix.Lstat(path, &sock); err != nil {
		return fileID{}, fmt.Errorf("check %s: %w", path, err)
	}
	if err := unix.Lstat(filepath.Dir(path), &dir); err != nil {
		return fileID{}, fmt.Errorf("check the directory of %s: %w", path, err)
	}
	uid := uint32(os.Getuid())
	ours := sock.Uid == uid && dir.Uid == uid
	if !ours || uint32(sock.Mode)&0o7777 != 0o600 || uint32(dir.Mode)&0o777 != 0o700 {
		return fileID{}, wire.Refuse(wire.ReasonRefused,
			"put the home on a file system that keeps modes and owners: export SCV_HOME=/home/you/.scv",
			"%s would be open to others (socket %04o, directory %04o)", home.Pretty(path),
			uint32(sock.Mode)&0o7777, uint32(dir.Mode)&0o777)
	}
	return fileID{dev: uint64(sock.Dev), ino: sock.Ino}, nil
}

// Leave closes the socket here and leaves its file to the successor that has it too.
func (s *Socket) Leave() error { return s.file.Close() }

// Close ends listening and removes the socket's file, if it is still the one that was made here.
func (s *Socket) Close() error {
	err := s.file.Close()
	var st unix.Stat_t
	if unix.Lstat(s.path, &st) == nil && (fileID{dev: uint64(st.Dev), ino: st.Ino}) == s.id {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}
