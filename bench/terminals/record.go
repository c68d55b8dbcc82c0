//go:build ignore

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/creack/pty"
)

// A session is a program that is recorded: what is typed, with a pause before each.
type session struct {
	program, command string
	keys             []string
}

const (
	pause  = 800 * time.Millisecond
	begins = time.Minute // for an agent's first bytes
)

func sessions() []session {
	return []session{
		{"vim", "vim -u NONE text", []string{"Gix ä 世界 ❤️\x1b", ":set nu\r", "\x06", ":vsp\r", "ggdG", ":qa!\r"}},
		{"less", "less text", []string{" ", "G", "/line 40\r", "q"}},
		{"nano", "nano text", []string{"hello\r", "\x16", "\x18", "n"}},
		{"htop", "htop", []string{"\x1b[B\x1b[B", "t", "q"}},
		{"top", "top", []string{"1", "q"}},
		{"tmux", "tmux -L recording -f /dev/null new", []string{"cat text\r", "\x02%", "ls\r", "\x02o", "exit\r", "exit\r"}},
		{"mc", "mc -a", []string{"\t", "\x1b[B", "\x1b0"}},
		{"fzf", "fzf < text", []string{"line 4", "\x1b[A", "\x1b"}},
		{"bash", "bash --norc", []string{"cat text\r", "printf '\\033[31mred\\033[m\\n'\r", "exit\r"}},
		{"codex", "codex", []string{"\x1b[B", "\x03", "\x03"}},
		{"claude", "claude", []string{"\x1b[B", "\r", "\x03", "\x03"}},
		{"gemini", "gemini", []string{"\x1b[B", "\x03", "\x03"}},
		{"opencode", "opencode", []string{"hello", "\x03", "\x03"}},
	}
}

const recordCols, recordRows = 100, 40

// record runs the programs that are installed, each in a home of its own, and writes what they draw to a folder. Nothing
// answers their questions but SCV's emulator.
func record(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "cases"), 0o700); err != nil {
		return err
	}
	for _, s := range sessions() {
		if _, err := exec.LookPath(s.program); err != nil {
			fmt.Printf("%s is not installed\n", s.program)
			continue
		}
		drawn, err := s.run()
		if err != nil {
			return fmt.Errorf("%s: %w", s.program, err)
		}
		data, err := json.Marshal(map[string]any{"name": s.program, "cols": recordCols, "rows": recordRows, "input_base64": drawn, "expect": map[string]any{}})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "cases", s.program+".json"), data, 0o600)
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", s.program, len(drawn))
	}
	return nil
}

func (s session) run() (drawn []byte, err error) {
	home, err := os.MkdirTemp("", "recording-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	if err := os.WriteFile(filepath.Join(home, "text"), []byte(text()), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", s.command)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "TMPDIR=" + home}
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: recordCols, Rows: recordRows})
	if err != nil {
		return nil, err
	}
	defer master.Close()
	e, err := rivals()[0].make(recordCols, recordRows)
	if err != nil {
		return nil, err
	}
	emulator := e.(*own)
	emulator.Answer(true)
	read, drew := make(chan struct{}), make(chan struct{}, 1)
	go func() {
		defer close(read)
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf)
			drawn = append(drawn, buf[:n]...)
			select {
			case drew <- struct{}{}:
			default:
			}
			_, _ = emulator.Write(buf[:n])
			if a := emulator.Answers(); len(a) > 0 {
				_, _ = master.Write(a)
			}
			if err != nil {
				return
			}
		}
	}()
	quiet(drew, read, begins)
	for _, k := range s.keys {
		_, _ = master.Write([]byte(k)) // it may have left before
		quiet(drew, read, pause)
	}
	select {
	case <-read:
	case <-time.After(4 * pause):
		_ = cmd.Process.Kill()
		_ = master.Close()
		<-read
	}
	_ = cmd.Wait() // how it ended is of no account
	return drawn, nil
}

// text is what there is to look at.
func text() string {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "line %d of a text, with words\tand 世界 and é\n", i)
	}
	return b.String()
}

// quiet waits until something was drawn, for at most so long, and then until nothing more comes for a while.
func quiet(drew, ended <-chan struct{}, most time.Duration) {
	select {
	case <-drew:
	case <-ended:
		return
	case <-time.After(most):
	}
	for range 20 {
		select {
		case <-drew:
		case <-ended:
			return
		case <-time.After(pause):
			return
		}
	}
}

// replays compares what SCV and xterm.js show in the course of recordings, row by row.
func replays(dir, xterm string) error {
	cases, err := read(dir)
	if err != nil {
		return err
	}
	n, err := startNode(xterm)
	if err != nil {
		return err
	}
	defer n.stop()
	const stops = 12
	rows, same := 0, 0
	fmt.Println("| recording | bytes | rows alike | cursor alike |\n|---|---|---|---|")
	for i := range cases {
		c := &cases[i]
		here, alike, cursors := 0, 0, 0
		for k := 1; k <= stops; k++ {
			part := c.Input[:len(c.Input)*k/stops]
			e, err := rivals()[0].make(c.Cols, c.Rows)
			if err != nil {
				return err
			}
			_, _ = e.Write(part)
			mine := e.Show()
			theirs, err := n.play(c.Cols, c.Rows, []step{{Input: part}})
			if err != nil {
				return err
			}
			for r := range mine.Rows {
				here++
				if mine.Rows[r] == theirs.Rows[r] {
					alike++
				}
			}
			if reflect.DeepEqual([2]int{mine.Row, mine.Col}, [2]int{theirs.Row, theirs.Col}) {
				cursors++
			}
		}
		rows, same = rows+here, same+alike
		fmt.Printf("| %s | %d | %.1f %% | %d of %d |\n", c.Name, len(c.Input), 100*float64(alike)/float64(here), cursors, stops)
	}
	fmt.Printf("\n%.2f %% of all rows alike.\n", 100*float64(same)/float64(rows))
	return nil
}
