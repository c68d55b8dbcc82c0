//go:build linux

package chaos

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"scv/internal/failpoint"
)

// A step is the life of one daemon: what its failpoints do to it, and when it is killed if they do not.
type step struct {
	place string // where it kills itself; empty for none
	rules string
	from  string        // what the time below counts from: spawn, ready, ack
	after time.Duration // until SIGKILL from outside
}

// The moments that the time of a kill from outside counts from.
const (
	fromSpawn = "spawn" // hits what a daemon does first
	fromReady = "ready"
	fromAck   = "ack" // of the first thing that was asked of it
)

// late is the kill from outside for a daemon that never came to the place where it was to die.
const late = 400 * time.Millisecond

// schedule plans n daemons: each place once for its first or a later passing, and the rest killed from outside at random
// moments. All wait at random in all places. It depends on the seed alone.
func schedule(seed uint64, places []string, n int, settings string) []step {
	r := random(seed, 1)
	var plan []step
	for _, place := range places {
		plan = append(plan, step{place: place, from: fromReady, after: late})
	}
	for len(plan) < n {
		s := step{from: fromAck, after: time.Duration(r.IntN(40_000)) * time.Microsecond}
		switch r.IntN(4) {
		case 0:
			s = step{from: fromSpawn, after: time.Duration(r.IntN(60_000)) * time.Microsecond}
		case 1:
			s.from = fromReady
		}
		plan = append(plan, s)
	}
	r.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	for i := range plan {
		plan[i].rules = rules(r.Uint64(), plan[i].place, 1+r.IntN(3), settings)
	}
	return plan
}

// rules plant a kill at the nth passing of a place, and waits of up to 3 ms everywhere.
func rules(seed uint64, place string, n int, settings string) string {
	text := fmt.Sprintf("seed=%d;*=jitter:3ms;%s", seed%1_000_000, settings)
	if place != "" {
		text += fmt.Sprintf(";%s=kill@%d", place, n)
	}
	return text
}

// TestScheduleIsThatOfItsSeed: a seed that a failure printed gives the same daemons again, and another seed others.
func TestScheduleIsThatOfItsSeed(t *testing.T) {
	one, two, other := schedule(7, failpoint.OfDaemon(), 200, ""), schedule(7, failpoint.OfDaemon(), 200, ""), schedule(8, failpoint.OfDaemon(), 200, "")
	if !reflect.DeepEqual(one, two) {
		t.Error("the same seed gives another schedule")
	}
	if reflect.DeepEqual(one, other) {
		t.Error("another seed gives the same schedule")
	}
	if len(one) != 200 {
		t.Errorf("%d steps", len(one))
	}
}
