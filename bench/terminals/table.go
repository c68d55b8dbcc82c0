//go:build ignore

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A terminalCase is one file of a folder of cases.
type terminalCase struct {
	Name       string
	Cols, Rows int
	Input      []byte `json:"input_base64"`
	Steps      []struct {
		Input  []byte `json:"input_base64"`
		Resize []int
	}
	Tags   []string
	Expect struct {
		Lines  []*string
		Cursor *[2]int
	}
}

func read(dir string) (cases []terminalCase, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "cases", "*.json"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no cases in %s", dir)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var c terminalCase
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if c.Steps == nil {
			c.Steps = append(c.Steps, struct {
				Input  []byte `json:"input_base64"`
				Resize []int
			}{Input: c.Input})
		}
		if !slices.Contains(c.Tags, "peculiar") {
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// play feeds a case in parts of n bytes, n drawn by cut.
func (c *terminalCase) play(e emulator, cut func(n int) int) {
	for _, s := range c.Steps {
		if s.Resize != nil {
			e.Resize(s.Resize[0], s.Resize[1])
		}
		for p := s.Input; len(p) > 0; {
			n := cut(len(p))
			_, _ = e.Write(p[:n])
			p = p[n:]
		}
	}
}

func (c *terminalCase) right(s shown) bool {
	for r, want := range c.Expect.Lines {
		if want != nil && (r >= len(s.Rows) || strings.TrimRight(s.Rows[r], " ") != strings.TrimRight(*want, " ")) {
			return false
		}
	}
	return c.Expect.Cursor == nil || *c.Expect.Cursor == [2]int{s.Row, s.Col}
}

// patience is how long one case may take before it counts as a hang.
const patience = 4 * time.Second

// try plays a case and reports whether what shows is right; how is "panic" or "hang" where it does not come to that.
func try(r rival, c *terminalCase, cut func(int) int) (right bool, how string) {
	type result struct {
		right bool
		how   string
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				done <- result{how: "panic"}
			}
		}()
		e, err := r.make(c.Cols, c.Rows)
		if err != nil {
			done <- result{how: err.Error()}
			return
		}
		c.play(e, cut)
		done <- result{right: c.right(e.Show())}
	}()
	limit := patience
	if r.elsewhere {
		limit = time.Hour // an answer that comes late would be taken for that to the next question
	}
	select {
	case got := <-done:
		return got.right, got.how
	case <-time.After(limit):
		return false, "hang"
	}
}

// score is how a rival does on all cases.
type score struct {
	whole, cut, panics, hangs int
}

func grade(r rival, cases []terminalCase) (n score) {
	random := rand.New(rand.NewPCG(1, 2))
	cuts := []func(int) int{
		func(n int) int { return n },
		func(int) int { return 1 },
		func(n int) int { return min(n, 1+random.IntN(1+random.IntN(200))) },
	}
	for i := range cases {
		all := true
		if r.elsewhere {
			cuts = cuts[:1]
		}
		for k, cut := range cuts {
			right, how := try(r, &cases[i], cut)
			if k == 0 && right {
				n.whole++
			}
			all = all && right
			switch how {
			case "panic":
				n.panics++
			case "hang":
				n.hangs++
			}
			if how != "" {
				break
			}
		}
		if all {
			n.cut++
		}
	}
	return n
}

// recording is the least size, in bytes, of a case that speed is measured with: those are programs that were recorded.
const recording = 4 << 10

// speed returns MB/s and allocations per KB on the larger recordings of the cases, or 0 when the rival does not survive
// them.
func speed(r rival, cases []terminalCase) (mb, allocs float64) {
	defer func() {
		if recover() != nil {
			mb, allocs = 0, 0
		}
	}()
	var before, after runtime.MemStats
	var took time.Duration
	fed, mallocs := 0, uint64(0)
	for round := 0; round < 3 || took < time.Second && round < 1000; round++ {
		for i := range cases {
			if len(cases[i].Input) < recording {
				continue
			}
			e, err := r.make(cases[i].Cols, cases[i].Rows)
			if err != nil {
				return 0, 0
			}
			runtime.ReadMemStats(&before)
			begun := time.Now()
			cases[i].play(e, func(n int) int { return min(n, 16<<10) })
			took += time.Since(begun)
			runtime.ReadMemStats(&after)
			mallocs += after.Mallocs - before.Mallocs
			fed += len(cases[i].Input)
		}
	}
	return float64(fed) / 1e6 / took.Seconds(), float64(mallocs) / (float64(fed) / 1024)
}

// table prints how all rivals do, and writes it into a page.
func table(dir, xterm, page string) error {
	cases, err := read(dir)
	if err != nil {
		return err
	}
	all := rivals()
	if xterm != "" {
		n, err := startNode(xterm)
		if err != nil {
			return err
		}
		defer n.stop()
		all = append(all, n.rival())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| emulator | right, of %d | in any cut | panics, hangs | MB/s | allocations per KB |\n|---|---|---|---|---|---|\n", len(cases))
	for _, r := range all {
		n := grade(r, cases)
		cut, fast := "-", "- | -"
		if !r.elsewhere {
			mb, allocs := speed(r, cases)
			cut, fast = fmt.Sprint(n.cut), fmt.Sprintf("%.1f | %.1f", mb, allocs)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %d, %d | %s |\n", r.name, n.whole, cut, n.panics, n.hangs, fast)
	}
	fmt.Print(b.String())
	if page == "" {
		return nil
	}
	return write(page, b.String())
}

// The marks of the table in a page.
const (
	tableBegin = "<!-- made by make terminal-table -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

func write(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(text), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		return fmt.Errorf("%s has no place for the table: it needs the lines %q and %q", page, tableBegin, tableEnd)
	}
	return os.WriteFile(page, []byte(before+tableBegin+table+tableEnd+after), 0o644)
}
