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
	if end := d.Wait(); end.Err != nil || !end.Restored || end.Left != 0 {
		d.l.t.Errorf("the owner's terminal was left as %+v; it shows\n%s", end, d.Text())
	}
}

// types types, and waits until it stands on the screen.
func (d *dash) types(text string) {
	d.l.t.Helper()
	d.l.must(d.Type(text))
	d.shows(text)
}

// TestV16_V17_TheOwnerWorksInTheRealTerminal of codex and claude: no question is asked, the turns before
// are there, what is typed is in the next turn's history, and nothing is left of it.
func TestV16_V17_TheOwnerWorksInTheRealTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		agent func(testing.TB, realagent.Options) *realagent.Agent
		ready string // stands on its screen when it takes a prompt
		quit  string
	}{
		"codex":  {realagent.Codex, "›", "/quit"},
		"claude": {realagent.Claude, "❯", "/exit"},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.agent(t, realagent.Options{})
			if name == "claude" { // what a home has in which claude was used once; without it claude asks a service that is not here
				used := `{"hasCompletedOnboarding":true,"theme":"dark","lastOnboardingVersion":"2.1.332","customApiKeyResponses":{"approved":["any"],"rejected":[]}}`
				if err := os.WriteFile(a.Dir+"/agent/.claude.json", []byte(used), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l := newLab(t, a.Env...)
			l.env = append(l.env, "PATH="+filepath.Dir(a.Path)+":"+os.Getenv("PATH"))
			l.config("[agents." + name + "]\nmode = \"auto\"\n")
			id := l.start("--agent", name, "@@say:the first answer")
			l.reaches(id, wire.StateCompleted)
			w := l.attach(100, 40, "attach", string(id))
			w.shows(c.ready, "the first answer", "lets go")
			w.types("@@say:the second answer")
			l.must(w.Type("\r"))
			answered := func(text string) bool {
				return strings.Count(text, "the second answer") > 1 && strings.Contains(text, c.ready)
			}
			if text, err := w.Until(l.ctx, answered); err != nil { // once it was typed, and once it was said
				t.Fatalf("%v; it shows\n%s", err, text)
			}
			waits := l.sendQueued(id, "@@hist")
			if j := l.reaches(waits, wire.StateQueued); !strings.Contains(detail(j), "terminal") {
				t.Errorf("it says %q", detail(j))
			}
			w.types(c.quit)
			l.must(w.Type("\r"))
			w.closed()
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

// sendQueued sends a prompt that waits, and returns its job.
func (l *lab) sendQueued(to wire.JobID, prompt string) wire.JobID {
	l.t.Helper()
	_, out, _ := l.scv("jobs", "send", "-q", "--queue", string(to), prompt)
	return wire.JobID(strings.TrimSpace(out))
}
