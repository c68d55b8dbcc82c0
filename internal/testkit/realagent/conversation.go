package realagent

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"testing"

	"scv/internal/agent"
)

// A Conversation is what an owner wants of one process of a live agent.
type Conversation struct {
	Kind     agent.Kind
	Settings agent.Settings // Command is the real agent's
	// Turns are what the process serves; Number, Key, RunDir, Cwd and, where it is empty, Run are filled in. The process is
	// closed after the last one. One that goes on with a session needs a Run of its own: an agent may know lines by it.
	Turns []agent.Turn
	// Say lets the owner act on a fact: answer, steer, cancel. Turns, steers and answers that are over are taken off the
	// wishes. It may be nil.
	Say   func(f agent.Fact, w *agent.Wishes)
	Extra map[string]string // further environment
}

// Talk runs a live agent as its dialect plans it, until it leaves, and returns what passed and what the dialect made of
// it. It has no time limit but the test's.
func (a *Agent) Talk(t testing.TB, c Conversation) (Recording, []agent.Fact) {
	t.Helper()
	for i := range c.Turns {
		turn := &c.Turns[i]
		turn.Number, turn.RunDir, turn.Cwd = uint32(i+1), a.Dir+"/run", a.Dir+"/work"
		turn.Run = cmp.Or(turn.Run, "real-000001")
		turn.Key = "turn:" + string(rune('1'+i))
	}
	c.Settings.Command = a.Path
	k := &talk{Conversation: c, dialect: c.Kind.New(c.Settings), wishes: agent.Wishes{Turn: &c.Turns[0]}}
	launch, err := k.dialect.Plan(c.Turns[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range launch.Files {
		if err := os.WriteFile(filepath.Join(a.Dir, "run", file.Name), file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(launch.Argv[0], launch.Argv[1:]...)
	command.Dir, command.Env = a.Dir+"/work", agent.Environment(a.Env, c.Kind, launch, maps.Clone(c.Extra))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	k.run(t, command)
	return k.entries, k.facts
}

// talk is a conversation under way; one goroutine owns it.
type talk struct {
	Conversation
	dialect agent.Dialect
	wishes  agent.Wishes
	entries Recording
	facts   []agent.Fact
	n       uint64
	stdin   io.WriteCloser
}

// heard is a line of the agent, or with a nil line the end of a stream.
type heard struct {
	kind string
	line []byte
}

func (k *talk) run(t testing.TB, command *exec.Cmd) {
	t.Helper()
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.stdin = stdin
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
	lines := make(chan heard)
	go hear("out", stdout, lines)
	go hear("err", stderr, lines)
	k.take(Entry{Kind: "start"}, agent.Input{Kind: agent.InputStarted})
	k.write(t)
	for open := 2; open > 0; {
		h := <-lines
		if h.line == nil {
			open--
			continue
		}
		kind := agent.InputOut
		if h.kind == "err" {
			kind = agent.InputErr
		}
		k.take(Entry{Kind: h.kind, Text: string(h.line)}, agent.Input{Kind: kind, Line: bytes.TrimSuffix(h.line, []byte("\n"))})
		k.write(t)
	}
	end := wait(t, command)
	k.take(end, agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: end.Code, Signal: end.Signal}})
}

func hear(kind string, from io.Reader, to chan<- heard) {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			to <- heard{kind, line}
		}
		if err != nil {
			to <- heard{kind: kind}
			return
		}
	}
}

// take folds one thing that passed and lets the owner act on it.
func (k *talk) take(e Entry, in agent.Input) {
	k.entries = append(k.entries, e)
	for _, f := range k.dialect.Feed(in) {
		k.facts = append(k.facts, f)
		k.settle(f)
		if k.Say != nil {
			k.Say(f, &k.wishes)
		}
	}
}

// settle takes what is over off the wishes.
func (k *talk) settle(f agent.Fact) {
	w := &k.wishes
	switch f.Kind {
	case agent.FactTurnEnded:
		*w = agent.Wishes{Close: true}
		if next := int(max(f.Turn, 1)); next < len(k.Turns) {
			*w = agent.Wishes{Turn: &k.Turns[next]}
		}
	case agent.FactApprovalClosed:
		w.Answers = slices.DeleteFunc(w.Answers, func(a agent.Answer) bool { return a.Request == f.Approval.Request })
	case agent.FactSteered, agent.FactSteerRefused:
		w.Steers = slices.DeleteFunc(w.Steers, func(s agent.Steer) bool { return s.Key == f.Key })
	}
}

// write gives the agent all that the dialect wants to say now.
func (k *talk) write(t testing.TB) {
	t.Helper()
	for {
		m, ok := k.dialect.Next(k.wishes, k.n+1)
		if !ok {
			return
		}
		if again, still := k.dialect.Next(k.wishes, k.n+1); !still || !reflect.DeepEqual(m, again) {
			t.Fatalf("asked twice the dialect wants to say %s, then %s", m.Key, again.Key)
		}
		k.n++
		// Should the agent be gone, its exit tells.
		_, _ = k.stdin.Write(m.Bytes)
		if m.EOF {
			_ = k.stdin.Close()
		}
		k.take(Entry{Kind: "in", Key: m.Key, Text: string(m.Bytes)},
			agent.Input{Kind: agent.InputSent, Key: m.Key, N: k.n, Line: m.Bytes})
	}
}
