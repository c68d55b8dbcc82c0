package run

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestS14_GateLetsFewWorkAtOnce: the next one comes in as soon as one leaves, and after a while though nobody does; each
// gives its place back once.
func TestS14_GateLetsFewWorkAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(gate, 2)
		first, begun := g.enter(t.Context()), time.Now()
		second := g.enter(t.Context())
		third := make(chan func())
		go func() { third <- g.enter(t.Context()) }()
		synctest.Wait()
		select {
		case <-third:
			t.Fatal("a third one is let in")
		default:
		}
		first()
		first()
		leave := <-third
		if took := time.Since(begun); took != 0 {
			t.Errorf("it came in after %v", took)
		}
		g.enter(t.Context()) // when the second one's time is over
		if took := time.Since(begun); took != gateTime {
			t.Errorf("the fourth came in after %v", took)
		}
		second()
		leave()
		time.AfterFunc(2*gateTime, func() {
			if len(g) != 0 {
				t.Errorf("%d places are taken in the end", len(g))
			}
		})
		<-time.After(3 * gateTime)
	})
}

// TestS14_GateEndsWithItsDaemon: who waits when the daemon leaves waits no longer, and gives back nothing.
func TestS14_GateEndsWithItsDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(gate, 1)
		leave := g.enter(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g.enter(ctx)()
		if len(g) != 1 {
			t.Errorf("%d places are taken", len(g))
		}
		leave()
	})
}
