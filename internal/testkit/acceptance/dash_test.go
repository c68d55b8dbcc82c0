//go:build linux

package acceptance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/testkit/glass"
	"scv/internal/wire"
)

// A dash is the dashboard of the real program in a terminal of its own.
type dash struct {
	*glass.Terminal
	l     *lab
	ended bool
}

// dashboard runs scv with these arguments in a terminal.
func (l *lab) dashboard(how glass.How, args ...string) *dash {
	l.t.Helper()
	cmd := exec.Command(os.Getenv(programKey), args...)
	cmd.Env, cmd.Dir = append(slices.Clone(l.env), "TERM=xterm-256color"), l.work
	return l.terminal(cmd, how)
}

func (l *lab) terminal(cmd *exec.Cmd, how glass.How) *dash {
	l.t.Helper()
	term, err := glass.Start(cmd, how)
	l.must(err)
	d := &dash{Terminal: term, l: l}
	l.t.Cleanup(func() {
		if !d.ended {
			_ = term.Signal(syscall.SIGKILL)
			term.Wait()
		}
	})
	return d
}

// shows waits until the screen holds all of these texts.
func (d *dash) shows(texts ...string) string {
	d.l.t.Helper()
	text, err := d.Until(d.l.ctx, func(text string) bool {
		return !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(text, t) })
	})
	if err != nil {
		d.l.t.Fatalf("waiting for %q: %v; the screen shows\n%s", texts, err, text)
	}
	return text
}

// without waits until the screen does not hold a text.
func (d *dash) without(gone string) {
	d.l.t.Helper()
	if text, err := d.Until(d.l.ctx, func(text string) bool { return !strings.Contains(text, gone) }); err != nil {
		d.l.t.Fatalf("waiting for the end of %q: %v; the screen shows\n%s", gone, err, text)
	}
}

func (d *dash) press(keys ...string) {
	d.l.t.Helper()
	for _, k := range keys {
		d.l.must(d.Type(k))
	}
}

// leaves waits for the end, and wants the terminal as it was before, with nothing in it that a shell would read.
func (d *dash) leaves(code int) {
	d.l.t.Helper()
	end := d.Wait()
	d.ended = true
	got := 0
	if x, ok := errors.AsType[*exec.ExitError](end.Err); ok {
		got = x.ExitCode()
	}
	if got != code || !end.Restored || end.Left != 0 {
		d.l.t.Errorf("it ended with %v (want code %d), modes restored %t, %d bytes left for the shell; screen:\n%s", end.Err, code, end.Restored, end.Left, d.Text())
	}
}

func normal() glass.How { return glass.How{Cols: 100, Rows: 30} }

func TestDashboardFromAnEmptyHomeToAResult(t *testing.T) {
	l := newLab(t)
	d := l.dashboard(normal())
	d.shows("No agent is installed", "See it work without one", "[1 All]")
	if d.Title() != "scv" {
		t.Errorf("the window's title is %q", d.Title())
	}
	d.press("n")
	d.shows("New job", "agent     demo")
	d.press("@@say:hello from the agent|sleep:1|say:and good bye\r")
	d.shows("job-1", "hello from the agent")
	d.shows("completed", "run end")
	d.press("\r", "\t", "\t")
	d.shows("[Result]", "and good bye")
	d.press("q")
	d.leaves(0)
	if strings.Contains(d.Text(), "job-1") {
		t.Errorf("the screen before is not back:\n%s", d.Text())
	}
	if j := l.reaches("job-1", wire.StateCompleted); j.Cwd != l.work {
		t.Errorf("it worked in %s", j.Cwd)
	}
}

func TestE31_DemoOpensTheDashboardAndLeavesNothing(t *testing.T) {
	l := newLab(t, "TMPDIR=/tmp")
	scratch, err := os.MkdirTemp("/tmp", "scvt")
	l.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	l.env = append(l.env, "TMPDIR="+scratch)
	d := l.dashboard(normal(), "demo")
	d.shows("job-1", "job-2", "job-3", "job-4", "Explain this project", "APPROVAL 1 of 1", "rm -rf build && make test")
	d.press("q")
	d.leaves(0)
	if left, _ := os.ReadDir(scratch); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if left := l.processes("run"); len(left) != 0 {
		t.Errorf("left running: %v", left)
	}
}

// TestE9_ApprovalIsAnsweredByTwoKeys goes from the question of a live agent to what it did with the answer.
func TestE9_ApprovalIsAnsweredByTwoKeys(t *testing.T) {
	l := newLab(t)
	d := l.dashboard(normal())
	d.shows("? help")
	l.start("--agent", "demo-live", "@@say:before|ask:rm -rf build|say:between|edit:main.go|say:after")
	d.shows("APPROVAL 1 of 1", "rm -rf build", "1 NEED YOU", "WAITS")
	if d.Title() != "scv: 1 need you" {
		t.Errorf("the window's title is %q", d.Title())
	}
	for key, means := range map[string]string{"y": "Copy", "n": "New job", "\r": "esc back"} { // nothing is named yet
		d.press(key)
		d.shows(means)
		d.press("\x1b")
		d.shows("enter open")
	}
	d.press("A")
	d.shows("y approve  n deny", "risk")
	d.press("y")
	d.shows("that key answered nothing")
	<-time.After(600 * time.Millisecond)
	d.press("y")
	d.shows("between", "edit main.go")
	d.press("\x1b")
	d.shows("enter open")
	d.press("A")
	<-time.After(600 * time.Millisecond)
	d.press("n")
	d.shows("after", "completed")
	d.without("APPROVAL")
	d.press("q")
	d.leaves(0)
	if out := l.ok("jobs", "log", "job-1"); strings.Count(out, "approval_resolved") != 2 {
		t.Errorf("the log holds\n%s", out)
	}
}

func TestE2_P34_IdleDashboardWritesNothingAndSleeps(t *testing.T) {
	l := newLab(t)
	l.start("--agent", "demo", "quick")
	l.reaches("job-1", wire.StateCompleted)
	l.rests()
	d := l.dashboard(normal())
	d.shows("job-1", "completed", "run end")
	// What the start still owes (a late answer, an agent's search) may come in the first windows.
	var seen [][2]int
	for range 4 {
		bytes, woken := d.Bytes(), switches(t, d.PID())
		<-time.After(2 * time.Second)
		bytes, woken = d.Bytes()-bytes, switches(t, d.PID())-woken
		seen = append(seen, [2]int{bytes, woken})
		if bytes == 0 && woken <= 1 {
			t.Logf("bytes and voluntary switches in windows of 2 s: %v", seen)
			d.press("q")
			d.leaves(0)
			return
		}
	}
	t.Errorf("bytes and voluntary switches in windows of 2 s: %v, want a window with none", seen)
}

func TestE15_KilledDaemonUnderTheDashboard(t *testing.T) {
	l := newLab(t)
	l.says(l.start("--agent", "demo", "@@say:before|sleep:3000|say:after"), said("before")) // the task shows it sooner
	d := l.dashboard(normal())
	d.shows("job-1", "before")
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	d.shows("OFFLINE since", "job-1", "before")
	l.ok("start")
	d.without("OFFLINE")
	d.shows("after", "completed")
	d.press("q")
	d.leaves(0)
}

func TestE15_WithoutADaemonTheDiskIsShown(t *testing.T) {
	l := newLab(t)
	l.start("--agent", "demo", "@@say:kept on disk")
	l.reaches("job-1", wire.StateCompleted)
	l.rests()
	l.ok("stop")
	d := l.dashboard(normal(), "--no-start")
	d.shows("OFFLINE since", "what lies on disk", "job-1", "completed", "kept on disk")
	d.press("\r\t")
	d.shows("[Result]", "kept on disk")
	d.press("\x1b")
	d.shows("enter open")
	d.press(":start the daemon")
	d.shows("scv start")
	d.press("\r")
	d.shows("--no-start")
	d.press("q")
	d.leaves(0)
}

func TestE16_SignalsGiveTheTerminalBack(t *testing.T) {
	l := newLab(t)
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		how  glass.How
	}{
		{"term", syscall.SIGTERM, normal()},
		{"hangup", syscall.SIGHUP, normal()},
		{"interrupt", syscall.SIGINT, normal()},
		{"silent terminal", syscall.SIGTERM, glass.How{Cols: 80, Rows: 24, Silent: true}},
		{"late answers", syscall.SIGTERM, glass.How{Cols: 80, Rows: 24, Late: 150 * time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := l.dashboard(tt.how)
			d.shows("[1 All]", "? help")
			l.must(d.Signal(tt.sig))
			d.leaves(130)
			if strings.Contains(d.Raw(), "panic") || strings.Contains(d.Text(), "[1 All]") {
				t.Errorf("left on the screen:\n%s", d.Text())
			}
		})
	}
}

func TestE16_CtrlZGivesTheTerminalBackAndDrawsAnew(t *testing.T) {
	l := newLab(t)
	d := l.dashboard(normal())
	d.shows("[1 All]", "? help")
	d.without("connecting") // else the daemon's process may be caught before it has a session of its own
	d.press("\x1a")
	stat := fmt.Sprintf("/proc/%d/stat", d.PID())
	for {
		data, err := os.ReadFile(stat)
		l.must(err)
		if strings.HasPrefix(string(data[strings.LastIndexByte(string(data), ')')+1:]), " T") {
			break
		}
		l.must(l.ctx.Err())
	}
	d.without("[1 All]")                            // what it wrote before it stopped may still be on its way
	l.must(syscall.Kill(-d.PID(), syscall.SIGCONT)) // as a shell's fg
	d.shows("[1 All]", "? help")
	d.press("q")
	d.leaves(0)
}

func TestE5_StormOfSizes(t *testing.T) {
	l := newLab(t)
	l.start("--agent", "demo", "@@say:你好|say:world")
	l.reaches("job-1", wire.StateCompleted)
	d := l.dashboard(normal())
	d.shows("job-1", "completed")
	for n := range 50 {
		l.must(d.Resize(10+n*37%200, 3+n*11%60))
	}
	l.must(d.Resize(1000, 400))
	d.shows("job-1", "home ")
	l.must(d.Resize(10, 3))
	d.shows("termina..")
	l.must(d.Resize(90, 25))
	d.shows("job-1", "? help", "run end")
	drawn := d.Text()
	before := d.Bytes()
	d.press("\x0c") // drawn anew it is the same: no stale cell
	if _, err := d.Until(l.ctx, func(string) bool { return d.Bytes() > before+500 }); err != nil {
		t.Fatal(err)
	}
	if got := d.shows("? help"); got != drawn {
		t.Errorf("after the storm it showed\n%s\ndrawn anew it shows\n%s", drawn, got)
	}
	d.press("q")
	d.leaves(0)
}

func TestTerminalsThatCannotShowIt(t *testing.T) {
	l := newLab(t)
	for name, want := range map[string]string{"dumb": "(TERM=dumb)", "": "TERM is not set"} {
		cmd := exec.Command(os.Getenv(programKey))
		cmd.Env, cmd.Dir = append(slices.Clone(l.env), "TERM="+name), l.work
		d := l.terminal(cmd, glass.How{Cols: 200, Rows: 10})
		d.shows(want, "scv --plain")
		d.leaves(1)
	}
	// Without any terminal it is the help, as before.
	out := l.ok()
	if !strings.Contains(out, "scv jobs start") || strings.Contains(out, "\x1b") {
		t.Errorf("in a pipe: %q", out)
	}
}

func TestClosedStandardInput(t *testing.T) {
	l := newLab(t)
	null, err := os.Open(os.DevNull)
	l.must(err)
	defer null.Close()
	cmd := exec.Command(os.Getenv(programKey))
	cmd.Env, cmd.Dir, cmd.Stdin = append(slices.Clone(l.env), "TERM=xterm"), l.work, null
	d := l.terminal(cmd, normal())
	d.shows("[1 All]", "? help")
	d.press("q")
	d.leaves(0)
}

func TestE7_NoColourAndFewColours(t *testing.T) {
	l := newLab(t)
	l.start("--agent", "demo", "quick")
	l.reaches("job-1", wire.StateCompleted)
	for _, env := range [][]string{{"NO_COLOR=1", "TERM=xterm-256color"}, {"TERM=vt100"}, {"TERM=linux"}} {
		cmd := exec.Command(os.Getenv(programKey))
		cmd.Env, cmd.Dir = append(slices.Clone(l.env), env...), l.work
		d := l.terminal(cmd, normal())
		d.shows("= completed", "job-1")
		if raw := d.Raw(); env[0] != "TERM=linux" && (strings.Contains(raw, "\x1b[3") && strings.Contains(raw, "\x1b[38") || strings.Contains(raw, "\x1b[32m")) {
			t.Errorf("%v: colours were written", env)
		}
		d.press("q")
		d.leaves(0)
	}
}

func TestPlainLines(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv(programKey), "--plain")
	cmd.Env, cmd.Dir = append(slices.Clone(l.env), "TERM=dumb"), l.work
	d := l.terminal(cmd, glass.How{Cols: 120, Rows: 40})
	d.shows("ctrl-C ends this and no job", "0 jobs, 0 approvals to answer")
	l.start("--agent", "demo", "@@say:x|fail:no luck")
	d.shows("job-1  failed  demo", "(no luck)")
	if strings.Contains(d.Raw(), "\x1b") {
		t.Errorf("plain lines hold escape sequences: %q", d.Raw())
	}
	l.must(d.Signal(syscall.SIGINT))
	d.leaves(130)
}

func TestPromptInTheOwnersEditor(t *testing.T) {
	l := newLab(t)
	editor := filepath.Join(l.bin, "edit")
	l.must(os.WriteFile(editor, []byte("#!/bin/sh\nprintf '@@say:' >$1; printf 'written in the editor' >>$1\nstat -c %a $1 >"+l.base+"/mode\n"), 0o700))
	l.env = append(l.env, "EDITOR="+editor)
	d := l.dashboard(normal())
	d.shows("? help")
	d.press("n")
	d.shows("New job", "demo")
	d.press("\x0f")
	d.shows("@@say:written in the editor")
	d.press("\r")
	d.shows("job-1", "written in the editor", "completed")
	if mode, _ := os.ReadFile(filepath.Join(l.base, "mode")); strings.TrimSpace(string(mode)) != "600" {
		t.Errorf("the editor's file had mode %s", mode)
	}
	if left, _ := filepath.Glob(filepath.Join(l.home, "state", "prompt-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	d.press("q")
	d.leaves(0)
}
