//go:build linux

package acceptance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
)

// A count is one job that says numbers and who follows it, never told of what happens to the daemon.
type counting struct {
	id   wire.JobID
	live bool // its agent stays when the turn is over
	run  wire.RunHandle
	seen chan int
	done chan error
}

// counts starts n jobs that say numbers up to last, each second one of an agent that lives on, and follows each.
func (l *lab) counts(n, last, pauseMs int) []*counting {
	l.t.Helper()
	var all []*counting
	for i := range n {
		agent := []string{"demo", "demo-live"}[i%2]
		c := &counting{id: l.start("--agent", agent, numbered(last, pauseMs)), live: i%2 == 1, seen: make(chan int, last), done: make(chan error, 1)}
		view := l.until("it has a run", func(v *wire.Snapshot) bool { j := job(v, c.id); return j != nil && j.Run != nil })
		c.run = *job(view, c.id).Run
		go func() {
			c.done <- client.FollowLog(l.ctx, l.target(), c.run, client.LogPosition{}, func(p wire.RunLogPage) error {
				for _, n := range numbers(p.Events) {
					c.seen <- n
				}
				return nil
			})
			close(c.seen)
		}()
		all = append(all, c)
	}
	return all
}

// whole wants the numbers from next to last, each once and in order, and nothing after.
func (l *lab) whole(c *counting, next, last int) {
	l.t.Helper()
	for ; next <= last; next++ {
		if got, ok := <-c.seen; !ok || got != next {
			l.t.Errorf("the follower of %s saw %d where %d comes: %v", c.id, got, next, ok)
			return
		}
	}
	if c.live {
		l.reaches(c.id, wire.StateCompleted)
		l.ok("agents", "kill", string(c.run))
	}
	if n, more := <-c.seen; more {
		l.t.Errorf("the follower of %s saw %d after the end", c.id, n)
	}
	if err := <-c.done; err != nil {
		l.t.Errorf("the follower of %s: %v", c.id, err)
	}
}

// TestS5_B8_RestartInterruptsNobody: ten live runs talk while the daemon is replaced again and again, and clients that
// come in the very moment are answered. Each follower sees every line once, no call fails, nothing is done twice.
func TestS5_B8_RestartInterruptsNobody(t *testing.T) {
	const runs, last, restarts = 10, 120, 8
	l := newLab(t)
	all := l.counts(runs, last, 20)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	asked := 0
	wg.Go(func() { // commands that come at any moment
		for {
			select {
			case <-stop:
				return
			default:
			}
			l.start("--agent", "demo", "@@say:quick")
			asked++
		}
	})
	pids := []int{l.daemon()}
	for range restarts {
		l.ok("restart")
		pids = append(pids, l.daemon())
	}
	close(stop)
	wg.Wait()
	for _, c := range all {
		l.whole(c, 1, last)
		l.reaches(c.id, wire.StateCompleted)
	}
	slices.Sort(pids)
	if n := len(slices.Compact(pids)); n != restarts+1 {
		t.Errorf("%d daemons in %d restarts", n, restarts)
	}
	l.rests()
	if n := strings.Count(l.ok("jobs", "list", "--all", "-q"), "job-"); n != runs+asked {
		t.Errorf("%d jobs are there, %d were asked for", n, runs+asked)
	}
	if out := l.ok("jobs", "list", "--all", "--json=job,state,detail"); strings.Count(out, `"completed"`) != runs+asked {
		t.Errorf("a start was cut off: %s", out)
	}
}

// TestS5_WatcherBridgesARestart: a watcher of the workbench goes on by itself, and what it shows is what is.
func TestS5_WatcherBridgesARestart(t *testing.T) {
	l := newLab(t)
	l.ok("start")
	epochs := make(chan string, 100)
	want := make(chan int, 1)
	seen := make(chan time.Time, 100)
	enough := errors.New("enough")
	var wg sync.WaitGroup
	wg.Go(func() {
		last := ""
		err := client.WatchWorkbench(l.ctx, l.target(), func(v *wire.Snapshot, _ wire.WorkbenchDelta) error {
			if v.Epoch != last {
				last = v.Epoch
				epochs <- last
				seen <- time.Now()
			}
			select {
			case n := <-want:
				if len(v.Jobs) >= n {
					return enough
				}
				want <- n
			default:
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Errorf("the watcher: %v", err)
		}
	})
	<-epochs
	<-seen
	for n := range 3 {
		from := time.Now()
		l.ok("restart")
		l.start("--agent", "demo", "@@say:x") // something to show
		<-epochs
		t.Logf("restart %d: the watcher shows the new daemon after %v", n+1, (<-seen).Sub(from).Round(time.Millisecond))
	}
	want <- 4
	l.start("--agent", "demo", "@@say:last")
	wg.Wait()
}

// TestS5_KilledInTheMiddleOfAHandover: at any moment of a restart the old daemon, the new one or both are killed. The
// home starts again, the run goes on, and each number of it is seen once.
func TestS5_KilledInTheMiddleOfAHandover(t *testing.T) {
	const rounds, last = 24, 2400
	l := newLab(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := l.counts(1, last, 5)[0]
	next := <-c.seen // it is under way
	for round := range rounds {
		old := l.daemon()
		cmd := l.command("restart")
		l.must(cmd.Start())
		timer := time.NewTimer(time.Duration(random.IntN(40_000)) * time.Microsecond)
		<-timer.C
		victims := []int{old}
		if now := l.daemonNow(); now != 0 && now != old && round%3 > 0 {
			victims = append(victims[:round%2], now)
		}
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
		}
		_ = cmd.Wait() // it may fail: its daemon was killed
		l.ok("start")
		if out := l.ok("jobs", "list", "-q"); out != "job-1\n" {
			t.Fatalf("round %d: listed are %q", round, out)
		}
	}
	if code, _, errs := l.scv("jobs", "cancel", string(c.id)); code != 0 {
		t.Fatalf("%s%s", errs, l.ok("why", string(c.id)))
	}
	for n := range c.seen {
		if n != next+1 {
			t.Fatalf("the follower saw %d after %d", n, next)
		}
		next = n
	}
	if err := <-c.done; err != nil || next < 2 {
		t.Errorf("the follower saw %d numbers: %v", next, err)
	}
	l.reaches(c.id, wire.StateCancelled)
}

// daemonNow is the number in the lock, 0 while it is being written.
func (l *lab) daemonNow() (pid int) {
	data, _ := os.ReadFile(filepath.Join(l.home, "state", "server.lock"))
	_, _ = fmt.Sscan(string(data), &pid)
	return pid
}

// TestS5_KilledBeforeTheProgramIsReady and just after: who was to take over leaves by itself and holds nothing.
func TestS5_KilledBeforeTheProgramIsReady(t *testing.T) {
	for name, script := range map[string]string{
		"getting ready": "exec cat <&3 >/dev/null",
		"ready":         `read -r hello <&3; echo '{"t":"ready","v":1}' >&3; kill -9 $PPID; exec cat <&3 >/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.ok("start")
			conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
			l.must(err)
			defer conn.Close()
			begun := filepath.Join(l.base, "begun")
			asked := make(chan error, 1)
			go func() {
				_, err := conn.Call(l.ctx, wire.DaemonRestart{Exe: l.agent("heir", ": >"+begun+"\n"+script)})
				asked <- err
			}()
			for {
				if _, err := os.Stat(begun); err == nil || l.ctx.Err() != nil {
					break
				}
			}
			if name == "getting ready" {
				l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
			}
			<-asked
			for l.ctx.Err() == nil { // the lock is free once both are gone
				if code, _, _ := l.scv("start"); code == 0 {
					break
				}
			}
			if out := l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:here"); out != "here\n" {
				t.Errorf("it answered %q", out)
			}
		})
	}
}

// TestP21_ServiceManagerKnowsTheNewProcess: a daemon of a service tells its manager that it serves, and at a restart which
// process is the main one from there on, and does not end before that was taken.
func TestP21_ServiceManagerKnowsTheNewProcess(t *testing.T) {
	l := newLab(t)
	path := filepath.Join(l.base, "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	l.must(err)
	defer manager.Close()
	if end, ok := l.ctx.Deadline(); ok {
		l.must(manager.SetReadDeadline(end))
	}
	l.env = append(l.env, "NOTIFY_SOCKET="+path)
	told := func() string {
		buf, oob := make([]byte, 256), make([]byte, 64)
		n, oobn, _, _, err := manager.ReadMsgUnix(buf, oob)
		l.must(err)
		list, err := syscall.ParseSocketControlMessage(oob[:oobn])
		l.must(err)
		for i := range list {
			fds, err := syscall.ParseUnixRights(&list[i])
			l.must(err)
			for _, fd := range fds {
				l.must(syscall.Close(fd))
			}
		}
		return string(buf[:n])
	}
	daemon := l.command("run")
	l.must(daemon.Start())
	if got := told(); got != "READY=1" {
		t.Errorf("the manager was told %q", got)
	}
	id := l.start("--agent", "demo", "@@say:up|sleep:300|say:through")
	restart := l.command("restart")
	l.must(restart.Start())
	main, barrier := told(), told()
	l.must(restart.Wait())
	if err := daemon.Wait(); err != nil {
		t.Errorf("the old daemon ended with %v", err)
	}
	if main != "MAINPID="+strconv.Itoa(l.daemon()) || barrier != "BARRIER=1" {
		t.Errorf("the manager was told %q and %q; the daemon is %d", main, barrier, l.daemon())
	}
	l.reaches(id, wire.StateCompleted)
	l.ok("stop")
	if got := told(); got != "STOPPING=1" {
		t.Errorf("the manager was told %q", got)
	}
}
