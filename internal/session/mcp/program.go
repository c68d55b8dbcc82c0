package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"scv/internal/agent"
	"scv/internal/safe/plain"
)

// How a program is ended: its input is closed, and those that do not leave for that are told, then killed.
const (
	leaveGrace = 2 * time.Second
	termGrace  = time.Second
	readGrace  = 5 * time.Second        // for a question that nobody waits for any more
	drain      = 200 * time.Millisecond // for output that something outside of its group holds open
)

// maxComplaint bounds what is kept of a program's standard error, in bytes: the last of it.
const maxComplaint = 2 << 10

// A program is a server that speaks on its standard input and output. It leads a process group of its own.
type program struct {
	cmd  *exec.Cmd
	in   *os.File
	gone chan struct{} // closed when it has left and nobody waits for an answer

	write sync.Mutex // one message at a time

	mu        sync.Mutex
	last      uint64
	waiting   map[uint64]chan agent.RPC
	why       error // it is lost
	complaint []byte
	reaped    bool // its number may soon be another's
}

// start starts a server's program.
func start(s Server) (*program, error) {
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir, cmd.Env = s.Dir, s.Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &program{cmd: cmd, gone: make(chan struct{}), waiting: map[uint64]chan agent.RPC{}}
	var theirs []*os.File
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			if f != nil {
				_ = f.Close() // a pipe that nothing was written to
			}
		}
	}
	inR, inW, err1 := os.Pipe()
	outR, outW, err2 := os.Pipe()
	errR, errW, err3 := os.Pipe()
	theirs = append(theirs, inR, outW, errW)
	err := errors.Join(err1, err2, err3)
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
		err = cmd.Start()
	}
	closeAll(theirs...)
	if err != nil {
		closeAll(inW, outR, errR)
		return nil, fmt.Errorf("%s cannot be started: %w", plain.Line(s.Command[0]), err)
	}
	p.in = inW
	go p.run(outR, errR)
	return p, nil
}

// run reads what the program says until it has left.
func (p *program) run(out, complaints *os.File) {
	defer close(p.gone)
	var reading sync.WaitGroup
	reading.Go(func() { p.read(out) })
	reading.Go(func() { p.complain(complaints) })
	err := p.cmd.Wait()
	p.kill(syscall.SIGKILL) // nothing of it outlives it
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	deadline := time.Now().Add(drain)
	_ = out.SetReadDeadline(deadline) // pipes take one
	_ = complaints.SetReadDeadline(deadline)
	reading.Wait()
	_, _ = out.Close(), complaints.Close() // read to their end
	p.lose(p.left(err))
	_ = p.in.Close() // nobody reads it any more
}

// left is why a program that has left is of no use.
func (p *program) left(err error) error {
	how := "it has left"
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		how = "it ended with " + e.ProcessState.String()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if said := bytes.TrimSpace(p.complaint); len(said) > 0 {
		return fmt.Errorf("%s; it said last: %s", how, plain.Line(string(bytes.ToValidUTF8(said, nil))))
	}
	return errors.New(how)
}

// lose tells all who wait, and whoever asks later. The first reason counts.
func (p *program) lose(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		p.why = why
	}
	for n, answer := range p.waiting {
		delete(p.waiting, n)
		close(answer)
	}
}

// read hands answers to those who wait for them, and refuses what a server asks of us.
func (p *program) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		m, ok := agent.ReadRPC(lines.Bytes())
		switch {
		case !ok: // some print remarks; they are no messages
		case m.Method == "" && m.ID != nil:
			p.answered(m)
		case m.ID != nil:
			_ = p.send(reply(m)) // one that does not read is lost by itself
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.lose(fmt.Errorf("it sent a message of more than %d MiB", maxAnswer>>20))
		p.kill(syscall.SIGKILL)
	}
}

// reply answers a request of a server's: it may ask whether we are there, and nothing else.
func reply(m agent.RPC) []byte {
	if m.Method == "ping" {
		return agent.ResultLine(true, m.ID, object{})
	}
	return agent.ErrorLine(true, m.ID, agent.RPCNoMethod, "SCV offers no such thing")
}

func (p *program) answered(m agent.RPC) {
	n, ok := m.Number()
	p.mu.Lock()
	answer := p.waiting[n]
	if ok {
		delete(p.waiting, n)
	}
	p.mu.Unlock()
	if ok && answer != nil {
		m.Result = bytes.Clone(m.Result) // the line is the scanner's
		answer <- m
	}
}

func (p *program) complain(from io.Reader) {
	part := make([]byte, 1024)
	for {
		n, err := from.Read(part)
		p.mu.Lock()
		p.complaint = append(p.complaint, part[:n]...)
		p.complaint = p.complaint[max(0, len(p.complaint)-maxComplaint):]
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *program) send(line []byte) error {
	p.write.Lock()
	defer p.write.Unlock()
	_, err := p.in.Write(line)
	return err
}

func (p *program) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan agent.RPC, 1)
	p.mu.Lock()
	if p.why != nil {
		p.mu.Unlock()
		return nil, p.why
	}
	p.last++
	n := p.last
	p.waiting[n] = answer
	p.mu.Unlock()
	sent := make(chan error, 1)
	go func() { sent <- p.send(agent.RequestLine(true, n, method, params)) }() // a server may not read
	for {
		select {
		case err := <-sent:
			sent = nil
			if err != nil {
				<-p.ended()
				return nil, p.lostBy(err)
			}
		case m, ok := <-answer:
			if !ok {
				return nil, p.lostBy(errClosed)
			}
			if m.Error != nil {
				return nil, &fault{*m.Error}
			}
			return m.Result, nil
		case <-ctx.Done():
			p.giveUp(n, sent)
			return nil, ctx.Err()
		}
	}
}

// ended ends a program whose input is broken, and is closed when it has left.
func (p *program) ended() <-chan struct{} {
	p.kill(syscall.SIGKILL)
	return p.gone
}

func (p *program) lostBy(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why != nil {
		return p.why
	}
	return err
}

// giveUp tells the server that an answer is no longer wanted. sent is told when the question is written, and nil after
// that. A server that does not read it for some seconds is of no use any more.
func (p *program) giveUp(n uint64, sent <-chan error) {
	p.mu.Lock()
	delete(p.waiting, n)
	p.mu.Unlock()
	go func() { // whoever gave up waits no longer
		if sent != nil {
			timer := time.NewTimer(readGrace)
			defer timer.Stop()
			select {
			case <-sent:
			case <-timer.C:
				p.lose(errors.New("it does not read what it is asked"))
				p.kill(syscall.SIGKILL)
			}
		}
		_ = p.send(agent.NoticeLine(true, "notifications/cancelled", object{"requestId": n, "reason": "not wanted any more"}))
	}()
}

func (p *program) notice(_ context.Context, method string, params any) error {
	return p.send(agent.NoticeLine(true, method, params))
}

func (p *program) agreed(string) {}

// close ends the program and waits until it has left.
func (p *program) close() {
	p.lose(errClosed)
	_ = p.in.Close() // breaks off a write under way
	for _, step := range []struct {
		after  time.Duration
		signal syscall.Signal
	}{{leaveGrace, syscall.SIGTERM}, {termGrace, syscall.SIGKILL}} {
		timer := time.NewTimer(step.after)
		select {
		case <-p.gone:
			timer.Stop()
			return
		case <-timer.C:
			p.kill(step.signal)
		}
	}
	<-p.gone
}

// kill signals the program's group. One that is gone is what is wanted.
func (p *program) kill(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, signal)
	}
}
