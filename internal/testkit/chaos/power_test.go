//go:build linux

package chaos

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/run/control"
	"scv/internal/testkit/census"
	"scv/internal/testkit/need"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// A cut is a disk as it was when the power went, and what had been acknowledged by then.
type cut struct {
	image string
	acks  []ack
}

// TestS4_PowerLossLosesNothingAcknowledged: the home lies on a disk of its own. Again and again all that writes there is
// stopped and the disk's bytes are copied: what the system holds back is not in the copy, as after a power loss. Each
// copy is looked at as the next start would find it.
func TestS4_PowerLossLosesNothingAcknowledged(t *testing.T) {
	acked, lost := powerLoss(t, seed(t), 8**longFlag, "")
	t.Logf("| power lost | %d | acknowledged before: %d, lost: %d |", 8**longFlag, acked, lost)
	if lost > 0 {
		t.Errorf("%d of %d acknowledged things are lost", lost, acked)
	}
}

// TestS4_ControlWithWeakerSettingsFails: the same with a ledger that is not flushed at each commit has to lose something,
// else the test above could not see a loss. A flush by something else right before the cut carries the ledger's bytes
// along, more often the busier the machine is: so the power may go again.
func TestS4_ControlWithWeakerSettingsFails(t *testing.T) {
	first := seed(t)
	acked, lost := 0, 0
	for round := uint64(0); round < 8 && lost == 0; round++ {
		a, l := powerLoss(t, first+round, 3, "set:synchronous=NORMAL")
		acked, lost = acked+a, lost+l
	}
	t.Logf("with synchronous=NORMAL %d of %d acknowledged things are lost", lost, acked)
	if lost == 0 {
		t.Errorf("nothing of %d acknowledged things is lost without flushes: the harness sees no loss", acked)
	}
}

func powerLoss(t *testing.T, seed uint64, cuts int, rules string) (acked, lost int) {
	need.Root(t)
	base, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(base, "d")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	var taken []cut
	interrupted := 0
	t.Run("cuts", func(t *testing.T) { // its end ends the processes and unmounts the disk
		image := need.Image(t, disk, 48)
		l := labIn(t, base, filepath.Join(disk, "h"))
		l.shared = true
		taken = l.cuts(seed, cuts, image, rules)
	})
	for i, c := range taken {
		t.Run(fmt.Sprintf("cut %d", i), func(t *testing.T) {
			at := filepath.Join(base, fmt.Sprintf("m%d", i))
			if err := os.Mkdir(at, 0o700); err != nil {
				t.Fatal(err)
			}
			need.MountImage(t, c.image, at)
			lost += missing(t, filepath.Join(at, "h"), c.acks)
			if rules == "" {
				interrupted += bootAgain(t, base, filepath.Join(at, "h"))
			}
		})
		acked += len(c.acks)
	}
	if rules == "" && interrupted == 0 {
		t.Error("nothing ran at any of the cuts: nothing was tried")
	}
	if err := os.RemoveAll(base); err != nil {
		t.Error(err)
	}
	return acked, lost
}

// cuts lets a crowd work and copies the disk that many times.
func (l *lab) cuts(seed uint64, n int, image, rules string) (taken []cut) {
	var mu sync.Mutex
	var acks []ack
	l.start(rules, "")
	l.ready()
	c := l.crowd(seed, 4, load{messages: 20, ms: 5, pad: 40, open: 4, cancels: 2}, func(a ack) {
		mu.Lock()
		defer mu.Unlock()
		acks = append(acks, a)
	})
	r := random(seed, 4)
	for i := range n {
		<-time.After(time.Duration(150+r.IntN(250)) * time.Millisecond)
		frozen := l.freeze()
		mu.Lock()
		told := slices.Clone(acks)
		mu.Unlock()
		copied := fmt.Sprintf("%s.%d", image, i)
		l.copyDisk(image, copied)
		l.thaw(frozen)
		taken = append(taken, cut{copied, told})
	}
	if err := c.leave(); err != nil {
		l.t.Error(err)
	}
	return taken
}

// freeze stops the daemon and every shim.
func (l *lab) freeze() (pids []int) {
	for pid, line := range census.Processes(l.home) {
		if strings.HasPrefix(line, control.Arg0) || pid == l.d.cmd.Process.Pid {
			if syscall.Kill(pid, syscall.SIGSTOP) == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (l *lab) thaw(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may be gone
	}
}

// copyDisk copies the image while nothing is written to it, however often that has to be tried.
func (l *lab) copyDisk(image, to string) {
	l.t.Helper()
	out, err := exec.Command("losetup", "-n", "-O", "NAME", "-j", image).Output()
	l.must(err)
	stat := fmt.Sprintf("/sys/block/%s/stat", filepath.Base(strings.TrimSpace(string(out))))
	for l.ctx.Err() == nil {
		before, err := os.ReadFile(stat)
		l.must(err)
		l.must(exec.Command("cp", "--sparse=always", image, to).Run())
		after, err := os.ReadFile(stat)
		l.must(err)
		if bytes.Equal(before, after) {
			return
		}
	}
	l.t.Fatal("the disk does not come to rest")
}

// missing counts what was acknowledged and is not in a home.
func missing(t *testing.T, dir string, acks []ack) (lost int) {
	t.Helper()
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s, err := ledger.Open(t.Context(), h, nil)
	if err != nil {
		t.Errorf("the ledger cannot be opened: %v", err)
		return len(acks)
	}
	defer s.Close(t.Context())
	for _, a := range acks {
		session, id, _ := a.ref.Split()
		j, found, err := s.Job(t.Context(), session, id)
		if err != nil {
			t.Error(err)
		}
		if !found || !keeps(&j, a) {
			lost++
		}
	}
	return lost
}

// keeps reports whether a job shows what was acknowledged of it.
func keeps(j *row.Job, a ack) bool {
	switch a.op {
	case "start", "send":
		return j.Task == a.tag
	case "cancel":
		return j.Cancelled || j.State.Final()
	case "dismiss":
		return j.Dismissed
	default: // the end of a run is in the run's row, and ends its job
		return true
	}
}

// bootAgain starts a daemon on a home after another start of the machine: what ran is interrupted, nothing is lost or
// started again by itself, and every log can be read. It returns how many were interrupted.
func bootAgain(t *testing.T, base, dir string) int {
	boot := filepath.Join(base, "boot_id")
	if err := os.WriteFile(boot, []byte("11111111-2222-4333-8444-555555555555\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, base: filepath.Dir(dir), home: dir, work: filepath.Join(base, "w"), prog: built(t)}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // what is wrong is shown then
	defer cancel()
	l.ctx = ctx
	l.env = []string{"SCV_HOME=" + dir, "HOME=" + filepath.Join(base, "u"), "PATH=/usr/bin:/bin", "TERM=dumb"}
	cmd := exec.Command("unshare", "-m", "sh", "-c",
		"mount --bind "+boot+" /proc/sys/kernel/random/boot_id && exec "+l.prog.scv+" run")
	cmd.Env, cmd.Dir = l.env, l.work
	var log bytes.Buffer
	cmd.Stderr = &log
	l.must(cmd.Start())
	l.d = &daemon{cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(l.d.gone)
		_ = cmd.Wait()
	}()
	defer l.d.kill()
	view := l.rests()
	states := map[wire.AgentState]int{}
	for _, j := range l.all() {
		states[j.State]++
		if j.Run != nil {
			l.log(*j.Run, &wish{tag: j.Task})
		}
	}
	t.Logf("after another start of the machine: %v, %d runs", states, len(view.Runs))
	l.must(cmd.Process.Signal(syscall.SIGTERM))
	<-l.d.gone
	if t.Failed() {
		t.Log(log.String())
	}
	return states[wire.StateInterrupted]
}
