package server

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestU7_ClientsThatNeverRead: twenty clients ask for snapshots and never read. Each has one unread answer, they share
// its text, they are cut after a time with a reason in the log, and another client goes on as if they were not there.
func TestU7_ClientsThatNeverRead(t *testing.T) {
	const clients, bound = 20, 10 << 20
	b := newBench(t, setup{stall: 500 * time.Millisecond, loaded: loadedJobs(1000, "/work")})
	other := b.client("scv-cli")
	other.status(`{"action":"workbench"}`)
	before := heap()
	var stuck []*raw
	for range clients {
		c := b.client("stuck")
		c.write("%s", strings.Repeat(`{"type":"daemon.control","request_id":"s","command":{"action":"workbench"}}`+"\n", 100)+"{}")
		stuck = append(stuck, c)
	}
	grown := uint64(0)
	for range 10 {
		b.start(other, "each change makes a new snapshot")
		if now := heap(); now > before {
			grown = max(grown, now-before)
		}
	}
	if grown > bound {
		t.Errorf("%d clients that do not read cost %d bytes", clients, grown)
	}
	b.log.wait("cut a client: it left an answer unread", clients)
	if log := b.log.String(); !strings.Contains(log, "client=stuck") {
		t.Errorf("the log does not name who was cut: %s", log)
	}
	for _, c := range stuck {
		if _, err := io.Copy(io.Discard, c.nc); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a cut client sees %v", err)
		}
	}
	other.status(`{"action":"workbench"}`)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A watcher that does not read holds one page, whatever happens meanwhile, and is cut; one that reads slowly is not.
func TestU7_WatcherThatNeverReads(t *testing.T) {
	b := newBench(t, setup{stall: 300 * time.Millisecond, loaded: loadedJobs(1000, "/work")})
	c := b.client("scv-cli")
	w := b.client("stuck-watcher")
	w.write(`{"type":"daemon.control","request_id":"w","command":{"action":"workbench_watch"}}`)
	b.log.wait("cut a client", 1) // the first answer is larger than what the kernel holds for it
	b.start(c, "p")
	if !strings.Contains(b.log.String(), "client=stuck-watcher") {
		t.Errorf("log: %s", b.log.String())
	}
	slow := b.client("slow-reader")
	for i := range 5 {
		got := slow.ask(fmt.Sprint(i), `{"action":"workbench"}`)
		if got["type"] != "daemon.status" {
			t.Errorf("got %v", got)
		}
	}
}
