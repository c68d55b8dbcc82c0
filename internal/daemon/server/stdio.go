package server

import (
	"net"
	"os"
	"time"
)

// Stdio is a connection to the one client of a process, over its standard input and output.
func Stdio(in, out *os.File) net.Conn { return stdio{in, out} }

// stdio is a connection over two files. Deadlines work on pipes; a file that knows none is read without.
type stdio struct{ in, out *os.File }

func (s stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s stdio) Write(p []byte) (int, error) { return s.out.Write(p) }

// Close ends both directions.
func (s stdio) Close() error {
	_ = s.in.Close() // a reader that waits comes back
	return s.out.Close()
}

func (s stdio) LocalAddr() net.Addr  { return &net.UnixAddr{Name: "stdio"} }
func (s stdio) RemoteAddr() net.Addr { return &net.UnixAddr{Name: "stdio"} }

func (s stdio) SetDeadline(t time.Time) error {
	_ = s.SetReadDeadline(t)
	return s.SetWriteDeadline(t)
}

// SetReadDeadline does nothing to a file that has none, such as one on disk: its reads come back at once.
func (s stdio) SetReadDeadline(t time.Time) error {
	_ = s.in.SetReadDeadline(t)
	return nil
}

// SetWriteDeadline is like SetReadDeadline.
func (s stdio) SetWriteDeadline(t time.Time) error {
	_ = s.out.SetWriteDeadline(t)
	return nil
}
