//go:build linux

package chaos

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/failpoint"
)

// small makes segments so small that a run of a few messages has checkpoints and lets segments go.
const small = "set:segment=3000"

// A loop kills daemons by a plan while a crowd asks things of them.
type loop struct {
	*lab
	trace string
	acked chan struct{} // one slot
	kills map[string]int
}

func (l *lab) loop() *loop {
	return &loop{lab: l, trace: filepath.Join(l.base, "trace"), acked: make(chan struct{}, 1), kills: map[string]int{}}
}

// said is told of each acknowledgement.
func (k *loop) said(ack) {
	select {
	case k.acked <- struct{}{}:
	default:
	}
}

// live is the life of one daemon: it ends by its own failpoint, or is killed from outside when its time comes.
func (k *loop) live(s step) {
	k.t.Helper()
	k.start(k.traced(s.rules), k.traced(fmt.Sprintf("*=jitter:1ms;%s", small)))
	select {
	case <-k.acked: // of the daemon before
	default:
	}
	if s.from != fromSpawn && k.ready() && s.from == fromAck {
		select {
		case <-k.acked:
		case <-k.d.gone:
		case <-time.After(late):
		}
	}
	select {
	case <-k.d.gone:
	case <-time.After(s.after):
	}
	k.d.kill()
	status, ok := k.d.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		k.t.Fatalf("a daemon with %q ended by itself: %v", s.rules, k.d.cmd.ProcessState)
	}
	k.kills[s.from]++
}

func (k *loop) traced(rules string) string { return rules + ";trace=" + k.trace }

// killedAt is how often daemons and shims have killed themselves at each place, as they wrote themselves.
func (k *loop) killedAt() map[string]int {
	k.t.Helper()
	f, err := os.Open(k.trace)
	k.must(err)
	defer f.Close()
	out := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if place, ok := strings.CutPrefix(lines.Text(), "kill "); ok {
			out[place]++
		}
	}
	return out
}

// missed are the places of a list where nobody was killed yet.
func missed(places []string, killed map[string]int) (out []string) {
	for _, p := range places {
		if killed[p] == 0 {
			out = append(out, p)
		}
	}
	return out
}

// TestS1_S3_U20_TwoHundredKills: SIGKILL for two hundred daemons, at random and at each failpoint, with waits planted
// around every write, while agents of every transport talk and clients start, send, cancel, kill and dismiss. In the end
// each log is what its agent said, each exit is true, each reply is in its job, and what was acknowledged is there once.
func TestS1_S3_U20_TwoHundredKills(t *testing.T) {
	seed := seed(t)
	kills := 200 * *longFlag
	k := newLab(t).loop()
	places := slices.DeleteFunc(failpoint.OfDaemon(), turnsTail)
	c := k.crowd(seed, 4, load{messages: 40, ms: 5, pad: 60, open: 3, secret: "password=hunter2hunter2"}, k.said)
	for _, s := range schedule(seed, places, kills, small) {
		k.live(s)
	}
	// A place that a daemon did not come to in time gets further daemons.
	r := random(seed, 3)
	for range 10 {
		for _, place := range missed(places, k.killedAt()) {
			k.live(step{place: place, rules: rules(r.Uint64(), place, 1, small), from: fromReady, after: 2 * late})
		}
	}
	k.start("", "")
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	if left := missed(places, k.killedAt()); len(left) > 0 {
		t.Errorf("nobody was killed at %q", left)
	}
	counts := k.check(c.wishes())
	k.tell("daemon killed", len(c.wishes()), counts, c.acks())
	if counts["completed"] < 10 {
		t.Errorf("only %d jobs completed: the loop proves little", counts["completed"])
	}
}

// turnsTail tells the places that only a log beyond its bound comes to.
func turnsTail(place string) bool { return strings.HasPrefix(place, string(failpoint.LogTurn)) }

// tell prints what was tried, for the table of docs/operations.md.
func (k *loop) tell(what string, jobs int, states, acks map[string]int) {
	sum, at := 0, k.killedAt()
	for _, n := range k.kills {
		sum += n
	}
	k.t.Logf("| %s | %d | of them at failpoints %d, at %d places | jobs %d: %v | acknowledged: %v |", what, sum, total(at), len(at), jobs, states, acks)
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// TestS3_KilledAroundAcknowledgements: a daemon lives just long enough to acknowledge something, and dies at the
// commit or the answer, before, in or after it. Clients ask again under the same key. Outside it is kept what was
// acknowledged: none of it is missing, none of it is there twice.
func TestS3_KilledAroundAcknowledgements(t *testing.T) {
	seed := seed(t)
	kills := 250 * *longFlag
	k := newLab(t).loop()
	k.must(os.WriteFile(filepath.Join(k.home, "config.toml"), settings(2), 0o600))
	c := k.crowd(seed, 6, load{messages: 3, ms: 1, pad: 1, open: 5, cancels: 4}, k.said)
	places := []string{
		failpoint.LedgerCommit.Place(failpoint.Before), failpoint.LedgerCommit.Place(failpoint.After),
		failpoint.ServerReply.Place(failpoint.Before), failpoint.ServerReply.Place(failpoint.After),
		failpoint.LedgerAccepted.Place(failpoint.Torn), failpoint.LedgerAccepted.Place(failpoint.After),
	}
	r := random(seed, 2)
	for range kills {
		place := places[r.IntN(len(places))]
		nth := 1 + r.IntN(3)
		if strings.HasPrefix(place, string(failpoint.ServerReply)) {
			nth += r.IntN(12) // most answers change nothing
		}
		k.live(step{place: place, rules: fmt.Sprintf("%s=kill@%d", place, nth), from: fromReady, after: late / 4})
	}
	k.start("", "")
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	counts := k.check(c.wishes())
	k.tell("daemon killed around an acknowledgement", len(c.wishes()), counts, c.acks())
	for _, op := range operations() {
		if c.acks()[op.name] == 0 && op.name != "kill" { // runs are too short here to be met by one
			t.Errorf("no %s was acknowledged", op.name)
		}
	}
}
