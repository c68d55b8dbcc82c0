//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
)

// A typist is an owner with a shell where a conversation works, into which numbered commands are typed. Each writes its
// number to a file. One goroutine owns it.
type typist struct {
	k     *loop
	of    *wire.Job
	page  wire.AttachPage // of the terminal as it is held; an ID of "" for not yet
	run   *wire.RunHandle // whose terminal it is: the same one, whatever happens to daemons
	n     int
	acked map[int]int  // what was acknowledged, and in which hold
	never map[int]bool // what was refused
	holds int
}

// types types until ctx ends.
func (y *typist) types(ctx context.Context) error {
	for ctx.Err() == nil {
		if y.page.ID == "" {
			if err := y.hold(); err != nil {
				return err
			}
		}
		y.n++
		err := y.line(fmt.Sprintf("echo %d >>$HOME/typed", y.n))
		_, refused := errors.AsType[*wire.Error](err)
		switch {
		case err == nil:
			y.acked[y.n] = y.holds
			y.k.said(ack{op: "type"})
		case refused: // of a hold that died with its daemon, or by a daemon that is on its way out
			y.never[y.n] = true
			y.page.ID = ""
		default: // nobody knows; it is not typed again
			y.page.ID = ""
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}

// hold takes the terminal: a new one the first time, and then that.
func (y *typist) hold() error {
	cols, rows := uint16(80), uint16(24)
	st, err := y.k.insist(y.k.ctx, wire.AttachCommand{
		Session: y.of.Session, Conversation: *y.of.Conversation, Shell: true, Cols: &cols, Rows: &rows, Run: y.run, Key: client.NewKey(),
	})
	if err != nil {
		return fmt.Errorf("the terminal of %v is not held again: %w", y.run, err)
	}
	y.page = *st.Attach
	if y.run != nil && *y.page.Run != *y.run {
		return fmt.Errorf("it was %s, and is %s", *y.run, *y.page.Run)
	}
	y.run = y.page.Run
	y.holds++
	return nil
}

// line types a command once, behind a key that takes back what stands there: text without its Enter, when a daemon died
// between them. What the daemon says was not delivered is as good as unknown.
func (y *typist) line(command string) error {
	st, err := y.k.ask(y.k.ctx, wire.AttachIO{ID: y.page.ID, After: y.page.Generation, Input: "\x15" + command + "\r"})
	if err != nil {
		return err
	}
	y.page.Generation = st.Attach.Generation
	if st.Attach.Note != nil {
		return errors.New(*st.Attach.Note)
	}
	return nil
}

// TestS1_TerminalsUnderKills: a shell in a terminal that its owner holds goes on while daemons are killed at random, with
// waits planted around every write. It is the same one all along. What is typed comes in order and never twice, and of what a
// daemon took only the last can go with it: a key is passed on at once and kept nowhere. What was refused never ran.
func TestS1_TerminalsUnderKills(t *testing.T) {
	seed := seed(t)
	k := newLab(t).loop()
	k.env = append(k.env, "SHELL=/bin/sh")
	k.restart()
	ref := k.job("demo", "@@say:hello")
	y := &typist{k: k, of: k.reaches(ref, wire.StateCompleted), acked: map[int]int{}, never: map[int]bool{}}
	k.d.kill()
	ctx, stop := context.WithCancel(k.ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- y.types(ctx) }()
	for _, s := range schedule(seed, nil, 60**longFlag, small) {
		k.live(s)
	}
	k.start("", "")
	stop()
	k.must(<-done)
	y.ends()
	y.check()
}

// ends lets the shell go, by a command that it takes like all before.
func (y *typist) ends() {
	y.k.t.Helper()
	for typed := false; !typed; { // twice does no harm
		y.k.must(y.hold())
		typed = y.line("echo end >>$HOME/typed; exit") == nil
	}
	y.k.until("the shell has left", func(v *wire.Snapshot) bool {
		for _, r := range v.Runs {
			if r.Handle == *y.run && r.Live {
				return false
			}
		}
		return true
	})
}

func (y *typist) check() {
	t := y.k.t
	t.Helper()
	data, err := os.ReadFile(filepath.Join(y.k.base, "u", "typed"))
	y.k.must(err)
	ran, last := map[int]bool{}, 0
	for line := range strings.Lines(string(data)) {
		var n int
		if _, err := fmt.Sscan(line, &n); err != nil {
			continue // the end
		}
		if n <= last {
			t.Errorf("%d ran after %d", n, last)
		}
		ran[n], last = true, n
	}
	lost, broken := 0, 0 // the hold in which something that was acknowledged went with its daemon
	for n := 1; n <= y.n; n++ {
		hold, acked := y.acked[n]
		switch {
		case y.never[n] && ran[n]:
			t.Errorf("%d was refused and ran", n)
		case acked && !ran[n]:
			lost, broken = lost+1, hold
		case acked && hold == broken:
			t.Errorf("%d ran, and what the same daemon had taken before did not", n)
		}
	}
	y.k.tell("daemon killed under a terminal", 1, map[string]int{"ran": len(ran), "held": y.holds}, map[string]int{"typed": len(y.acked), "gone with a daemon": lost})
	if len(y.acked) < 50 || y.holds < 10 {
		t.Errorf("%d commands were acknowledged over %d holds: the loop proves little", len(y.acked), y.holds)
	}
}
