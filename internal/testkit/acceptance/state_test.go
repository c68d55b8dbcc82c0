//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"scv/internal/wire"
)

// agents are the processes that an agent program of the lab is.
func (l *lab) agents(word string) []int {
	var pids []int
	for pid, line := range l.processes(word) {
		if !strings.HasPrefix(line, "agent-shim") && !strings.Contains(line, "jobs") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestP1_AgentGoesSilentAndIsKilled: alive and silent it works; killed it has ended, and not well.
func TestP1_AgentGoesSilentAndIsKilled(t *testing.T) {
	for _, agent := range []string{"codex", "claude", "demo"} {
		t.Run(agent, func(t *testing.T) {
			l := newLab(t)
			if agent != "demo" {
				l.fake(agent)
			}
			id := l.start("--agent", agent, "@@say:one line|hang")
			l.says(id, said("one line"))
			if j := l.reaches(id, wire.StateWorking); j.Run == nil {
				t.Error("it works without a run")
			}
			word := map[string]string{"codex": "exec --json", "claude": "stream-json", "demo": "__demo-agent"}[agent]
			pids := l.agents(word)
			if len(pids) != 1 {
				t.Fatalf("agent processes %v of %v", pids, l.processes(""))
			}
			l.must(syscall.Kill(pids[0], syscall.SIGKILL))
			view := l.until("it has ended", func(v *wire.Snapshot) bool { return job(v, id).State.Final() })
			switch j := job(view, id); {
			case j.State == wire.StateCompleted:
				t.Error("a killed agent has completed")
			case j.Detail == nil || *j.Detail == "":
				t.Errorf("it is %s without a reason", j.State)
			default:
				t.Logf("%s: %s", j.State, *j.Detail)
			}
			if code, _, _ := l.scv("jobs", "wait", string(id)); code != 1 {
				t.Errorf("wait: code %d", code)
			}
		})
	}
}

// TestP2_WhatIsPrintedIsNoState: a spinner, a row that names a state, and a list change nothing.
func TestP2_WhatIsPrintedIsNoState(t *testing.T) {
	l := newLab(t)
	open := l.gate()
	rows := "printf '\\033[2K\\r⠋ Working (1h 13m • esc to interrupt)\\r\\n'\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do echo \"- item $i: completed, failed, idle >\"; done"
	l.agent("codex", "while read -r line; do :; done\n"+codexBegins+"\n"+rows+"\n"+codexSays("⠋ Working (1h 13m)")+"\n"+codexSays("Task completed. Do you want to proceed? [y/N]")+
		"\nread -r go <$here/gate\n"+codexEnds)
	id := l.start("--agent", "codex", "list them")
	l.says(id, said("Do you want to proceed"))
	view := l.until("it is seen", func(v *wire.Snapshot) bool { return job(v, id) != nil })
	if j := job(view, id); j.State != wire.StateWorking {
		t.Errorf("it is %s", j.State)
	}
	open()
	l.reaches(id, wire.StateCompleted)
	for row := range strings.SplitSeq(l.ok("jobs", "log", string(id)), "\n") {
		if strings.ContainsAny(row, "\x1b\r") {
			t.Errorf("a control byte was printed: %q", row)
		}
	}
}

// TestB3_AgentThatCannotStartLeavesOneFailedJob: whatever is wrong with the program, there is one failed job, which can
// be dismissed, and nothing else.
func TestB3_AgentThatCannotStartLeavesOneFailedJob(t *testing.T) {
	l := newLab(t)
	const rounds = 20
	for round := range rounds {
		bad := filepath.Join(l.bin, "codex")
		l.must(os.RemoveAll(bad))
		switch round % 4 {
		case 0:
			l.must(os.Mkdir(bad, 0o700))
		case 1:
			l.agent("codex", "exit 1")
		case 2:
			l.must(os.WriteFile(bad, []byte("#!/no/such/interpreter\n"), 0o700))
		case 3:
			l.must(os.WriteFile(bad, []byte("no program\x00"), 0o600))
		}
		l.config("[agents.codex]\ncommand = \"" + bad + "\"\n[limits]\nmemory_floor_mb = 0\n")
		if round < 4 {
			l.scv("restart")
		}
		id := wire.JobID(fmt.Sprintf("job-%d", round+1))
		code, out, errs := l.scv("jobs", "start", "--wait", "--agent", "codex", "x")
		if code == 0 || out != "" || !strings.Contains(errs, "failed") {
			t.Errorf("round %d: code %d, %q, %q", round, code, out, errs)
		}
		l.rests()
		view := l.until("it is there", func(v *wire.Snapshot) bool { return job(v, id) != nil })
		if len(view.Jobs) != 1 {
			t.Errorf("round %d: %d jobs", round, len(view.Jobs))
		}
		if j := job(view, id); j.State != wire.StateFailed || j.Detail == nil {
			t.Errorf("round %d: %+v", round, j)
		}
		if why := l.ok("why", string(id)); round%4 != 1 && strings.Contains(why, "took the prompt") {
			t.Errorf("round %d: an agent that never ran is said to have taken its prompt:\n%s", round, why)
		}
		l.ok("jobs", "dismiss", string(id))
		if out := l.ok("jobs", "list", "-q"); out != "" {
			t.Errorf("round %d: a dismissed job is listed: %q", round, out)
		}
	}
	if left := l.processes("agent-shim"); len(left) > 0 {
		t.Errorf("shims are left: %v", left)
	}
}

// TestP5_ClassOfAFailureAndItsExitCode: what the agent's own error says is a class, and a missing sign-in is code 4.
func TestP5_ClassOfAFailureAndItsExitCode(t *testing.T) {
	l := newLab(t)
	l.fake("codex")
	l.fake("claude")
	classes := map[string]wire.Class{"auth": wire.ClassAuth, "quota": wire.ClassQuota, "network": wire.ClassNetwork, "model": wire.ClassModel}
	for _, agent := range []string{"codex", "claude", "demo"} {
		for _, word := range []string{"network", "model", "quota", "auth"} { // what comes after a missing sign-in waits for it
			class := classes[word]
			id := l.start("--agent", agent, "@@say:trying|"+word)
			want := 1
			if class == wire.ClassAuth {
				want = 4
			}
			if code, _, errs := l.scv("jobs", "wait", string(id)); code != want || !strings.Contains(errs, "Next: ") {
				t.Errorf("%s %s: wait: code %d, want %d: %s", agent, word, code, want, errs)
			}
			j := l.reaches(id, wire.StateFailed)
			if j.Class == nil || *j.Class != class {
				t.Errorf("%s %s: class %v, detail %v", agent, word, j.Class, *j.Detail)
			}
		}
	}
}

// TestB23_FourAtOnceWithoutTheAgent: each way to the outcome of a job that could not start says that it failed.
func TestB23_FourAtOnceWithoutTheAgent(t *testing.T) {
	l := newLab(t)
	l.config("[agents.codex]\ncommand = \"" + filepath.Join(l.bin, "missing") + "\"\n[limits]\nmemory_floor_mb = 0\n")
	l.ok("start")
	type end struct {
		code int
		errs string
	}
	ends := make(chan end, 4)
	for range 4 {
		go func() {
			code, _, errs := l.scv("jobs", "start", "--wait", "--agent", "codex", "x")
			ends <- end{code, errs}
		}()
	}
	for range 4 {
		if e := <-ends; e.code == 0 || !strings.Contains(e.errs, "missing") {
			t.Errorf("code %d: %s", e.code, e.errs)
		}
	}
	for _, args := range [][]string{
		{"jobs", "wait", "job-1", "job-2", "job-3", "job-4"}, {"jobs", "wait", "job-3"}, {"jobs", "result", "job-2"}, {"jobs", "log", "-f", "--wait", "job-1"},
	} {
		if code, _, errs := l.scv(args...); code == 0 {
			t.Errorf("scv %v: code 0: %s", args, errs)
		}
	}
	if code, _, _ := l.scv("jobs", "wait", "--json", "job-1"); code == 0 {
		t.Error("wait --json: code 0")
	}
}

// TestU16_EachChangeNamesTheNextStep: what ended lately is listed, and start --wait prints the reply.
func TestU16_EachChangeNamesTheNextStep(t *testing.T) {
	l := newLab(t)
	_, _, errs := l.scv("jobs", "start", "--agent", "demo", "@@say:the reply")
	if !regexp.MustCompile(`job-1 .*Next: scv jobs log -f job-1`).MatchString(errs) {
		t.Errorf("start said %q", errs)
	}
	l.reaches("job-1", wire.StateCompleted)
	if out := l.ok("jobs"); !strings.Contains(out, "job-1") || !strings.Contains(out, "completed") {
		t.Errorf("jobs printed %q", out)
	}
	if out := l.ok("jobs", "start", "--wait", "--agent", "demo", "@@say:the reply"); out != "the reply\n" {
		t.Errorf("start --wait printed %q", out)
	}
	if _, _, errs := l.scv("jobs", "wait", "job-1"); !strings.Contains(errs, "Next: scv jobs result job-1") {
		t.Errorf("wait said %q", errs)
	}
	l.ok("stop")
	if out := l.ok("jobs"); !strings.Contains(out, "job-2") {
		t.Errorf("without a daemon jobs printed %q", out)
	}
}
