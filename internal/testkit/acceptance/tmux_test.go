//go:build linux

package acceptance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/testkit/glass"
	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// A mux is the dashboard in a terminal of a tmux server of its own, which is what many people have between them and it.
type mux struct {
	l      *lab
	socket string
}

func (l *lab) tmux(cols, rows int) *mux {
	l.t.Helper()
	m := &mux{l: l, socket: filepath.Join(l.base, fmt.Sprintf("t%d", cols))}
	l.t.Cleanup(func() { _ = exec.Command("tmux", "-S", m.socket, "kill-server").Run() })
	m.does("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "cat", ";", "set", "-g", "status", "off", ";", "set", "-g", "set-clipboard", "on")
	m.does("respawn-pane", "-k", os.Getenv(programKey))
	return m
}

// does runs one command of tmux and returns what it prints.
func (m *mux) does(args ...string) string {
	m.l.t.Helper()
	cmd := exec.Command(need.Program(m.l.t, "tmux"), append([]string{"-S", m.socket}, args...)...)
	cmd.Env, cmd.Dir = append(slices.Clone(m.l.env), "LC_ALL=C.UTF-8"), m.l.work
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.l.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// shows waits until what tmux has on its screen is wanted.
func (m *mux) shows(ctx context.Context, want func(text string) bool) (string, error) {
	for {
		text := m.does("capture-pane", "-p")
		if want(text) {
			return text, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return text, ctx.Err()
		}
	}
}

// TestE4_E6_TmuxSeesTheSame: at four sizes, and in one wider than that, the screen of the dashboard is the same cells in our
// emulator and in tmux, with Chinese, joined emoji, combining marks, right-to-left text and a task of 300 characters.
func TestE4_E6_TmuxSeesTheSame(t *testing.T) {
	need.Program(t, "tmux")
	l := newLab(t)
	for _, task := range []string{
		"修复分词器中的内存分配", "a family 👩‍👩‍👧 and a flag 🇩🇪", "e\u0301combining cafe\u0301", "שלום עולם rtl مرحبا", strings.Repeat("长而又长 long ", 30), "\x1b[2Jhostile\u202e\u200b text",
	} {
		l.reaches(l.start("--agent", "demo", "@@say:"+task), wire.StateCompleted)
	}
	l.rests()
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 50}, {400, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			here := *l
			here.t = t
			l := &here
			d := l.dashboard(glass.How{Cols: size[0], Rows: size[1]})
			ready := []string{"completed", "? help"}
			if size[0] >= 80 {
				ready = append(ready, "run end")
			}
			d.shows(ready...)
			m := l.tmux(size[0], size[1])
			text, err := m.shows(l.ctx, func(text string) bool { return rows(text) == rows(d.Text()) })
			if err != nil {
				t.Errorf("tmux shows\n%s\nand our emulator\n%s", text, d.Text())
			}
			d.press("q")
			d.leaves(0)
			m.does("send-keys", "q")
		})
	}
}

// rows is a screen without what is blank at its end.
func rows(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, strings.TrimRight(line, " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// TestE17_CopyTellsTheTruth: what is copied by way of the terminal arrives in tmux, and is called sent, not copied, since
// no terminal says whether it took it.
func TestE17_CopyTellsTheTruth(t *testing.T) {
	need.Program(t, "tmux")
	l := newLab(t)
	l.reaches(l.start("--agent", "demo", "@@say:你好 copy me"), wire.StateCompleted)
	l.env = append(l.env, "DISPLAY=", "WAYLAND_DISPLAY=")
	m := l.tmux(100, 30)
	holds := func(part string) {
		t.Helper()
		if text, err := m.shows(l.ctx, func(text string) bool { return strings.Contains(text, part) }); err != nil {
			t.Fatalf("waiting for %q:\n%s", part, text)
		}
	}
	holds("completed")
	m.does("send-keys", "y")
	holds("Copy")
	m.does("send-keys", "-l", "task")
	m.does("send-keys", "Enter")
	holds("sent to the terminal's clipboard, which does not tell whether it took it")
	if got := m.does("show-buffer"); got != "@@say:你好 copy me" {
		t.Errorf("tmux has %q", got)
	}
}

// TestE18_TheMouseIsTheTerminalsUntilItIsAskedFor: else nobody could select text with it.
func TestE18_TheMouseIsTheTerminalsUntilItIsAskedFor(t *testing.T) {
	l := newLab(t)
	d := l.dashboard(normal())
	d.shows("[1 All]", "? help")
	takes := func() bool {
		return slices.ContainsFunc([]string{"\x1b[?1000h", "\x1b[?1002h", "\x1b[?1003h", "\x1b[?1006h"}, func(mode string) bool { return strings.Contains(d.Raw(), mode) })
	}
	if takes() {
		t.Error("the mouse is taken from the start")
	}
	d.press("m")
	d.shows("gives it back to the terminal")
	if !takes() {
		t.Error("m does not take the mouse")
	}
	d.press("m")
	d.shows("enter open")
	if raw := d.Raw(); strings.LastIndex(raw, "\x1b[?1000l") < strings.LastIndex(raw, "\x1b[?1000h") {
		t.Error("the second m does not give it back")
	}
	d.press("q")
	d.leaves(0)
}

// TestE3_TenBusyJobsFitAThinLink: while ten jobs say wide text, each redraw at 200x50 is less than 5 kB, there are at most ten
// a second, and so what is drawn in a second fits a link of 20 kB/s, on which a key is still answered.
func TestE3_TenBusyJobsFitAThinLink(t *testing.T) {
	l := newLab(t)
	d := l.dashboard(glass.How{Cols: 200, Rows: 50})
	d.shows("? help")
	var script strings.Builder
	for n := range 60 {
		fmt.Fprintf(&script, "say:%d 修复分词器 step %d of the hot loop|sleep:300|", n*7919%1000, n)
	}
	for range 10 {
		l.start("--agent", "demo", "@@"+script.String())
	}
	d.shows("10 working")
	begin, bytes, draws := time.Now(), d.Bytes(), d.Draws()
	if _, err := d.Until(l.ctx, func(string) bool { return d.Draws() >= draws+30 }); err != nil {
		t.Fatal(err)
	}
	seconds := time.Since(begin).Seconds()
	bytes, draws = d.Bytes()-bytes, d.Draws()-draws
	t.Logf("%.1f redraws/s, %d bytes each, %.1f kB/s", float64(draws)/seconds, bytes/draws, float64(bytes)/seconds/1000)
	if rate := float64(draws) / seconds; rate > 11 { // the first one of the window may have waited before it
		t.Errorf("%.1f redraws/s", rate)
	}
	if each := bytes / draws; each >= 5000 {
		t.Errorf("a redraw is %d bytes", each)
	}
	if rate := float64(bytes) / seconds; rate > 20_000 {
		t.Errorf("%.0f bytes/s", rate)
	}
	d.press("?")
	d.shows("Help: every key")
	d.press("\x1b")
	d.without("Help: every key")
	d.press("q")
	d.leaves(0)
}
