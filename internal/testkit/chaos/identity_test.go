//go:build linux

package chaos

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// reuse kills daemon and shim of a run and gives both process numbers to strangers, in a process space of its own. It
// says which of them live after the next daemon has seen the run out.
const reuse = `
set -e
job=$(scv jobs start -q --agent codex '@@say:n 1.|hang')
record=
until [ -n "$record" ] && [ -f "$record" ]; do record=$(ls "$SCV_HOME"/runs/*/shim.json 2>/dev/null || true); done
shim=$(sed 's/.*"shim_pid":\([0-9]*\).*/\1/' "$record")
agent=$(sed 's/.*"agent_pid":\([0-9]*\).*/\1/' "$record")
kill -9 $(cat "$SCV_HOME/state/server.lock") $shim
while kill -0 $agent 2>/dev/null || kill -0 $shim 2>/dev/null; do /bin/true; done
for pid in $agent $shim; do
	echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
	sleep 1000 &
	[ $! = $pid ] || { echo "no reuse: $! is not $pid"; exit 9; }
done
scv start
scv jobs wait $job || true

scv stop --all
for pid in $agent $shim; do kill -0 $pid && echo stranger lives; kill $pid; done
`

// TestS12_ReusedProcessNumbers: the numbers of a dead shim and its agent belong to strangers when the next daemon comes.
// It settles the run and signals neither.
func TestS12_ReusedProcessNumbers(t *testing.T) {
	need.Root(t)
	need.Program(t, "unshare")
	l := newLab(t)
	cmd := exec.CommandContext(l.ctx, "unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", reuse)
	cmd.Env, cmd.Dir = append(l.env, "PATH="+filepath.Dir(l.prog.scv)+":"+filepath.Join(l.base, "bin")+":/usr/local/bin:/usr/bin:/bin"), l.work
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "stranger lives") != 2 || !strings.Contains(string(out), "interrupted") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// hears watches the workbench, whichever daemon serves it, until ctx ends, and then gives what was said of a job with a text
// in it; empty for nothing.
func (l *lab) hears(ctx context.Context, text string) <-chan string {
	found := make(chan string, 1)
	go func() {
		what := ""
		for ctx.Err() == nil {
			_ = client.WatchWorkbench(ctx, l.target(), func(v *wire.Snapshot, _ wire.WorkbenchDelta) error {
				for i := range v.Jobs {
					if said := deref(v.Jobs[i].Detail); strings.Contains(said, text) {
						what = said
					}
				}
				return nil
			})
			select { // a daemon that is not there yet
			case <-ctx.Done():
			case <-time.After(2 * time.Millisecond):
			}
		}
		found <- what
	}()
	return found
}

// asleep does something while the daemon and every shim stand still.
func (l *lab) asleep(do func()) {
	l.t.Helper()
	pids := l.freeze()
	if len(pids) == 0 {
		l.t.Error("not even the daemon sleeps")
	}
	do()
	l.thaw(pids)
}

// TestS13_P48_ClockJumpsOverASleep: daemon and shim stand still, as they do when the machine sleeps, and when they go on
// the wall clock has jumped a day ahead, back two, and to where it was, while a job runs and another waits in its queue.
// Nothing expires, nobody is said to be silent, nothing is lost or out of order, and a daemon that is started at
// the wrong time goes on as well.
func TestS13_P48_ClockJumpsOverASleep(t *testing.T) {
	l := newLab(t)
	clock := filepath.Join(l.base, "clock")
	set := func(jump string) { l.must(os.WriteFile(clock, []byte(jump), 0o600)) }
	set("0s")
	l.start("set:clock="+clock, "")
	l.ready()
	ref := l.job("codex", talk("first", 100, 10))
	j := l.reaches(ref, wire.StateWorking)
	st, err := l.insist(l.ctx, wire.WorkbenchSend{
		Session: j.Session, Conversation: *j.Conversation, Prompt: talk("second", 5, 1), Mode: wire.SendQueue, Key: client.NewKey(),
	})
	l.must(err)
	ctx, stop := context.WithCancel(l.ctx)
	defer stop()
	silent := l.hears(ctx, "no report since")
	run, seen := *j.Run, 0
	done := context.Canceled
	follow := func(until int) {
		err := client.FollowLog(l.ctx, l.target(), run, client.LogPosition{}, func(p wire.RunLogPage) error {
			if all := numbers(p.Events); len(all) > 0 {
				seen = all[len(all)-1]
			}
			if seen >= until {
				return done
			}
			return nil
		})
		if err != done {
			t.Errorf("following to message %d: %v", until, err)
		}
	}
	for i, jump := range []string{"24h", "-48h", "0s", "-24h"} {
		l.asleep(func() { set(jump) })
		follow(20 * (i + 1))
		if i == 1 {
			l.d.kill()
			l.start("set:clock="+clock, "")
			l.ready()
		}
	}
	l.reaches(ref, wire.StateCompleted)
	l.reaches(*st.WorkbenchJob, wire.StateCompleted)
	stop()
	if what := <-silent; what != "" {
		t.Errorf("a job that reports all the time is said to be silent: %s", what)
	}
	view := l.rests()
	if got := numbers(l.events(run)); !gapless(got, 100) {
		t.Errorf("the log holds %v", got)
	}
	if len(view.Jobs) != 2 || view.Jobs[0].Task != "second" || view.Jobs[1].Task != "first" {
		t.Errorf("listed are %s", shown(view))
	}
	for _, j := range l.all() {
		if j.State != wire.StateCompleted {
			t.Errorf("%s is %s", j.Task, j.State)
		}
	}
}
