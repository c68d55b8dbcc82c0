//go:build ignore

// Command tea draws the same rows with the dashboard's driver and with bubbletea, each in a terminal of its own, and prints
// what they cost: CPU and bytes while 30 changes a second come in, and bytes and wakeups while none does. The build leaves it
// out, and what it needs stands in tea.mod, so that bubbletea is never part of SCV. It needs Linux.
//
//	make bench-tea
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"scv/internal/testkit/glass"
)

// What is measured of each.
const (
	warm  = 2 * time.Second
	busy  = 12 * time.Second
	pause = 2 * time.Second // after the last change, before the idle window
	idle  = 10 * time.Second
	// rate is how many changes come in a second; both draw at most ten times a second.
	rate = 30
	fps  = 10
)

// A cost is what a way of drawing took.
type cost struct {
	cpu         time.Duration
	bytes       int
	idleBytes   int
	idleWakeups int
}

func main() {
	draw := flag.String("draw", "", "draw in this terminal: cells or tea (the program's own use)")
	wide := flag.Bool("wide", false, "with wide text")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.New("there is no such way of drawing")
	switch *draw {
	case "":
		err = compare(ctx)
	case "cells":
		err = drawCells(*wide)
	case "tea":
		err = drawTea(*wide)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tea:", err)
		os.Exit(1)
	}
}

// compare measures both, in turns, at both sizes.
func compare(ctx context.Context) error {
	fmt.Println("| size, text | CPU, ours / bubbletea | bytes, ours / bubbletea | idle 10 s, ours: bytes, wakeups | bubbletea |")
	fmt.Println("|---|---|---|---|---|")
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		for _, wide := range []bool{false, true} {
			var sums [2]cost
			for range 2 { // in turns, since the machine is shared
				for i, way := range []string{"cells", "tea"} {
					c, err := measure(ctx, way, wide, size[0], size[1])
					if err != nil {
						return fmt.Errorf("%s at %v: %w", way, size, err)
					}
					sums[i].add(c)
				}
			}
			a, b := sums[0], sums[1]
			text := map[bool]string{false: "ASCII", true: "wide"}[wide]
			fmt.Printf("| %dx%d %s | %.2f (%d of %d ms) | %.2f (%d of %d kB) | %d, %d | %d, %d |\n", size[0], size[1], text,
				float64(a.cpu)/float64(b.cpu), a.cpu.Milliseconds(), b.cpu.Milliseconds(),
				float64(a.bytes)/float64(b.bytes), a.bytes/1000, b.bytes/1000, a.idleBytes, a.idleWakeups, b.idleBytes, b.idleWakeups)
		}
	}
	return nil
}

func (c *cost) add(o cost) {
	c.cpu, c.bytes = c.cpu+o.cpu, c.bytes+o.bytes
	c.idleBytes, c.idleWakeups = c.idleBytes+o.idleBytes, c.idleWakeups+o.idleWakeups
}

// measure draws in a terminal that answers, and reads what the process took from the system.
func measure(ctx context.Context, way string, wide bool, cols, rows int) (c cost, err error) {
	self, err := os.Executable()
	if err != nil {
		return c, err
	}
	cmd := exec.CommandContext(ctx, self, "-draw", way, fmt.Sprintf("-wide=%t", wide))
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	t, err := glass.Start(cmd, glass.How{Cols: cols, Rows: rows})
	if err != nil {
		return c, err
	}
	if _, err := t.Until(ctx, func(text string) bool { return strings.Contains(text, "frame 1") }); err != nil {
		return c, fmt.Errorf("it draws nothing: %w:\n%s", err, t.Text())
	}
	time.Sleep(warm)
	bytes, cpu := t.Bytes(), cpuTime(t.PID())
	time.Sleep(busy)
	c.bytes, c.cpu = t.Bytes()-bytes, cpuTime(t.PID())-cpu
	if _, err := t.Until(ctx, func(text string) bool { return strings.Contains(text, last) }); err != nil {
		return c, fmt.Errorf("it does not come to its end: %w:\n%s", err, t.Text())
	}
	time.Sleep(pause)
	bytes, woken := t.Bytes(), wakeups(t.PID())
	time.Sleep(idle)
	c.idleBytes, c.idleWakeups = t.Bytes()-bytes, wakeups(t.PID())-woken
	if err := t.Signal(os.Interrupt); err != nil {
		return c, err
	}
	t.Wait()
	return c, nil
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

// wakeups counts how often the threads of a process gave up their processor by themselves.
func wakeups(pid int) (n int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()))
		if _, rest, ok := strings.Cut(string(data), "\nvoluntary_ctxt_switches:"); ok {
			var one int
			_, _ = fmt.Sscan(rest, &one)
			n += one
		}
	}
	return n
}
