//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func binarySize(_ context.Context, exe string) (string, error) {
	info, err := os.Stat(exe)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), nil
}

// cost of one run of a command.
type cost struct{ wall, cpu time.Duration }

func once(c *exec.Cmd) (cost, error) {
	begin := time.Now()
	err := c.Run()
	took := time.Since(begin)
	if err != nil {
		return cost{}, fmt.Errorf("%v: %w", c.Args, err)
	}
	use, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, fmt.Errorf("no resource usage on this system")
	}
	return cost{took, time.Duration(use.Utime.Nano() + use.Stime.Nano())}, nil
}

// interleave runs two commands in turn and returns the medians of what pick takes of each.
func interleave(n int, pick func(cost) time.Duration, a, b func() *exec.Cmd) (x, y time.Duration, err error) {
	var as, bs []time.Duration
	for i := range n + 3 {
		ca, err := once(a())
		if err != nil {
			return 0, 0, err
		}
		cb, err := once(b())
		if err != nil {
			return 0, 0, err
		}
		if i < 3 {
			continue // warm-up
		}
		as, bs = append(as, pick(ca)), append(bs, pick(cb))
	}
	return quantile(as, 0.5), quantile(bs, 0.5), nil
}

func versionCPU(ctx context.Context, exe string) (string, error) {
	cpu := func(c cost) time.Duration { return c.cpu }
	ours, git, err := interleave(200, cpu,
		func() *exec.Cmd { return exec.CommandContext(ctx, exe, "version") },
		func() *exec.Cmd { return exec.CommandContext(ctx, "git", "--version") })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1fx (%v against %v)", float64(ours)/float64(git), ours, git), nil
}

func listWall(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) { return l.listWall(ctx) })
}

func (l *lab) listWall(ctx context.Context) (string, error) {
	wall := func(c cost) time.Duration { return c.wall }
	ours, plain, err := interleave(60, wall,
		func() *exec.Cmd { return l.command(ctx, "jobs", "list") },
		func() *exec.Cmd { return exec.CommandContext(ctx, "true") })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1fx (%v against %v)", float64(ours)/float64(plain), ours.Round(10*time.Microsecond), plain.Round(10*time.Microsecond)), nil
}

func closing(ctx context.Context, l *lab, err *error) {
	if e := l.remove(context.WithoutCancel(ctx)); *err == nil {
		*err = e
	}
}
