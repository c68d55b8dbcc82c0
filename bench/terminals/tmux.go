//go:build ignore

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A mux is a tmux server of our own, whose panes show streams.
type mux struct{ dir string }

func startMux() (*mux, error) {
	dir, err := os.MkdirTemp("", "terminals-")
	if err == nil { // a status line would take a row
		err = os.WriteFile(filepath.Join(dir, "conf"), []byte("set -g status off\nset -g default-terminal tmux-256color\n"), 0o600)
	}
	return &mux{dir}, err
}

func (m *mux) stop() {
	_, _ = m.run("kill-server") // there may be none
	_ = os.RemoveAll(m.dir)
}

func (m *mux) run(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-f", filepath.Join(m.dir, "conf"), "-S", filepath.Join(m.dir, "socket")}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, out)
	}
	return string(out), nil
}

// play shows steps in a pane of their own.
func (m *mux) play(cols, rows int, steps []step) (s shown, err error) {
	var all []byte
	for _, st := range steps {
		if st.Resize != nil {
			return s, errors.New("sizes are not changed in tmux")
		}
		all = append(all, st.Input...)
	}
	file := filepath.Join(m.dir, "stream")
	if err := os.WriteFile(file, all, 0o600); err != nil {
		return s, err
	}
	// The pane answers DSR once it has drawn what came before it; the shell reads that answer, and only then tells us.
	script := fmt.Sprintf(`stty raw -echo; cat %s; printf '\030\033[5n'; dd bs=1 count=4 >/dev/null 2>&1; touch %s; exec sleep 60`, file, file+".done")
	defer os.Remove(file + ".done")
	if _, err := m.run("new-session", "-d", "-s", "s", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), script); err != nil {
		return s, err
	}
	defer m.run("kill-session", "-t", "s") //nolint:errcheck // it may be gone
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file + ".done"); err == nil {
			break
		}
		if time.Since(begun) > 20*time.Second {
			return s, errors.New("tmux does not come to the end of a stream")
		}
	}
	out, err := m.run("capture-pane", "-p", "-t", "s", ";", "display-message", "-p", "-t", "s", "#{cursor_y} #{cursor_x}")
	if err != nil {
		return s, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if _, err := fmt.Sscan(lines[len(lines)-1], &s.Row, &s.Col); err != nil {
		return s, err
	}
	for r := range rows {
		line := ""
		if r < len(lines)-1 {
			line = strings.TrimRight(lines[r], " ")
		}
		s.Rows = append(s.Rows, line)
	}
	s.Col = min(s.Col, cols-1)
	return s, nil
}
