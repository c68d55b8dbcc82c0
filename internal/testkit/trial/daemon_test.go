package trial

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"scv/internal/agent"
)

// shim holds an agent's process and its spool, and outlives every daemon of the trial. It takes a key once and only the
// next number, as the real one does.
type shim struct {
	stdin io.WriteCloser

	mu     sync.Mutex
	grown  *sync.Cond
	frames []agent.Input
	keys   []string
	n      uint64
	t      testing.TB
}

func start(t testing.TB, command *exec.Cmd) *shim {
	t.Helper()
	s := &shim{t: t}
	s.grown = sync.NewCond(&s.mu)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdin = stdin
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s.append(agent.Input{Kind: agent.InputStarted})
	var pump sync.WaitGroup
	pump.Go(func() {
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 {
				s.append(agent.Input{Kind: agent.InputOut, Line: slices.Clone(line)})
			}
			if err != nil {
				break
			}
		}
		_ = command.Wait() // how it went is not what is tried here
		s.append(agent.Input{Kind: agent.InputExit})
	})
	t.Cleanup(func() {
		_ = command.Process.Kill()
		pump.Wait()
	})
	return s
}

func (s *shim) append(in agent.Input) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, in)
	s.grown.Broadcast()
}

// write appends the frame, then writes the pipe, as the real shim does.
func (s *shim) write(n uint64, m agent.Message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case slices.Contains(s.keys, m.Key):
		return "done"
	case n != s.n+1:
		return "stale"
	}
	s.n, s.keys = n, append(s.keys, m.Key)
	s.frames = append(s.frames, agent.Input{Kind: agent.InputSent, Key: m.Key, N: n, Line: m.Bytes})
	s.grown.Broadcast()
	if _, err := s.stdin.Write(m.Bytes); err != nil {
		s.t.Error(err)
	}
	if m.EOF {
		_ = s.stdin.Close()
	}
	return "ok"
}

// from returns the frames from one on; it may be that there are none yet.
func (s *shim) from(at int) []agent.Input {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames[at:])
}

// wait returns once there are more frames than these; the test's deadline bounds it.
func (s *shim) wait(at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.frames) <= at {
		s.grown.Wait()
	}
}

// position is that of a fact: frame and index in it.
type position struct{ frame, index int }

// owner is what survives a daemon: the log with its positions, the wishes, a checkpoint.
type owner struct {
	log        []agent.Fact
	last       position
	folded     int // frames in the checkpoint
	newest     int // frames that any daemon folded
	checkpoint json.RawMessage
	turns      []agent.Turn
	approve    func(turn uint32) (approved, cancel bool)
	steer      map[uint32]string // for running turns, wished once something was seen of the turn
}

// wishes are derived from the log alone, as a ledger's rows would be.
func (o *owner) wishes() agent.Wishes {
	ended, w := 0, agent.Wishes{}
	open, busy, steered := map[string]uint32{}, map[uint32]bool{}, map[uint32]bool{}
	for _, fact := range o.log {
		switch fact.Kind {
		case agent.FactTurnEnded:
			ended++
		case agent.FactTool:
			busy[fact.Turn] = true
		case agent.FactSteered, agent.FactSteerRefused:
			steered[fact.Turn] = true
		case agent.FactApprovalAsked:
			open[fact.Approval.Request] = fact.Turn
		case agent.FactApprovalClosed:
			delete(open, fact.Approval.Request)
		}
	}
	if ended == len(o.turns) {
		w.Close = true
		return w
	}
	w.Turn = &o.turns[ended]
	if n := w.Turn.Number; o.steer[n] != "" && busy[n] && !steered[n] {
		w.Steers = []agent.Steer{{Key: fmt.Sprintf("steer:%d", n), Turn: n, Text: o.steer[n]}}
	}
	for _, request := range sortedKeys(open) {
		if approved, cancel := o.approve(open[request]); cancel {
			w.Cancel = w.Turn.Number
		} else {
			w.Answers = append(w.Answers, agent.Answer{Key: "answer:" + w.Turn.Key + "-" + request, Request: request, Approved: approved})
		}
	}
	return w
}

// daemon lives until it has folded this many new frames, or has written once, or the agent is gone. It dies without a
// word: nothing of it but the owner's rows is left.
func (o *owner) daemon(t testing.TB, s *shim, dialect agent.Dialect, frames int, dieBeforeWrite, keepCheckpoint bool) (gone bool) {
	t.Helper()
	at := o.folded
	if o.checkpoint != nil {
		if err := dialect.Restore(o.checkpoint); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for {
		for _, in := range s.from(at) {
			at++
			for i, fact := range dialect.Feed(in) {
				if here := (position{at, i + 1}); here.frame > o.last.frame || here.frame == o.last.frame && here.index > o.last.index {
					o.log, o.last = append(o.log, fact), here
				}
			}
			if in.Kind == agent.InputExit {
				return true
			}
			if at > o.newest {
				o.newest = at
				seen++
			}
			if seen >= frames {
				break
			}
		}
		if keepCheckpoint {
			state, err := dialect.Checkpoint()
			if err != nil {
				t.Fatal(err)
			}
			o.checkpoint, o.folded = state, at
		}
		s.mu.Lock()
		atEnd, n := at == len(s.frames), s.n
		s.mu.Unlock()
		if message, ok := dialect.Next(o.wishes(), n+1); ok && atEnd {
			if again, still := dialect.Next(o.wishes(), n+1); !still || !reflect.DeepEqual(message, again) {
				t.Fatalf("asked twice it wants %+v, then %+v", message, again)
			}
			if dieBeforeWrite {
				return false
			}
			s.write(n+1, message)
		}
		if seen >= frames {
			return false
		}
		s.wait(at)
	}
}

// straight folds all frames with one dialect.
func straight(dialect agent.Dialect, frames []agent.Input) []agent.Fact {
	var facts []agent.Fact
	for _, in := range frames {
		facts = append(facts, dialect.Feed(in)...)
	}
	return facts
}

// run lets daemons come and go until the agent has left, and checks that nobody could tell.
func run(t *testing.T, command *exec.Cmd, create func(agent.Settings) agent.Dialect, o *owner) []agent.Fact {
	t.Helper()
	s := start(t, command)
	gone := false
	for life := 0; !gone; life++ {
		gone = o.daemon(t, s, create(agent.Settings{}), 1+life%3, life%5 == 3, life%2 == 0)
	}
	if want := straight(create(agent.Settings{}), s.frames); !reflect.DeepEqual(o.log, want) {
		t.Errorf("the log of many daemons has %d facts, one fold of the whole spool %d:\n%+v\n%+v", len(o.log), len(want), o.log, want)
	}
	through := create(agent.Settings{})
	var facts []agent.Fact
	for _, in := range s.frames {
		facts = append(facts, through.Feed(in)...)
		state, err := through.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		through = create(agent.Settings{})
		if err := through.Restore(state); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(facts, o.log) {
		t.Error("with the state through JSON at every frame the facts differ")
	}
	for _, key := range s.keys {
		if n := strings.Count(strings.Join(s.keys, "\n")+"\n", key+"\n"); n != 1 {
			t.Errorf("%s was written %d times", key, n)
		}
	}
	return o.log
}
