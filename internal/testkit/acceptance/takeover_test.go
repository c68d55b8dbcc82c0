//go:build linux

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/testkit/glass"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// attach opens a terminal of the owner's with scv in it.
func (l *lab) attach(cols, rows int, args ...string) *dash {
	l.t.Helper()
	return l.dashboard(glass.How{Cols: cols, Rows: rows}, append([]string{"jobs"}, args...)...)
}

// closed waits for the end of scv in a terminal, which has to be as it was before.
func (d *dash) closed() {
	d.l.t.Helper()
	d.ended = true
	d.left(d.Wait())
}

func (d *dash) left(end glass.Ended) {
	d.l.t.Helper()
	if end.Err != nil || !end.Restored || end.Left != 0 {
		d.l.t.Errorf("the owner's terminal was left as %+v; it shows\n%s", end, d.Text())
	}
}

// types types, and waits until it stands on the screen.
func (d *dash) types(text string) {
	d.l.t.Helper()
	d.l.must(d.Type(text))
	d.shows(text)
}

// TestV16_V17_TheOwnerWorksInTheRealTerminal of each agent: no question is asked, the turns before are there, what is
// typed is in the next turn's history, and nothing is left of it.
func TestV16_V17_TheOwnerWorksInTheRealTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		agent func(testing.TB, realagent.Options) *realagent.Agent
		ready string // stands on its screen when it takes a prompt
		quit  string // and Enter; "" for ctrl-c
		again string // stands there when ctrl-c has to come a second time
		more  string // of its configuration
	}{
		"codex":    {realagent.Codex, "›", "/quit", "", ""},
		"claude":   {realagent.Claude, "❯", "/exit", "", ""},
		"gemini":   {realagent.Gemini, "Type your message", "", "again to exit", "model = \"gemini-2.5-flash\"\n"},
		"opencode": {realagent.Opencode, "commands", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // one waits for its minute to be over
			a := c.agent(t, realagent.Options{})
			if name == "claude" {
				usedOnce(t, a)
			}
			l := newLab(t, a.Env...)
			l.env = append(l.env, "PATH="+filepath.Dir(a.Path)+":"+os.Getenv("PATH"))
			l.config("[agents." + name + "]\nmode = \"auto\"\n" + c.more)
			id := l.start("--agent", name, "@@say:the first answer")
			l.reaches(id, wire.StateCompleted)
			w := l.attach(100, 40, "attach", string(id))
			w.shows(c.ready, "the first answer", "lets go")
			w.types("@@say:the second answer")
			answered := func(text string) bool {
				return strings.Count(text, "the second answer") > 1 && strings.Contains(text, c.ready)
			}
			if text, err := w.Insist(l.ctx, "\r", answered); err != nil { // once it was typed, and once it was said
				t.Fatalf("%v; it shows\n%s", err, text)
			}
			waits := l.sendQueued(id, "@@hist")
			if j := l.reaches(waits, wire.StateQueued); !strings.Contains(detail(j), "terminal") {
				t.Errorf("it says %q", detail(j))
			}
			w.quits(c.quit, c.again)
			l.reaches(waits, wire.StateCompleted)
			if reply := l.ok("jobs", "result", string(waits)); !strings.Contains(reply, "say:the first answer") || !strings.Contains(reply, "say:the second answer") {
				t.Errorf("the next turn knows of %s", reply)
			}
			if _, err := os.Stat(a.Dir + "/agent/packages"); err == nil {
				t.Error("codex copied itself into its home")
			}
		})
	}
}

// usedOnce puts into claude's home what is there once it was used; without it claude asks a service that is not here.
func usedOnce(t *testing.T, a *realagent.Agent) {
	t.Helper()
	used := `{"hasCompletedOnboarding":true,"theme":"dark","lastOnboardingVersion":"2.1.332","customApiKeyResponses":{"approved":["any"],"rejected":[]}}`
	if err := os.WriteFile(a.Dir+"/agent/.claude.json", []byte(used), 0o600); err != nil {
		t.Fatal(err)
	}
}

// quits leaves an agent by a command of its own, or with none by ctrl-c, which it may want again.
func (d *dash) quits(command, again string) {
	d.l.t.Helper()
	key := "\x03"
	if command != "" {
		d.types(command)
		key = "\r"
	}
	d.ended = true
	end, err := d.Leave(d.l.ctx, func() error {
		if err := d.Type(key); err != nil || again == "" {
			return err
		}
		if _, asked, err := d.Soon(d.l.ctx, func(text string) bool { return strings.Contains(text, again) }); !asked || err != nil {
			return err
		}
		return d.Type(key)
	})
	if err != nil {
		d.l.t.Fatalf("it does not end: %v; it shows\n%s", err, d.Text())
	}
	d.left(end)
}

// sendQueued sends a prompt that waits, and returns its job.
func (l *lab) sendQueued(to wire.JobID, prompt string) wire.JobID {
	l.t.Helper()
	_, out, _ := l.scv("jobs", "send", "-q", "--queue", string(to), prompt)
	return wire.JobID(strings.TrimSpace(out))
}

// TestE19_TakeoverInsideTheDashboard goes from the list into the agent's own terminal, types there, lets go and comes back
// to its end. Wide text stands in its cells, and the key that lets go stands on the screen all the time.
func TestE19_TakeoverInsideTheDashboard(t *testing.T) {
	l := newLab(t)
	j := l.resting()
	d := l.dashboard(normal())
	d.shows(string(j.Job), "completed")
	d.press("t")
	d.shows("Type a line", "ctrl-] lets go, the agent goes on")
	if page := l.hold(l.dialled(), j, 0, 0, false); page.Cols != 99 || page.Rows != 28 {
		t.Errorf("the terminal is %dx%d", page.Cols, page.Rows)
	}
	d.shows("taken by another client", "[1 All]") // the test held it; now the dashboard takes it again
	d.press("t")
	d.shows("Type a line", "lets go")
	d.press("你好 q\r")
	d.shows("you said: 你好 q", "lets go")
	d.l.must(d.Resize(120, 20))
	d.shows("you said: 你好 q", "lets go")
	d.press("\x1d")
	d.shows("goes on; t takes it again", "[1 All]")
	d.press("t")
	d.shows("you said: 你好 q", "lets go")
	d.press("/quit\r")
	d.shows("is closed (exit 0)", "[1 All]")
	d.press("q")
	d.leaves(0)
}
