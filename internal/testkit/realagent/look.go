package realagent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/internal/agent"
	"scv/internal/run/fold"
	"scv/internal/run/fold/foldtest"
	"scv/internal/workbench/row"
)

// Session returns the agent's own session id among items; empty for none.
func Session(items []fold.Item) string {
	for _, step := range foldtest.Steps(items) {
		if step.Kind == row.StepSession {
			return step.Vendor
		}
	}
	return ""
}

// NotInCommandLines fails the test when a text stands in the command line of any process of this machine.
func NotInCommandLines(t testing.TB, text string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no process table to look at: %v", err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		if bytes.Contains(line, []byte(text)) {
			t.Errorf("%s holds the prompt: %q", file, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
}

// NoPromptInCommandLines plays a turn that is cut short and looks at every process meanwhile.
func (a *Agent) NoPromptInCommandLines(t testing.TB, turn Turn) {
	t.Helper()
	const planted = "sk-planted0123456789abcdef"
	turn.Prompt, turn.DuringSignal = planted+" @@slow:200", syscall.SIGINT
	turn.During = func(t testing.TB) { NotInCommandLines(t, planted) }
	a.Run(t, turn)
}

// ForeignStaysBehind gives the daemon's environment a credential of another tool, by its name, and lets the agent print its
// own.
func (a *Agent) ForeignStaysBehind(t testing.TB, foreign string, turn Turn) {
	t.Helper()
	a.Env = append(a.Env, foreign+"=planted-foreign", "GH_TOKEN=planted-token", "SSH_AUTH_SOCK=/planted/sock")
	turn.Prompt, turn.Mode = "@@shell:env|say:x", agent.ModeAuto
	seen := false
	for _, e := range a.Run(t, turn) {
		seen = seen || strings.Contains(e.Text, "PATH=")
		if strings.Contains(e.Text, "planted") {
			t.Errorf("the agent's shell has %s", e.Text)
		}
	}
	if !seen {
		t.Error("the agent printed no environment")
	}
}

// Kill ends every process whose environment names the directory: an agent with all that it started.
func Kill(t testing.TB, dir string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no process table to look at: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(data, []byte("="+dir+"/")) {
			continue // it ended meanwhile, or is another's
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
