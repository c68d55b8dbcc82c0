package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// killer kills this process at the count-th passing of a place, and waits a little at all of them.
type killer struct {
	mu    sync.Mutex
	where string
	count int
	rand  *rand.Rand
	waits int
}

func (k *killer) at(where string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits < 100 && k.rand.IntN(4) == 0 {
		k.waits++
		<-time.After(time.Duration(k.rand.IntN(2000)) * time.Microsecond)
	}
	if where == k.where {
		if k.count--; k.count == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// A storyHub stores what it is told before it says so.
type storyHub struct {
	k    *killer
	mu   sync.Mutex
	s    *story
	over chan struct{}
}

func (h *storyHub) Report(_ wire.RunHandle, steps []row.Step) {
	h.k.at("report")
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, step := range steps {
		if !h.s.Pos.Less(step.Pos) {
			continue
		}
		h.s.Pos = step.Pos
		if step.Kind == row.StepTurnEnded && step.Turn == h.s.Turn {
			h.s.Ends = append(h.s.Ends, step.End.State)
			h.s.Turn++
		}
	}
	h.must(h.s.save())
	h.k.at("saved")
}

func (h *storyHub) Life(_ wire.RunHandle, l row.Life) {
	h.k.at("life")
	h.mu.Lock()
	defer h.mu.Unlock()
	switch l.Kind {
	case row.LifeEnded, row.LifeLost, row.LifeNotStarted:
		h.s.Over = &l
		h.must(h.s.save())
		close(h.over)
	}
}

func (h *storyHub) Wishes(wire.RunHandle) row.Wishes {
	h.k.at("wishes")
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.s.wishes()
}

func (h *storyHub) must(err error) {
	if err != nil {
		panic(err)
	}
}

// fakeDaemon serves a story until its end or its own: args are the story's file, a place and count to be killed at,
// and a seed.
func fakeDaemon(args []string) int {
	text, err := os.ReadFile(args[0])
	s := new(story)
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	k := &killer{where: args[1]}
	var seed uint64
	if _, scanErr := fmt.Sscan(args[2], &k.count); err == nil {
		err = scanErr
	}
	if _, scanErr := fmt.Sscan(args[3], &seed); err == nil {
		err = scanErr
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	k.rand = rand.New(rand.NewPCG(seed, 1))
	if k.where == "time" {
		time.AfterFunc(time.Duration(k.count)*time.Millisecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	h, err := home.Open(s.Home)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	hub := &storyHub{k: k, s: s, over: make(chan struct{})}
	o := row.Order{
		Run:   row.Run{Run: wire.Run{Handle: s.Handle, Agent: s.Kind, Cwd: s.Cwd, Turn: new(uint32(1))}, Pos: s.Pos},
		Adopt: s.Started,
	}
	s.Started = true
	if err := s.save(); err != nil {
		return 3
	}
	l := New(context.Background(), config(h, hub, k.at))
	l.Launch(o)
	<-hub.over
	l.Shutdown(context.Background())
	return 0
}

// TestS1_KilledDaemonsLoseNothing kills the daemon at random places and moments, again and again, while an agent
// counts: every number is in the log once and in order, and the log is that of one undisturbed fold.
func TestS1_KilledDaemonsLoseNothing(t *testing.T) {
	for name, c := range map[string]struct {
		kind, end string
		turns     uint32
	}{
		"one turn":   {"fake", "say end\ndone\n", 1},
		"five turns": {"live", "slow 20\n", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 2))
			s := newStory(t, c.kind, "", c.turns)
			s.Script = "tool $ x\ncount " + s.Cwd + "/go\n" + c.end
			killed := s.tell(t, seed, func(i int) (string, int) {
				switch places := []string{"next", "report", "saved", "wishes"}; {
				case i == 0: // the first must come so far that there is a run
					return "feed", 1 + random.IntN(10)
				case i == 20:
					touch(t, s.Cwd+"/go")
					fallthrough
				case i%2 == 0:
					return places[random.IntN(len(places))], 1 + random.IntN(8)
				}
				return "time", 5 + random.IntN(60)
			})
			if killed < 20 {
				t.Errorf("only %d daemons were killed", killed)
			}
			if s.Over.Kind != row.LifeEnded || s.Over.Status != "exited" {
				t.Fatalf("%+v", s.Over)
			}
			if len(s.Ends) != int(c.turns) || slices.ContainsFunc(s.Ends, func(st wire.AgentState) bool { return st != wire.StateCompleted }) {
				t.Errorf("turns ended %v", s.Ends)
			}
			s.straight(t)
			s.counted(t)
		})
	}
}

// TestS1_KilledAtEachPlace kills one daemon at each place of a short run, and lets the next one finish it.
func TestS1_KilledAtEachPlace(t *testing.T) {
	for _, where := range []string{"wishes", "next", "feed", "report", "saved", "life"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			for count := 1; ; count++ {
				s := newStory(t, "fake", "tool $ x\nsay end\ndone\n", 1)
				killed := s.tell(t, uint64(count), func(i int) (string, int) {
					if i == 0 {
						return where, count
					}
					return "none", 0
				})
				if killed == 0 {
					t.Logf("%d places", count-1)
					return
				}
				if s.Over.Kind == row.LifeNotStarted { // killed before the agent was started: nothing ran
					if _, err := control.ReadShim(filepath.Join(s.Home, "runs", string(s.Handle))); !errors.Is(err, fs.ErrNotExist) || s.Over.Class != "lost" {
						t.Fatalf("killed at %s %d: %+v, %v", where, count, s.Over, err)
					}
					continue
				}
				if s.Over.Kind != row.LifeEnded || len(s.Ends) != 1 || s.Ends[0] != wire.StateCompleted {
					t.Fatalf("killed at %s %d: %+v, %v", where, count, s.Over, s.Ends)
				}
				s.straight(t)
			}
		})
	}
}
