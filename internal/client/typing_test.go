package client

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"scv/internal/wire"
)

// typist types into a terminal that a fake daemon plays, until it has let go.
type typist struct {
	t     *testing.T
	input chan string
	left  chan struct{}
	told  []string
	wg    sync.WaitGroup
	gone  bool

	mu   sync.Mutex
	hold wire.HoldID
}

func (f *fake) types(t *testing.T) *typist {
	y := &typist{t: t, input: make(chan string), left: make(chan struct{}), hold: "at-1"}
	typing := Typing{
		Target: f.target, Input: y.input, Left: y.left, Told: func(note string) { y.told = append(y.told, note) },
		Hold: func() (uint64, wire.HoldID) {
			y.mu.Lock()
			defer y.mu.Unlock()
			return 7, y.hold
		},
	}
	y.wg.Go(func() { y.gone = typing.Run(t.Context()) })
	return y
}

// holds gives the terminal under another hold, as a new daemon does.
func (y *typist) holds(id wire.HoldID) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.hold = id
}

// goes lets go, and returns what the owner was told.
func (y *typist) goes() string {
	y.t.Helper()
	close(y.left)
	y.wg.Wait()
	if !y.gone {
		y.t.Error("it did not let go")
	}
	return strings.Join(y.told, "; ")
}

// keyboard is the daemons' end of it: what comes, in order.
type keyboard chan wire.AttachIO

// take reads what is typed; nil when the client let go or left.
func (k keyboard) take(l *link) (wire.RequestID, *wire.AttachIO) {
	id, cmd := l.command()
	io, ok := cmd.(wire.AttachIO)
	if !ok {
		if _, left := cmd.(wire.AttachDetach); left {
			l.status(id, wire.DaemonStatus{})
		}
		return "", nil
	}
	k <- io
	return id, &io
}

// gets waits for what comes next, as text@position, with a ! where it may have come before, and its hold.
func (k keyboard) gets(t *testing.T, want string) {
	t.Helper()
	io := <-k
	got := io.Input
	if io.Typist != "" {
		got += fmt.Sprint("@", io.From)
	}
	if io.Again {
		got += "!"
	}
	if got += " " + string(io.ID); got != want {
		t.Errorf("a daemon got %q, want %q", got, want)
	}
}

// answers says that all up to the end of what came is at the terminal.
func answers(l *link, id wire.RequestID, io *wire.AttachIO) {
	l.status(id, wire.DaemonStatus{Attach: &wire.AttachPage{ID: io.ID, Typed: new(io.From + uint64(len(io.Input)))}})
}

func refuses(l *link, id wire.RequestID, reason wire.Reason) {
	l.send(wire.ErrorEvent{RequestID: &id, Code: wire.CodeWorkbenchError, Message: "no such hold", Reason: &reason})
}

// TestWhatADyingDaemonMayHaveIsTypedAgain at the same position, with what an answer left open before it. The daemon that
// comes knows only another hold; what it refuses it has not taken.
func TestWhatADyingDaemonMayHaveIsTypedAgain(t *testing.T) {
	k := make(keyboard, 16)
	held := make(chan *typist, 1)
	f := newFake(t, func(n int, l *link) {
		if !l.hello(wire.FeatureTyped) {
			return
		}
		for {
			id, io := k.take(l)
			switch {
			case io == nil:
				return
			case n == 0 && io.Input == "three": // and dies
				return
			case n == 0 && io.Input == "two": // nobody knows what became of it
				l.status(id, wire.DaemonStatus{Attach: &wire.AttachPage{ID: io.ID}})
			case n == 1 && io.ID == "at-1":
				(<-held).holds("at-2")
				refuses(l, id, wire.ReasonNotFound)
			case n == 1 && io.Input == "four": // it goes, and does not know what it passed on
				refuses(l, id, wire.ReasonUnavailable)
				answers(l, id, io)
				return
			default:
				answers(l, id, io)
			}
		}
	})
	y := f.types(t)
	held <- y
	y.input <- "one"
	k.gets(t, "one@0 at-1")
	y.input <- "two"
	k.gets(t, "two@3 at-1")
	y.input <- "three"
	k.gets(t, "three@6 at-1")
	k.gets(t, "two@3! at-1") // to the next daemon
	k.gets(t, "two@3! at-2")
	k.gets(t, "three@6! at-2")
	y.input <- "four"
	k.gets(t, "four@11 at-2")
	if told := y.goes(); told != "" {
		t.Errorf("the owner is told %q", told)
	}
	k.gets(t, "four@11! at-2")
}

// TestWhatAnOlderDaemonMayHaveIsNotTypedAgain: it would be there twice. The owner is told, and goes on.
func TestWhatAnOlderDaemonMayHaveIsNotTypedAgain(t *testing.T) {
	k := make(keyboard, 16)
	f := newFake(t, func(n int, l *link) {
		var features []string
		if n == 1 {
			features = []string{wire.FeatureTyped}
		}
		if !l.hello(features...) {
			return
		}
		for {
			id, io := k.take(l)
			switch {
			case io == nil, io.Input == "two", io.Input == "four": // and dies
				return
			case io.Typist == "":
				l.status(id, wire.DaemonStatus{Attach: &wire.AttachPage{ID: io.ID}})
			default:
				answers(l, id, io)
			}
		}
	})
	y := f.types(t)
	for _, text := range []string{"one", "two"} {
		y.input <- text
		k.gets(t, text+" at-1")
	}
	for i, text := range []string{"three", "four"} {
		y.input <- text
		k.gets(t, fmt.Sprintf("%s@%d at-1", text, 6+5*i))
	}
	y.input <- "five" // after the one that knew numbers came an older one again
	k.gets(t, "five at-1")
	const lost = "what you typed may be lost: "
	if told := y.goes(); strings.Count(told, lost) != 2 || !strings.Contains(told, "of an older release") {
		t.Errorf("the owner is told %q", told)
	}
}

// TestATakenTerminalIsTypedIntoNoMore: what was refused is told, and not kept for later.
func TestATakenTerminalIsTypedIntoNoMore(t *testing.T) {
	k := make(keyboard, 16)
	f := newFake(t, func(_ int, l *link) {
		if !l.hello(wire.FeatureTyped) {
			return
		}
		for {
			id, io := k.take(l)
			switch {
			case io == nil:
				return
			case io.Input == "one":
				refuses(l, id, wire.ReasonConflict)
			default:
				answers(l, id, io)
			}
		}
	})
	y := f.types(t)
	y.input <- "one"
	k.gets(t, "one@0 at-1")
	y.input <- "two"
	k.gets(t, "two@3 at-1")
	if told := y.goes(); told != "what you typed may be lost: no such hold" {
		t.Errorf("the owner is told %q", told)
	}
}
