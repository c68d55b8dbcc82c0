package shim

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"scv/internal/run/control"
	"scv/internal/run/proc"
)

const (
	ringBytes = 1 << 20 // of the newest output that is kept (design.md section 6)
	maxKept   = 4 << 20 // bytes of a kept screen
	sliceMost = 32 << 10
)

// terminal is the master side of the agent's terminal. It is always read, whoever looks or not: an agent whose terminal
// is full stands still. The newest output and the last screen that a daemon left are in memory only, since nothing has
// masked them.
type terminal struct {
	master *os.File
	in     *input
	taken  chan struct{} // closed when all that the agent wrote was taken
	typed  typists

	mu    sync.Mutex
	more  sync.Cond // on mu: there is output, the end, or a watcher less
	ring  []byte
	next  uint64 // bytes put out so far: the position behind the ring
	ended bool
	kept  []byte
	at    uint64 // position of the kept screen
	size  control.Size
}

func newTerminal(master *os.File, size control.Size) *terminal {
	t := &terminal{master: master, size: size, taken: make(chan struct{})}
	t.more.L = &t.mu
	return t
}

// makeTerminal opens a terminal. The master side does not block, so that a deadline and a close end a write to an agent
// that does not read (terminal.md section 8).
func makeTerminal(spec *control.Spec) (ours pipes, theirs [3]*os.File, err error) {
	master, slave, err := pty.Open()
	if err != nil {
		return pipes{}, theirs, err
	}
	defer func() {
		err = errors.Join(err, master.Close())
		if err != nil {
			ours.close()
			_ = slave.Close()
		}
	}()
	if err := errors.Join(setSize(slave, *spec.Terminal), proc.TerminalModes(slave)); err != nil {
		return pipes{}, theirs, err
	}
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return pipes{}, theirs, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return pipes{}, theirs, errors.Join(err, unix.Close(fd))
	}
	ours.in = os.NewFile(uintptr(fd), "terminal")
	return ours, [3]*os.File{slave, slave, slave}, nil
}

func setSize(f *os.File, s control.Size) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = conn.Control(func(fd uintptr) {
		set = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Cols})
	})
	return errors.Join(err, set)
}

// run takes the output until the terminal ends: an error is what the end looks like.
func (t *terminal) run() {
	buf := make([]byte, readBuffer)
	for {
		n, err := t.master.Read(buf)
		t.add(buf[:n])
		if err != nil {
			break
		}
	}
	t.mu.Lock()
	t.ended = true
	t.more.Broadcast()
	t.mu.Unlock()
	close(t.taken)
}

func (t *terminal) whole() <-chan struct{} { return t.taken }

// agentExited bounds the wait for those that still hold the terminal open.
func (t *terminal) agentExited(until time.Time) { _ = t.master.SetReadDeadline(until) }

func (t *terminal) add(p []byte) {
	if len(p) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring = append(t.ring, p...)
	t.next += uint64(len(p))
	if over := len(t.ring) - ringBytes; over > ringBytes/4 { // seldom, so that little is moved
		t.ring = t.ring[:copy(t.ring, t.ring[over:])]
	}
	t.more.Broadcast()
}

// first is the position of the oldest byte in the ring.
func (t *terminal) first() uint64 { return t.next - uint64(len(t.ring)) }

// watch makes a connection the stream of the output from a position on: after the reply comes the kept screen, then
// bytes from Reply.N on until the end. A position that is gone, or lies ahead, is answered by what there is.
func (t *terminal) watch(c *connection, at uint64) reply {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at < t.first() || at > t.next {
		at = t.first()
	}
	kept := t.kept
	return reply{
		Reply: control.Reply{Type: control.TypeWatch, N: at, At: t.at, To: t.next, Kept: len(kept)},
		then: func() {
			c.r.owed.add(1) // so that the end of the run waits a moment for what is on its way
			defer c.r.owed.add(-1)
			go func() {
				<-c.left
				t.mu.Lock()
				t.more.Broadcast()
				t.mu.Unlock()
			}()
			if _, err := c.conn.Write(kept); err == nil {
				t.stream(c, at)
			}
		},
	}
}

// stream writes what comes. Who is so slow that the ring passed him is cut off, and finds out by dialling again.
func (t *terminal) stream(c *connection, at uint64) {
	buf := make([]byte, 0, sliceMost)
	for {
		t.mu.Lock()
		for at == t.next && !t.ended && !closed(c.left) {
			t.more.Wait()
		}
		first := t.first()
		if at < first || at == t.next || closed(c.left) {
			t.mu.Unlock()
			return
		}
		buf = append(buf[:0], t.ring[at-first:][:min(sliceMost, t.next-at)]...)
		t.mu.Unlock()
		if _, err := c.conn.Write(buf); err != nil {
			return
		}
		at += uint64(len(buf))
	}
}

// answer serves the requests that only a run with a terminal knows.
func (t *terminal) answer(q *control.Request) control.Reply {
	if t == nil {
		return refuse(control.RefusedBad, "this run has no terminal")
	}
	switch q.Type {
	case control.TypeType:
		return t.write(q.Payload())
	case control.TypeTyped:
		return t.typed.take(q, t.write)
	case control.TypeResize:
		return t.resize(q.Size)
	default:
		return t.keep(q)
	}
}

// write takes what was typed whole, or refuses it.
func (t *terminal) write(p []byte) control.Reply {
	if class, text := t.in.refusal(len(p)); class != "" {
		return refuse(class, text)
	}
	if len(p) > maxTyped {
		return refuse(control.RefusedFull, "more was typed at once than a terminal takes")
	}
	t.in.add(p, false)
	return control.Reply{Type: control.TypeOK}
}

func (t *terminal) resize(s *control.Size) control.Reply {
	if s == nil || s.Cols == 0 || s.Rows == 0 {
		return refuse(control.RefusedBad, "a size needs columns and rows")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := setSize(t.master, *s); err != nil {
		return refuse(control.RefusedClosed, err.Error())
	}
	t.size = *s
	return control.Reply{Type: control.TypeOK}
}

// keep takes a screen that a daemon leaves for the next one; an older one than what is there is not wanted.
func (t *terminal) keep(q *control.Request) control.Reply {
	p := q.Payload()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) > maxKept || q.At > t.next {
		return refuse(control.RefusedBad, "the screen is too large, or of a time to come")
	}
	if q.At >= t.at {
		t.kept, t.at = p, q.At
	}
	return control.Reply{Type: control.TypeOK}
}

func (t *terminal) fill(h *control.Hello) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	size := t.size
	h.Size, h.Output = &size, t.next
}

// hangUp tells the group in the foreground, when it is another than the agent's, that the terminal goes away.
func (t *terminal) hangUp(agent int) error {
	conn, err := t.master.SyscallConn()
	if err != nil {
		return nil // it is closed: the kernel has hung up
	}
	group := 0
	err = conn.Control(func(fd uintptr) { group, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	if err != nil || group <= 1 || group == agent {
		return nil
	}
	if err := syscall.Kill(-group, syscall.SIGHUP); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
