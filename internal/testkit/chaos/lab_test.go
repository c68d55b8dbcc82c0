//go:build linux

package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

// A lab is a home with its agents. One goroutine starts and kills its daemons; clients may come from any.
type lab struct {
	t    *testing.T
	ctx  context.Context // ends a little before the test's deadline
	base string
	home string
	work string
	env  []string
	prog programs
	d    *daemon // the last one

	shared bool // the folder is its test's own, and stays
}

// settings of every lab: that many turns at once, no look at the machine's memory, and the agents by a process a turn.
func settings(running int) []byte {
	return fmt.Appendf(nil, "[limits]\nrunning = %d\nmemory_floor_mb = 0\n[agents.codex]\ntransport = \"cli\"\n[agents.claude]\ntransport = \"cli\"\n", running)
}

func newLab(t *testing.T) *lab {
	t.Helper()
	base, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	return labIn(t, base, filepath.Join(base, "h"))
}

// labIn makes a lab whose home may lie on another disk.
func labIn(t *testing.T, base, home string) *lab {
	t.Helper()
	l := &lab{t: t, base: base, home: home, work: filepath.Join(base, "w"), prog: built(t), ctx: t.Context()}
	if end, ok := t.Deadline(); ok {
		ctx, cancel := context.WithDeadline(t.Context(), end.Add(-30*time.Second))
		t.Cleanup(cancel)
		l.ctx = ctx
	}
	bin, user := filepath.Join(base, "bin"), filepath.Join(base, "u")
	for _, dir := range []string{l.work, bin, user, home} {
		l.must(os.MkdirAll(dir, 0o700))
	}
	for _, name := range []string{"codex", "claude"} {
		l.must(os.Symlink(l.prog.agent, filepath.Join(bin, name)))
	}
	l.must(os.WriteFile(filepath.Join(home, "config.toml"), settings(64), 0o600))
	l.env = []string{"SCV_HOME=" + home, "HOME=" + user, "PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin", "TERM=dumb", "TZ=UTC"}
	t.Cleanup(l.end)
	return l
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// end ends all that lives of the lab; what stays fails the test.
func (l *lab) end() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), 25*time.Second) // the test's own has ended
	defer cancel()
	l.ctx = ctx
	if l.d != nil {
		l.d.kill()
	}
	stop := exec.Command(l.prog.scv, "stop", "--all")
	stop.Env, stop.Dir = append(slices.Clone(l.env), "SCV_FAILPOINTS="), "/"
	if !l.t.Failed() { // with a daemon of its own the end is that of a user
		l.start("", "")
		l.ready()
	}
	if out, err := stop.CombinedOutput(); err != nil && !l.t.Failed() {
		l.t.Errorf("scv stop --all: %v: %s", err, out)
	}
	if l.d != nil {
		<-l.d.gone
	}
	for _, what := range census.Left(l.base) {
		l.t.Errorf("left behind: %s", what)
	}
	if l.t.Failed() {
		log, _ := os.ReadFile(filepath.Join(l.base, "daemon.log")) // absent when none was started
		l.t.Logf("the daemons' log ends:\n%s", log[max(0, len(log)-6000):])
		if keep := os.Getenv("SCV_CHAOS_KEEP"); keep != "" {
			l.t.Logf("kept: %v", exec.Command("cp", "-r", l.base, keep).Run())
		}
	}
	if !l.shared {
		l.must(os.RemoveAll(l.base))
	}
}

// A daemon is one process of `scv run`.
type daemon struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it was waited for
}

// start starts a daemon with rules for its failpoints and those of the shims that it starts. The one before is dead.
func (l *lab) start(rules, shimRules string, environ ...string) {
	l.t.Helper()
	log, err := os.OpenFile(filepath.Join(l.base, "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	l.must(err)
	defer log.Close()
	cmd := exec.Command(l.prog.scv, "run")
	cmd.Env = append(slices.Concat(l.env, environ), "SCV_FAILPOINTS="+rules, "SCV_FAILPOINTS_SHIM="+shimRules)
	cmd.Dir, cmd.Stderr, cmd.Stdout = l.work, log, log
	l.must(cmd.Start())
	d := &daemon{cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(d.gone)
		_ = cmd.Wait() // most of them are killed
	}()
	l.d = d
}

// kill ends the daemon at once and waits for that.
func (d *daemon) kill() {
	select {
	case <-d.gone:
	default:
		_ = d.cmd.Process.Kill() // it may go by itself
		<-d.gone
	}
}

// restart is a daemon without rules, that answers.
func (l *lab) restart() {
	l.t.Helper()
	if l.d != nil {
		l.d.kill()
	}
	l.start("", "")
	l.ready()
}

func (l *lab) target() client.Target {
	return client.Target{
		Socket: filepath.Join(l.home, "state", "server.sock"), Client: wire.PeerInfo{Name: "chaos", Version: "1"},
		Lost: func(error) error { return l.ctx.Err() },
	}
}

// ready waits until the daemon answers; false when it died before.
func (l *lab) ready() bool {
	for l.ctx.Err() == nil {
		if conn, err := client.Dial(l.ctx, l.target(), l.target().Client); err == nil {
			_ = conn.Close()
			return true
		}
		select {
		case <-l.d.gone:
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return false
}

// insist asks until there is an answer, over as many daemons as that takes. A refusal that says that the daemon went
// away before it knew is no answer.
func (l *lab) insist(ctx context.Context, cmd wire.Command) (*wire.DaemonStatus, error) {
	for {
		st, err := l.ask(ctx, cmd)
		refused, isRefusal := errors.AsType[*wire.Error](err)
		if err == nil || isRefusal && refused.Reason != wire.ReasonUnavailable || ctx.Err() != nil {
			return st, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// ask asks once, over a connection of its own.
func (l *lab) ask(ctx context.Context, cmd wire.Command) (*wire.DaemonStatus, error) {
	conn, err := client.Dial(ctx, l.target(), l.target().Client)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Call(ctx, cmd)
}

// until follows the workbench until it is as wanted.
func (l *lab) until(what string, want func(*wire.Snapshot) bool) *wire.Snapshot {
	l.t.Helper()
	done := errors.New("done")
	var last *wire.Snapshot
	for {
		err := client.WatchWorkbench(l.ctx, l.target(), func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
			if last = view; want(view) {
				return done
			}
			return nil
		})
		if errors.Is(err, done) {
			return last
		}
		if l.ctx.Err() != nil {
			l.t.Fatalf("never: %s: %v; last seen: %s", what, err, shown(last))
		}
		select { // a daemon that is not there yet
		case <-l.ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func shown(view *wire.Snapshot) string {
	if view == nil {
		return "nothing"
	}
	var out strings.Builder
	for _, j := range view.Jobs {
		fmt.Fprintf(&out, "\n%s %s %s", j.Job, j.State, deref(j.Detail))
	}
	for _, r := range view.Runs {
		if r.Live {
			fmt.Fprintf(&out, "\n%s live %s %s", r.Handle, r.State, deref(r.Detail))
		}
	}
	return out.String()
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func jobOf(view *wire.Snapshot, ref wire.JobRef) *wire.Job {
	i := slices.IndexFunc(view.Jobs, func(j wire.Job) bool { return j.Ref() == ref })
	if i < 0 {
		return nil
	}
	return &view.Jobs[i]
}

// reaches waits until a job is in a state or has ended.
func (l *lab) reaches(ref wire.JobRef, state wire.AgentState) *wire.Job {
	l.t.Helper()
	view := l.until(string(ref)+" is "+state.String(), func(v *wire.Snapshot) bool {
		j := jobOf(v, ref)
		return j != nil && (j.State == state || j.State.Final())
	})
	j := jobOf(view, ref)
	if j.State != state {
		l.t.Fatalf("%s is %s, want %s: %s", ref, j.State, state, deref(j.Detail))
	}
	return j
}

// job starts one and returns its name.
func (l *lab) job(agent, prompt string) wire.JobRef {
	l.t.Helper()
	st, err := l.insist(l.ctx, wire.WorkbenchStart{Workspace: l.work, Agent: agent, Prompt: prompt, Key: client.NewKey()})
	l.must(err)
	return *st.WorkbenchJob
}

// rests waits until no run lives.
func (l *lab) rests() *wire.Snapshot {
	l.t.Helper()
	return l.until("no run lives", func(v *wire.Snapshot) bool {
		return !slices.ContainsFunc(v.Runs, func(r wire.Run) bool { return r.Live })
	})
}

// cli runs a command of the program and returns its exit code and what it said.
func (l *lab) cli(args ...string) (code int, out, errs string) {
	l.t.Helper()
	c := exec.CommandContext(l.ctx, l.prog.scv, args...)
	c.Env, c.Dir = l.env, l.work
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

// diary is how often each tag was noted by an agent.
func (l *lab) diary() map[string]int {
	data, _ := os.ReadFile(filepath.Join(l.base, "u", "diary")) // absent until one ran
	seen := map[string]int{}
	for line := range strings.Lines(string(data)) {
		seen[strings.TrimSpace(line)]++
	}
	return seen
}
