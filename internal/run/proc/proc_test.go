package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"

	"scv/internal/testkit/census"
)

// TestMain makes this binary a process that lives until its input ends when it is asked to be one.
func TestMain(m *testing.M) {
	if os.Getenv("PROC_TEST_CHILD") != "" {
		fmt.Println("up")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(census.Main(m))
}

// child starts such a process; it is waited for at the end of the test at the latest.
type child struct {
	id    Identity
	cmd   *exec.Cmd
	input io.WriteCloser
	once  sync.Once
}

func newChild(t *testing.T, env ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), append(env, "PROC_TEST_CHILD=1", "GORACE=atexit_sleep_ms=0")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not AgentAttr: the thread of a test may end before it
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("%q %v", line, err)
	}
	c := &child{cmd: cmd, input: input}
	if c.id, err = Of(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		c.reap()
	})
	return c
}

func (c *child) reap() { c.once.Do(func() { _ = c.cmd.Wait() }) }

func TestIdentity(t *testing.T) {
	self, err := Self()
	if err != nil || self.PID != os.Getpid() || self.Start == 0 || self.Boot == "" {
		t.Fatalf("%+v %v", self, err)
	}
	if alive, err := Alive(self); err != nil || !alive {
		t.Errorf("%v %v", alive, err)
	}
	c := newChild(t)
	if alive, err := Alive(c.id); err != nil || !alive {
		t.Errorf("%v %v", alive, err)
	}
	_ = c.input.Close()
	if err := Await(t.Context(), c.id); err != nil {
		t.Error(err)
	}
	if alive, err := Alive(c.id); err != nil || alive { // not waited for: a zombie
		t.Errorf("zombie: %v %v", alive, err)
	}
	c.reap()
	if alive, err := Alive(c.id); err != nil || alive {
		t.Errorf("%v %v", alive, err)
	}
	if err := Await(t.Context(), c.id); err != nil {
		t.Error(err)
	}
	if _, err := Of(c.id.PID); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
}

// S12: a process with another start time is never signalled.
func TestS12_StrangersAreNotSignalled(t *testing.T) {
	c := newChild(t)
	for name, id := range map[string]Identity{
		"other start": {Boot: c.id.Boot, PID: c.id.PID, Start: c.id.Start - 1},
		"other boot":  {Boot: "another", PID: c.id.PID, Start: c.id.Start},
	} {
		if err := Signal(id, syscall.SIGKILL); !errors.Is(err, ErrGone) && !errors.Is(err, ErrOtherBoot) {
			t.Errorf("%s: %v", name, err)
		}
		if alive, err := Alive(id); err != nil || alive {
			t.Errorf("%s: %v %v", name, alive, err)
		}
	}
	for _, pid := range []int{1, 0, -1} {
		if err := Signal(Identity{Boot: c.id.Boot, PID: pid}, 0); err == nil {
			t.Errorf("process %d was signalled", pid)
		}
		if _, err := NewGroup(pid); err == nil {
			t.Errorf("group %d was made", pid)
		}
	}
	if err := (Group{}).Signal(0); err == nil {
		t.Error("the zero group was signalled")
	}
	if alive, err := Alive(c.id); err != nil || !alive {
		t.Fatalf("the stranger was hit: %v %v", alive, err)
	}
	if err := Signal(c.id, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if err := Await(t.Context(), c.id); err != nil {
		t.Error(err)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	c := newChild(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Await(ctx, c.id) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTables(t *testing.T) {
	c := newChild(t, "PROC_MARK=here")
	has := func(list []Process, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list, func(p Process) bool { return p.PID == c.id.PID && p.Start == c.id.Start })
	}
	if !has(Descendants(os.Getpid())) || has(Descendants(c.id.PID)) {
		t.Error("descendants")
	}
	if !has(Marked("PROC_MARK", "here")) || has(Marked("PROC_MARK", "her")) || has(Marked("PROC_MAR", "here")) {
		t.Error("marked")
	}
	children, err := Children()
	if err != nil || !slices.Contains(children, c.id.PID) {
		t.Errorf("children %v %v", children, err)
	}
	up, err := Ancestors(c.id.PID)
	if err != nil || len(up) < 2 || up[1].PID != os.Getpid() {
		t.Errorf("ancestors %v %v", up, err)
	}
	if v, found, err := Environment(c.id.PID, "PROC_MARK"); v != "here" || !found || err != nil {
		t.Errorf("%q %v %v", v, found, err)
	}
	keep := func(p Process) bool { return p.PID == c.id.PID }
	if killed, err := KillMarked(nil, "PROC_MARK", "here", keep); err != nil || len(killed) != 0 {
		t.Errorf("killed %v %v", killed, err)
	}
	if killed, err := KillMarked(nil, "PROC_MARK", "here", nil); err != nil || len(killed) != 1 {
		t.Errorf("killed %v %v", killed, err)
	}
	if alive, err := Alive(c.id); err != nil || alive {
		t.Errorf("%v %v", alive, err)
	}
}

func TestGroupIsSignalled(t *testing.T) {
	c := newChild(t)
	g, err := NewGroup(c.id.PID)
	if err != nil || g.ID() != c.id.PID {
		t.Fatal(err)
	}
	if err := g.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	c.reap()
	if err := g.Signal(syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("empty group: %v", err)
	}
}

func TestSetOOM(t *testing.T) {
	c := newChild(t)
	if err := SetOOM(c.id.PID, OOMScore()+300); err != nil {
		t.Skipf("SKIP: %v", err)
	}
	own, _ := os.ReadFile("/proc/self/oom_score_adj")
	got, _ := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", c.id.PID))
	var a, b int
	_, _ = fmt.Sscan(string(own), &a)
	_, _ = fmt.Sscan(string(got), &b)
	if b != min(a+300, 1000) {
		t.Errorf("own %d, child %d", a, b)
	}
}
