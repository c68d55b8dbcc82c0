//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"scv/internal/testkit/glass"
	"scv/internal/testkit/need"
)

// The scripts of testdata/dashboard drive the real program in a terminal, keys in and screen out. Each is done at four
// sizes, and once more inside of tmux, whose own picture of the screen then has to say the same.
//
// Beside the commands of TestScript they have:
//
//	window ARGS...      scv with these arguments in a terminal of $COLS by $ROWS
//	sees REGEXP         wait until the screen matches (lines, without blanks at their ends); with ! until it does not
//	types KEYS          KEYS as a Go string says them without its quotes: j, \r, \x1b
//	insists KEYS REGEXP type until the screen matches: the daemon may drop what comes too early
//	leaves KEYS [CODE]  type, and want the program's end, its exit code and the terminal as it was before
//	[tmux], [narrow]    inside of tmux; at 40 columns

// frames are the sizes of the scripts, and whether tmux is the terminal.
var frames = []struct {
	cols, rows int
	tmux       bool
}{{40, 10, false}, {80, 24, false}, {120, 40, false}, {200, 50, false}, {80, 24, true}, {200, 50, true}}

func TestDashboard(t *testing.T) {
	for _, f := range frames {
		name := fmt.Sprintf("%dx%d", f.cols, f.rows)
		if f.tmux {
			name += "_tmux"
		}
		t.Run(name, func(t *testing.T) {
			if f.tmux {
				need.Program(t, "tmux")
			}
			p := params(filepath.Join("..", "..", "testdata", "dashboard"))
			p.Setup = func(env *testscript.Env) error {
				env.Values[windowKey{}] = &window{cols: f.cols, rows: f.rows, tmux: f.tmux}
				env.Setenv("COLS", strconv.Itoa(f.cols))
				env.Setenv("ROWS", strconv.Itoa(f.rows))
				return setup(env)
			}
			for verb, do := range map[string]func(*window, *testscript.TestScript, bool, []string){
				"window": (*window).open, "sees": (*window).sees, "types": (*window).types, "insists": (*window).insists, "leaves": (*window).leaves,
			} {
				p.Cmds[verb] = func(ts *testscript.TestScript, neg bool, args []string) {
					do(ts.Value(windowKey{}).(*window), ts, neg, args)
				}
			}
			general := p.Condition
			p.Condition = func(cond string) (bool, error) {
				switch cond {
				case "tmux":
					return f.tmux, nil
				case "narrow":
					return f.cols < 80, nil
				}
				return general(cond)
			}
			testscript.Run(t, p)
		})
	}
}

// windowKey names the window among the values of a script.
type windowKey struct{}

// A window is the terminal of a script.
type window struct {
	cols, rows int
	tmux       bool
	term       *glass.Terminal
	server     []string // the command line of tmux, before its verb
	env        []string
}

// hang bounds a wait for what never comes.
const hang = 2 * time.Minute

func (w *window) open(ts *testscript.TestScript, neg bool, args []string) {
	if neg || w.term != nil {
		ts.Fatalf("usage: window ARGS..., once until it leaves")
	}
	scv := filepath.Join(os.Getenv("SCV_TEST_BIN"), "scv")
	line := append([]string{scv}, args...)
	for _, name := range []string{"SCV_HOME", "HOME", "TMPDIR", "PATH", "TZ", "GORACE"} {
		w.env = append(w.env, name+"="+ts.Getenv(name))
	}
	w.env = append(w.env, "TERM=xterm-256color", "LANG=C.UTF-8")
	if w.tmux {
		conf := ts.MkAbs("tmux.conf")
		ts.Check(os.WriteFile(conf, []byte("set -g status off\nset -g escape-time 0\nset -g default-terminal tmux-256color\n"), 0o600))
		w.server = []string{"tmux", "-u", "-f", conf, "-S", filepath.Join(ts.Getenv("TMPDIR"), "tmux")}
		line = append(append(append([]string{}, w.server...), "new-session"), line...)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env, cmd.Dir = w.env, ts.Getenv("WORK")
	term, err := glass.Start(cmd, glass.How{Cols: w.cols, Rows: w.rows})
	ts.Check(err)
	w.term = term
	ts.Defer(func() {
		if w.term != nil {
			_ = term.Signal(syscall.SIGKILL)
			term.Wait()
			w.endServer()
		}
	})
}

// endServer ends what tmux left in the background, if there is any.
func (w *window) endServer() {
	if w.tmux {
		cmd := exec.Command(w.server[0], append(w.server[1:], "kill-server")...)
		cmd.Env = w.env
		_ = cmd.Run()
	}
}

// picture is the screen as tmux has it.
func (w *window) picture(ts *testscript.TestScript) string {
	cmd := exec.Command(w.server[0], append(w.server[1:], "capture-pane", "-p")...)
	cmd.Env = w.env
	out, err := cmd.Output()
	ts.Check(err)
	lines := strings.Split(string(out), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func (w *window) wait(ts *testscript.TestScript, want func(string) bool) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	return w.term.Until(ctx, want)
}

func expression(ts *testscript.TestScript, text string) *regexp.Regexp {
	re, err := regexp.Compile("(?m)" + text)
	ts.Check(err)
	return re
}

func (w *window) sees(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || w.term == nil {
		ts.Fatalf("usage: sees REGEXP, while a window is open")
	}
	re := expression(ts, args[0])
	text, err := w.wait(ts, func(text string) bool { return re.MatchString(text) != neg })
	if err != nil {
		ts.Fatalf("sees %s: %v; the screen shows\n%s", args[0], err, text)
	}
	if w.tmux && re.MatchString(w.picture(ts)) == neg {
		ts.Fatalf("sees %s: tmux has another picture\n%s\nthan its terminal\n%s", args[0], w.picture(ts), text)
	}
}

// keys are those that a word of a script names.
func keys(ts *testscript.TestScript, word string) string {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(word, `"`, `\"`) + `"`)
	ts.Check(err)
	return text
}

func (w *window) types(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || w.term == nil {
		ts.Fatalf("usage: types KEYS, while a window is open")
	}
	ts.Check(w.term.Type(keys(ts, args[0])))
}

func (w *window) insists(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || w.term == nil {
		ts.Fatalf("usage: insists KEYS REGEXP, while a window is open")
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if text, err := w.term.Insist(ctx, keys(ts, args[0]), expression(ts, args[1]).MatchString); err != nil {
		ts.Fatalf("insists %s: %v; the screen shows\n%s", args[1], err, text)
	}
}

func (w *window) leaves(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 || w.term == nil {
		ts.Fatalf("usage: leaves KEYS [CODE], while a window is open")
	}
	want := 0
	if len(args) == 2 && !w.tmux { // tmux ends with a code of its own
		var err error
		want, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	term := w.term
	word := keys(ts, args[0]) // typed once: what comes behind the end is the shell's
	end, err := term.Leave(ctx, func() (err error) {
		if word != "" {
			err, word = term.Type(word), ""
		}
		return err
	})
	if err != nil {
		ts.Fatalf("leaves %s: %v; the screen shows\n%s", args[0], err, term.Text())
	}
	w.term = nil
	w.endServer()
	got := 0
	if x, ok := errors.AsType[*exec.ExitError](end.Err); ok {
		got = x.ExitCode()
	}
	if got != want || !end.Restored || end.Left > 0 {
		ts.Fatalf("it ended with %v, want code %d; modes restored %t, %d bytes left for the shell; screen:\n%s", end.Err, want, end.Restored, end.Left, term.Text())
	}
}
