//go:build linux

package acceptance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/client"
	"scv/internal/testkit/census"
	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// trivial is an agent that says one thing and opens nothing itself.
func (l *lab) trivial() {
	l.t.Helper()
	l.agent("codex", "while read -r line; do :; done\n"+codexBegins+"\n"+codexSays("ok")+"\n"+codexEnds)
}

// TestSpeed_FlushesOfATrivialJob: what was accepted, the exit, the log's end and the last row, each once.
func TestSpeed_FlushesOfATrivialJob(t *testing.T) {
	need.Program(t, "strace")
	l := newLab(t)
	l.trivial()
	l.ok("jobs", "start", "--agent", "codex", "--wait", "warm up")
	l.rests()
	tr := l.traced("fsync,fdatasync,sync_file_range,sync,syncfs,msync")
	begin := time.Now()
	l.ok("jobs", "start", "--agent", "codex", "--wait", "once")
	l.rests()
	took := time.Since(begin)
	lines := tr.lines()
	flushes, checkpoints, streamed := 0, 0, 0
	for _, line := range lines {
		switch {
		case !strings.Contains(line, "sync("):
		case strings.Contains(line, "/ledger.db>"):
			checkpoints++
		case strings.Contains(line, "/events.jsonl>"), strings.Contains(line, "/spool/"):
			streamed++
		default:
			flushes++
		}
	}
	// A checkpoint flushes the WAL before the database. A job that a busy machine draws out is no trivial one: what
	// streams is flushed every 50 ms, in the log or, until it is folded, in the spool.
	if flushes -= checkpoints; flushes > 4 || flushes < 3 || streamed < 1 || streamed > 1+2*int(took/(50*time.Millisecond)) {
		t.Errorf("%d flushes, %d of log and spool and %d checkpoints in %v, want 5 at most:\n%s", flushes, streamed, checkpoints, took, strings.Join(lines, "\n"))
	}
}

// TestSpeed_DeltasFlushNothing: a turn of the model loop flushes for its begin and its end, however many pieces the answer
// comes in.
func TestSpeed_DeltasFlushNothing(t *testing.T) {
	need.Program(t, "strace")
	l := newLab(t)
	l.ownModel()
	l.ok("exec", "--session", "s", "@@say:warm up")
	flushes := func(words int) (n int) {
		tr := l.traced("fsync,fdatasync,sync_file_range,sync,syncfs,msync")
		l.ok("exec", "--session", "s", fmt.Sprintf("@@prose:%d", words))
		for _, line := range tr.lines() {
			if strings.Contains(line, "sync(") && !strings.Contains(line, "/ledger.db>") { // a checkpoint comes when it comes
				n++
			}
		}
		return n
	}
	if few, many := flushes(2), flushes(2000); few < 1 || many > few+1 { // a checkpoint flushes the WAL too
		t.Errorf("%d flushes for an answer in 2 pieces, %d in 2,000", few, many)
	}
}

// TestSpeed_ProcReadsOfATrivialJob: start times and the like, and never a scan. What the language's runtime and the
// listener read at a process's own start is not ours.
func TestSpeed_ProcReadsOfATrivialJob(t *testing.T) {
	need.Program(t, "strace")
	l := newLab(t)
	l.trivial()
	l.ok("jobs", "start", "--agent", "codex", "--wait", "warm up")
	l.rests()
	tr := l.traced("open,openat,openat2")
	l.ok("jobs", "start", "--agent", "codex", "--wait", "once")
	l.rests()
	opened := regexp.MustCompile(`"(/proc[^"]*)", O_RDONLY`)
	var reads []string
	again := false
	for _, line := range tr.lines() {
		m := opened.FindStringSubmatch(line)
		if m == nil || slices.Contains([]string{"/proc/self/cgroup", "/proc/self/mountinfo", "/proc/sys/net/core/somaxconn"}, m[1]) {
			continue
		}
		if strings.Contains(line, "O_DIRECTORY") || strings.TrimRight(m[1], "/") == "/proc" {
			t.Errorf("a scan: %s", line)
		}
		if slices.Contains(reads, m[1]) && !again { // a daemon that comes to a shim's end before its last word looks once more
			again = true
			continue
		}
		reads = append(reads, m[1])
	}
	// The asker's environment, the start times of shim and agent, and how often the system was out of memory. Who stands
	// above an asker is known from the first time; a kernel that does not tell parents by a descriptor is asked for two more
	// lines of its table.
	most := 4
	if own, err := unix.PidfdOpen(os.Getpid(), 0); err != nil || unix.IoctlPidfdInfo(own, &unix.PidfdInfo{}) != nil {
		most += 2
	} else {
		l.must(unix.Close(own))
	}
	if len(reads) > most || len(reads) == 0 {
		t.Errorf("%d reads in /proc, want 1 to %d: %q", len(reads), most, reads)
	}
}

// silent starts n runs that say one line and nothing more.
func (l *lab) silent(n int) {
	l.t.Helper()
	l.ok("start")
	conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
	l.must(err)
	for range n {
		_, err := conn.Call(l.ctx, wire.WorkbenchStart{Workspace: l.work, Agent: "demo", Prompt: "@@say:here|hang", Key: client.NewKey()})
		l.must(err)
	}
	l.must(conn.Close())
	l.until("all work", func(v *wire.Snapshot) bool {
		working := 0
		for _, j := range v.Jobs {
			if j.State == wire.StateWorking {
				working++
			}
		}
		return working == n
	})
}

// watched keeps a watcher on the daemon until the test ends; it returns once the watcher has the whole.
func (l *lab) watched() {
	l.t.Helper()
	conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
	l.must(err)
	_, err = conn.Call(l.ctx, wire.WorkbenchWatch{})
	l.must(err)
	l.t.Cleanup(func() { _ = conn.Close() })
}

// TestM6_P34_IdleCostsNothing: silent runs and a watcher; nothing is opened, nothing written, nobody wakes.
func TestM6_P34_IdleCostsNothing(t *testing.T) {
	const runs = 20
	l := newLab(t)
	l.silent(runs)
	l.watched()
	shims := l.processes("agent-shim")
	if len(shims) != runs {
		t.Fatalf("%d shims for %d runs: %v", len(shims), runs, shims)
	}
	daemon := l.daemon()
	// What start-up left to do (a collection, threads that park) may fill a first window; a tick would show in each.
	type cost struct{ daemon, shims int }
	count := func() cost {
		for pid, line := range shims {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
				t.Fatalf("%s (%d) is gone; the jobs: %s", line, pid, l.ok("jobs", "list", "--all"))
			}
		}
		c := cost{daemon: switches(t, daemon)}
		for pid := range shims {
			c.shims += switches(t, pid)
		}
		return c
	}
	var seen []cost
	for range 5 {
		before := count()
		select {
		case <-time.After(5 * time.Second): // the window that is measured
		case <-l.ctx.Done():
			t.Fatal(l.ctx.Err())
		}
		after := count()
		seen = append(seen, cost{after.daemon - before.daemon, after.shims - before.shims})
		if c := seen[len(seen)-1]; c.daemon <= 3 && c.shims <= 2 {
			break
		}
	}
	if c := seen[len(seen)-1]; c.daemon > 3 || c.shims > 2 {
		t.Errorf("voluntary context switches in windows of 5 s, want at most 3 of the daemon and 2 of %d shims: %+v", runs, seen)
	}
	t.Logf("voluntary context switches of daemon and shims in 5 s: %+v", seen)

	tr := l.traced("open,openat,openat2,creat,write,writev,pwrite64,pwritev,rename,renameat,renameat2,unlink,unlinkat,fsync,fdatasync,execve,sendto,sendmsg")
	select {
	case <-time.After(3 * time.Second): // the window that is measured
	case <-l.ctx.Done():
		t.Fatal(l.ctx.Err())
	}
	for _, line := range tr.lines() {
		if strings.Contains(line, "(") && !strings.Contains(line, "<anon_inode:[eventfd]>") {
			t.Errorf("an idle daemon did this: %s", line)
		}
	}
}

// TestM6_RequestsReadNoDisk: asked for the workbench, a daemon with live and ended runs opens and reads no file.
func TestM6_RequestsReadNoDisk(t *testing.T) {
	need.Program(t, "strace")
	l := newLab(t)
	l.silent(3)
	l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:done")
	conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
	l.must(err)
	defer conn.Close()
	l.until("the ended run is gone", func(v *wire.Snapshot) bool {
		live := 0
		for _, r := range v.Runs {
			if r.Live {
				live++
			}
		}
		return live == 3
	})
	tr := l.traced("open,openat,openat2,creat,pread64,preadv,getdents64")
	for range 20 {
		_, err := conn.Call(l.ctx, wire.WorkbenchCommand{})
		l.must(err)
	}
	for _, line := range tr.lines() {
		if strings.Contains(line, "(") && !strings.Contains(line, "</sys/fs/cgroup/") { // that is the language's runtime
			t.Errorf("a snapshot did this: %s", line)
		}
	}
}

// watchAndLeave attaches n watchers, each of which reads the whole and goes.
func (l *lab) watchAndLeave(n int) {
	l.t.Helper()
	for range n {
		conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
		l.must(err)
		_, err = conn.Call(l.ctx, wire.WorkbenchWatch{})
		l.must(err)
		l.must(conn.Close())
	}
}

// TestP34_NothingIsLeftOf200Watchers: descriptors and goroutines are back to what they were.
func TestP34_NothingIsLeftOf200Watchers(t *testing.T) {
	goroutines := func(watchers int) (int, string) {
		l := newLab(t)
		dump, err := os.Create(filepath.Join(l.base, "dump"))
		l.must(err)
		defer dump.Close()
		daemon := l.command("run")
		daemon.Stdout, daemon.Stderr = dump, dump
		l.must(daemon.Start())
		l.answers()
		l.silent(2)
		before := len(census.Descriptors(daemon.Process.Pid))
		l.watchAndLeave(watchers)
		for len(census.Descriptors(daemon.Process.Pid)) > before { // a closed connection is noticed a moment later
			l.must(l.ctx.Err())
			l.watchAndLeave(1)
		}
		l.ok("jobs", "cancel", "job-1")
		l.ok("jobs", "cancel", "job-2")
		l.reaches("job-1", wire.StateCancelled)
		l.reaches("job-2", wire.StateCancelled)
		l.rests()
		for len(census.Descriptors(daemon.Process.Pid)) > before {
			l.must(l.ctx.Err())
			l.watchAndLeave(1)
		}
		l.must(daemon.Process.Signal(syscall.SIGQUIT)) // the language's runtime writes down every goroutine
		if err := daemon.Wait(); err == nil {
			t.Fatal("a quit daemon ended well")
		}
		text, err := os.ReadFile(dump.Name())
		l.must(err)
		return len(regexp.MustCompile(`(?m)^goroutine \d+ `).FindAll(text, -1)), string(text)
	}
	few, _ := goroutines(1)
	many, text := goroutines(200)
	if few == 0 || many > few+3 {
		t.Errorf("%d goroutines after one watcher, %d after 200:\n%s", few, many, text[max(0, len(text)-20_000):])
	}
}

// answers waits until a daemon that was just started answers.
func (l *lab) answers() {
	l.t.Helper()
	for {
		conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
		if err == nil {
			_ = conn.Close()
			return
		}
		if l.ctx.Err() != nil || !errors.Is(err, client.ErrNoDaemon) {
			l.t.Fatal(err)
		}
	}
}

// TestTogether_OneOf20DaemonsServes: the lock decides, and who loses says so.
func TestTogether_OneOf20DaemonsServes(t *testing.T) {
	const n = 20
	l := newLab(t)
	type end struct {
		pid  int
		err  error
		said string
	}
	ends := make(chan end, n)
	for range n {
		c := l.command("run")
		var said strings.Builder
		c.Stdout, c.Stderr = &said, &said
		l.must(c.Start())
		go func() {
			err := c.Wait()
			ends <- end{c.Process.Pid, err, said.String()}
		}()
	}
	server := 0
	for range n - 1 {
		select {
		case e := <-ends:
			if _, failed := errors.AsType[*exec.ExitError](e.err); !failed || !strings.Contains(e.said, "runs already") {
				t.Errorf("process %d: %v, said %q", e.pid, e.err, e.said)
			}
		case <-l.ctx.Done():
			t.Fatal("more than one daemon goes on")
		}
	}
	l.answers()
	server = l.daemon()
	if got := l.processes("scv run "); len(got) != 1 || got[server] == "" {
		t.Errorf("processes %v, the lock names %d", got, server)
	}
	if out := l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:served"); out != "served\n" {
		t.Errorf("it answered %q", out)
	}
	if out := l.ok("status", "--json=pid"); !strings.Contains(out, strconv.Itoa(server)) {
		t.Errorf("status says %s, the lock %d", out, server)
	}
	l.ok("stop")
	<-ends
}
