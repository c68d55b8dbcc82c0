//go:build linux

package chaos

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/client"
	"scv/internal/wire"
)

// startWith starts a daemon that may have so many descriptors and no more, and waits until it answers.
func (l *lab) startWith(descriptors int) {
	l.t.Helper()
	l.restart() // the home is made
	l.d.kill()
	cmd := exec.Command("sh", "-c", fmt.Sprintf("ulimit -n %d; exec %s run", descriptors, l.prog.scv))
	cmd.Env, cmd.Dir = l.env, l.work
	l.must(cmd.Start())
	l.d = &daemon{cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(l.d.gone)
		_ = cmd.Wait()
	}()
	if !l.ready() {
		l.t.Fatalf("with %d descriptors it went: %v", descriptors, l.d.cmd.ProcessState)
	}
}

// limit changes how many descriptors the daemon may have from now on.
func (l *lab) limit(descriptors uint64) {
	l.t.Helper()
	var now unix.Rlimit
	l.must(unix.Prlimit(l.d.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &now))
	l.must(unix.Prlimit(l.d.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: descriptors, Max: now.Max}, nil))
}

// withFree is a limit under which the daemon can open so many more.
func (l *lab) withFree(free int) (limit uint64) {
	l.t.Helper()
	for ; free > 0; limit++ {
		if _, err := os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", l.d.cmd.Process.Pid, limit)); err != nil {
			free--
		}
	}
	return limit
}

// besieged connects so many clients that never say a word, as far as they are let in.
func (l *lab) besieged(n int) (conns []net.Conn) {
	for range n {
		if c, err := net.DialTimeout("unix", l.target().Socket, time.Second); err == nil {
			conns = append(conns, c)
		}
	}
	return conns
}

// stays fails the test when the daemon is gone.
func (l *lab) stays() {
	l.t.Helper()
	select {
	case <-l.d.gone:
		l.t.Errorf("the daemon went: %v", l.d.cmd.ProcessState)
	default:
	}
}

// lacks reports whether a job waits for descriptors and says so.
func lacks(j *wire.Job) bool {
	return j.State == wire.StateQueued && strings.Contains(deref(j.Detail), "file descriptor")
}

// TestS10_FewDescriptors: a daemon that may have 48 of them, or 32, and more clients than that. It stays up and tells who
// comes then that it is busy and what helps; when they are gone it takes a job. With 32 there may be too few for a start
// even then: the job says that it waits for them. It begins by itself as soon as there are more.
func TestS10_FewDescriptors(t *testing.T) {
	for _, limit := range []int{48, 32} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			l := newLab(t)
			l.startWith(limit)
			conns := l.besieged(60)
			defer func() {
				for _, c := range conns {
					_ = c.Close()
				}
			}()
			if len(conns) < 60 {
				t.Fatalf("%d clients were let in to the door: nothing was tried", len(conns))
			}
			l.must(conns[59].SetReadDeadline(time.Now().Add(late * 20)))
			line, err := bufio.NewReader(conns[59]).ReadString('\n')
			if err != nil || !strings.Contains(line, `"reason":"busy"`) || !strings.Contains(line, "no descriptors left") || !strings.Contains(line, "ulimit") {
				t.Errorf("the last of them is told %q, %v", line, err)
			}
			l.stays()
			for _, c := range conns {
				_ = c.Close()
			}
			if j := l.waits("after"); limit == 48 {
				l.reaches(j.Ref(), wire.StateCompleted)
			} else if !j.State.Final() { // it waits, and goes on with the next daemon
				l.restart()
				l.reaches(j.Ref(), wire.StateCompleted)
			}
			l.stays()
		})
	}
}

// TestS10_DescriptorsRunOutAndComeBack: what runs goes on and a job that is to start waits and says for what, while the
// daemon can open nothing more; and it begins by itself when that is over.
func TestS10_DescriptorsRunOutAndComeBack(t *testing.T) {
	l := newLab(t)
	l.restart()
	runs := l.job("codex", talk("runs", 200, 20))
	l.reaches(runs, wire.StateWorking)
	conn, err := client.Dial(l.ctx, l.target(), l.target().Client) // nobody else comes in
	l.must(err)
	defer conn.Close()
	l.limit(l.withFree(4)) // enough to look who asks, and too few for a start
	st, err := conn.Call(l.ctx, wire.WorkbenchStart{Workspace: l.work, Agent: "codex", Prompt: talk("new", 3, 1), Key: client.NewKey()})
	l.must(err)
	ref := *st.WorkbenchJob
	for said := false; !said; {
		st, err := conn.Call(l.ctx, wire.WorkbenchCommand{})
		l.must(err)
		if j := jobOf(st.Workbench, ref); j != nil && j.State.Final() {
			t.Fatalf("it is %s: %s", j.State, deref(j.Detail))
		} else if said = j != nil && lacks(j); !said {
			<-time.After(5 * time.Millisecond)
		}
	}
	l.stays()
	l.limit(1024)
	for _, j := range l.all() {
		l.reaches(j.Ref(), wire.StateCompleted)
	}
	if j := l.reaches(runs, wire.StateCompleted); !gapless(numbers(l.events(*j.Run)), 200) {
		t.Errorf("what ran has %v", numbers(l.events(*j.Run)))
	}
}

// waits asks for a job until it is taken, and returns it once it has ended or says that descriptors are missing.
func (l *lab) waits(tag string) *wire.Job {
	l.t.Helper()
	cmd := wire.WorkbenchStart{Workspace: l.work, Agent: "codex", Prompt: talk(tag, 3, 1), Key: client.NewKey()}
	st, err := l.insist(l.ctx, cmd)
	for refused(err, wire.ReasonBusy) && l.ctx.Err() == nil { // it has not seen yet that clients went
		st, err = l.insist(l.ctx, cmd)
	}
	l.must(err)
	view := l.until(tag+" has ended or waits", func(v *wire.Snapshot) bool {
		j := jobOf(v, *st.WorkbenchJob)
		return j != nil && (j.State.Final() || lacks(j))
	})
	return jobOf(view, *st.WorkbenchJob)
}
