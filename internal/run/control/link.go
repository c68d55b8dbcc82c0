package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"scv/internal/failpoint"
)

// Verdict is a shim's answer to a message.
type Verdict string

// The answers to Write. After Stale or Done: fold to the end and decide again.
const (
	VerdictOK    Verdict = "ok"    // it is in the spool now and will be written to the agent
	VerdictDone  Verdict = "done"  // a message with this key is in the spool since earlier
	VerdictStale Verdict = "stale" // the number is not last+1: another message is in between
)

// Result is the answer to Write with the number it speaks of: the message's own (ok, done) or the last one (stale).
type Result struct {
	Verdict Verdict
	N       uint64
}

var (
	// ErrLinkClosed says that the connection ended. It does not say that the shim did: dial again, and ask Probe.
	ErrLinkClosed = errors.New("the connection to the shim is closed")
	// ErrUnknownRequest says that the shim is of an older version and does not know the request.
	ErrUnknownRequest = errors.New("the shim does not know this request")
	// ErrNonsense says that the shim answered what no shim says. Whether it lives is told by Probe all the same.
	ErrNonsense = errors.New("an answer of the shim makes no sense")
	// ErrWrongShim says that who answers is not the shim of this run.
	ErrWrongShim = errors.New("another shim answers at this socket")
)

// Link is a daemon's connection to one shim. Calls may come from several goroutines and are done one after the
// other; each ends with its context, which then also ends the link, since a late answer would be taken for another's.
type Link struct {
	conn    *net.UnixConn
	call    sync.Mutex
	replies chan Reply
	nudges  chan struct{}
	closed  chan struct{}
	reading sync.WaitGroup
	odd     error // what ended it, when that makes no sense; read after closed
}

// Dial connects to the control socket of a shim and checks that the process there is the same user's.
func Dial(ctx context.Context, socketPath string) (*Link, error) {
	conn, err := dial(ctx, socketPath)
	if err != nil {
		return nil, err
	}
	l := &Link{
		conn: conn, replies: make(chan Reply, 1), nudges: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	l.reading.Go(l.read)
	return l, nil
}

func dial(ctx context.Context, socketPath string) (*net.UnixConn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socketPath)
	if err != nil {
		return nil, fmt.Errorf("dial shim: %w", err)
	}
	conn, isUnix := c.(*net.UnixConn)
	if !isUnix {
		return nil, errors.Join(errors.New("dial shim: not a unix socket"), c.Close())
	}
	uid, err := PeerUID(conn)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("dial shim: it runs as user %d", uid)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// read takes lines from the shim until the connection ends.
func (l *Link) read() {
	defer close(l.closed)
	defer func() { _ = l.conn.Close() }()
	lines := bufio.NewReaderSize(l.conn, 4096)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			l.odd = fmt.Errorf("%w: a line of more than %d bytes", ErrNonsense, lines.Size())
		}
		if err != nil {
			return
		}
		var reply Reply
		if err := json.Unmarshal(line, &reply); err != nil {
			l.odd = fmt.Errorf("%w: %w", ErrNonsense, err)
			return
		}
		if reply.Type == TypeNudge {
			select {
			case l.nudges <- struct{}{}:
			default:
			}
			continue
		}
		select {
		case l.replies <- reply:
		default:
			l.odd = fmt.Errorf("%w: it was not asked", ErrNonsense)
			return
		}
	}
}

// Nudges gets a value when frames were appended since the last one was taken. It has room for one, so a reader who
// folds to the end after each misses nothing.
func (l *Link) Nudges() <-chan struct{} { return l.nudges }

// Closed is closed when the connection has ended, whoever ended it.
func (l *Link) Closed() <-chan struct{} { return l.closed }

// Close ends the connection and returns when its goroutine has ended.
func (l *Link) Close() error {
	err := l.conn.Close()
	l.reading.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Hello makes the shim say who it is and start its nudges. A shim of another run is ErrWrongShim; one of a version that
// this program does not speak is a *NewerError or an error that names both numbers, and nothing else may be asked of it.
func (l *Link) Hello(ctx context.Context, run string) (Hello, error) {
	h, err := l.ask(ctx, Request{Type: TypeHello, Version: Protocol, Run: run})
	switch {
	case err != nil:
		return h, err
	case h.Run != run:
		return Hello{}, fmt.Errorf("%w: it serves %q", ErrWrongShim, h.Run)
	case h.Version > Protocol:
		return Hello{}, &NewerError{"the shim", h.Version, Protocol}
	case h.Version < oldest:
		return Hello{}, fmt.Errorf("the shim is of version %d, and this program speaks %d and later", h.Version, oldest)
	}
	return h, nil
}

// Status asks the same as Hello and starts nothing.
func (l *Link) Status(ctx context.Context) (Hello, error) {
	return l.ask(ctx, Request{Type: TypeStatus})
}

func (l *Link) ask(ctx context.Context, r Request) (Hello, error) {
	reply, err := l.do(ctx, r)
	if err != nil {
		return Hello{}, err
	}
	if reply.Hello == nil {
		return Hello{}, fmt.Errorf("%w: %q", ErrNonsense, reply.Type)
	}
	h := *reply.Hello
	h.Last = reply.N
	return h, nil
}

// Write offers message number n with its key for the agent's standard input; eof closes that input after it. A
// RefusedError means that nothing was written; any other error that it is not known.
func (l *Link) Write(ctx context.Context, n uint64, key string, data []byte, eof bool) (Result, error) {
	if len(data) > MaxMessage {
		return Result{}, &RefusedError{Class: RefusedBad, Text: fmt.Sprintf("it has %d bytes, the most is %d", len(data), MaxMessage)}
	}
	reply, err := l.do(ctx, WriteRequest(n, key, data, eof))
	if err != nil {
		return Result{}, err
	}
	switch v := Verdict(reply.Type); v {
	case VerdictOK, VerdictDone, VerdictStale:
		return Result{Verdict: v, N: reply.N}, nil
	default:
		return Result{}, fmt.Errorf("%w: %q", ErrNonsense, reply.Type)
	}
}

// Folded tells the shim that all frames up to seq are folded, so that it goes on reading the agent's output when
// too much was waiting. Call it after segments were deleted.
func (l *Link) Folded(ctx context.Context, seq uint64) error {
	_, err := l.do(ctx, Request{Type: TypeFolded, Seq: seq})
	return err
}

// Stop makes the shim end the run by the ladder from step on (empty = StepInterrupt). It returns when the shim has
// taken it on, not when the run has ended.
func (l *Link) Stop(ctx context.Context, step Step) error {
	_, err := l.do(ctx, Request{Type: TypeStop, Step: step})
	return err
}

// Look makes the shim note in the spool where processes of the run newly wait for connections. A shim of an older release
// does not know how: ErrUnknownRequest.
func (l *Link) Look(ctx context.Context) error {
	_, err := l.do(ctx, Request{Type: TypeLook})
	return err
}

func (l *Link) do(ctx context.Context, r Request) (Reply, error) {
	line, err := EncodeLine(r)
	if err != nil {
		return Reply{}, err
	}
	l.call.Lock()
	defer l.call.Unlock()
	select {
	case <-l.closed:
		return Reply{}, l.ended()
	default:
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	send := func() error {
		_, err := l.conn.Write(line)
		return err
	}
	if err := failpoint.Do(failpoint.ControlSend, send); err != nil {
		_ = l.conn.Close()
		if ctx.Err() != nil {
			return Reply{}, ctx.Err()
		}
		return Reply{}, fmt.Errorf("%w: %w", ErrLinkClosed, err)
	}
	select {
	case reply := <-l.replies:
		return reply, replyError(reply)
	case <-l.closed:
		select {
		case reply := <-l.replies: // it came just before the end
			return reply, replyError(reply)
		default:
			return Reply{}, l.ended()
		}
	case <-ctx.Done():
		_ = l.conn.Close()
		return Reply{}, ctx.Err()
	}
}

// ended is the error of a link that is closed.
func (l *Link) ended() error {
	if l.odd != nil {
		return l.odd
	}
	return ErrLinkClosed
}

// Odd is what the shim said that makes no sense and ended the link; nil when it ended otherwise. It may be asked once
// Closed is closed.
func (l *Link) Odd() error { return l.odd }

// decodeReply reads one answer; a refusal is an error.
func decodeReply(line []byte) (Reply, error) {
	var r Reply
	if err := json.Unmarshal(line, &r); err != nil {
		return Reply{}, fmt.Errorf("%w: %w", ErrNonsense, err)
	}
	return r, replyError(r)
}

func replyError(r Reply) error {
	switch r.Type {
	case TypeUnknown:
		return fmt.Errorf("%w: %q", ErrUnknownRequest, r.What)
	case TypeError:
		return &RefusedError{Class: Refusal(r.Class), Text: r.Error}
	default:
		return nil
	}
}
