package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Type offers bytes for the agent's terminal, as if they were typed. They are taken whole or refused: RefusedFull when
// more than 64 KiB waits. What the agent does not read within Timing.Deliver is dropped, and a note in the spool says so.
func (l *Link) Type(ctx context.Context, p []byte) error {
	r := WriteRequest(0, "", p, false)
	r.Type = TypeType
	_, err := l.do(ctx, r)
	return err
}

// Typed is Type for what may come twice: p stands at position at, in bytes, of all that is typed under a key of at most
// MaxTypist bytes, and of that the shim takes each byte once, in order. What was skipped is not waited for. It remembers
// the last 64 keys. ErrUnknownRequest means that the shim is too old to tell, and that it has taken nothing of this call.
func (l *Link) Typed(ctx context.Context, key string, at uint64, p []byte) error {
	r := WriteRequest(0, key, p, false)
	r.Type, r.At = TypeTyped, at
	_, err := l.do(ctx, r)
	return err
}

// MaxTypist bounds the key of Typed, in bytes.
const MaxTypist = 64

// Resize sets the size of the agent's terminal. The agent hears of it only when the size differs from the one before.
func (l *Link) Resize(ctx context.Context, s Size) error {
	_, err := l.do(ctx, Request{Type: TypeResize, Size: &s})
	return err
}

// Keep leaves a screen with the shim, drawn from the output up to position at, for the next daemon to begin with. The
// shim keeps one, the newest, in memory.
func (l *Link) Keep(ctx context.Context, at uint64, screen []byte) error {
	_, err := l.do(ctx, Request{Type: TypeKeep, At: at, Bytes: screen})
	return err
}

// A Terminal is the output of an agent's terminal as it comes, on a connection of its own. A reader that falls behind
// by more than the shim keeps is cut off: it dials again, and finds From beyond where it stood.
type Terminal struct {
	From   uint64 // position of the first byte that Read gives
	To     uint64 // how far the output had come when it was asked for
	Screen []byte // left by an earlier daemon; nil for none
	At     uint64 // position up to which that screen was drawn
	conn   net.Conn
	rest   io.Reader
}

// DialTerminal asks the shim at a control socket for the output of its terminal from a position on. ctx bounds the
// dialling only.
func DialTerminal(ctx context.Context, socketPath string, after uint64) (*Terminal, error) {
	conn, err := dial(ctx, socketPath)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	t, err := openTerminal(conn, after)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return t, nil
}

func openTerminal(conn net.Conn, after uint64) (*Terminal, error) {
	line, err := EncodeLine(Request{Type: TypeWatch, At: after})
	if err == nil {
		_, err = conn.Write(line)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLinkClosed, err)
	}
	lines := bufio.NewReaderSize(conn, 4096)
	answer, err := lines.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLinkClosed, err)
	}
	reply, err := decodeReply(answer)
	if err != nil {
		return nil, err
	}
	if reply.Type != TypeWatch || reply.Kept < 0 || reply.Kept > MaxMessage {
		return nil, fmt.Errorf("unexpected answer %q of the shim", reply.Type)
	}
	t := &Terminal{From: reply.N, To: reply.To, At: reply.At, conn: conn, rest: lines}
	if reply.Kept > 0 {
		t.Screen = make([]byte, reply.Kept)
		if _, err := io.ReadFull(lines, t.Screen); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLinkClosed, err)
		}
	}
	return t, nil
}

// Read gives the next bytes of the output; io.EOF when the terminal has ended, or when this reader was cut off.
func (t *Terminal) Read(p []byte) (int, error) { return t.rest.Read(p) }

// Close ends the connection; a Read that waits returns.
func (t *Terminal) Close() error { return t.conn.Close() }
