//go:build ignore

package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

//go:embed xterm.mjs
var driver string

// A node is xterm.js in a process of its own, which is started anew after a stream that ended it.
type node struct {
	dir string
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// errDied says that xterm.js did not survive a stream.
var errDied = errors.New("xterm.js did not survive this")

func startNode(dir string) (*node, error) {
	n := &node{dir: dir}
	return n, n.start()
}

func (n *node) start() error {
	// The driver reads its argument 2, as one in a file does; with -e arguments begin at 1.
	cmd := exec.Command("node", "--input-type=module", "-e", driver, "--", "-", n.dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start node: %w", err)
	}
	n.in, n.out, n.cmd = in, bufio.NewReaderSize(out, 1<<20), cmd
	return nil
}

func (n *node) stop() {
	_ = n.in.Close()
	_ = n.cmd.Wait() // it ends with its input
}

func (n *node) rival() rival {
	return rival{name: "xterm.js headless 6.0.0", elsewhere: true, make: func(cols, rows int) (emulator, error) {
		return &recorder{cols: cols, rows: rows, play: n.play}, nil
	}}
}

// play has xterm.js show steps on a fresh terminal.
func (n *node) play(cols, rows int, steps []step) (s shown, err error) {
	ask, err := json.Marshal(map[string]any{"cols": cols, "rows": rows, "steps": steps})
	if err == nil {
		_, err = n.in.Write(append(ask, '\n'))
	}
	if err != nil {
		return s, fmt.Errorf("ask xterm.js: %w", err)
	}
	line, err := n.out.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		n.stop()
		return s, errors.Join(errDied, n.start())
	}
	if err != nil {
		return s, fmt.Errorf("xterm.js does not answer: %w", err)
	}
	return s, json.Unmarshal(line, &s)
}

// A recorder takes steps down for a terminal in another process, and plays them when it is looked at.
type recorder struct {
	cols, rows int
	steps      []step
	play       func(cols, rows int, steps []step) (shown, error)
}

type step struct {
	Input  []byte `json:"input,omitempty"`
	Resize []int  `json:"resize,omitempty"`
}

func (r *recorder) Write(p []byte) (int, error) {
	r.steps = append(r.steps, step{Input: append([]byte(nil), p...)})
	return len(p), nil
}

func (r *recorder) Resize(cols, rows int) { r.steps = append(r.steps, step{Resize: []int{cols, rows}}) }

func (r *recorder) Show() shown {
	s, err := r.play(r.cols, r.rows, r.steps)
	if err != nil {
		panic(err)
	}
	return s
}
