//go:build linux

package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/failpoint"
	"scv/internal/run/runlog"
	"scv/internal/wire"
)

// TestS8_FiftyReaders: fifty clients follow one run over daemons that are killed, some in the middle of a record, and ten read
// its file with no daemon at all. Each sees every record once and in order; none is told of a kill.
func TestS8_FiftyReaders(t *testing.T) {
	const last, readers, kills = 300, 50, 12
	seed := seed(t)
	k := newLab(t).loop()
	k.start("", "")
	ref := k.job("codex", talk("read", last, 10))
	run := *k.reaches(ref, wire.StateWorking).Run
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			var events []wire.RunEvent
			for k.ctx.Err() == nil { // the first connection may meet a daemon that is dead
				err := client.FollowLog(k.ctx, k.target(), run, client.LogPosition{}, func(p wire.RunLogPage) error {
					events = append(events, p.Events...)
					return nil
				})
				if err == nil || len(events) > 0 {
					k.whole(fmt.Sprintf("reader %d: %v", i, err), events, last)
					return
				}
			}
		})
	}
	for i := range 10 {
		wg.Go(func() { k.whole(fmt.Sprintf("reader %d of the file", i), k.readFile(run), last) })
	}
	r := random(seed, 1)
	k.d.kill()
	torn := failpoint.LogAppend.Place(failpoint.Torn)
	for i := range kills {
		plan := step{rules: rules(r.Uint64(), "", 0, small), from: fromReady, after: time.Duration(100+r.IntN(100)) * time.Millisecond}
		if i%2 == 0 { // half a record is left, until the next daemon
			plan = step{place: torn, rules: rules(r.Uint64(), torn, 1+r.IntN(4), small), from: fromReady, after: 2 * late}
		}
		k.live(plan)
		if i%2 == 0 {
			<-time.After(20 * time.Millisecond) // for who reads it
		}
	}
	if n := k.killedAt()[torn]; n < 2 {
		t.Errorf("only %d daemons left half a record", n)
	}
	k.start("", "")
	k.reaches(ref, wire.StateCompleted)
	wg.Wait()
}

// whole checks what a reader saw.
func (l *lab) whole(who string, events []wire.RunEvent, last int) {
	for i, ev := range events {
		if ev.Seq != uint64(i+1) {
			l.t.Errorf("%s: record %d follows %d", who, ev.Seq, i)
			return
		}
	}
	if got := numbers(events); !gapless(got, last) {
		l.t.Errorf("%s: %d messages", who, len(got))
	}
}

// readFile follows a run's log by its file until its end.
func (l *lab) readFile(run wire.RunHandle) (events []wire.RunEvent) {
	root, err := os.OpenRoot(filepath.Join(l.home, "runs", string(run)))
	if err != nil {
		l.t.Error(err)
		return nil
	}
	defer root.Close()
	for after := uint64(0); l.ctx.Err() == nil; {
		p, err := runlog.ReadPage(root, run, after, 7, false)
		if err != nil {
			l.t.Error(err)
			return events
		}
		events = append(events, p.Events...)
		if after = p.Next; p.Ended && !p.More {
			return events
		}
		if len(p.Events) == 0 {
			<-time.After(5 * time.Millisecond)
		}
	}
	return events
}

// TestS1_KilledWhileTheTailTurns: a log beyond its bound keeps its newest activity in two files that take turns; the
// daemon is killed at each place of that. What matters is there once, and the tail goes on without a gap to the end.
func TestS1_KilledWhileTheTailTurns(t *testing.T) {
	const last = 200
	seed := seed(t)
	k := newLab(t).loop()
	bounds := "set:log=6000;set:tail=2000;" + small
	k.start(bounds, "")
	ref := k.job("codex", talk("long", last, 5))
	run := *k.reaches(ref, wire.StateWorking).Run
	r := random(seed, 1)
	places := []string{
		failpoint.LogTurn.Place(failpoint.Before), failpoint.LogTurn.Place(failpoint.After),
		failpoint.LogAppend.Place(failpoint.Before), failpoint.LogAppend.Place(failpoint.Torn), failpoint.LogAppend.Place(failpoint.After),
	}
	k.d.kill()
	for i := range 20 {
		place := places[i%len(places)]
		k.live(step{place: place, rules: rules(r.Uint64(), place, 1+r.IntN(2), bounds), from: fromReady, after: late})
	}
	k.start(bounds, "")
	k.reaches(ref, wire.StateCompleted)
	k.rests()
	if got := k.killedAt(); got[places[0]] == 0 || got[places[1]] == 0 {
		t.Errorf("nobody was killed while the tail turned: %v", got)
	}
	events := k.events(run)
	kinds := map[wire.RunEventKind]int{}
	for i, ev := range events {
		kinds[ev.Kind]++
		if ev.Seq != uint64(i+1) {
			t.Errorf("record %d has number %d", i+1, ev.Seq)
		}
	}
	if kinds[wire.EventTruncated] != 1 || kinds[wire.EventTurnEnded] != 1 || kinds[wire.EventRunEnded] != 1 {
		t.Errorf("the log holds %v", kinds)
	}
	var tail []wire.RunEvent
	root, err := os.OpenRoot(filepath.Join(k.home, "runs", string(run)))
	k.must(err)
	defer root.Close()
	for after, more := uint64(0), true; more; {
		p, err := runlog.ReadPage(root, run, after, 500, true)
		k.must(err)
		tail = append(tail, p.Events...)
		after, more = p.Next, p.More
	}
	got := numbers(tail)
	for i := range got[1:] {
		if got[i+1] != got[i]+1 {
			t.Errorf("in the tail %d follows %d", got[i+1], got[i])
		}
	}
	if len(got) == 0 || got[len(got)-1] != last {
		t.Errorf("the tail ends with %v", got)
	}
}

// TestS11_KilledClientsHarmNobody: clients are killed in the middle of what they ask and follow. What was accepted goes
// on, and the daemon and its descriptors are as before.
func TestS11_KilledClientsHarmNobody(t *testing.T) {
	const clients = 30
	r := random(seed(t), 1)
	l := newLab(t)
	l.restart()
	for i := range clients {
		args := [][]string{
			{"jobs", "start", "--agent", "codex", "--wait", talk(fmt.Sprintf("c%d", i), 5, 5)},
			{"jobs", "start", "--agent", "codex", talk(fmt.Sprintf("c%d", i), 5, 5)},
			{"jobs", "list"},
		}[i%3]
		c := exec.CommandContext(l.ctx, l.prog.scv, args...)
		c.Env, c.Dir = l.env, l.work
		l.must(c.Start())
		<-time.After(time.Duration(r.IntN(60)) * time.Millisecond)
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	}
	l.rests()
	for _, j := range l.all() {
		if j.State != wire.StateCompleted || !strings.HasPrefix(l.reply(&j), "n 5.") {
			t.Errorf("%s is %s: %q", j.Task, j.State, deref(j.Detail))
		}
	}
	for tag, n := range l.diary() {
		if n != 1 {
			t.Errorf("%s: %d times", tag, n)
		}
	}
}
