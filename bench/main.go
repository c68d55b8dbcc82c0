//go:build linux

// Command bench measures what the README of this folder lists and prints it as a table. Each figure is taken beside
// something plain in the same minute (true, git --version), since machines differ and are shared: quote the ratios.
// It needs Linux, git and a C-less Go; it starts daemons of its own in homes of its own and ends them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
)

// A measure is one row, or a few, of the table.
type measure struct {
	name string
	bar  string
	run  func(ctx context.Context, exe string) (string, error)
}

func measures() []measure {
	return []measure{
		{"binary, stripped", "<= 35 MB", binarySize},
		{"`scv version`, CPU", "<= 2x `git --version`", versionCPU},
		{"`scv jobs list`, 1,000 recorded, wall", "<= 8x `true`", listWall},
		{"spawn of the daemon to its first answer, 0 / 1,000 / 100,000 recorded", "<= 20 / 20 / 100 ms", firstAnswer},
		{"start after SIGKILL with 100 live runs, 1,000; 10,000; 100,000 recorded: first answer / all found", "<= 100 ms / 5 s, the same for each", recovery},
		{"a watcher's longest silence while the daemon is replaced", "<= 1 s", restartGap},
		{"a run's start, against a plain start of its program", "<= 10x", startCost},
		{"snapshot over the socket, 1,000 recorded, p95", "<= 3 ms, 0 bytes read from disk", snapshotTime},
		{"daemon RSS, empty / 1,000 recorded / 10 live runs", "<= 14 / 17 / 20 MB", residentMemory},
		{"idle, 1,000 recorded, 10 silent runs, a watcher: voluntary switches of daemon; most of a shim", "<= 20; <= 1 in 60 s", idleCost},
		{"agent's line to a watcher's socket, p50 / p95", "p95 <= 6 ms", lineLatency},
		{"trivial job, start to final, p50", "<= 40 ms", trivialJob},
		{"20 clients that never read: RSS more by; other client's snapshot p95", "<= 10 MB", deafClients},
		{"dashboard, 1,000 recorded, silent terminal: spawn to the first list", "< 200 ms; < 1 s silent", dashPaint},
		{"dashboard, 1,000 recorded, idle: bytes, voluntary switches; RSS", "0, no wakeups; <= 25 MB", dashIdle},
		{"dashboard, ten jobs with 30 lines/s of wide text", "<= 10 redraws/s, < 5 kB each at 200x50", dashBusy},
		{"dashboard, kill -9 of the daemon to the banner", "< 1 s", dashEnd},
		{"a key in the filter of 1,000 jobs, to the frame", "< 16 ms", filterTime},
		{"a log's line to the output of `jobs log -f`", "< 200 ms", followTime},
		{"`scv jobs start --help`, wall", "< 50 ms", helpTime},
		{"completion of a job's id, 1,000 recorded, wall", "< 100 ms", completionTime},
		{"a further turn of a live codex, claude against a process of its own", "<= 1/5", secondTurn},
		{"request to a watcher; answer to the agent; p50 / p95", "p95 <= 20 ms", approvalLatency},
		{"burst of 20,000 updates: RSS more by; a line of 20 MB", "none lost, <= 20 MB; <= 3x", burst},
		{"50 shims after a turn's start, average PSS", "<= 2.0 MB", shimMemory},
		{"terminal of 120x40 with 1,000 lines of scrollback", "<= 1.5 MB", terminalMemory},
		{"terminal of 200x50, a typical change to its page as JSON; bytes against those of the program", "<= 1 ms; <= 1.7x", terminalPage},
		{"terminal, key to its echo through daemon and shim; in a terminal of its own", "p95 <= 10 ms more", terminalEcho},
		{"terminal taken over, nothing drawn for 20 s", "0 work", terminalIdle},
		{"session: a delta of the model's answer", "<= 50 us", deltaCost},
		{"session: 100 idle ones with their clients, the daemon's RSS more by", "<= 10 MB", idleSessions},
		{"session: a history of 10 MB opens", "<= 100 ms", openHistory},
		{"session: a delta to each of 100 clients", "p95 <= 20 ms", fanOut},
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	only := flag.String("run", ".", "measure only the rows that match this expression")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "scvb")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	exe := filepath.Join(dir, "scv")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", exe, "./cmd/scv")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build (run it in the repository): %w\n%s", err, out)
	}
	fmt.Println("| what | bar | here |\n|---|---|---|")
	var failed error
	for _, m := range measures() {
		if !match.MatchString(m.name) {
			continue
		}
		got, err := m.run(ctx, exe)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m.name, err))
			got = "failed"
		}
		fmt.Printf("| %s | %s | %s |\n", m.name, m.bar, got)
	}
	return failed
}
