package run

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

func TestJobFromStartToEnd(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "remark\nid abc-1\ntool $ ls\nsay all is well\ndone\n")
	r := b.hub.await(t, h, "the end", over)
	if got := r.lastLife(); got.Kind != row.LifeEnded || got.Status != "exited" {
		t.Fatalf("%+v", got)
	}
	if r.lives[0].Kind != row.LifeStarted || r.lives[0].PID == 0 || len(r.lives) != 2 {
		t.Errorf("lives %+v", r.lives)
	}
	if e := r.end(); e == nil || e.State != wire.StateCompleted || e.Reply != "all is well" {
		t.Errorf("end %+v", e)
	}
	log := b.shown(h)
	for _, want := range []string{
		"run_started fake over cli in " + b.cwd, "note the mode could not be enforced", "turn_started remark",
		"tool $ ls", "text all is well", "turn_ended completed", "run_ended exited",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	b.leave()
	if _, err := os.Stat(filepath.Join(b.home.RunDir(h), control.SpoolName)); !os.IsNotExist(err) {
		t.Errorf("raw text is left: %v", err)
	}
}

// sharing is a ground with a cache that all worktrees share.
type sharing struct{ noGround }

func (sharing) Caches(row.Order) map[string]string { return map[string]string{"CCACHE_DIR": "/shared"} }

// TestT48_EnvironmentIsAnAllowList: an agent sees the marks of its run and none of the daemon's credentials.
func TestT48_EnvironmentIsAnAllowList(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Ground = sharing{}
		c.Environ = append(c.Environ, "PLANTED_API_KEY=x1", "ANTHROPIC_API_KEY=x2", "SCV_PARENT=aa/s/r-1", "SCV_DELEGATION_DEPTH=1", "HIDDEN=y")
	})
	h := b.launch("fake", "env\ndone\n")
	b.hub.await(t, h, "the end", over)
	log := b.shown(h)
	for _, want := range []string{"CCACHE_DIR=/shared", "SCV_RUN=" + string(h), "SCV_HOME=" + b.home.Path(), "SCV_DELEGATION_DEPTH=2", "SCV_PARENT=aa/s/r-1;", "PATH="} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, bad := range []string{"API_KEY", "HIDDEN", "GOGC", "GOMAXPROCS"} {
		if strings.Contains(log, bad) {
			t.Errorf("%s is passed on", bad)
		}
	}
}

// TestP10_PromptsArriveWholeAndOnce by standard input, whatever is in them.
func TestP10_PromptsArriveWholeAndOnce(t *testing.T) {
	b := newBench(t)
	for name, prompt := range map[string]string{
		"one line":   "Enter",
		"30 lines":   strings.Repeat("A != B and 'so' \"on\"\n", 30),
		"64 KB":      strings.Repeat("0123456789abcde\n", 4<<10),
		"odd bytes":  "-x \x1b[31m\x03 \x7f \r\n\t \u202e ünï $HOME `id` \x00 end",
		"256 KiB":    strings.Repeat("z", 256<<10),
		"not utf-8":  "\xff\xfe\x80",
		"looks like": "turn:1\n{\"t\":\"write\"}\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := b.launch("fake", prompt)
			r := b.hub.await(t, h, "the end", over)
			log := b.shown(h)
			want := fmt.Sprintf("text got %d %x\n", len(prompt), sha256.Sum256([]byte(prompt)))
			if strings.Count(log, want) != 1 {
				t.Fatalf("no %q in\n%.2000s", want, log)
			}
			if e := r.end(); e == nil || e.State == wire.StateCompleted {
				t.Fatalf("completed without saying so: %+v", e)
			}
		})
	}
}

// TestB21_NoEndOfTurn: an agent that leaves in the middle of its task with code 0 has failed, at once.
func TestB21_NoEndOfTurn(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "tool $ make\nexit 0\n")
	r := b.hub.await(t, h, "the end", over)
	if e := r.end(); e == nil || e.State != wire.StateFailed || !strings.Contains(e.Detail, "without a final event") {
		t.Fatalf("%+v", e)
	}
}

// TestB12_EndsSoonAfterTheStart: what the agent said before it left is in the reason.
func TestB12_EndsSoonAfterTheStart(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "err no conversation to continue\nexit 1\n")
	r := b.hub.await(t, h, "the end", over)
	if e := r.end(); e == nil || e.State != wire.StateFailed || !strings.Contains(e.Error, "no conversation to continue") {
		t.Fatalf("%+v", e)
	}
}

func TestStartFailures(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		kind, prompt string
		change       func(o *row.Order)
		class, says  string
	}{
		"no program":    {kind: "fake", prompt: "missing", class: "missing", says: "was not found"},
		"refused":       {kind: "fake", prompt: "refuse", class: "start", says: "This turn cannot be served (ask for something else)"},
		"unknown agent": {kind: "none", prompt: "x", class: "missing", says: "no agent \"none\""},
		"no directory":  {kind: "fake", prompt: "x", class: "start", says: "is not there any more", change: func(o *row.Order) { o.Run.Cwd = "/no/such/place" }},
	} {
		t.Run(name, func(t *testing.T) {
			o := b.order(c.kind, c.prompt)
			if c.change != nil {
				c.change(&o)
				b.hub.change(o.Run.Handle, func(r *hubRun) { r.wishes.Turn.Cwd = o.Run.Cwd })
			}
			b.l.Launch(o)
			r := b.hub.await(t, o.Run.Handle, "the end", over)
			class, detail := r.lastLife().Class, r.lastLife().Detail
			if e := r.end(); e != nil {
				class, detail = e.Class, e.Detail
			}
			if class != c.class || !strings.Contains(detail, c.says) {
				t.Fatalf("%q: %s", class, detail)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for name, script := range map[string]string{"hangs": "tool $ x\nhang\n", "ignores signals": "stubborn\ntool $ x\nhang\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			h := b.launch("fake", script)
			b.hub.await(t, h, "a sign of life", func(r *hubRun) bool {
				return len(r.steps) > 0 && r.steps[len(r.steps)-1].Detail == "$ x"
			})
			began := time.Now()
			b.wish(h, func(w *row.Wishes) { w.Cancel = 1 })
			r := b.hub.await(t, h, "the end", over)
			if e := r.end(); e == nil || e.State != wire.StateCancelled {
				t.Fatalf("%+v", e)
			}
			if r.lastLife().Status != "killed" || !strings.Contains(b.shown(h), "turn_ended cancelled") {
				t.Fatalf("%+v\n%s", r.lastLife(), b.shown(h))
			}
			t.Logf("after %v", time.Since(began))
		})
	}
}

// TestLateCancelHidesNothing: a turn that had completed stays completed, and its process has its time to leave.
func TestLateCancelHidesNothing(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Leave = 50 * time.Millisecond })
	h := b.launch("fake", "done\nhang\n")
	b.hub.await(t, h, "the turn's end", func(r *hubRun) bool { return r.end() != nil })
	b.wish(h, func(w *row.Wishes) { w.Cancel = 1 })
	r := b.hub.await(t, h, "the end", over)
	if e := r.end(); e.State != wire.StateCompleted || r.lastLife().Status != "killed" {
		t.Fatalf("%+v %+v", e, r.lastLife())
	}
}

// TestP8_SilenceIsSaidAndEndsNothing: with a tool call open the turn is at work and the notice names it, with none it
// is unknown; once a turn, and neither is killed.
func TestP8_SilenceIsSaidAndEndsNothing(t *testing.T) {
	b := newBench(t, func(c *Config) {
		kinds := c.Kinds
		c.Kinds = func(name, transport string) (agent.Kind, agent.Settings, bool) {
			kind, settings, ok := kinds(name, transport)
			settings.Quiet = 30 * time.Millisecond // the agent's own, not the default
			return kind, settings, ok
		}
	})
	dir := b.cwd
	tool := b.launch("fake", "tool $ make all\nuntil "+dir+"/go\nsay on\nuntil "+dir+"/end\ndone\n")
	none := b.launch("fake", "say hm\nuntil "+dir+"/go\ndone\n")
	r := b.hub.await(t, tool, "a notice", func(r *hubRun) bool {
		return len(r.steps) > 0 && r.steps[len(r.steps)-1].Kind == row.StepRetry
	})
	if detail := r.steps[len(r.steps)-1].Detail; !strings.Contains(detail, "no report since") || !strings.Contains(detail, "$ make all; ") {
		t.Error(detail)
	} else if !strings.Contains(detail, "CPU time") || !strings.Contains(detail, "; to end the turn: scv jobs cancel job-") {
		t.Errorf("what works and how to end it is not said: %s", detail)
	}
	r = b.hub.await(t, none, "unknown", life(row.LifeUnreachable))
	if detail := r.lastLife().Detail; !strings.Contains(detail, "no report since") {
		t.Error(detail)
	}
	touch(t, dir+"/go")
	b.hub.await(t, tool, "another notice after a sign of life", func(r *hubRun) bool {
		return life(row.LifeUnreachable)(r)
	})
	touch(t, dir+"/end")
	for _, h := range []wire.RunHandle{tool, none} {
		if r := b.hub.await(t, h, "the end", over); r.end().State != wire.StateCompleted {
			t.Errorf("%+v", r.end())
		}
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestS7_ShimKilled harms this run only: interrupted, and nothing of it left.
func TestS7_ShimKilled(t *testing.T) {
	b := newBench(t)
	h := b.launch("fake", "tool $ x\nhang\n")
	b.hub.await(t, h, "the start", life(row.LifeStarted))
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 2 })
	s, err := control.ReadShim(b.home.RunDir(h))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := b.hub.await(t, h, "the end", over)
	if r.lastLife().Kind != row.LifeLost || r.end().State != wire.StateInterrupted || r.end().Class != "lost" {
		t.Fatalf("%+v %+v", r.lastLife(), r.end())
	}
	if !strings.Contains(b.shown(h), "run_ended lost") {
		t.Error(b.shown(h))
	}
}

// TestLiveRunServesTurns: one process, several turns, a protocol cancel, and the end when it is not wanted any more.
func TestLiveRunServesTurns(t *testing.T) {
	b := newBench(t)
	h := b.launch("live", "say one\n")
	turn := func(n uint32, state wire.AgentState) {
		t.Helper()
		b.hub.await(t, h, fmt.Sprint("the end of turn ", n), func(r *hubRun) bool {
			for _, s := range r.steps {
				if s.Kind == row.StepTurnEnded && s.Turn == n {
					return s.End.State == state
				}
			}
			return false
		})
	}
	turn(1, wire.StateCompleted)
	b.wish(h, func(w *row.Wishes) { w.Turn = &row.TurnWish{Job: "job-8", Number: 2, Prompt: "hang\n", Cwd: b.cwd} })
	b.hub.await(t, h, "turn 2", func(r *hubRun) bool { return r.steps[len(r.steps)-1].Turn == 2 })
	b.wish(h, func(w *row.Wishes) { w.Cancel = 2 })
	turn(2, wire.StateCancelled)
	b.leave()
	b.again()
	b.hub.await(t, h, "adoption", life(row.LifeAdopted))
	b.wish(h, func(w *row.Wishes) {
		w.Turn = &row.TurnWish{Job: "job-9", Number: 3, Prompt: "say three\n", Cwd: b.cwd}
	})
	turn(3, wire.StateCompleted)
	b.wish(h, func(w *row.Wishes) { w.Close = true })
	r := b.hub.await(t, h, "the end", over)
	if r.lastLife().Status != "exited" {
		t.Errorf("%+v", r.lastLife())
	}
	if log := b.shown(h); strings.Count(log, "run_started") != 1 || strings.Count(log, "turn_started") != 3 || !strings.Contains(log, "turn_ended cancelled") {
		t.Error(log)
	}
}
