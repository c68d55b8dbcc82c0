//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"scv/internal/client"
	"scv/internal/run/control"
	"scv/internal/wire"
)

// adopted is how many live runs a daemon that was killed leaves.
const adopted = 100

// A crashing is a lab whose daemon is killed or replaced.
type crashing struct{ *lab }

// recovery measures a start after SIGKILL with live runs, for several lengths of history: until the first answer, and
// until each run was found again.
func recovery(ctx context.Context, exe string) (string, error) {
	var parts []string
	for _, n := range []int{1000, 10_000, 100_000} {
		got, err := inLab(ctx, exe, n, func(l *lab) (string, error) { return crashing{l}.recovery(ctx) })
		if err != nil {
			return "", err
		}
		parts = append(parts, got)
	}
	return strings.Join(parts, "; "), nil
}

func (l crashing) recovery(ctx context.Context) (string, error) {
	if err := l.live(ctx, adopted); err != nil {
		return "", err
	}
	var ready, found []time.Duration
	for range 5 {
		if err := l.daemon.Process.Signal(syscall.SIGKILL); err != nil {
			return "", err
		}
		_ = l.daemon.Wait() // by the signal
		begin := time.Now()
		took, err := l.start(ctx)
		if err != nil {
			return "", err
		}
		ready = append(ready, took)
		err = l.until(ctx, func(s *wire.Snapshot) bool {
			n := 0
			for _, r := range s.Runs {
				if r.Live && r.State == wire.StateWorking {
					n++
				}
			}
			return n >= adopted
		})
		if err != nil {
			return "", err
		}
		found = append(found, time.Since(begin))
	}
	return fmt.Sprintf("%.0f / %.0f ms", ms(quantile(ready, 0.5)), ms(quantile(found, 0.5))), nil
}

// restartGap is the longest silence that a watcher sees while the daemon is replaced: its run says a line every 20 ms.
func restartGap(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) { return crashing{l}.restartGap(ctx) })
}

func (l crashing) restartGap(ctx context.Context) (string, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return "", err
	}
	const lines, restarts = 200, 5
	ref, err := l.job(ctx, conn, "@@"+strings.TrimSuffix(strings.Repeat("say:line|sleep:20|", lines), "|"))
	_ = conn.Close()
	if err != nil {
		return "", err
	}
	var run wire.RunHandle
	err = l.until(ctx, func(s *wire.Snapshot) bool {
		for _, j := range s.Jobs {
			if j.Ref() == ref && j.Run != nil {
				run = *j.Run
			}
		}
		return run != ""
	})
	if err != nil {
		return "", err
	}
	failed := make(chan error, 1)
	go func() {
		var err error
		for range restarts {
			time.Sleep(500 * time.Millisecond)
			if out, restartErr := l.command(ctx, "restart").CombinedOutput(); restartErr != nil {
				err = fmt.Errorf("restart: %w: %s", restartErr, out)
			}
		}
		failed <- err
	}()
	var longest time.Duration
	seen, last := 0, time.Now()
	err = client.FollowLog(ctx, l.target(), run, client.LogPosition{}, func(p wire.RunLogPage) error {
		longest = max(longest, time.Since(last))
		seen, last = seen+len(p.Events), time.Now()
		return nil
	})
	if restartErr := <-failed; restartErr != nil || err != nil {
		return "", fmt.Errorf("%w, %w", restartErr, err)
	}
	return fmt.Sprintf("%.0f ms over %d restarts, %d records", ms(longest), restarts, seen), nil
}

// startCost compares the start of an agent behind a shim, to the agent's process, with a plain start of it.
func startCost(ctx context.Context, exe string) (got string, err error) {
	l, err := newLab(exe)
	if err != nil {
		return "", err
	}
	defer closing(ctx, l, &err)
	var shims, plain []time.Duration
	for i := range 60 {
		begin := time.Now()
		c := exec.CommandContext(ctx, "/bin/true")
		if err := c.Run(); err != nil {
			return "", err
		}
		plain = append(plain, time.Since(begin))
		run := fmt.Sprintf("true-%06x", i)
		dir := filepath.Join(filepath.Dir(l.home), run)
		begin = time.Now()
		sp, err := control.Spawn(ctx, control.SpawnSpec{
			Exe: exe, RunDir: dir, Argv: []string{"/bin/true"}, Env: os.Environ(),
			Spec: control.Spec{Run: run, Cwd: l.work, Stdin: control.StdinNull, Socket: dir + ".s"},
		})
		if err == nil {
			err = sp.Go(ctx)
		}
		if err != nil {
			return "", err
		}
		shims = append(shims, time.Since(begin))
		<-sp.Gone()
	}
	a, b := quantile(shims, 0.5), quantile(plain, 0.5)
	return fmt.Sprintf("%.1fx (%.2f and %.2f ms)", a.Seconds()/b.Seconds(), ms(a), ms(b)), nil
}
