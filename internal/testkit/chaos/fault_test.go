//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/failpoint"
	"scv/internal/testkit/census"
	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// TestS10_P37_ErrorAtEachWrite: each write of daemon and shim fails, for want of room, by an error of the disk or because
// it became read-only, while a job runs and others are asked for. The daemon stays up; what it cannot keep it refuses with
// a sentence; when the disk is well again it goes on by itself, and nothing that was taken is lost.
func TestS10_P37_ErrorAtEachWrite(t *testing.T) {
	all := []string{"ENOSPC", "EIO", "EROFS"}
	for i, place := range slices.Concat(failpoint.OfDaemon(), failpoint.OfShim()) {
		if strings.HasSuffix(place, string(failpoint.After)) || turnsTail(place) {
			continue // what has happened does not fail any more
		}
		errs := all
		if *longFlag == 1 {
			errs = all[i%len(all):][:1]
		}
		for _, err := range errs {
			t.Run(place+" "+err, func(t *testing.T) {
				t.Parallel()
				failing(t, place, err)
			})
		}
	}
}

func failing(t *testing.T, place, fault string) {
	k := newLab(t).loop()
	sick := filepath.Join(k.base, "sick")
	rules := fmt.Sprintf("%s=%s;set:while=%s;%s", place, fault, sick, small)
	k.start(rules, rules)
	k.ready()
	runs := k.job("codex", talk("runs", 120, 5))
	k.reaches(runs, wire.StateWorking)
	k.must(os.WriteFile(sick, nil, 0o600))
	var taken []wire.JobRef
	for i := range 3 {
		st, err := k.ask(k.ctx, wire.WorkbenchStart{Workspace: k.work, Agent: "codex", Prompt: talk(fmt.Sprintf("new%d", i), 3, 1), Key: client.NewKey()})
		refused, is := errors.AsType[*wire.Error](err)
		switch {
		case err == nil:
			taken = append(taken, *st.WorkbenchJob)
		case is && refused.Message != "" && refused.Hint != "":
		case strings.HasPrefix(place, string(failpoint.ServerReply)): // nobody hears of it
		default:
			t.Errorf("a start: %v", err)
		}
	}
	<-time.After(100 * time.Millisecond) // the fault lasts for a while
	k.must(os.Remove(sick))
	if j := k.reaches(runs, wire.StateCompleted); !gapless(numbers(k.events(*j.Run)), 120) {
		t.Errorf("what ran has %v", numbers(k.events(*j.Run)))
	}
	for _, ref := range taken {
		k.until("what was taken has ended", func(v *wire.Snapshot) bool { j := jobOf(v, ref); return j != nil && j.State.Final() })
	}
	after := k.job("codex", talk("after", 3, 1))
	k.reaches(after, wire.StateCompleted)
	view := k.rests()
	if view.Storage != "" {
		t.Errorf("all is well, and it says %q", view.Storage)
	}
	select {
	case <-k.d.gone:
		t.Errorf("the daemon went: %v", k.d.cmd.ProcessState)
	default:
	}
}

// TestS10_SystemCallsFail: strace makes the Nth call of a kind fail in the daemon and all that it starts. Nobody panics,
// and afterwards a daemon without faults finds what was acknowledged, and everything at an end.
func TestS10_SystemCallsFail(t *testing.T) {
	need.Program(t, "strace")
	seed := seed(t)
	r := random(seed, 1)
	step := max(1, 50 / *longFlag)
	tried := 0
	for _, call := range []string{"write,pwrite64", "fsync,fdatasync", "rename,renameat,renameat2", "openat"} {
		for _, fault := range []string{"ENOSPC", "EIO"} {
			for n := 1 + r.IntN(step); n <= 200; n += step {
				tried++
				t.Run(fmt.Sprintf("%s %s %d", call, fault, n), func(t *testing.T) {
					t.Parallel()
					callsFail(t, call, fault, n)
				})
			}
		}
	}
	t.Logf("| system call failed | %d |", tried)
}

func callsFail(t *testing.T, call, fault string, n int) {
	l := newLab(t)
	l.restart() // the home is made
	l.d.kill()
	log, err := os.Create(filepath.Join(l.base, "faulty.log"))
	l.must(err)
	defer log.Close()
	cmd := exec.Command("strace", "-f", "-qq", "-o", filepath.Join(l.base, "strace"), "-e", "trace="+call,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%d", call, fault, n), l.prog.scv, "run")
	cmd.Env, cmd.Dir, cmd.Stderr = l.env, l.work, log
	l.must(cmd.Start())
	l.d = &daemon{cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(l.d.gone)
		_ = cmd.Wait()
	}()
	ref, taken := wire.JobRef(""), false
	if l.ready() {
		st, err := l.ask(l.ctx, wire.WorkbenchStart{Workspace: l.work, Agent: "codex", Prompt: talk("faulty", 5, 1), Key: client.NewKey()})
		if taken = err == nil; taken {
			ref = *st.WorkbenchJob
			deadline := time.After(2 * time.Second)
			for over := false; !over; { // as far as it comes
				select {
				case <-deadline:
					over = true
				case <-l.d.gone:
					over = true
				case <-time.After(10 * time.Millisecond):
					st, err := l.ask(l.ctx, wire.WorkbenchCommand{})
					over = err == nil && jobOf(st.Workbench, ref) != nil && jobOf(st.Workbench, ref).State.Final()
				}
			}
		}
	}
	// The tracer's child is the daemon; its end is that of strace.
	for pid, line := range census.Processes(l.home) {
		if strings.HasSuffix(strings.TrimSpace(line), "scv run") && pid != cmd.Process.Pid {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
		}
	}
	<-l.d.gone
	said, _ := os.ReadFile(log.Name())
	if strings.Contains(string(said), "panic:") || strings.Contains(string(said), "goroutine ") {
		t.Errorf("the daemon says:\n%s", said)
	}
	l.restart()
	if taken {
		l.until("the job has ended", func(v *wire.Snapshot) bool { j := jobOf(v, ref); return j != nil && j.State.Final() })
	}
	after := l.job("codex", talk("after", 3, 1))
	l.reaches(after, wire.StateCompleted)
	l.rests()
	for _, j := range l.all() {
		if j.Run != nil {
			l.log(*j.Run, &wish{tag: j.Task})
		}
	}
}
