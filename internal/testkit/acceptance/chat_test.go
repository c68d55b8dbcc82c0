//go:build linux

package acceptance

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"scv/internal/testkit/fakemodel"
)

// ownModel gives the lab a model service for SCV's own sessions.
func (l *lab) ownModel() {
	l.t.Helper()
	server := httptest.NewServer(fakemodel.New(nil))
	l.t.Cleanup(func() {
		server.CloseClientConnections() // one that hangs is cut
		server.Close()
	})
	l.config(fmt.Sprintf("[provider]\nkind = \"openai\"\nbase_url = %q\nmodel = \"fake\"\napi_key = \"sk-test-0123456789abcdef\"\n", server.URL+"/v1"))
}

// TestAPersonTalksWithTheModelInTheDashboard from the first prompt to a daemon that was killed, beside another client.
func TestAPersonTalksWithTheModelInTheDashboard(t *testing.T) {
	l := newLab(t)
	l.ownModel()
	d := l.dashboard(normal())
	d.shows("[1 All]", "5 Worktrees") // the daemon answers
	d.press("4")
	d.shows("[4 Sessions]")
	d.press("c")
	d.shows("a new session with SCV's own model")
	d.press("hello @@say:the answer is 42\r")
	d.shows("> hello @@say:the answer is 42", "\nthe answer is 42\n", "done in 1 step", "[Session]", "on-risk")

	// Another client sees the same, and what each of them asks.
	other := l.dashboard(normal())
	other.shows("[1 All]")
	other.press("4")
	other.shows("TUI")
	other.press("\r")
	other.shows("the answer is 42", "fake  on-risk")
	d.press("@@slow:600\r")
	other.shows("> @@slow:600", "a turn runs")
	other.press("and then @@say:after it\r")
	d.shows("waits 1: and then @@say:after it", "1 wait")
	d.press("\x18")
	d.shows("Cancel the turn that runs")
	d.press("y")
	d.shows("cancelled; what its tools did stays", "> and then @@say:after it", "\nafter it\n")
	other.shows("\nafter it\n")
	other.press("\x1b")
	other.shows("enter open")
	other.press("q")
	other.leaves(0)

	d.toolAndFile()

	// The daemon is killed and comes back: nothing is missed, and nothing is shown twice.
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	d.shows("away: ")
	d.press("kept while it is away")
	l.ok("start")
	d.shows("\nlooked at it\n", "kept while it is away", "fake  on-risk")
	d.without("away: ")
	d.press("\x15", "again @@hist\r")
	d.shows("\n6: ")
	d.press("\x1b")
	d.shows("enter open")
	d.press("q")
	d.leaves(0)
}

// TestASessionCutOffIsRestoredPaused: what ran is shown and not sent again, what waits goes on when the owner says so.
func TestASessionCutOffIsRestoredPaused(t *testing.T) {
	l := newLab(t)
	l.ownModel()
	l.ok("exec", "--session", "docs", "one @@say:first")
	d := l.dashboard(normal())
	d.shows("[1 All]")
	d.press("4")
	d.shows("docs")
	d.press("\r")
	d.shows("> one @@say:first", "docs  fake")
	d.press("long @@hang:600\r")
	d.shows("a turn runs", "> long @@hang:600")
	d.press("next @@say:went on\r")
	d.shows("waits 1: next")
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	d.shows("away: ")
	l.ok("start")
	d.shows("This prompt was cut off", "1 wait  paused")
	d.press("\x10")
	d.shows("go on: what waits is asked")
	d.press("\r")
	d.shows("> next @@say:went on", "\nwent on\n")
	d.press("quick @@say:it arrived\r\x1b") // left as soon as it is sent
	d.shows("enter open")
	d.press("\r")
	d.shows("\nit arrived\n")
	d.press("\x1b")
	d.shows("enter open")
	d.press("q")
	d.leaves(0)
}

// toolAndFile lets the model use a tool, and gives it a file.
func (d *dash) toolAndFile() {
	d.l.t.Helper()
	// A tool is asked for in the strip; what is typed answers nothing.
	d.press(`@@tool:bash:{"command":"echo yes > made"}|say:it is made` + "\r")
	d.shows("APPROVAL 1 of 1", "? asks", "ctrl-y focus")
	d.press("y")
	d.press("\x19")
	d.shows("y approve  n deny")
	<-time.After(600 * time.Millisecond) // keys count from half a second after the request was named
	d.press("y")
	d.shows("= done   bash", "\nit is made\n")
	d.without("APPROVAL")
	if got, err := os.ReadFile(filepath.Join(d.l.work, "made")); err != nil || string(got) != "yes\n" {
		d.l.t.Errorf("the tool made %q, %v", got, err)
	}

	// A file goes along; one that is not there is refused.
	d.l.must(os.WriteFile(filepath.Join(d.l.work, "notes.md"), []byte("x"), 0o600))
	d.press("\x15", "\x14")
	d.shows("file for")
	d.press("nothere\r")
	d.shows("not attached")
	d.press("\x14")
	d.shows("file for")
	d.press("note\t")
	d.shows("notes.md")
	d.press("\r")
	d.shows("with notes.md (1 B)")
	d.press("look @@say:looked at it\r")
	d.shows("\nlooked at it\n")
}
