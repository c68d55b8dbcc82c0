//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"scv/internal/ui/tui/model"
	"scv/internal/ui/tui/view"
	"scv/internal/wire"
)

// quick is how long a command takes beside true, medians.
func quick(ctx context.Context, command func() *exec.Cmd) (string, error) {
	wall := func(c cost) time.Duration { return c.wall }
	ours, plain, err := interleave(40, wall, command, func() *exec.Cmd { return exec.CommandContext(ctx, "true") })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1f ms (true: %.1f ms)", ms(ours), ms(plain)), nil
}

// helpTime is a page of help (E27).
func helpTime(ctx context.Context, exe string) (string, error) {
	return quick(ctx, func() *exec.Cmd { return exec.CommandContext(ctx, exe, "jobs", "start", "--help") })
}

// completionTime is the completion of a live job's id (E29).
func completionTime(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) {
		return quick(ctx, func() *exec.Cmd { return l.command(ctx, "__complete", "jobs", "log", "job-9") })
	})
}

// filterTime is a key typed into the filter of 1,000 jobs, to the frame that shows what it leaves (E12).
func filterTime(context.Context, string) (string, error) {
	at := time.Unix(1_800_000_000, 0)
	m := model.New(model.Options{NewKey: func() string { return "k" }})
	v := &wire.Snapshot{}
	for n := uint64(1000); n > 0; n-- {
		v.Jobs = append(v.Jobs, wire.Job{Session: "s", Job: wire.NewJobID(n), Agent: "codex", Task: fmt.Sprintf("修复第 %d 个分词器 and measure it", n), State: wire.StateCompleted, UpdatedUnixSeconds: n})
	}
	m.Update(model.Resized{Cols: 200, Rows: 50}, at)
	m.Update(model.Listed{View: v}, at)
	m.Update(model.Key{Name: "/", Text: "/"}, at)
	var all []time.Duration
	for range 20 {
		for _, r := range "state:completed 分词 7" {
			begin := time.Now()
			m.Update(model.Key{Name: string(r), Text: string(r)}, at)
			view.View(m)
			all = append(all, time.Since(begin))
		}
		m.Update(model.Key{Name: "ctrl-u"}, at)
	}
	return fmt.Sprintf("p50 %.1f ms, p95 %.1f ms", ms(quantile(all, 0.5)), ms(quantile(all, 0.95))), nil
}

// followTime is from the moment that a log's line carries to the line on the standard output of `jobs log -f` (E25).
func followTime(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) { return l.followTime(ctx) })
}

func (l *lab) followTime(ctx context.Context) (string, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	job, err := l.job(ctx, conn, "@@"+strings.Repeat("sleep:50|say:a line|", 60))
	if err != nil {
		return "", err
	}
	_, id, _ := job.Split()
	c := l.command(ctx, "jobs", "log", "-f", "--json", string(id))
	out, err := c.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := c.Start(); err != nil {
		return "", err
	}
	var all []time.Duration
	for lines := bufio.NewScanner(out); lines.Scan(); {
		came := time.Now()
		var e wire.RunEvent
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Kind == wire.EventText {
			all = append(all, came.Sub(time.UnixMilli(int64(e.TsMs))))
		}
	}
	if err := c.Wait(); err != nil {
		return "", err
	}
	if len(all) < 30 {
		return "", fmt.Errorf("only %d lines came", len(all))
	}
	all = all[5:] // those that were there when it began
	return fmt.Sprintf("p50 %.1f ms, p95 %.1f ms", ms(quantile(all, 0.5)), ms(quantile(all, 0.95))), nil
}
