package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"scv/internal/failpoint"
	"scv/internal/run/control"
)

// connection is one daemon. Its requests are answered in order; a daemon that does not read delays itself only.
type connection struct {
	r       *run
	conn    *net.UnixConn
	replies chan reply
	wake    chan struct{} // one slot: frames were appended
	gone    chan struct{} // closed when write has ended
	left    chan struct{} // closed when the daemon has left
}

// reply is an answer and what the connection is used for after it; nil for further requests.
type reply struct {
	control.Reply
	then func()
}

// read answers requests until the connection ends.
func (c *connection) read() {
	defer func() {
		c.r.journal.unwatch(c.wake)
		close(c.left)
		close(c.replies)
	}()
	lines := bufio.NewReaderSize(c.conn, 4096)
	for {
		line, err := readLine(lines)
		if err != nil {
			return
		}
		c.r.owed.add(1) // before it is answered: what it sets off may end this process
		var request control.Request
		var a reply
		if err := json.Unmarshal(line, &request); err != nil {
			a.Reply = refuse(control.RefusedBad, "not a request: "+err.Error())
		} else if request.Type == control.TypeWatch && c.r.terminal != nil {
			a = c.r.terminal.watch(c, request.At)
		} else {
			a.Reply = c.answer(&request)
		}
		select {
		case c.replies <- a:
		case <-c.gone:
			c.r.owed.add(-1)
			return
		}
	}
}

// readLine returns one line of at most control.MaxLine bytes; its memory is let go with it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == nil && long == nil {
			return part, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(long)+len(part) > control.MaxLine {
			return nil, io.ErrShortBuffer
		}
		long = append(long, part...)
		if err == nil {
			return long, nil
		}
	}
}

// write sends replies and nudges; of nudges at most one waits.
func (c *connection) write() {
	defer func() {
		close(c.gone)
		_ = c.conn.Close()
	}()
	for {
		select {
		case a, open := <-c.replies:
			if !open {
				return
			}
			err := c.send(a.Reply)
			c.r.owed.add(-1)
			if err != nil {
				return
			}
			if a.then != nil {
				a.then()
				return
			}
		case <-c.wake:
			if c.send(control.Reply{Type: control.TypeNudge}) != nil {
				return
			}
		}
	}
}

func (c *connection) send(reply control.Reply) error {
	line, err := control.EncodeLine(reply)
	if err != nil {
		return err
	}
	return failpoint.Do(failpoint.ControlReply, func() error {
		_, err := c.conn.Write(line)
		return err
	})
}

// replyGrace is how long the end of a run waits for daemons to take their replies.
const replyGrace = 200 * time.Millisecond

// owed counts requests whose reply is not written yet.
type owed struct {
	mu   sync.Mutex
	none sync.Cond // on mu
	n    int
	late bool
}

func (o *owed) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n += n; o.n == 0 {
		o.none.Broadcast()
	}
}

// settle returns when nothing is owed, or after a while.
func (o *owed) settle(limit time.Duration) {
	timer := time.AfterFunc(limit, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.late = true
		o.none.Broadcast()
	})
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.n > 0 && !o.late {
		o.none.Wait()
	}
}

func (c *connection) answer(q *control.Request) control.Reply {
	switch q.Type {
	case control.TypeHello:
		if q.Run != c.r.spec.Run {
			return refuse(control.RefusedBad, "this is run "+c.r.spec.Run)
		}
		c.r.journal.watch(c.wake) // before it is asked for the last frame: what comes later wakes
		return c.r.hello(control.TypeHello)
	case control.TypeStatus:
		return c.r.hello(control.TypeStatus)
	case control.TypeWrite:
		return c.r.journal.message(q)
	case control.TypeFolded:
		c.r.journal.folded(q.Seq)
		return control.Reply{Type: control.TypeOK}
	case control.TypeStop:
		if !c.r.ladder.request(q.Step) {
			return refuse(control.RefusedBad, "there is no such stop step")
		}
		return control.Reply{Type: control.TypeOK}
	case control.TypeLook:
		return c.r.ports.look(c.r.journal)
	case control.TypeType, control.TypeTyped, control.TypeResize, control.TypeKeep:
		return c.r.terminal.answer(q)
	default:
		return control.Reply{Type: control.TypeUnknown, What: q.Type[:min(len(q.Type), 64)]}
	}
}

func (r *run) hello(kind string) control.Reply {
	h := &control.Hello{
		Version: control.Protocol, Run: r.spec.Run, PID: r.self.PID, Start: r.self.Start, Agent: r.agent.id.PID,
		Exited: r.agent.gone(), Step: r.ladder.taken(),
	}
	r.journal.fill(h)
	r.terminal.fill(h)
	return control.Reply{Type: kind, N: h.Last, Hello: h}
}

func (a *agent) gone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reaped
}
