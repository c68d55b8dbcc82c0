package shim

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"scv/internal/failpoint"
	"scv/internal/run/control"
	"scv/internal/run/spool"
)

const (
	readBuffer = 16 << 10 // bytes of one read, and so of one frame of output
	pipeBytes  = 1 << 20  // the most a pipe holds
	maxQueued  = 16 << 20 // bytes that may wait for an agent that does not read
	maxTyped   = 64 << 10 // likewise, of a terminal
)

// output copies one stream of the agent into the spool.
type output struct {
	stream  string
	kind    spool.Kind
	r       *os.File
	j       *journal
	flushed chan struct{} // closed when everything that the agent itself wrote is in the spool

	exited bool      // guarded by j.mu: the agent was waited for
	until  time.Time // guarded by j.mu: when to stop reading what others still write
}

func newOutput(stream string, kind spool.Kind, r *os.File, j *journal) *output {
	return &output{stream: stream, kind: kind, r: r, j: j, flushed: make(chan struct{})}
}

// agentExited wakes the copy: what stands in the pipe now is the rest of what the agent wrote.
func (o *output) agentExited(until time.Time) {
	o.j.locked(func() {
		_ = o.r.SetReadDeadline(time.Unix(1, 0)) // before the flag, so that it cannot undo the later deadline
		o.exited, o.until = true, until
	})
}

// run copies until the stream ends, or until the agent is gone and the wait for what it left is over.
func (o *output) run() {
	buf := make([]byte, readBuffer)
	ended := o.live(buf)
	cut := false
	if !ended {
		ended = o.flush(buf)
	}
	close(o.flushed)
	if !ended {
		cut = o.drain(buf)
	}
	_ = o.r.Close()
	o.j.note(spool.Note{EOF: &spool.EOF{Stream: o.stream, Cut: cut}})
}

func (o *output) whole() <-chan struct{} { return o.flushed }

func (o *output) over() bool { return o.exited }

// live copies while the agent lives and reports whether the stream ended before it did.
func (o *output) live(buf []byte) (ended bool) {
	for o.j.awaitRoom(o.over) {
		n, err := o.r.Read(buf)
		if n > 0 {
			o.j.must(o.kind, buf[:n])
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return true
		}
	}
	return false
}

// flush takes what the pipe holds without waiting, at most what a pipe can hold: the agent's own bytes are among
// them. It goes beyond the backlog's bound, since the agent writes no more.
func (o *output) flush(buf []byte) (ended bool) {
	conn, err := o.r.SyscallConn()
	if err != nil {
		return true
	}
	for taken := 0; taken < pipeBytes; {
		var n int
		var readErr error
		err := conn.Control(func(fd uintptr) {
			for {
				if n, readErr = syscall.Read(int(fd), buf); !errors.Is(readErr, syscall.EINTR) {
					return
				}
			}
		})
		if errors.Is(readErr, syscall.EAGAIN) {
			return false
		}
		if err != nil || readErr != nil || n == 0 {
			return true
		}
		taken += n
		o.j.must(o.kind, buf[:n])
	}
	return false
}

// drain copies what processes left behind still write, until they close the stream or time is up, and reports
// whether it was cut off. A full backlog cuts it too.
func (o *output) drain(buf []byte) (cut bool) {
	var until time.Time
	full := false
	o.j.locked(func() { until, full = o.until, o.j.backlog.size >= o.j.timing.Unfolded })
	if full || o.r.SetReadDeadline(until) != nil {
		return true
	}
	for {
		n, err := o.r.Read(buf)
		if n > 0 {
			o.j.must(o.kind, buf[:n])
			o.j.locked(func() { full = o.j.backlog.size >= o.j.timing.Unfolded })
		}
		switch {
		case full, errors.Is(err, os.ErrDeadlineExceeded):
			return true
		case err != nil:
			return false
		}
	}
}

// input writes accepted messages to the agent, in a goroutine of its own: a pipe that is full stops nobody else.
type input struct {
	w        *os.File // nil: the agent has no input
	j        *journal
	errs     *complaints
	wake     chan struct{} // one slot
	most     int           // bytes that may wait
	patience time.Duration // until what is not read is dropped; 0: never

	mu     sync.Mutex
	queue  [][]byte
	size   int
	ending bool // close after the queue
	closed bool
}

func newInput(w *os.File, j *journal, errs *complaints) *input {
	return &input{w: w, j: j, errs: errs, wake: make(chan struct{}, 1), most: maxQueued, closed: w == nil}
}

// refusal tells why n further bytes are not taken, with empty words when they are.
func (in *input) refusal(n int) (control.Refusal, string) {
	if in == nil {
		return control.RefusedClosed, "the agent was not started"
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed || in.ending:
		return control.RefusedClosed, errInputShut.Error()
	case in.size > 0 && in.size+n > in.most:
		return control.RefusedFull, "the agent does not read its input"
	default:
		return "", ""
	}
}

// add queues bytes that were accepted.
func (in *input) add(p []byte, eof bool) {
	in.mu.Lock()
	if len(p) > 0 {
		in.queue = append(in.queue, p)
		in.size += len(p)
	}
	in.ending = in.ending || eof
	in.mu.Unlock()
	in.nudge()
}

func (in *input) nudge() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// drop forgets what waits and returns how much that was, in bytes.
func (in *input) drop() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := in.size
	in.queue, in.size = nil, 0
	return n
}

// shut closes the agent's input now; what waits for it is dropped.
func (in *input) shut() {
	in.mu.Lock()
	first := !in.closed
	in.closed, in.queue, in.size = true, nil, 0
	in.mu.Unlock()
	if first && in.w != nil {
		_ = in.w.Close()
	}
	in.nudge()
}

// run writes until the input is closed.
func (in *input) run() {
	for {
		p, more := in.next()
		if !more {
			return
		}
		if p == nil {
			<-in.wake
			continue
		}
		if in.patience > 0 {
			_ = in.w.SetWriteDeadline(time.Now().Add(in.patience))
		}
		n := 0
		err := failpoint.Do(failpoint.InputWrite, func() (err error) {
			n, err = in.w.Write(p)
			return err
		})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			in.j.note(spool.Note{Undelivered: &spool.Undelivered{Bytes: len(p) - n + in.drop()}})
			continue
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrClosed) {
			in.j.note(spool.Note{Stdin: &spool.Stdin{Error: inputError(err)}})
		}
		in.shut()
		return
	}
}

// next is what to write now: nil when nothing waits, false when the input is closed.
func (in *input) next() ([]byte, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return nil, false
	}
	if len(in.queue) == 0 {
		if in.ending {
			in.closed = true
			_ = in.w.Close()
			return nil, false
		}
		return nil, true
	}
	p := in.queue[0]
	in.queue = in.queue[1:]
	in.size -= len(p)
	return p, true
}
