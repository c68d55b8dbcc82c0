package seat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// version of the messages between two daemons. It is additive: who reads ignores what it does not know.
const version = 1

// Kinds of messages, in the order of a handover.
const (
	kindHello   = "hello"   // old: who hands over
	kindReady   = "ready"   // new: it could serve this home
	kindGo      = "go"      // old: with the descriptors of socket and lock; the ledger is closed
	kindServing = "serving" // new: it does
	kindRefused = "refused" // new: why it cannot
)

// maxMessage bounds a message, in bytes.
const maxMessage = 16 << 10

// A message is one line of JSON.
type message struct {
	Kind    string `json:"t"`
	V       int    `json:"v,omitzero"`
	Version string `json:"version,omitempty"` // release of who speaks
	Message string `json:"message,omitempty"` // of refused: a sentence
	Hint    string `json:"hint,omitempty"`    // of refused: what to do
	Reason  string `json:"reason,omitempty"`  // of refused: a word of the wire
}

// errBadMessage says that who is at the other end speaks something else.
var errBadMessage = errors.New("what came is no message of a handover")

// A line is one end of the socket pair. It serves one goroutine.
type line struct{ conn *net.UnixConn }

// newLine makes a line of a descriptor, which it closes.
func newLine(fd int) (line, error) {
	file := os.NewFile(uintptr(fd), "handover")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return line{}, fmt.Errorf("open the handover's line: %w", err)
	}
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return line{}, errors.New("open the handover's line: not a unix socket")
	}
	return line{uc}, nil
}

// send writes a message, with descriptors beside it.
func (l line) send(m message, fds ...int) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_, _, err = l.conn.WriteMsgUnix(append(data, '\n'), oob, nil)
	return err
}

// receive waits for a message until the deadline (zero: none) or the end of ctx. The end of the other side is io.EOF.
func (l line) receive(ctx context.Context, deadline time.Time) (m message, fds []int, err error) {
	if err := l.conn.SetReadDeadline(deadline); err != nil {
		return m, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(4*4))
	n := 0
	for n == 0 || buf[n-1] != '\n' {
		if n == len(buf) {
			return m, nil, errors.Join(errBadMessage, closeAll(fds))
		}
		got, gotOOB, _, _, err := l.conn.ReadMsgUnix(buf[n:], oob)
		if err != nil {
			return m, nil, errors.Join(err, closeAll(fds))
		}
		if got == 0 {
			return m, nil, errors.Join(io.EOF, closeAll(fds))
		}
		n += got
		fds = append(fds, rights(oob[:gotOOB])...)
	}
	if json.Unmarshal(bytes.TrimSpace(buf[:n]), &m) != nil || m.Kind == "" {
		return m, nil, errors.Join(errBadMessage, closeAll(fds))
	}
	return m, fds, nil
}

// rights are the descriptors of a control message; the kernel has set close-on-exec.
func rights(oob []byte) (fds []int) {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range list {
		if got, err := unix.ParseUnixRights(&list[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return fds
}

func closeAll(fds []int) error {
	var err error
	for _, fd := range fds {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}

// descriptor reads the number of a file's descriptor without changing how it blocks. The file stays open as long as the
// caller holds it.
func descriptor(f *os.File) (fd int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	err = raw.Control(func(n uintptr) { fd = int(n) })
	return fd, err
}
