package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"scv/internal/run/control"
)

// A door is the control socket of a run: the listener, and the file by which daemons find it. Its methods may be called
// by several goroutines. Somebody may take the file away or put another in its place, as a cleaner does, or who brings
// back a copy of the home: the listener then lives on and nobody reaches it, until again is called.
type door struct {
	way string // from the run's directory to the file, since both move with the home

	mu       sync.Mutex
	listener *net.UnixListener
	made     fs.FileInfo // the file; the kernel keeps its inode as long as the listener lives, so no other has its number
	shut     bool
}

// openDoor makes the socket at path.
func openDoor(path string) (*door, error) {
	l, made, err := listen(path)
	if err != nil {
		return nil, err
	}
	d := &door{listener: l, made: made}
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil {
		var here string
		if here, err = syscall.Getwd(); err == nil { // not os.Getwd, which may name it by a link
			d.way, err = filepath.Rel(here, filepath.Join(real, filepath.Base(path)))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), os.Remove(path), l.Close())
	}
	return d, nil
}

// place is where the file belongs now; an error when the run's directory was removed.
func (d *door) place() (string, error) {
	here, err := syscall.Getwd()
	return filepath.Join(here, d.way), err
}

// stands reports whether the file at path is the one that was made.
func (d *door) stands(path string) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(now, d.made)
}

// again makes the file anew unless it stands, and returns the listener that is to be served from then on; nil when there
// is none to begin with. What another shim answers at, and a folder, are left where they are and are an error.
func (d *door) again() (*net.UnixListener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path, err := d.place()
	if err != nil || d.shut || d.stands(path) {
		return nil, err
	}
	l, made, err := listen(path)
	if err != nil {
		return nil, err
	}
	_ = d.listener.Close() // nobody can come to it any more; who came is served on
	d.listener, d.made = l, made
	return l, nil
}

// close takes the socket away, and the file if it is still the one that was made.
func (d *door) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	if path, err := d.place(); err == nil && d.stands(path) {
		_ = os.Remove(path) // somebody was quicker
	}
	return d.listener.Close()
}

// listen makes a socket, private, in place of one that a dead shim left, or of another file. A folder is not removed.
func listen(path string) (*net.UnixListener, fs.FileInfo, error) {
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(path) > most {
		return nil, nil, fmt.Errorf("the path of the control socket has %d bytes and may have %d: %s", len(path), most, path)
	}
	addr := &net.UnixAddr{Name: path, Net: "unix"}
	if conn, err := net.DialUnix("unix", nil, addr); err == nil {
		return nil, nil, errors.Join(fmt.Errorf("another shim answers at %s", path), conn.Close())
	} else if errors.Is(err, syscall.EAGAIN) { // as many wait as may
		return nil, nil, fmt.Errorf("somebody listens at %s", path)
	}
	if err := syscall.Unlink(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("control socket: what is at %s cannot be replaced: %w", path, err)
	}
	l, err := private(addr)
	if errors.Is(err, fs.ErrNotExist) && os.Mkdir(filepath.Dir(path), 0o700) == nil { // its folder was removed too
		l, err = private(addr)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("control socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	made, err := os.Lstat(path)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("control socket: %w", err), l.Close())
	}
	return l, made, nil
}

// private listens so that nobody else may connect from the first moment on.
func private(addr *net.UnixAddr) (*net.UnixListener, error) {
	old := syscall.Umask(0o177)
	defer syscall.Umask(old)
	return net.ListenUnix("unix", addr)
}

// keepDoor makes the socket anew when a daemon that does not find it says so, by control.Summon.
func (r *run) keepDoor() {
	for range r.summons {
		l, err := r.door.again()
		if err != nil {
			r.errs.say("it is out of reach: %v", err)
		}
		if l != nil {
			go r.accept(l)
		}
	}
}

// accept serves every connection of this user until the listener is closed.
func (r *run) accept(l *net.UnixListener) {
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor left, say: daemons wait, the run goes on
			r.errs.say("control socket: %v", err)
			r.pause()
			continue
		}
		uid, err := control.PeerUID(conn)
		if err != nil || uid != os.Geteuid() {
			_ = conn.Close()
			continue
		}
		c := &connection{r: r, conn: conn, replies: make(chan reply), wake: make(chan struct{}, 1), gone: make(chan struct{}), left: make(chan struct{})}
		go c.read()
		go c.write()
	}
}
