//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// A lab is one home with its daemon, thrown away at the end.
type lab struct {
	exe    string
	home   string
	work   string
	env    []string // beside this process's
	daemon *exec.Cmd
}

// newLab makes an empty home under a short path, since a socket's path is short.
func newLab(exe string) (*lab, error) {
	dir, err := os.MkdirTemp("", "scvb")
	if err != nil {
		return nil, err
	}
	l := &lab{exe: exe, home: filepath.Join(dir, "h"), work: filepath.Join(dir, "w")}
	if err := errors.Join(os.Mkdir(l.home, 0o700), os.Mkdir(l.work, 0o700)); err != nil {
		return nil, err
	}
	config := "[limits]\nrunning = 100\nmemory_floor_mb = 0\n"
	return l, os.WriteFile(filepath.Join(l.home, "config.toml"), []byte(config), 0o600)
}

// inLab measures in a fresh home with so many recorded jobs and a running daemon.
func inLab(ctx context.Context, exe string, records int, measure func(l *lab) (string, error)) (got string, err error) {
	l, err := newLab(exe)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.remove(context.WithoutCancel(ctx))) }()
	if err := l.fill(ctx, records); err != nil {
		return "", err
	}
	if _, err := l.start(ctx); err != nil {
		return "", err
	}
	return measure(l)
}

// dial is a connection of its own to the lab's daemon.
func (l *lab) dial(ctx context.Context) (*client.Conn, error) {
	return client.Dial(ctx, l.target(), l.target().Client)
}

func (l *lab) target() client.Target {
	return client.Target{Socket: filepath.Join(l.home, "state", "server.sock"), Client: wire.PeerInfo{Name: "scv-bench", Version: "1"}}
}

// command is scv in this home.
func (l *lab) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, l.exe, args...)
	c.Env = append(append(os.Environ(), "SCV_HOME="+l.home), l.env...)
	c.Dir = l.work
	return c
}

// start runs the daemon and returns the time from the spawn to its first answer.
func (l *lab) start(ctx context.Context) (time.Duration, error) {
	c := l.command(context.WithoutCancel(ctx), "run")
	log, err := os.OpenFile(filepath.Join(filepath.Dir(l.home), "daemon.out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	c.Stdout, c.Stderr = log, log
	begin := time.Now()
	if err := c.Start(); err != nil {
		return 0, err
	}
	l.daemon = c
	for {
		conn, err := l.dial(ctx)
		if err == nil {
			_, err = conn.Call(ctx, wire.StatusCommand{})
			took := time.Since(begin)
			return took, errors.Join(err, conn.Close())
		}
		if ctx.Err() != nil || !errors.Is(err, client.ErrNoDaemon) {
			return 0, err
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// stop ends the daemon with all runs.
func (l *lab) stop(ctx context.Context) error {
	if l.daemon == nil {
		return nil
	}
	out, err := l.command(ctx, "stop", "--all").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("stop: %w: %s", err, out)
		_ = l.daemon.Process.Signal(syscall.SIGKILL)
	}
	_ = l.daemon.Wait()
	l.daemon = nil
	return err
}

func (l *lab) remove(ctx context.Context) error {
	return errors.Join(l.stop(ctx), os.RemoveAll(filepath.Dir(l.home)))
}

// job starts a job of the demo agent.
func (l *lab) job(ctx context.Context, conn *client.Conn, prompt string) (wire.JobRef, error) {
	return talks{l}.jobOf(ctx, conn, "demo", prompt)
}

// until follows the workbench until every job is as wanted.
func (l *lab) until(ctx context.Context, want func(*wire.Snapshot) bool) error {
	done := errors.New("done")
	err := client.WatchWorkbench(ctx, l.target(), func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
		if want(view) {
			return done
		}
		return nil
	})
	if errors.Is(err, done) {
		return nil
	}
	return err
}

// status reads one figure of /proc/PID/status, in its unit.
func status(pid int, key string) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			var n uint64
			_, err := fmt.Sscan(rest, &n)
			return n, err
		}
	}
	return 0, fmt.Errorf("no %s in the status of %d", key, pid)
}

// newPeak has a process's peak of memory (VmHWM) counted anew and returns its memory now, in kB.
func newPeak(pid int) (uint64, error) {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o600); err != nil {
		return 0, err
	}
	return status(pid, "VmRSS")
}

// switches sums the voluntary context switches of a process's threads.
func switches(pid int) (uint64, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	var sum uint64
	for _, t := range tasks {
		data, err := os.ReadFile(t)
		if err != nil {
			continue // a thread that ended
		}
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				var n uint64
				if _, err := fmt.Sscan(rest, &n); err != nil {
					return 0, err
				}
				sum += n
			}
		}
	}
	return sum, nil
}

// shims are the processes that serve this home's runs: they work in their run's directory.
func (l *lab) shims() ([]int, error) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, f := range all {
		data, err := os.ReadFile(f)
		if err != nil || !strings.HasPrefix(string(data), "agent-shim") {
			continue // gone, or something else
		}
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/cmdline", &pid); err != nil {
			return nil, err
		}
		if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil && strings.HasPrefix(dir, l.home) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// quantile of durations, from 0 to 1; the slice is sorted.
func quantile(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[min(len(d)-1, int(float64(len(d))*q))]
}

// fill writes n finished jobs with their runs and results into the home's ledger, as a long life would.
func (l *lab) fill(ctx context.Context, n int) (err error) {
	if n == 0 {
		return nil
	}
	h, err := home.Open(l.home)
	if err != nil {
		return err
	}
	store, err := ledger.Open(ctx, h, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(ctx), h.Close()) }()
	session := wire.WorkbenchSessionID(l.work)
	now := uint64(time.Now().Unix())
	const batch = 1000
	for from := 1; from <= n; from += batch {
		b := row.Batch{
			Prompts: map[wire.JobID]row.Prompt{}, Results: map[wire.JobID]row.Result{},
			Counters: row.Counters{Job: uint64(min(n, from+batch-1)), Conversations: map[string]uint64{"codex": uint64(n)}},
		}
		if from == 1 {
			b.Sessions = []row.Session{{Session: wire.Session{ID: session, Label: "workbench", Workspace: l.work, Live: true, State: wire.StateIdle}}}
		}
		for i := from; i <= min(n, from+batch-1); i++ {
			l.record(&b, session, i, now)
		}
		if err := store.Store(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) record(b *row.Batch, session wire.SessionID, i int, now uint64) {
	job := wire.JobID(fmt.Sprintf("job-%d", i))
	conversation := wire.ConversationID(fmt.Sprintf("codex-%d", i))
	run := wire.RunHandle(fmt.Sprintf("codex-%06x", i))
	b.Conversations = append(b.Conversations, row.Conversation{ID: conversation, Session: session, Agent: "codex", Cwd: l.work, Turns: 1, Rev: 1})
	b.Jobs = append(b.Jobs, row.Job{
		Job: wire.Job{
			Session: session, Job: job, Agent: "codex", Task: "Fix the flaky retry test in the uploader, number " + string(job),
			Workspace: l.work, Cwd: l.work, State: wire.StateCompleted, StartedBy: wire.OriginOwner,
			Conversation: &conversation, Run: &run, CreatedUnixSeconds: now - 60, UpdatedUnixSeconds: now - 30, Rev: 5,
		},
		Num: uint64(i), Turn: 1, Finished: now - 30, Home: "h", Machine: "m", Assigned: 1,
		Key: "bench-" + string(job), Principal: row.Principal{Who: "owner", Way: "cli"},
	})
	turn := uint32(1)
	b.Runs = append(b.Runs, row.Run{
		Run: wire.Run{
			Handle: run, Agent: "codex", Session: session, Transport: "cli", Conversation: &conversation, Turn: &turn,
			Jobs: []wire.JobID{job}, Cwd: l.work, State: wire.StateCompleted,
			StartedUnixSeconds: now - 60, LastActivityUnixSeconds: now - 30, Rev: 5,
		},
		Ended: now - 30,
	})
	b.Prompts[job] = row.Prompt{Text: "Fix the flaky retry test in the uploader and say what was wrong with it."}
	b.Results[job] = row.Result{Reply: "The test compared wall clocks. It now waits for the retry itself."}
}
