//go:build linux

package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"scv/internal/run/control"
	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// scoreOf is how likely a victim a process is when memory runs out.
func (l *lab) scoreOf(pid int) int {
	l.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	l.must(err)
	score, err := strconv.Atoi(strings.TrimSpace(string(data)))
	l.must(err)
	return score
}

// TestP35_AnAgentIsWhatMemoryRunsOutFor: daemon, shims and agents may use so much together, and one agent wants all of it.
// That agent ends, which is said as what it was; the daemon, the shims and a run beside it go on. The system is told to
// prefer any agent to what keeps its record, and the daemon is not asked to give way.
func TestP35_AnAgentIsWhatMemoryRunsOutFor(t *testing.T) {
	group := need.Memory(t, 300<<20) // made first, so that it goes last
	l := newLab(t)
	cmd := exec.Command("sh", "-c", fmt.Sprintf("echo $$ >%s && exec %s run", group, l.prog.scv))
	cmd.Env, cmd.Dir = l.env, l.work
	l.must(cmd.Start())
	l.d = &daemon{cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(l.d.gone)
		_ = cmd.Wait()
	}()
	if !l.ready() {
		t.Fatalf("it went: %v", l.d.cmd.ProcessState)
	}
	beside := l.job("codex", talk("beside", 300, 10))
	run := *l.reaches(beside, wire.StateWorking).Run
	l.until("it talks", func(*wire.Snapshot) bool { return len(numbers(l.events(run))) > 0 })
	shim, err := control.ReadShim(filepath.Join(l.home, "runs", string(run)))
	l.must(err)
	own := l.scoreOf(l.d.cmd.Process.Pid)
	if of, agent := l.scoreOf(shim.PID), l.scoreOf(shim.Agent); of != own || agent != min(own+300, 1000) {
		t.Errorf("the daemon is a victim by %d, the shim by %d, its agent by %d", own, of, agent)
	}
	eats := l.job("codex", "eats\n@@say:hungry|eat")
	if j := l.reaches(eats, wire.StateFailed); !strings.Contains(deref(j.Detail), "memory ran out") {
		t.Errorf("of the one that ate is said %q", deref(j.Detail))
	}
	if j := l.reaches(beside, wire.StateCompleted); !gapless(numbers(l.events(*j.Run)), 300) {
		t.Errorf("the one beside it said %v", numbers(l.events(*j.Run)))
	}
	l.stays()
}
