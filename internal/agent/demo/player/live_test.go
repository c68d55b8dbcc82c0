package player_test

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/agent/demo"
	"scv/internal/agent/demo/player"
	"scv/internal/wire"
)

// theater is a live player and its dialect, driven by wishes that follow from what was learnt.
type theater struct {
	t       *testing.T
	dialect agent.Dialect
	in      *os.File
	out     *bufio.Scanner
	wait    sync.WaitGroup
	code    int
	n       uint64
	facts   []agent.Fact
	seen    int // of facts
	errors  bytes.Buffer
}

func open(t *testing.T, after func(time.Duration) <-chan time.Time) *theater {
	t.Helper()
	p := &theater{t: t, dialect: demo.LiveKind().New(agent.Settings{Command: "scv"})}
	launch, err := p.dialect.Plan(agent.Turn{Number: 1, NewID: "id-1"})
	if err != nil {
		t.Fatal(err)
	}
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	p.in, p.out = in, bufio.NewScanner(out)
	p.wait.Go(func() {
		p.code = player.Player{In: stdin, Out: stdout, Err: &p.errors, After: after}.Run(launch.Argv[2:])
		stdout.Close()
		stdin.Close()
	})
	t.Cleanup(func() { in.Close(); out.Close(); p.wait.Wait() })
	p.feed(agent.Input{Kind: agent.InputStarted})
	return p
}

// pipe is the system's, which has room: the player and its reader may write at once.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func (p *theater) feed(in agent.Input) { p.facts = append(p.facts, p.dialect.Feed(in)...) }

// until writes what is wished and reads on until the next fact of the kind.
func (p *theater) until(kind agent.FactKind, wishes agent.Wishes) agent.Fact {
	p.t.Helper()
	for {
		for p.seen < len(p.facts) {
			p.seen++
			if f := p.facts[p.seen-1]; f.Kind == kind {
				return f
			}
		}
		m, ok := p.dialect.Next(wishes, p.n+1)
		if !ok {
			if !p.out.Scan() {
				p.t.Fatalf("the player left (%s); facts: %+v", &p.errors, p.facts)
			}
			p.feed(agent.Input{Kind: agent.InputOut, Line: p.out.Bytes()})
			continue
		}
		p.n++
		if _, err := p.in.Write(m.Bytes); err != nil {
			p.t.Fatal(err)
		}
		p.feed(agent.Input{Kind: agent.InputSent, Key: m.Key, N: p.n, Line: m.Bytes})
	}
}

func (p *theater) leave() int {
	p.t.Helper()
	m, ok := p.dialect.Next(agent.Wishes{Close: true}, p.n+1)
	if !ok || !m.EOF {
		p.t.Fatalf("asked to close it wants %+v", m)
	}
	p.in.Close()
	for p.out.Scan() {
		p.feed(agent.Input{Kind: agent.InputOut, Line: p.out.Bytes()})
	}
	p.wait.Wait()
	return p.code
}

func (p *theater) texts() string {
	var out []string
	for _, f := range p.facts {
		if f.Kind == agent.FactText || f.Kind == agent.FactTool {
			out = append(out, f.Text)
		}
	}
	return strings.Join(out, "; ")
}

func turn(n uint32, prompt string) *agent.Turn {
	key := map[uint32]string{1: "turn:1", 2: "turn:2", 3: "turn:3"}[n]
	return &agent.Turn{Number: n, Key: key, Prompt: prompt}
}

func instantly(time.Duration) <-chan time.Time { return at() }

func never(time.Duration) <-chan time.Time { return nil }

func TestLive_AsksAndServesSeveralTurns(t *testing.T) {
	p := open(t, instantly)
	one := agent.Wishes{Turn: turn(1, "@@say:a|ask:make test|edit:/w/x.go|say:z")}
	q := p.until(agent.FactApprovalAsked, one).Approval
	if q.Command != "make test" || q.Summary != "make test" || q.Risk != agent.RiskProcess || q.Tool != "shell" || len(q.Options) != 2 {
		t.Errorf("it asks %+v", q)
	}
	one.Answers = []agent.Answer{{Key: "answer:ap-1", Request: q.Request, Approved: true}}
	if f := p.until(agent.FactApprovalClosed, one); f.Status != agent.ClosedAnswered || f.Approval.Request != q.Request {
		t.Errorf("the answer closed %+v", f)
	}
	q = p.until(agent.FactApprovalAsked, one).Approval
	if q.Command != "" || !slices.Equal(q.Paths, []string{"/w/x.go"}) || q.Risk != agent.RiskFilesystem {
		t.Errorf("it asks %+v", q)
	}
	one.Answers = append(one.Answers, agent.Answer{Key: "answer:ap-2", Request: q.Request, Reason: "not that file"})
	if o := p.until(agent.FactTurnEnded, one).Outcome; o.State != wire.StateCompleted || o.Reply != "z" {
		t.Errorf("it ended %+v", o)
	}
	if got, want := p.texts(), "a; $ make test; Allowed: make test; Denied: edit /w/x.go (not that file); z"; got != want {
		t.Errorf("it said %q, want %q", got, want)
	}
	two := agent.Wishes{Turn: turn(2, "@@say:second")}
	if o := p.until(agent.FactTurnEnded, two).Outcome; o.Reply != "second" {
		t.Errorf("the second turn ended %+v", o)
	}
	if code := p.leave(); code != 0 {
		t.Errorf("it left with %d: %s", code, &p.errors)
	}
}

func TestLive_IsSteeredWhileItAsks(t *testing.T) {
	p := open(t, never)
	w := agent.Wishes{Turn: turn(1, "@@open:rm x|steer|await|say:z")}
	q := p.until(agent.FactApprovalAsked, w).Approval
	w.Steers = []agent.Steer{{Key: "steer:1", Turn: 1, Text: "be quick"}}
	if f := p.until(agent.FactSteered, w); f.Key != "steer:1" || f.Turn != 1 {
		t.Errorf("the steer came back as %+v", f)
	}
	w.Answers = []agent.Answer{{Key: "answer:ap-1", Request: q.Request, Approved: true}}
	if o := p.until(agent.FactTurnEnded, w).Outcome; o.State != wire.StateCompleted || !strings.Contains(p.texts(), "I was told: be quick") {
		t.Errorf("%+v; %s", o, p.texts())
	}
}

func TestLive_ACancelEndsTheTurnAndWhatItAsks(t *testing.T) {
	for _, script := range []string{"@@open:a|ask:b|say:never", "@@sleep:5|say:never", "@@hang", "a long story"} {
		p := open(t, never)
		w := agent.Wishes{Turn: turn(1, script)}
		p.until(agent.FactTurnStarted, w)
		if strings.Contains(script, "ask") {
			p.until(agent.FactApprovalAsked, w)
			p.until(agent.FactApprovalAsked, w)
		}
		w.Cancel = 1
		if o := p.until(agent.FactTurnEnded, w).Outcome; o.State != wire.StateCancelled {
			t.Errorf("%s: it ended %+v", script, o)
		}
		asked, closed := 0, 0
		for _, f := range p.facts {
			switch f.Kind {
			case agent.FactApprovalAsked:
				asked++
			case agent.FactApprovalClosed:
				closed++
			}
		}
		if asked != closed || strings.Contains(p.texts(), "never") {
			t.Errorf("%s: %d asked, %d closed; %s", script, asked, closed, p.texts())
		}
		if o := p.until(agent.FactTurnEnded, agent.Wishes{Turn: turn(2, "@@say:next")}).Outcome; o.Reply != "next" {
			t.Errorf("%s: the turn after it ended %+v", script, o)
		}
		if code := p.leave(); code != 0 {
			t.Errorf("%s: it left with %d", script, code)
		}
	}
}

func TestLive_OddAskers(t *testing.T) {
	p := open(t, instantly)
	w := agent.Wishes{Turn: turn(1, "@@open:a|again:b|say:on|withdraw|ask:c|exit:3")}
	first := p.until(agent.FactApprovalAsked, w).Approval
	if f := p.until(agent.FactApprovalClosed, w); f.Status != agent.ClosedVoid {
		t.Errorf("the question whose id was used again closed as %+v", f)
	}
	if second := p.until(agent.FactApprovalAsked, w).Approval; second.Request != first.Request || second.Command != "b" {
		t.Errorf("the second question is %+v", second)
	}
	q := p.until(agent.FactApprovalAsked, w).Approval
	w.Answers = []agent.Answer{{Key: "answer:x", Request: q.Request, Approved: true}}
	p.until(agent.FactApprovalClosed, w)
	for p.out.Scan() {
		p.feed(agent.Input{Kind: agent.InputOut, Line: p.out.Bytes()})
	}
	p.wait.Wait()
	p.feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: p.code}})
	if got := outcome(t, p.facts); got.State != wire.StateFailed || p.code != 3 {
		t.Errorf("it ended %+v with %d", got, p.code)
	}
}

func TestLive_LeavesWhenItsInputEnds(t *testing.T) {
	p := open(t, never)
	p.until(agent.FactApprovalAsked, agent.Wishes{Turn: turn(1, "@@ask:a|say:not run")})
	p.in.Close()
	for p.out.Scan() {
		p.feed(agent.Input{Kind: agent.InputOut, Line: p.out.Bytes()})
	}
	p.wait.Wait()
	if p.code != 0 || strings.Contains(p.texts(), "$ a") {
		t.Errorf("it left with %d after %s", p.code, p.texts())
	}
}

func TestLive_SaysWhatIsWrongWithItsInput(t *testing.T) {
	var out, complaints bytes.Buffer
	p := player.Player{In: strings.NewReader("{\n"), Out: &out, Err: &complaints, After: instantly}
	if code := p.Run([]string{demo.LiveFlag}); code != 1 || !strings.Contains(complaints.String(), "one JSON object") {
		t.Errorf("%d %s", code, &complaints)
	}
}
