//go:build linux

package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/client"
	"scv/internal/run/control"
	"scv/internal/wire"
)

// send hands a prompt to the conversation of a job with a key, over a connection of its own.
func (l *lab) send(j *wire.Job, mode wire.SendMode, prompt, key string) (*wire.DaemonStatus, error) {
	l.t.Helper()
	conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Call(l.ctx, wire.WorkbenchSend{Session: j.Session, Conversation: *j.Conversation, Prompt: prompt, Mode: mode, Key: key})
}

// TestP10_U2_SteersArriveWholeAndOnce: the first turn of a conversation is steered, and the texts that break terminals go into a running turn as they are.
func TestP10_U2_SteersArriveWholeAndOnce(t *testing.T) {
	l := newLab(t)
	l.ok("start")
	for name, text := range map[string]string{
		"a line": "go on", "30 lines": strings.Repeat("line\n", 30) + "end", "64 KB": strings.Repeat("0123456789abcdef", 4<<10),
		"keys": "Enter", "a shell's word": "A != B", "a dash": "--help", "escapes": "\x1b[2J\x1b]0;x\a\x03 end", "JSON": `{"type":"cancel"}` + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			id := l.start("--agent", "demo-live", "@@steer")
			j := l.reaches(id, wire.StateWorking)
			st, err := l.send(j, wire.SendAuto, text, client.NewKey())
			l.must(err)
			if st.Delivery == nil || *st.Delivery != wire.DeliverySteered || st.WorkbenchJob != nil {
				t.Fatalf("delivery %v, job %v", st.Delivery, st.WorkbenchJob)
			}
			l.reaches(id, wire.StateCompleted)
			conn, err := client.Dial(l.ctx, l.target(), l.target().Client)
			l.must(err)
			defer conn.Close()
			var reply strings.Builder
			for after := uint64(0); ; {
				st, err := conn.Call(l.ctx, wire.JobResultCommand{Session: j.Session, Job: id, After: after})
				l.must(err)
				reply.WriteString(*st.JobResult.Reply)
				if st.JobResult.Next == nil {
					break
				}
				after = *st.JobResult.Next
			}
			if want := "I was told: " + text; reply.String() != want {
				t.Errorf("it was told %.80q (%d bytes), want %.80q (%d)", reply.String(), len(reply.String()), want, len(want))
			}
		})
	}
}

// TestS3_SteersSurviveKills: the daemon is killed at random moments around steers; the same key then tells what became of
// each, and each came to one end: it is in the turn once, or it is a job, and never both.
func TestS3_SteersSurviveKills(t *testing.T) {
	const rounds = 12
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 7))
	l := newLab(t)
	id := l.start("--agent", "demo-live", "@@hang")
	j := l.reaches(id, wire.StateWorking)
	steered := 0
	for n := range rounds {
		key, text := client.NewKey(), fmt.Sprintf("steer %d.", n)
		answered := make(chan error, 1)
		go func() {
			_, err := l.send(j, wire.SendAuto, text, key)
			answered <- err
		}()
		if wait := random.IntN(4); wait > 0 {
			<-time.After(time.Duration(random.IntN(8000)) * time.Microsecond)
		} else {
			l.must(<-answered)
			answered <- nil
		}
		l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
		<-answered
		l.ok("start")
		st, err := l.send(j, wire.SendAuto, text, key)
		l.must(err)
		if *st.Delivery == wire.DeliverySteered {
			steered++
		}
	}
	l.ok("jobs", "cancel", string(id))
	l.reaches(id, wire.StateCancelled)
	log := l.ok("jobs", "log", string(id))
	for n := range rounds {
		told := strings.Count(log, fmt.Sprintf("I was told: steer %d.", n))
		view := l.until("it is known", func(*wire.Snapshot) bool { return true })
		own := 0
		for _, other := range view.Jobs {
			if other.Task == fmt.Sprintf("steer %d.", n) {
				own++
			}
		}
		if told+own != 1 {
			t.Errorf("steer %d was told %d times and is %d jobs", n, told, own)
		}
	}
	t.Logf("%d of %d went into the turn", steered, rounds)
}

// TestP8_CancelOfALiveAgentThatIgnoresEverything ends its process, and the next prompt starts a new one that goes on.
func TestP8_CancelOfALiveAgentThatIgnoresEverything(t *testing.T) {
	l := newLab(t)
	id := l.start("--agent", "demo-live", "@@say:mine|deaf|hang")
	l.says(id, said("mine"))
	began := time.Now()
	l.ok("jobs", "cancel", string(id))
	l.reaches(id, wire.StateCancelled)
	t.Logf("ended after %s", time.Since(began))
	l.ok("jobs", "send", string(id), "@@say:next")
	next := l.reaches("job-2", wire.StateCompleted)
	if out := l.ok("jobs", "result", "job-2"); out != "next\n" {
		t.Errorf("the next turn said %q", out)
	}
	if view := l.until("both are listed", func(v *wire.Snapshot) bool { return len(v.Jobs) == 2 }); *job(view, id).Run == *next.Run {
		t.Error("the process that took no notice serves the next turn")
	}
}

// TestP21_ARestartInTheMiddleOfALiveTurn: one result, no double, and the process goes on to the next turn.
func TestP21_ARestartInTheMiddleOfALiveTurn(t *testing.T) {
	l := newLab(t)
	id := l.start("--agent", "demo-live", "@@say:before|steer|say:after")
	j := l.reaches(id, wire.StateWorking)
	l.says(id, said("before"))
	l.ok("restart")
	code, out, errs := l.scv("jobs", "send", "--queue", "-q", string(id), "@@say:second")
	if code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	st, err := l.send(j, wire.SendSteer, "go", client.NewKey())
	l.must(err)
	if *st.Delivery != wire.DeliverySteered {
		t.Fatalf("delivery %s", *st.Delivery)
	}
	second := l.reaches("job-2", wire.StateCompleted)
	log := l.ok("jobs", "log", string(id)) + l.ok("jobs", "log", "job-2")
	for _, once := range []string{"\tbefore\n", "\tafter\n", "steered\tgo\n", "\tsecond\n"} {
		if n := strings.Count(log, once); n != 1 {
			t.Errorf("%q is in the log %d times:\n%s", once, n, log)
		}
	}
	if *second.Run != *l.reaches(id, wire.StateCompleted).Run {
		t.Error("another process served the second turn")
	}
}

// TestP13_ThreeWaitWhenDaemonAndShimDie: they are there and paused, nothing is sent unasked, the cut-off prompt is shown;
// resumed, the agent is told what happened, and then what waited goes on in its order.
func TestP13_ThreeWaitWhenDaemonAndShimDie(t *testing.T) {
	l := newLab(t)
	open := l.gate()
	l.agent("codex", `while read -r line; do echo "$line" >>"$here/ran"; done; echo ==== >>"$here/ran"
`+codexBegins+"\n"+codexSays("mine")+"\nread -r go <$here/gate\n"+codexSays("done")+"\n"+codexEnds)
	id := l.start("--agent", "codex", "turn 1\n")
	l.says(id, said("mine"))
	for n := range 3 {
		if code, _, errs := l.scv("jobs", "send", "--queue", string(id), fmt.Sprintf("queued %d\n", n)); code != 0 {
			t.Fatal(errs)
		}
	}
	run := *l.reaches(id, wire.StateWorking).Run
	shim, err := control.ReadShim(filepath.Join(l.home, "runs", string(run)))
	l.must(err)
	l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
	l.must(syscall.Kill(shim.PID, syscall.SIGKILL))
	l.ok("start")
	first := l.until("it is interrupted", func(v *wire.Snapshot) bool { return job(v, id).State == wire.StateInterrupted })
	if j := job(first, id); !j.Resumable || j.Task != "turn 1" {
		t.Errorf("the interrupted one: %+v", j)
	}
	l.rests()
	waiting := l.ok("jobs", "queue", "codex-1")
	if n := strings.Count(waiting, "is paused: job-1 was interrupted"); n != 3 {
		t.Fatalf("%d are paused:\n%s", n, waiting)
	}
	l.ok("jobs", "queue", "edit", "job-3", "edited\n")
	l.ok("jobs", "queue", "drop", "job-2")
	l.ok("jobs", "queue", "move", "job-4", "--first")
	if out := l.ok("jobs", "resume", "-q", string(id)); out != "job-5\n" {
		t.Fatalf("resumed as %q", out)
	}
	for _, id := range []wire.JobID{"job-5", "job-4", "job-3"} {
		open()
		l.reaches(id, wire.StateCompleted)
	}
	text, err := os.ReadFile(filepath.Join(l.bin, "ran"))
	l.must(err)
	ran := strings.Split(strings.TrimSuffix(string(text), "====\n"), "====\n")
	if len(ran) != 4 || ran[0] != "turn 1\n" || !strings.HasPrefix(ran[1], "Your last turn in this conversation was cut off") ||
		!strings.HasSuffix(ran[1], "\nturn 1\n") || ran[2] != "queued 2\n" || ran[3] != "edited\n" {
		t.Errorf("the agent was given %q", ran)
	}
	if code, _, errs := l.scv("jobs", "resume", string(id)); code != 8 || !strings.Contains(errs, "goes on with") {
		t.Errorf("resumed again: code %d: %s", code, errs)
	}
}

// TestS10_StartsWaitForDescriptors: while there are none a job waits and says so, and begins by itself when there are.
func TestS10_StartsWaitForDescriptors(t *testing.T) {
	l := newLab(t)
	l.ok("start")
	l.ok("jobs", "list")
	pid := l.daemon()
	var old unix.Rlimit
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	l.must(err)
	least := unix.Rlimit{Cur: uint64(len(open) + 3), Max: 1 << 20}
	l.must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old))
	least.Max = old.Max
	l.must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, &least, nil))
	id := l.start("--agent", "demo", "@@say:at last")
	view := l.until("it waits", func(v *wire.Snapshot) bool {
		j := job(v, id)
		return j.State == wire.StateQueued && strings.Contains(detail(j), "no file descriptor left") || j.State.Final()
	})
	if j := job(view, id); j.State.Final() {
		t.Fatalf("%s is %s: %s", id, j.State, detail(j))
	}
	l.must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil))
	l.scv("jobs") // the first connection may still be told that there are none
	l.reaches(id, wire.StateCompleted)
}
