package demo

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

func newShow(out *bytes.Buffer, columns int) *show {
	return &show{
		s: &stage{opts: Options{Out: out, Columns: columns}}, fail: func(error) {},
		reading: map[wire.JobID]bool{}, over: map[wire.JobID]func() error{},
	}
}

func TestTheEndOfAJobIsShownAfterItsLog(t *testing.T) {
	var out bytes.Buffer
	w := newShow(&out, 0)
	w.open("job-1")
	w.job(&wire.Job{Job: "job-1", State: wire.StateWorking, Task: "a task"})
	w.job(&wire.Job{Job: "job-1", State: wire.StateFailed, Task: "a task", Detail: new("no luck")})
	if strings.Contains(out.String(), "failed") {
		t.Errorf("shown before the log's end: %q", out.String())
	}
	w.mu.Lock()
	_ = w.line(0, "job-1", "text", "last words", "2")
	w.mu.Unlock()
	if err := w.close("job-1"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[1], "last words") || !strings.HasSuffix(lines[2], "a task (no luck)") {
		t.Errorf("%q", lines)
	}
	// A job whose log is at its end already is shown at once.
	w.job(&wire.Job{Job: "job-2", State: wire.StateCompleted, Task: "another"})
	if !strings.Contains(out.String(), "another") {
		t.Errorf("%q", out.String())
	}
}

func TestT35_LinesAreCleanAndFit(t *testing.T) {
	var out bytes.Buffer
	w := newShow(&out, 60)
	w.job(&wire.Job{Job: "job-1", State: wire.StateWorking, Task: "\x1b]0;x\x07\u202e" + strings.Repeat("long ", 40)})
	if got := out.String(); strings.ContainsAny(got, "\x1b\x07\u202e") || plain.Width(strings.TrimRight(got, "\n")) > 60 {
		t.Errorf("%q", got)
	}
}

func TestTheDemoTouchesNothingOfTheOwner(t *testing.T) {
	s := &stage{home: "/tmp/d/home", opts: Options{Environ: []string{"SCV_HOME=/mine", "SCV_CONFIG=/mine/c", "PATH=/bin", "SCV_RUN=x"}}}
	if got := strings.Join(s.environ(), " "); got != "PATH=/bin SCV_HOME=/tmp/d/home" {
		t.Errorf("%q", got)
	}
}

func TestScratchRefusesWithASentence(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere")
	_, err := scratch()
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || e.Hint == "" || !strings.Contains(e.Message, syscall.ENOENT.Error()) {
		t.Errorf("%v", err)
	}
}
