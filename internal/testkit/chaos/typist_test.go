//go:build linux

package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
)

// A typist is an owner at a shell where a conversation works, with the client of this program: it holds the terminal again
// after each daemon, and goes on typing whether there is one or not. Numbered commands are typed, each of which writes its
// number to a file.
type typist struct {
	k     *loop
	input chan string
	left  chan struct{} // closed when the terminal is over
	n     int           // commands that were typed; of the goroutine that types

	mu    sync.Mutex
	page  wire.AttachPage // of the terminal as it is held
	holds int
	told  []string
}

// typedAhead is how many commands may be typed before the shell has run the first of them.
const typedAhead = 20

// typistTries is how much longer these daemons live: a client that lost one tries the next every 50 ms.
const typistTries = 100 * time.Millisecond

// types holds the terminal and types until ctx ends, and then ends the shell.
func (y *typist) types(ctx context.Context, of *wire.Job) error {
	shown := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	var attached error
	wg.Go(func() {
		defer close(y.left)
		attached = client.Attach(y.k.ctx, y.k.target(), client.Attachment{
			Session: of.Session, Conversation: *of.Conversation, Shell: true,
			Size: func() (uint16, uint16) { return 80, 24 }, Show: y.show(shown), Told: y.tell,
		})
	})
	select {
	case <-shown:
	case <-y.left:
		return attached
	}
	wg.Go(func() {
		typing := client.Typing{
			Target: y.k.target(), Input: y.input, Left: y.left, Told: y.tell,
			Hold: func() (uint64, wire.HoldID) { y.mu.Lock(); defer y.mu.Unlock(); return y.page.Generation, y.page.ID },
		}
		typing.Run(y.k.ctx)
	})
	for ctx.Err() == nil {
		select {
		case y.input <- fmt.Sprintf("echo %d >>$HOME/typed\r", y.n+1):
			y.n++
		case <-ctx.Done():
		case <-y.left:
			return attached
		}
		for ctx.Err() == nil && len(y.ran()) < y.n-typedAhead {
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Millisecond):
			}
		}
	}
	select {
	case y.input <- "exit\r":
	case <-y.left:
	}
	<-y.left
	return attached
}

func (y *typist) show(first chan struct{}) func(wire.AttachPage) error {
	return func(page wire.AttachPage) error {
		y.mu.Lock()
		defer y.mu.Unlock()
		if page.ID != "" && page.ID != y.page.ID {
			y.holds++
			if y.holds == 1 {
				defer close(first)
			}
		}
		y.page = page
		if page.Note != nil {
			y.told = append(y.told, *page.Note)
		}
		y.k.said(ack{op: "shown"})
		return nil
	}
}

func (y *typist) tell(note string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.told = append(y.told, note)
}

// ran are the numbers that the shell has written.
func (y *typist) ran() []string {
	data, _ := os.ReadFile(filepath.Join(y.k.base, "u", "typed")) // none before the first
	return strings.Fields(string(data))
}

// TestS1_TerminalsUnderKills: a shell in a terminal that its owner holds goes on while daemons are killed at random, with
// waits planted around every write. What is typed, whether a daemon is there or just dying, comes once and in order.
func TestS1_TerminalsUnderKills(t *testing.T) {
	seed := seed(t)
	k := newLab(t).loop()
	k.env = append(k.env, "SHELL=/bin/sh")
	k.restart()
	of := k.reaches(k.job("demo", "@@say:hello"), wire.StateCompleted)
	y := &typist{k: k, input: make(chan string, typedAhead), left: make(chan struct{})}
	ctx, stop := context.WithCancel(k.ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- y.types(ctx, of) }()
	select {
	case <-k.acked: // it is held, by a daemon that may now be killed
	case err := <-done:
		t.Fatal(err)
	}
	k.d.kill()
	for _, s := range schedule(seed, nil, 60**longFlag, small) {
		s.after += typistTries
		k.live(s)
	}
	k.start("", "")
	stop()
	k.must(<-done)
	want := make([]string, y.n)
	for i := range want {
		want[i] = fmt.Sprint(i + 1)
	}
	ran := y.ran()
	if strings.Join(ran, " ") != strings.Join(want, " ") {
		t.Errorf("of %d commands that were typed there ran %d: %v\nthe owner was told %q", y.n, len(ran), ran, y.told)
	}
	k.tell("daemon killed under a terminal", 1, map[string]int{"held": y.holds}, map[string]int{"typed": y.n})
	if y.n < 50 || y.holds < 10 {
		t.Errorf("%d commands were typed over %d holds: the loop proves little", y.n, y.holds)
	}
}
