//go:build linux

package acceptance

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"scv/internal/testkit/realagent"
)

// TestV5_WhatTheRealAgentsAreAnswered at their start in our terminal: each question's answer, in order, as recorded. What an
// agent asks further on is its own affair.
func TestV5_WhatTheRealAgentsAreAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		agent func(testing.TB, realagent.Options) *realagent.Agent
		ready string // stands on its screen once it has begun
	}{
		"codex":  {realagent.Codex, "›"},
		"claude": {realagent.Claude, "❯"},
		"gemini": {realagent.Gemini, "Gemini CLI"},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.agent(t, realagent.Options{})
			if name == "claude" {
				usedOnce(t, a)
			}
			l := newLab(t)
			cmd := exec.Command(a.Path)
			cmd.Env, cmd.Dir = append(a.Env, "TERM=xterm-256color", "COLORTERM=truecolor"), filepath.Join(a.Dir, "work")
			d := l.terminal(cmd, normal())
			if file := filepath.Join("testdata", "starts", name+".txt"); *updateFlag {
				d.shows(c.ready)
				_, _, _ = d.Soon(d.l.ctx, func(string) bool { return false }) // what it asks while nobody types is its start
				l.must(writeAnswers(file, d.Answered()))
			} else {
				answered(t, d, file)
			}
		})
	}
}

// answered wants a program to be told what a file lists, in order.
func answered(t *testing.T, d *dash, file string) {
	t.Helper()
	want, err := readAnswers(file)
	if err != nil || want == "" {
		t.Fatalf("what it is answered is not recorded: %v", err)
	}
	text, err := d.Until(d.l.ctx, func(string) bool {
		got := d.Answered()
		return strings.HasPrefix(got, want) || !strings.HasPrefix(want, got)
	})
	if got := d.Answered(); err != nil || !strings.HasPrefix(got, want) {
		t.Errorf("%v:\n got %q\nwant %q\nit shows\n%s", err, got, want, text)
	}
}

// writeAnswers keeps answers in a file, each as a quoted line.
func writeAnswers(file, answers string) error {
	var parts []string
	for part := range strings.SplitSeq(answers, "\x1b") {
		switch {
		case part == "\\" && len(parts) > 0: // the end of the one before
			parts[len(parts)-1] += "\x1b" + part
		case part != "":
			parts = append(parts, "\x1b"+part)
		}
	}
	var b strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&b, "%q\n", part)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(b.String()), 0o644))
}

// readAnswers puts them together again; the file may be missing.
func readAnswers(file string) (string, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		part, err := strconv.Unquote(lines.Text())
		if err != nil {
			return "", err
		}
		b.WriteString(part)
	}
	return b.String(), lines.Err()
}
