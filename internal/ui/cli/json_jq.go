package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"scv/internal/safe/plain"
)

// A filter is the program jq at the end of a command's output: one process for all that the command prints, so that
// following costs no process a line. One goroutine uses it.
type filter struct {
	expr string // of --jq; empty: there is none
	cmd  *exec.Cmd
	in   io.WriteCloser
	said bytes.Buffer // jq's standard error
}

// check refuses --jq where there is no jq.
func (q *filter) check() error {
	if q.expr == "" {
		return nil
	}
	if _, err := exec.LookPath("jq"); err != nil {
		return &fault{code: exitFailed, message: "--jq needs the program jq, which is not in PATH", next: "install jq, or pick fields: --json=a,b   or: --template '{a} {b}'"}
	}
	return nil
}

// write gives jq one line of JSON.
func (q *filter) write(out io.Writer, line []byte) error {
	if q.cmd == nil {
		// Texts come as they are, which is what a script wants; what a terminal could act on is escaped again behind it.
		q.cmd = exec.Command("jq", "--raw-output", "--compact-output", "--unbuffered", q.expr)
		q.cmd.Stdout, q.cmd.Stderr = &escaper{out: out}, &q.said
		in, err := q.cmd.StdinPipe()
		if err == nil {
			err = q.cmd.Start()
		}
		if err != nil {
			return fmt.Errorf("start jq: %w", err)
		}
		q.in = in
	}
	_, err := q.in.Write(line)
	return err
}

// finish waits for jq and returns the command's error, or why jq refused.
func (q *filter) finish(err error) error {
	if q.cmd == nil {
		return err
	}
	closed := q.in.Close()
	ended := q.cmd.Wait()
	if e, ok := errors.AsType[*exec.ExitError](ended); ok {
		if e.ExitCode() > 0 {
			return usage("try the expression on: --json", "jq refused %q: %s", q.expr, firstLine(q.said.String()))
		}
		return err // it was interrupted, as this command was
	}
	return errors.Join(err, closed, ended)
}

// An escaper writes whole lines with what a terminal could act on as \u escapes.
type escaper struct {
	out  io.Writer
	rest []byte
}

// Write keeps the part behind the last line feed for the next call: jq ends each of its values with one.
func (e *escaper) Write(p []byte) (int, error) {
	e.rest = append(e.rest, p...)
	end := bytes.LastIndexByte(e.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	var b bytes.Buffer
	for _, r := range string(e.rest[:end]) {
		if r < ' ' && r != '\n' && r != '\t' || unsafe(r) {
			b.Write(escapeRune(nil, r))
		} else {
			b.WriteRune(r)
		}
	}
	e.rest = e.rest[end:]
	if _, err := e.out.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func unsafe(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029 || plain.Hidden(r)
}
