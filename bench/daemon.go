//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"scv/internal/wire"
)

func firstAnswer(ctx context.Context, exe string) (string, error) {
	var parts []string
	for _, n := range []int{0, 1000, 100_000} {
		took, err := startTimes(ctx, exe, n)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("%.1f", took.Seconds()*1e3))
	}
	return strings.Join(parts, " / ") + " ms (median)", nil
}

func startTimes(ctx context.Context, exe string, records int) (took time.Duration, err error) {
	l, err := newLab(exe)
	if err != nil {
		return 0, err
	}
	defer closing(ctx, l, &err)
	if err := l.fill(ctx, records); err != nil {
		return 0, err
	}
	var all []time.Duration
	for range 9 {
		d, err := l.start(ctx)
		if err != nil {
			return 0, err
		}
		all = append(all, d)
		if err := l.stop(ctx); err != nil {
			return 0, err
		}
	}
	return quantile(all, 0.5), nil
}

// snapshots asks n times for the workbench on one connection.
func (l *lab) snapshots(ctx context.Context, n int) ([]time.Duration, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	var all []time.Duration
	for range n {
		begin := time.Now()
		if _, err := conn.Call(ctx, wire.WorkbenchCommand{}); err != nil {
			return nil, err
		}
		all = append(all, time.Since(begin))
	}
	return all, nil
}

func snapshotTime(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) { return l.snapshotTime(ctx) })
}

func (l *lab) snapshotTime(ctx context.Context) (string, error) {
	if _, err := l.snapshots(ctx, 50); err != nil {
		return "", err
	}
	before, err := diskReads(l.daemon.Process.Pid)
	if err != nil {
		return "", err
	}
	all, err := l.snapshots(ctx, 300)
	if err != nil {
		return "", err
	}
	after, err := diskReads(l.daemon.Process.Pid)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.2f ms decoded at the client (p50 %.2f), %d bytes read", ms(quantile(all, 0.95)), ms(quantile(all, 0.5)), after-before), nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func diskReads(pid int) (n uint64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "read_bytes:"); ok {
			_, err = fmt.Sscan(rest, &n)
		}
	}
	return n, err
}

func residentMemory(ctx context.Context, exe string) (got string, err error) {
	var work, rest []string
	for _, n := range []int{0, 1000} {
		l, err := newLab(exe)
		if err != nil {
			return "", err
		}
		atWork, atRest, err := l.resident(ctx, n)
		closing(ctx, l, &err)
		if err != nil {
			return "", err
		}
		work, rest = append(work, atWork...), append(rest, atRest...)
	}
	return strings.Join(rest, " / ") + " MB at rest; " + strings.Join(work, " / ") + " MB right after its answers", nil
}

// restAfter is when a daemon that has nothing to write has given back what it does not need, with some to spare.
const restAfter = 33 * time.Second

// resident is the daemon's memory after its first answers, and with records also after ten runs are live; each right then,
// and when it has rested.
func (l *lab) resident(ctx context.Context, records int) (work, rest []string, err error) {
	if err := l.fill(ctx, records); err != nil {
		return nil, nil, err
	}
	if _, err := l.start(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := l.snapshots(ctx, 5); err != nil {
		return nil, nil, err
	}
	note := func(all *[]string) error {
		kb, err := status(l.daemon.Process.Pid, "VmRSS")
		*all = append(*all, fmt.Sprintf("%.1f", float64(kb)/1e3))
		return err
	}
	both := func() error {
		err := note(&work)
		time.Sleep(restAfter)
		return errors.Join(err, note(&rest))
	}
	if err := both(); err != nil || records == 0 {
		return work, rest, err
	}
	if err := l.live(ctx, 10); err != nil {
		return nil, nil, err
	}
	return work, rest, both()
}

// live starts n runs that say one word and then nothing.
func (l *lab) live(ctx context.Context, n int) error {
	conn, err := l.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for range n {
		if _, err := l.job(ctx, conn, "@@say:here|hang"); err != nil {
			return err
		}
	}
	return l.until(ctx, func(s *wire.Snapshot) bool {
		working := 0
		for _, r := range s.Runs {
			if r.Live && r.State == wire.StateWorking {
				working++
			}
		}
		return working >= n
	})
}
