//go:build linux

package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

// A lab is one home with what is around it: a work folder, a folder of agent programs, an environment.
type lab struct {
	t    *testing.T
	ctx  context.Context // ends a little before the test's deadline, so that the processes are ended in any case
	base string
	home string
	work string
	bin  string
	env  []string
}

// newLab makes a home below a short path, since a socket's path is short. What is started in it ends with the test.
func newLab(t *testing.T, environ ...string) *lab {
	t.Helper()
	base, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	return labIn(t, base, filepath.Join(base, "h"), environ...)
}

func labIn(t *testing.T, base, home string, environ ...string) *lab {
	t.Helper()
	l := &lab{t: t, ctx: t.Context(), base: base, home: home, work: filepath.Join(base, "w"), bin: filepath.Join(base, "bin")}
	if end, ok := t.Deadline(); ok {
		ctx, cancel := context.WithDeadline(t.Context(), end.Add(-20*time.Second))
		t.Cleanup(cancel)
		l.ctx = ctx
	}
	for _, dir := range []string{l.work, l.bin, filepath.Join(base, "u"), home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l.env = append([]string{
		"SCV_HOME=" + home, "HOME=" + filepath.Join(base, "u"), "PATH=" + l.bin + ":/usr/local/bin:/usr/bin:/bin", "TERM=dumb", "TZ=UTC",
	}, environ...)
	l.config("[limits]\nrunning = 100\nmemory_floor_mb = 0\n")
	t.Cleanup(l.end)
	return l
}

// part is the lab for a subtest, which has a quarter of the time that is left: one that hangs leaves the others theirs.
func (l *lab) part(t *testing.T) *lab {
	p := *l
	p.t = t
	if end, ok := l.ctx.Deadline(); ok {
		ctx, cancel := context.WithTimeout(l.ctx, time.Until(end)/4)
		t.Cleanup(cancel)
		p.ctx = ctx
	}
	return &p
}

// end stops the daemon with its runs and fails the test when a process of the home is left.
func (l *lab) end() {
	stop := exec.Command(os.Getenv(programKey), "stop", "--all")
	stop.Env, stop.Dir = l.env, "/"
	if out, err := stop.CombinedOutput(); err != nil && !strings.Contains(string(out), "not running") && !strings.Contains(string(out), "no daemon") {
		l.t.Errorf("scv stop --all: %v: %s", err, out)
	}
	for _, what := range append(census.Left(l.base), census.Left(l.home)...) {
		l.t.Errorf("left behind: %s", what)
	}
	if l.t.Failed() {
		log, _ := os.ReadFile(filepath.Join(l.home, "state", "daemon.log"))
		l.t.Logf("the daemon's log:\n%s", log[max(0, len(log)-4000):])
	}
	if err := os.RemoveAll(l.base); err != nil {
		l.t.Error(err)
	}
}

func (l *lab) config(text string) {
	l.t.Helper()
	l.must(os.WriteFile(filepath.Join(l.home, "config.toml"), []byte(text), 0o600))
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(l.ctx, os.Getenv(programKey), args...)
	c.Env, c.Dir = l.env, l.work
	return c
}

// scv runs a command and returns its exit code and what it said.
func (l *lab) scv(args ...string) (code int, out, errs string) {
	l.t.Helper()
	c := l.command(args...)
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	err := c.Run()
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		code = x.ExitCode()
	} else if err != nil {
		l.t.Fatal(err)
	}
	return code, o.String(), e.String()
}

// ok runs a command that has to succeed and returns its output.
func (l *lab) ok(args ...string) string {
	l.t.Helper()
	code, out, errs := l.scv(args...)
	if code != 0 {
		l.t.Fatalf("scv %s: code %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// start starts a job and returns its id.
func (l *lab) start(args ...string) wire.JobID {
	l.t.Helper()
	return wire.JobID(strings.TrimSpace(l.ok(append([]string{"jobs", "start", "-q"}, args...)...)))
}

func (l *lab) target() client.Target {
	return client.Target{Socket: filepath.Join(l.home, "state", "server.sock"), Client: wire.PeerInfo{Name: "acceptance", Version: "1"}}
}

// until follows the workbench until it is as wanted, and returns it.
func (l *lab) until(what string, want func(*wire.Snapshot) bool) *wire.Snapshot {
	l.t.Helper()
	done := errors.New("done")
	var last *wire.Snapshot
	err := client.WatchWorkbench(l.ctx, l.target(), func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
		last = view
		if want(view) {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		l.t.Fatalf("waiting until %s: %v; last seen:%s", what, err, told(last))
	}
	return last
}

// told is what a snapshot says of its jobs and runs, a line each.
func told(view *wire.Snapshot) string {
	if view == nil {
		return " nothing"
	}
	var out strings.Builder
	for i := range view.Jobs {
		j := &view.Jobs[i]
		fmt.Fprintf(&out, "\n%s of %s: %s: %s", j.Job, j.Agent, j.State, detail(j))
	}
	for _, r := range view.Runs {
		fmt.Fprintf(&out, "\n%s: %s, live: %v: %s", r.Handle, r.State, r.Live, text(r.Detail))
	}
	for _, a := range view.Approvals {
		fmt.Fprintf(&out, "\n%s asks: %s", a.Job, a.Summary)
	}
	return out.String()
}

// job is a job of a snapshot.
func job(view *wire.Snapshot, id wire.JobID) *wire.Job {
	i := slices.IndexFunc(view.Jobs, func(j wire.Job) bool { return j.Job == id })
	if i < 0 {
		return nil
	}
	return &view.Jobs[i]
}

// reaches waits until a job is in a state, or has ended in another, and returns it.
func (l *lab) reaches(id wire.JobID, state wire.AgentState) *wire.Job {
	l.t.Helper()
	view := l.until(string(id)+" is "+state.String(), func(v *wire.Snapshot) bool {
		j := job(v, id)
		return j != nil && (j.State == state || j.State.Final())
	})
	j := job(view, id)
	if j.State != state {
		l.t.Fatalf("%s is %s, want %s: %s", id, j.State, state, detail(j))
	}
	return j
}

func detail(j *wire.Job) string { return text(j.Detail) }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// gate makes a door at which an agent waits with "read -r go <$here/gate"; each call lets it through once.
func (l *lab) gate() (open func()) {
	l.t.Helper()
	path := filepath.Join(l.bin, "gate")
	l.must(syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0) // both ends, so that nobody waits for the other one
	l.must(err)
	l.t.Cleanup(func() { _ = f.Close() })
	return func() {
		l.t.Helper()
		_, err := f.WriteString("go\n")
		l.must(err)
	}
}

// rests waits until no run lives.
func (l *lab) rests() {
	l.t.Helper()
	l.until("no run lives", func(v *wire.Snapshot) bool {
		return !slices.ContainsFunc(v.Runs, func(r wire.Run) bool { return r.Live })
	})
}

// says follows the log of a job's run until an event fits.
func (l *lab) says(id wire.JobID, fits func(wire.RunEvent) bool) {
	l.t.Helper()
	view := l.until(string(id)+" has a run", func(v *wire.Snapshot) bool { j := job(v, id); return j != nil && j.Run != nil })
	done := errors.New("done")
	err := client.FollowLog(l.ctx, l.target(), *job(view, id).Run, client.LogPosition{}, func(p wire.RunLogPage) error {
		if slices.ContainsFunc(p.Events, fits) {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		l.t.Fatalf("the log of %s: %v", id, err)
	}
}

func said(text string) func(wire.RunEvent) bool {
	return func(e wire.RunEvent) bool { return e.Kind == wire.EventText && strings.Contains(e.Text, text) }
}

// daemon is the process id of the daemon, from its lock.
func (l *lab) daemon() int {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.home, "state", "server.lock"))
	l.must(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	l.must(err)
	return pid
}

// agent makes a program in the lab's PATH: a shell script, which finds its folder in $here. One that
// plays codex or claude serves one turn a process, as the daemon is told.
func (l *lab) agent(name, script string) string {
	l.t.Helper()
	if name == "codex" || name == "claude" {
		l.oneTurn(name)
	}
	path := filepath.Join(l.bin, name)
	l.must(os.WriteFile(path, []byte("#!/bin/sh\nhere="+l.bin+"\n"+script+"\n"), 0o700))
	return path
}

// oneTurn has the daemon use an agent with one process a turn, whatever the test configures.
func (l *lab) oneTurn(name string) {
	l.t.Helper()
	path := filepath.Join(l.base, "fakes.toml")
	old, err := os.ReadFile(path)
	if err != nil {
		l.env = append(l.env, "SCV_CONFIG="+path)
	}
	if head := "[agents." + name + "]\n"; !strings.Contains(string(old), head) {
		l.must(os.WriteFile(path, append(old, head+"transport = \"cli\"\n"...), 0o600))
	}
}

// fake makes a program that plays codex or claude after the script in its prompt.
func (l *lab) fake(name string) {
	l.t.Helper()
	l.agent(name, playKey+`=1 exec "`+os.Args[0]+`" "$@"`)
}

// The lines of a codex turn, for scripts.
const (
	codexBegins = `echo '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}'; echo '{"type":"turn.started"}'`
	codexEnds   = `echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'`
)

func codexSays(text string) string {
	return `echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"` + text + `"}}'`
}
