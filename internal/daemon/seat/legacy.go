package seat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/home"
	"scv/internal/wire"
)

// errWithdrawn is the end of a new daemon whose predecessor went away before it handed over.
var errWithdrawn = errors.New("the daemon that started this one went away before it handed over")

// A Legacy is the new daemon's end of a handover. One goroutine uses it.
type Legacy struct{ line line }

// Inherit opens the line that the old daemon left at a descriptor, which no child of this process gets.
func Inherit(fd int) (*Legacy, error) {
	unix.CloseOnExec(fd)
	l, err := newLine(fd)
	if err != nil {
		return nil, wire.Refuse(wire.ReasonInvalid, "start it without --"+Flag+": scv start", "nobody hands over at descriptor %d: %v", fd, err)
	}
	return &Legacy{l}, nil
}

// Await says ready and waits for the seat, without end: the old daemon saves its last rows first. When the old daemon
// goes away instead, nothing was touched.
func (l *Legacy) Await(ctx context.Context, h *home.Home, release string) (*Socket, *Lock, error) {
	m, fds, err := l.line.receive(ctx, time.Now().Add(Patience))
	if err == nil && (m.Kind != kindHello || m.V < 1) {
		err = errBadMessage
	}
	if err == nil {
		err = l.line.send(message{Kind: kindReady, V: version, Version: release})
	}
	_ = closeAll(fds)
	if err == nil {
		m, fds, err = l.line.receive(ctx, time.Time{})
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		err = errWithdrawn
	case err == nil && (m.Kind != kindGo || len(fds) != 2):
		err = errBadMessage
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll(fds))
	}
	return take(h, fds[0], fds[1])
}

// take makes socket and lock of their descriptors, and checks that they are this home's.
func take(h *home.Home, sockFD, lockFD int) (_ *Socket, _ *Lock, err error) {
	sock := os.NewFile(uintptr(sockFD), h.Socket())
	lock := os.NewFile(uintptr(lockFD), h.LockPath())
	defer func() {
		if err != nil {
			err = errors.Join(err, sock.Close(), lock.Close())
		}
	}()
	id, err := checkPrivate(h.Socket())
	if err != nil {
		return nil, nil, err
	}
	here, err := os.Lstat(h.LockPath())
	if err != nil {
		return nil, nil, fmt.Errorf("look at the lock: %w", err)
	}
	given, err := lock.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("look at the lock: %w", err)
	}
	if !os.SameFile(here, given) {
		return nil, nil, wire.Refuse(wire.ReasonConflict, "look who changed the home's state folder", "the lock at %s is another file than the one handed over", home.Pretty(h.LockPath()))
	}
	if err := flock(lock); err != nil {
		return nil, nil, fmt.Errorf("hold the lock that was handed over: %w", err)
	}
	held, err := named(lock)
	if err != nil {
		return nil, nil, err
	}
	return &Socket{file: sock, path: h.Socket(), id: id}, held, nil
}

// Serving tells the old daemon that this one answers. One that is gone does not matter.
func (l *Legacy) Serving() {
	_ = l.line.send(message{Kind: kindServing})
	_ = l.line.conn.Close()
}

// Refuse tells the old daemon why this one cannot serve. After Serving it does nothing.
func (l *Legacy) Refuse(err error) {
	m := message{Kind: kindRefused, Message: err.Error()}
	if we, ok := errors.AsType[*wire.Error](err); ok {
		m.Message, m.Hint, m.Reason = we.Message, we.Hint, string(we.Reason)
	}
	if len(m.Message) > maxMessage/4 {
		m.Message = m.Message[:maxMessage/4]
	}
	_ = l.line.send(m)
	_ = l.line.conn.Close()
}
