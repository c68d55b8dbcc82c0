//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"scv/internal/client"
	"scv/internal/wire"
)

// numbered is a demo script of n messages, a pause after each.
func numbered(n, pauseMs int) string {
	var b strings.Builder
	b.WriteString("@@say:begin")
	for i := range n {
		fmt.Fprintf(&b, "|say:n %d.|sleep:%d", i+1, pauseMs)
	}
	return b.String()
}

// TestS1_TenKillsOfTheDaemonLoseNothing: the daemon is killed again and again while a job counts; each number is in the
// log once and in order, and the reply is the last message.
func TestS1_TenKillsOfTheDaemonLoseNothing(t *testing.T) {
	const kills, each = 10, 12
	const last = (kills + 1) * each
	l := newLab(t)
	id := l.start("--agent", "demo", numbered(last, 10))
	view := l.until("it has a run", func(v *wire.Snapshot) bool { return job(v, id) != nil && job(v, id).Run != nil })
	run := *job(view, id).Run
	seen := make(chan int, last) // what a follower sees that is never told of the kills
	followed := make(chan error, 1)
	go func() {
		followed <- client.FollowLog(l.ctx, l.target(), run, client.LogPosition{}, func(p wire.RunLogPage) error {
			for _, n := range numbers(p.Events) {
				seen <- n
			}
			return nil
		})
		close(seen)
	}()
	next := 1
	upTo := func(n int) {
		for ; next <= n; next++ {
			if got, ok := <-seen; !ok || got != next {
				t.Fatalf("the follower saw %d where %d comes: %v", got, next, ok)
			}
		}
	}
	for kill := range kills {
		upTo((kill + 1) * each)
		l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
		l.ok("start")
	}
	upTo(last)
	l.reaches(id, wire.StateCompleted)
	l.rests()
	if err := <-followed; err != nil {
		t.Errorf("the follower: %v", err)
	}
	if n, more := <-seen; more {
		t.Errorf("the follower saw %d after the end", n)
	}
	if out := l.ok("jobs", "result", string(id)); !strings.Contains(out, "n "+strconv.Itoa(last)+".") {
		t.Errorf("the result is %q", out)
	}
	logged := l.ok("jobs", "log", string(id))
	for n := range last {
		if got := strings.Count(logged, "\tn "+strconv.Itoa(n+1)+"."); got != 1 {
			t.Errorf("%d is in the log %d times", n+1, got)
		}
	}
	if got := strings.Count(logged, "turn_ended"); got != 1 {
		t.Errorf("the turn ended %d times:\n%s", got, logged)
	}
}

// numbers are those that the numbered messages of a page hold.
func numbers(events []wire.RunEvent) []int {
	var out []int
	for _, e := range events {
		if e.Kind != wire.EventText {
			continue
		}
		for line := range strings.Lines(e.Text) {
			var n int
			if _, err := fmt.Sscanf(line, "n %d.", &n); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// TestS1_S3_KilledWhileAJobIsAccepted: a job whose id was given is there after the kill, the same key asks for the same
// job, and its agent ran once with the result kept, or never, which is said. It is never tried again in silence.
func TestS1_S3_KilledWhileAJobIsAccepted(t *testing.T) {
	l := newLab(t)
	l.agent("codex", `while read -r line; do echo "$line" >>"$here/ran"; done
`+codexBegins+"\n"+codexSays("done")+"\n"+codexEnds)
	l.ok("start")
	completed := 0
	for round := range 10 {
		key := client.NewKey()
		ask := wire.WorkbenchStart{Workspace: l.work, Agent: "codex", Prompt: fmt.Sprintf("round %d.\n", round), Key: key}
		conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
		l.must(err)
		st, err := conn.Call(l.ctx, ask)
		l.must(err)
		if round%2 == 1 { // half of them a little later: when the run is known
			l.until("it has a run", func(v *wire.Snapshot) bool {
				return len(v.Jobs) == round+1 && v.Jobs[0].State != wire.StateStarting
			})
		}
		l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
		_ = conn.Close()
		l.ok("start")
		conn, err = client.Dial(l.ctx, l.target(), l.target().Client)
		l.must(err)
		again, err := conn.Call(l.ctx, ask)
		l.must(err)
		l.must(conn.Close())
		if st.WorkbenchJob == nil || again.WorkbenchJob == nil || *st.WorkbenchJob != *again.WorkbenchJob {
			t.Fatalf("round %d: the same key gave %v and %v", round, st.WorkbenchJob, again.WorkbenchJob)
		}
		id := wire.JobID(fmt.Sprintf("job-%d", round+1))
		view := l.until("it has ended", func(v *wire.Snapshot) bool { j := job(v, id); return j != nil && j.State.Final() })
		code, out, errs := l.scv("jobs", "result", string(id))
		ran, _ := os.ReadFile(filepath.Join(l.bin, "ran")) // absent until one ran
		times := strings.Count(string(ran), fmt.Sprintf("round %d.", round))
		switch state := job(view, id).State; {
		case state == wire.StateCompleted && code == 0 && out == "done\n" && times == 1:
			completed++
		case state == wire.StateInterrupted && code == 1 && strings.Contains(errs, "nothing was run") && times == 0:
		default:
			t.Errorf("round %d: %s, ran %d times; result: code %d, %q, %q", round, state, times, code, out, errs)
		}
	}
	t.Logf("%d of 10 completed", completed)
	if out := l.ok("jobs", "list", "-q"); strings.Count(out, "\n") != 10 {
		t.Errorf("10 jobs were started, listed are %q", out)
	}
}

// TestU6_ARunWithADamagedRecordStillEnds: what names the processes of a run is damaged while no daemon is there. The run
// is found by its lock, followed to its end, and nothing of it is left.
func TestU6_ARunWithADamagedRecordStillEnds(t *testing.T) {
	l := newLab(t)
	open := l.gate()
	l.agent("codex", "while read -r line; do :; done\n"+codexBegins+"\n"+codexSays("begun")+"\nread -r go <$here/gate\n"+codexSays("done")+"\n"+codexEnds)
	id := l.start("--agent", "codex", "x")
	l.says(id, said("begun"))
	run := *l.reaches(id, wire.StateWorking).Run
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	l.must(os.WriteFile(filepath.Join(l.home, "runs", string(run), "shim.json"), []byte("garbage\n"), 0o600))
	l.ok("start")
	l.reaches(id, wire.StateWorking)
	open()
	l.reaches(id, wire.StateCompleted)
	l.rests()
	if out := l.ok("jobs", "result", string(id)); out != "done\n" {
		t.Errorf("the result is %q", out)
	}
}

// TestP7_NineRunsWithNobodyLooking: nine agents run and no client is there when the daemon is killed. What the next one lists
// is what runs, each with its true state, and each goes on to its own end.
func TestP7_NineRunsWithNobodyLooking(t *testing.T) {
	const runs = 9
	l := newLab(t)
	open := l.gate()
	l.agent("codex", "while read -r line; do said=$line; done\n"+codexBegins+"\n"+codexSays("begun")+
		"\nread -r go <$here/gate\n"+`echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"'"$said"'"}}'`+"\n"+codexEnds)
	var ids []wire.JobID
	for i := range runs {
		ids = append(ids, l.start("--agent", "codex", fmt.Sprintf("number %d\n", i)))
	}
	for _, id := range ids {
		l.says(id, said("begun"))
	}
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	l.ok("start")
	view := l.until("each is found", func(v *wire.Snapshot) bool {
		return len(v.Jobs) == runs && !slices.ContainsFunc(v.Jobs, func(j wire.Job) bool { return j.State != wire.StateWorking })
	})
	found := 0
	for _, r := range view.Runs {
		if r.Live && r.State == wire.StateWorking {
			found++
		}
	}
	if found != runs {
		t.Errorf("%d runs are listed as live, want %d", found, runs)
	}
	for range ids {
		open()
	}
	for i, id := range ids {
		l.reaches(id, wire.StateCompleted)
		if out := l.ok("jobs", "result", string(id)); out != fmt.Sprintf("number %d\n", i) {
			t.Errorf("the result of %s is %q", id, out)
		}
	}
}
