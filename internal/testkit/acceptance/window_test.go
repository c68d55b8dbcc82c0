//go:build linux

package acceptance

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"scv/internal/terminal/screen"
	"scv/internal/testkit/glass"
	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// TestASlowWindowGetsTheNewest: a window that reads nothing while a program floods stops neither the program nor who else
// looks, and then gets what the screen shows and not what it showed.
func TestASlowWindowGetsTheNewest(t *testing.T) {
	l := newLab(t, "SHELL=/bin/sh")
	j := l.resting()
	master, slave, err := pty.Open()
	l.must(err)
	defer master.Close()
	l.must(pty.Setsize(master, &pty.Winsize{Cols: 80, Rows: 25}))
	cmd := exec.Command(os.Getenv(programKey), "jobs", "shell", string(j.Job))
	cmd.Env, cmd.Dir = append(l.env, "TERM=xterm-256color"), l.work
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	l.must(cmd.Start())
	_ = slave.Close()
	see, got := screen.New(80, 25), 0
	buf := make([]byte, 4096)
	until := func(want string) {
		for !strings.Contains(rowsOf(see), want) {
			n, err := master.Read(buf)
			got += n
			_, _ = see.Write(buf[:n])
			if err != nil {
				t.Fatalf("%v; it shows\n%s", err, rowsOf(see))
			}
		}
	}
	until("ctrl-] lets go")
	const flood = 4 << 20
	_, err = io.WriteString(master, "yes | head -c 4194304; echo it is 'over'\r")
	l.must(err)
	view := l.until("the shell's run", func(v *wire.Snapshot) bool { return len(v.Runs) > 0 && v.Runs[0].Agent == wire.ShellAgent })
	over := func(p wire.AttachPage) bool { return strings.Contains(textOf(p), "\nit is over") }
	l.sees(&view.Runs[0].Handle, "", over)
	until("it is over")
	if got > flood/4 {
		t.Errorf("%d bytes came for a flood of %d", got, flood)
	}
	_, err = io.WriteString(master, "\x1d")
	l.must(err)
	_, _ = io.Copy(io.Discard, master) // ends with the program
	l.must(cmd.Wait())
	l.ok("jobs", "shell", "--end", string(j.Job))
}

func rowsOf(s *screen.Screen) string {
	var b strings.Builder
	_, rows := s.Size()
	for r := range rows {
		b.WriteString(s.Text(r) + "\n")
	}
	return b.String()
}

// TestATerminalInsideTmux, as owners have it who work over ssh.
func TestATerminalInsideTmux(t *testing.T) {
	l := newLab(t)
	j := l.resting()
	cmd := exec.Command(need.Program(t, "tmux"), "-S", filepath.Join(l.work, "tmux"), "-f", "/dev/null", "new", os.Getenv(programKey)+" jobs attach "+string(j.Job)+"; echo it was left; exec cat")
	cmd.Env, cmd.Dir = append(l.env, "TERM=xterm-256color"), l.work
	w := l.terminal(cmd, glass.How{Cols: 100, Rows: 30})
	w.shows("Type a line", "ctrl-] lets go")
	w.types("typed in tmux")
	l.must(w.Type("\r"))
	w.shows("you said: typed in tmux")
	l.must(w.Resize(40, 10))
	w.shows("you said: typed in", "ctrl-] lets go")
	l.must(w.Type("\x1d"))
	w.shows("it was left")
	l.must(w.Type("\x03"))
	w.closed()
	l.ok("jobs", "attach", "--end", string(j.Job))
}

// TestAWindowThatVanishesAndAProgramThatDies: the program goes on without the window, sets no size but its own idea of it, and
// when it is killed the window is given back and the next one begins anew.
func TestAWindowThatVanishesAndAProgramThatDies(t *testing.T) {
	l := newLab(t, "SHELL=/bin/sh")
	j := l.resting()
	w := l.attach(80, 24, "shell", string(j.Job))
	w.shows("ctrl-] lets go")
	l.must(w.Type("echo from 'before'\r"))
	w.shows("from before")
	l.must(w.Signal(syscall.SIGKILL))
	w.ended = true
	w.Wait()
	again := l.attach(80, 24, "shell", string(j.Job))
	again.shows("from before", "ctrl-] lets go")
	l.must(again.Type("stty cols 300 rows 3; printf '\\033[8;5;5t\\033[3;9;9t'; echo still 'here'\r"))
	again.shows("still here", "ctrl-] lets go")
	l.must(again.Type("kill -9 $$\r"))
	again.ended = true
	if end := again.Wait(); !end.Restored || end.Left != 0 {
		t.Errorf("%+v", end)
	}
	last := l.attach(80, 24, "shell", string(j.Job))
	if text := last.shows("ctrl-] lets go"); strings.Contains(text, "from before") {
		t.Errorf("the program that was killed is still there:\n%s", text)
	}
	l.must(last.Type("exit\r"))
	last.closed()
}

// TestRealProgramsInTheTerminal draw their screens there and leave on their own keys.
func TestRealProgramsInTheTerminal(t *testing.T) {
	for _, c := range []struct{ program, command, draws, leave string }{
		{"vim", "vim -u NONE -n text", "the last line", ":q!\r"},
		{"less", "less text", "the last line", "q"},
		{"htop", "htop", "PID", "q"},
		{"tmux", "tmux -L takeover -f /dev/null new 'cat text; exec cat'", "the last line", "\x03"},
		{"mc", "mc -a", "Quit", "\x1b0"},
		{"fzf", "fzf < text", "the last line", "\x1b"},
	} {
		t.Run(c.program, func(t *testing.T) {
			path := need.Program(t, c.program)
			l := newLab(t, "SHELL=/bin/sh")
			l.env = append(l.env, "PATH="+filepath.Dir(path)+":/usr/bin:/bin")
			l.must(os.WriteFile(filepath.Join(l.work, "text"), []byte("one\ntwo\nthe last line\n"), 0o600))
			j := l.resting()
			w := l.attach(100, 31, "shell", string(j.Job))
			w.shows("ctrl-] lets go")
			l.must(w.Type(c.command + "; echo it has 'left'\r"))
			w.shows(c.draws)
			l.must(w.Type(c.leave))
			w.shows("it has left")
			l.must(w.Type("exit\r"))
			w.closed()
		})
	}
}
