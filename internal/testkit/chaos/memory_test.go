//go:build linux

package chaos

import (
	"fmt"
	"os"
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

// TestP35_AnAgentIsWhatMemoryRunsOutFor: the system is told to prefer any agent to what keeps its record and to the daemon.
// One that takes more than it may ends, which is said as what it was; the daemon, its shim and a run beside it go on.
func TestP35_AnAgentIsWhatMemoryRunsOutFor(t *testing.T) {
	group := need.Memory(t, 64<<20) // made first, so that it goes last
	l := newLab(t)
	l.restart()
	beside := l.job("codex", talk("beside", 300, 10))
	run := *l.reaches(beside, wire.StateWorking).Run
	l.until("it talks", func(*wire.Snapshot) bool { return len(numbers(l.events(run))) > 0 })
	shim, err := control.ReadShim(filepath.Join(l.home, "runs", string(run)))
	l.must(err)
	own := l.scoreOf(l.d.cmd.Process.Pid)
	if of, agent := l.scoreOf(shim.PID), l.scoreOf(shim.Agent); of != own || agent != min(own+300, 1000) {
		t.Errorf("the daemon is a victim by %d, the shim by %d, its agent by %d", own, of, agent)
	}
	eats := l.job("codex", "eats\n@@shell:echo $PPID >"+group+"|eat")
	if j := l.reaches(eats, wire.StateFailed); !strings.Contains(deref(j.Detail), "memory ran out") {
		t.Errorf("of the one that ate is said %q", deref(j.Detail))
	}
	if j := l.reaches(beside, wire.StateCompleted); !gapless(numbers(l.events(*j.Run)), 300) {
		t.Errorf("the one beside it said %v", numbers(l.events(*j.Run)))
	}
	l.stays()
}
