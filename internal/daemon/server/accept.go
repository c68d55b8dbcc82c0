package server

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"
)

// reserved is how many descriptors are kept to answer with when there are no more (reliability.md section 7).
const reserved = 8

// acceptPause is how long accepting rests when even the reserve did not help.
const acceptPause = 200 * time.Millisecond

// busyFrame is the answer to a connection for which there is no descriptor to keep.
const busyFrame = `{"type":"error","code":"invalid_request","message":"the daemon has no descriptors left for another connection","fatal":false,"reason":"busy","hint":"close other clients, or raise the limit of open files (ulimit -n), and try again"}` + "\n"

// A reserve holds descriptors that are given up one at a time. It belongs to the accepting goroutine.
type reserve struct {
	files []*os.File
	open  func() (*os.File, error)
}

func newReserve() *reserve {
	r := &reserve{open: func() (*os.File, error) { return os.Open(os.DevNull) }}
	r.fill()
	return r
}

// fill takes what there is, and reports whether the reserve is whole.
func (r *reserve) fill() bool {
	for len(r.files) < reserved {
		f, err := r.open()
		if err != nil {
			return false
		}
		r.files = append(r.files, f)
	}
	return true
}

func (r *reserve) give() bool {
	if len(r.files) == 0 {
		return false
	}
	r.files[len(r.files)-1].Close()
	r.files = r.files[:len(r.files)-1]
	return true
}

func (r *reserve) close() {
	for r.give() {
	}
}

// An acceptor takes connections. Out of descriptors, it takes each one with a reserved descriptor, says busy and
// closes it, so the listener neither spins nor leaves clients hanging.
type acceptor struct {
	listener net.Listener
	log      *slog.Logger
	reserve  *reserve
}

func (a *acceptor) accept(ctx context.Context) (net.Conn, error) {
	for {
		conn, err := a.listener.Accept()
		if err == nil {
			a.reserve.fill()
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			if conn := a.refuse(ctx); conn != nil {
				return conn, nil
			}
		case errors.Is(err, syscall.ECONNABORTED):
		default:
			return nil, err
		}
	}
}

// refuse tells the next client that there is no descriptor for it. The kernel wants one before it looks for a client, so
// that may come long after, when there are descriptors again: then its connection is returned.
func (a *acceptor) refuse(ctx context.Context) net.Conn {
	if a.reserve.give() {
		if conn, err := a.listener.Accept(); err == nil {
			if a.reserve.fill() {
				return conn
			}
			_ = conn.SetWriteDeadline(time.Now().Add(acceptPause))
			if _, err := conn.Write([]byte(busyFrame)); err != nil && !errors.Is(err, fs.ErrClosed) {
				a.log.Debug("a refused client did not take its answer", "error", err)
			}
			conn.Close()
			a.log.Warn("no descriptors left, refused a connection")
			a.reserve.fill()
			return nil
		}
	}
	a.log.Warn("no descriptors left, accepting rests")
	timer := time.NewTimer(acceptPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	a.reserve.fill()
	return nil
}
