//go:build linux

package chaos

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/run/control"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

// TestS14_ReadyBeforeItsRunsAreFound: a daemon whose live runs do not answer answers all the same, though it may wait an
// hour for each: it takes jobs and ends them. One that waits as usual says of each run that it is unknown and why. When they
// answer it finds every one again.
func TestS14_ReadyBeforeItsRunsAreFound(t *testing.T) {
	const runs = 20
	l := newLab(t)
	l.restart()
	var refs []wire.JobRef
	for i := range runs {
		refs = append(refs, l.job("codex", fmt.Sprintf("r%d\n@@say:n 1.|sleep:3000|say:n 2.", i)))
	}
	held := map[wire.JobRef]int{}
	for _, ref := range refs {
		run := l.until("it runs", func(v *wire.Snapshot) bool { j := jobOf(v, ref); return j.Run != nil && j.State != wire.StateStarting })
		if j := jobOf(run, ref); !j.State.Final() {
			pid := l.shimOf(*j.Run)
			if syscall.Kill(pid, syscall.SIGSTOP) == nil { // it may have ended meanwhile
				held[ref] = pid
			}
		}
	}
	l.d.kill()
	l.start(fmt.Sprintf("set:dial=%d", time.Hour), "")
	l.ready()
	after := l.job("codex", talk("after", 3, 1))
	l.reaches(after, wire.StateCompleted)
	l.restart()
	unknown := 0
	l.until("each says why", func(v *wire.Snapshot) bool {
		unknown = 0
		for ref := range held {
			j := jobOf(v, ref)
			if !j.State.Final() && (j.State != wire.StateUnknown || !strings.Contains(deref(j.Detail), "does not answer")) {
				return false
			}
			if !j.State.Final() {
				unknown++
			}
		}
		return true
	})
	if unknown == 0 {
		t.Error("every run had ended: nothing was tried")
	}
	for _, pid := range held {
		l.must(syscall.Kill(pid, syscall.SIGCONT))
	}
	for _, ref := range refs {
		j := l.reaches(ref, wire.StateCompleted)
		if !gapless(numbers(l.events(*j.Run)), 2) {
			t.Errorf("%s said %v", ref, numbers(l.events(*j.Run)))
		}
	}
	t.Logf("%d of %d runs were out of reach", unknown, runs)
}

// TestR1_IdleShimsAreSmall: fifty shims whose agents are quiet take little of the machine's memory each, counted as what is
// theirs and their share of what they have in common, once each gave back what only its start needed. One that keeps that
// takes 1,890 to 2,050 KiB.
func TestR1_IdleShimsAreSmall(t *testing.T) {
	const shims, most = 50, 1850 // KiB each; the bar is 2.0 MB (docs/decisions/011)
	l := newLab(t)
	for i := range shims {
		run := fmt.Sprintf("sleep-%06x", i)
		dir := filepath.Join(l.base, run)
		sp, err := control.Spawn(l.ctx, control.SpawnSpec{
			Exe: l.prog.scv, RunDir: dir, Argv: []string{"sleep", "86400"}, Env: l.env,
			Spec: control.Spec{Run: run, Cwd: l.work, Stdin: control.StdinNull, Socket: dir + ".s"},
		})
		l.must(err)
		l.must(sp.Go(l.ctx))
		defer func() {
			link, err := control.Dial(l.ctx, dir+".s")
			l.must(err)
			l.must(link.Stop(l.ctx, control.StepKill))
			<-sp.Gone()
			l.must(link.Close())
		}()
	}
	var pids []int
	for i := range shims {
		shim, err := control.ReadShim(filepath.Join(l.base, fmt.Sprintf("sleep-%06x", i)))
		l.must(err)
		pids = append(pids, shim.PID)
	}
	each := most + 1
	for each > most && l.ctx.Err() == nil { // a shim gives back a second after its start, the last of them later
		sum := 0
		for _, pid := range pids {
			sum += census.Share(pid)
		}
		each = sum / shims
	}
	t.Logf("%d KiB each", each)
	if each > most || each == 0 {
		t.Errorf("%d shims take %d KiB each, and may take %d", shims, each, most)
	}
}
