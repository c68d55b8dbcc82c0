package realagent

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"scv/internal/agent"
)

// A Talk is several turns with one live process, and what the owner does meanwhile.
type Talk struct {
	Turns  []Turn // Prompt, Session, Mode and Model of each
	Decide func(turn uint32, a agent.Approval) Decision
	Steer  map[uint32]string // texts for running turns, by turn; given when its first tool or request was seen
	Cancel map[uint32]bool   // turns that are cancelled when their first words, tool or request were seen
	Args   []string
}

// A Decision is what the owner does about a request.
type Decision uint8

// The decisions; the zero one denies.
const (
	Deny Decision = iota
	Allow
	CancelTurn
)

// Talk starts the agent as its live dialect plans it, says what the dialect wants said until the last turn has ended,
// closes it, and returns what passed. It has no time limit but the test's.
func (a *Agent) Talk(t testing.TB, talk Talk) Recording {
	t.Helper()
	dialect := a.Kind.New(agent.Settings{Command: a.Path, Args: talk.Args})
	o := &listener{t: t, talk: talk, agent: a, dialect: dialect}
	launch, err := dialect.Plan(o.turn(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range launch.Files {
		if err := os.WriteFile(filepath.Join(a.Dir, "run", file.Name), file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(launch.Argv[0], launch.Argv[1:]...)
	command.Dir = a.Dir + "/work"
	command.Env = agent.Environment(a.Env, a.Kind, launch, maps.Clone(a.Extra))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	o.run(command)
	return o.r.entries
}

// listener is the daemon's side of a Talk. Its goroutine owns it.
type listener struct {
	t       testing.TB
	talk    Talk
	agent   *Agent
	dialect agent.Dialect
	r       recorder
	n       uint64
	ended   int
	open    []agent.Approval
	asked   map[string]bool // a request that the owner wants cancelled with its turn
	busy    bool            // something was seen of the turn
	steered bool
}

func (o *listener) turn(i int) agent.Turn {
	p := o.talk.Turns[i]
	number := uint32(i + 1)
	return agent.Turn{
		Number: number, Key: "turn:" + string(rune('0'+number)), Prompt: p.Prompt, Session: p.Session, NewID: p.NewID, Mode: p.Mode,
		Model: p.Model, Run: "real-000001", RunDir: o.agent.Dir + "/run", Cwd: o.agent.Dir + "/work",
	}
}

func (o *listener) wishes() agent.Wishes {
	if o.ended == len(o.talk.Turns) {
		return agent.Wishes{Close: true}
	}
	turn := o.turn(o.ended)
	w := agent.Wishes{Turn: &turn}
	if o.talk.Cancel[turn.Number] && o.busy {
		w.Cancel = turn.Number
	}
	for _, a := range o.open {
		switch o.talk.Decide(turn.Number, a) {
		case CancelTurn:
			w.Cancel = turn.Number
		case Allow:
			w.Answers = append(w.Answers, agent.Answer{Key: "answer:" + turn.Key + "-" + a.Request, Request: a.Request, Approved: true})
		case Deny:
			w.Answers = append(w.Answers, agent.Answer{Key: "answer:" + turn.Key + "-" + a.Request, Request: a.Request, Reason: "not today"})
		}
	}
	if text := o.talk.Steer[turn.Number]; text != "" && o.busy && !o.steered {
		w.Steers = []agent.Steer{{Key: "steer:" + turn.Key, Turn: turn.Number, Text: text}}
	}
	return w
}

// see takes facts in.
func (o *listener) see(facts []agent.Fact) {
	for _, f := range facts {
		switch f.Kind {
		case agent.FactText, agent.FactTool:
			o.busy = true
		case agent.FactApprovalAsked:
			o.busy = true
			o.open = append(o.open, *f.Approval)
		case agent.FactApprovalClosed:
			o.open = slices.DeleteFunc(o.open, func(a agent.Approval) bool { return a.Request == f.Approval.Request })
		case agent.FactSteered, agent.FactSteerRefused:
			o.steered = true
		case agent.FactTurnEnded:
			o.ended++
			o.busy, o.steered = false, false
		}
	}
}

func (o *listener) run(command *exec.Cmd) {
	t := o.t
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
	heard := make(chan Entry)
	o.r.command, o.r.heard = command, heard
	o.r.dialect = o.dialect
	o.r.pumps.Go(func() { o.r.pump("out", agent.InputOut, stdout) })
	o.r.pumps.Go(func() { o.r.pump("err", agent.InputErr, stderr) })
	var closer = make(chan struct{})
	go func() {
		o.r.pumps.Wait()
		close(closer)
	}()
	o.take(Entry{Kind: "start"}, agent.Input{Kind: agent.InputStarted})
	for {
		for {
			m, ok := o.dialect.Next(o.wishes(), o.n+1)
			if !ok {
				break
			}
			o.n++
			o.take(Entry{Kind: "in", Key: m.Key, Text: string(m.Bytes)}, agent.Input{Kind: agent.InputSent, Key: m.Key, N: o.n, Line: m.Bytes})
			// An agent that does not read its input ends by itself; its exit tells.
			_, _ = stdin.Write(m.Bytes)
			if m.EOF {
				_ = stdin.Close()
			}
		}
		select {
		case e := <-heard:
			kind := agent.InputOut
			if e.Kind == "err" {
				kind = agent.InputErr
			}
			o.take(e, agent.Input{Kind: kind, Line: []byte(strings.TrimSuffix(e.Text, "\n"))})
		case <-closer:
			o.r.wait(t)
			return
		}
	}
}

func (o *listener) take(e Entry, in agent.Input) {
	o.r.entries = append(o.r.entries, e)
	o.see(o.dialect.Feed(in))
}
