//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"scv/internal/testkit/glass"
)

// dashboard opens the dashboard of the lab's home in a terminal that answers nothing.
func dashboard(ctx context.Context, l *lab, cols, rows int) (*glass.Terminal, error) {
	c := exec.CommandContext(ctx, l.exe)
	c.Env, c.Dir = append(os.Environ(), "SCV_HOME="+l.home, "TERM=xterm-256color"), l.work
	return glass.Start(c, glass.How{Cols: cols, Rows: rows, Silent: true})
}

// leave closes the dashboard.
func leave(t *glass.Terminal) error {
	if err := t.Type("q"); err != nil {
		return err
	}
	return t.Wait().Err
}

// dashPaint is from the spawn to the first frame that lists jobs (E1).
func dashPaint(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) {
		var all []time.Duration
		for range 15 {
			begin := time.Now()
			t, err := dashboard(ctx, l, 200, 50)
			if err != nil {
				return "", err
			}
			_, err = t.Until(ctx, func(text string) bool { return strings.Contains(text, "job-1000") })
			all = append(all, time.Since(begin))
			if err != nil {
				return "", err
			}
			if err := leave(t); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("p50 %.0f ms, p95 %.0f ms", ms(quantile(all, 0.5)), ms(quantile(all, 0.95))), nil
	})
}

// dashIdle is what an open dashboard costs while nothing happens, and its memory (E2).
func dashIdle(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) {
		t, err := dashboard(ctx, l, 200, 50)
		if err != nil {
			return "", err
		}
		if _, err := t.Until(ctx, func(text string) bool { return strings.Contains(text, "job-1000") }); err != nil {
			return "", err
		}
		time.Sleep(5 * time.Second) // what the start owes: the agents are looked for
		bytes := t.Bytes()
		woken, err := switches(t.PID())
		if err != nil {
			return "", err
		}
		time.Sleep(20 * time.Second)
		after, err := switches(t.PID())
		if err != nil {
			return "", err
		}
		rss, err := status(t.PID(), "VmRSS")
		if err != nil {
			return "", err
		}
		bytes = t.Bytes() - bytes
		return fmt.Sprintf("%d bytes, %d switches in 20 s; RSS %.1f MB", bytes, after-woken, float64(rss)/1e3), leave(t)
	})
}

// dashBusy is ten jobs that write wide text, 30 lines a second together (E3).
func dashBusy(ctx context.Context, exe string) (string, error) {
	var parts []string
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		got, err := inLab(ctx, exe, 1000, func(l *lab) (string, error) { return busy(ctx, l, size[0], size[1]) })
		if err != nil {
			return "", err
		}
		parts = append(parts, got)
	}
	return strings.Join(parts, "; "), nil
}

func busy(ctx context.Context, l *lab, cols, rows int) (string, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	var script strings.Builder
	script.WriteString("@@")
	for n := range 90 {
		fmt.Fprintf(&script, "say:%d 修复分词器 step %d of the hot loop|sleep:333|", n*7919%1000, n)
	}
	for range 10 {
		if _, err := l.job(ctx, conn, script.String()); err != nil {
			return "", err
		}
	}
	t, err := dashboard(ctx, l, cols, rows)
	if err != nil {
		return "", err
	}
	if _, err := t.Until(ctx, func(text string) bool { return strings.Contains(text, "10 working") }); err != nil {
		return "", err
	}
	time.Sleep(2 * time.Second)
	const window = 15 * time.Second
	bytes, draws, cpu := t.Bytes(), t.Draws(), cpuTime(t.PID())
	time.Sleep(window)
	bytes, draws, cpu = t.Bytes()-bytes, t.Draws()-draws, cpuTime(t.PID())-cpu
	if err := leave(t); err != nil {
		return "", err
	}
	return fmt.Sprintf("%dx%d: %.1f redraws/s, %d bytes each, %.1f %% of a core", cols, rows,
		float64(draws)/window.Seconds(), bytes/max(draws, 1), 100*cpu.Seconds()/window.Seconds()), nil
}

// cpuTime is the time that a process has used; 0 for one that is gone.
func cpuTime(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var user, system int64
	_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	return time.Duration(user+system) * time.Second / 100
}

// dashEnd is from the kill of the daemon to the banner that says so (E15).
func dashEnd(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) {
		t, err := dashboard(ctx, l, 120, 40)
		if err != nil {
			return "", err
		}
		if _, err := t.Until(ctx, func(text string) bool { return strings.Contains(text, "job-1000") }); err != nil {
			return "", err
		}
		begin := time.Now()
		if err := l.daemon.Process.Signal(syscall.SIGKILL); err != nil {
			return "", err
		}
		_, err = t.Until(ctx, func(text string) bool { return strings.Contains(text, "OFFLINE") })
		took := time.Since(begin)
		_ = l.daemon.Wait()
		l.daemon = nil
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%.0f ms", ms(took)), leave(t)
	})
}
