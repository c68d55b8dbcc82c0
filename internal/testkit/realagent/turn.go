package realagent

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"scv/internal/agent"
)

// A Turn is one prompt for a real agent.
type Turn struct {
	Prompt       string
	Session      string
	NewID        string
	Mode         agent.Mode
	Model        string
	Args         []string           // put before what the dialect adds
	During       func(t testing.TB) // called once, when the fake model has had its first request
	DuringSignal syscall.Signal     // sent to the agent after that
	OutSignal    syscall.Signal     // sent when a line of its output holds OutHolds
	OutHolds     string
	Extra        map[string]string // further environment
}

// Run starts the agent as its dialect plans it, writes what the dialect wants written and returns what passed. It has
// no time limit but the test's.
func (a *Agent) Run(t testing.TB, turn Turn) Recording {
	t.Helper()
	dialect := a.Kind.New(agent.Settings{Command: a.Path, Model: turn.Model, Args: turn.Args})
	wish := agent.Turn{
		Number: 1, Key: "turn:1", Prompt: turn.Prompt, Session: turn.Session, NewID: turn.NewID, Mode: turn.Mode,
		Run: "real-000001", RunDir: a.Dir + "/run", Cwd: a.Dir + "/work",
	}
	launch, err := dialect.Plan(wish)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range launch.Files {
		if err := os.WriteFile(filepath.Join(a.Dir, "run", file.Name), file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(launch.Argv[0], launch.Argv[1:]...)
	command.Dir = wish.Cwd
	extra := maps.Clone(turn.Extra)
	command.Env = agent.Environment(a.Env, a.Kind, launch, extra)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r := &recorder{dialect: dialect, signal: turn.OutSignal, holds: turn.OutHolds}
	r.start(t, command, wish)
	if turn.During != nil || turn.DuringSignal != 0 {
		a.Model.Await(t, 1)
	}
	if turn.During != nil {
		turn.During(t)
	}
	if turn.DuringSignal != 0 {
		if err := command.Process.Signal(turn.DuringSignal); err != nil {
			t.Fatal(err)
		}
	}
	r.wait(t)
	return r.entries
}

// recorder takes what passes, in the order in which it is seen.
type recorder struct {
	dialect agent.Dialect
	command *exec.Cmd
	pumps   sync.WaitGroup
	signal  syscall.Signal
	holds   string

	mu      sync.Mutex // guards what is below
	entries Recording
}

func (r *recorder) start(t testing.TB, command *exec.Cmd, wish agent.Turn) {
	t.Helper()
	r.command = command
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
	r.add(Entry{Kind: "start"}, agent.Input{Kind: agent.InputStarted})
	message, ok := r.dialect.Next(agent.Wishes{Turn: &wish}, 1)
	if !ok {
		t.Fatal("the dialect has no prompt to write")
	}
	r.add(Entry{Kind: "in", Key: message.Key, Text: string(message.Bytes)},
		agent.Input{Kind: agent.InputSent, Key: message.Key, N: 1, Line: message.Bytes})
	r.pumps.Go(func() { r.pump("out", agent.InputOut, stdout) })
	r.pumps.Go(func() { r.pump("err", agent.InputErr, stderr) })
	r.pumps.Go(func() {
		// An agent that does not read its input ends by itself; its exit tells.
		_, _ = stdin.Write(message.Bytes)
		_ = stdin.Close()
	})
}

func (r *recorder) pump(kind string, input agent.InputKind, from io.Reader) {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			text := line
			if text[len(text)-1] == '\n' {
				text = text[:len(text)-1]
			}
			r.add(Entry{Kind: kind, Text: string(line)}, agent.Input{Kind: input, Line: slices.Clone(text)})
		}
		if err != nil {
			return
		}
	}
}

func (r *recorder) add(e Entry, in agent.Input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	r.dialect.Feed(in)
	if r.signal != 0 && e.Kind == "out" && strings.Contains(e.Text, r.holds) {
		// Should it be gone already, its recording shows it.
		_ = r.command.Process.Signal(r.signal)
		r.signal = 0
	}
}

func (r *recorder) wait(t testing.TB) {
	t.Helper()
	r.pumps.Wait()
	r.entries = append(r.entries, wait(t, r.command))
}

// wait returns how a process ended whose streams have.
func wait(t testing.TB, command *exec.Cmd) Entry {
	t.Helper()
	if err := command.Wait(); err != nil {
		if _, ended := errors.AsType[*exec.ExitError](err); !ended {
			t.Fatal(err)
		}
	}
	state := command.ProcessState
	e := Entry{Kind: "exit", Code: state.ExitCode()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = "SIG" + signalName(status.Signal())
	}
	return e
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "INT"
	case syscall.SIGTERM:
		return "TERM"
	case syscall.SIGKILL:
		return "KILL"
	}
	return "OTHER"
}
