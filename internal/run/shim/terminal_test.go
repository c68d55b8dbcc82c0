package shim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

// newTerminal prepares a run of the fake agent in a terminal of 90x30.
func newTerminal(t *testing.T, script ...string) *stage {
	t.Helper()
	s := newStage(t, script...)
	s.spawn.Spec.Terminal = &control.Size{Cols: 90, Rows: 30}
	return s
}

// look opens the output of the terminal from a position on.
func (s *stage) look(after uint64) *control.Terminal {
	s.t.Helper()
	term, err := control.DialTerminal(s.t.Context(), s.socket, after)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = term.Close() })
	return term
}

// until reads output until it ends with want, and returns all of it.
func until(t *testing.T, r io.Reader, want string) string {
	t.Helper()
	var got bytes.Buffer
	one := make([]byte, 1)
	for !bytes.HasSuffix(got.Bytes(), []byte(want)) {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatalf("after %d bytes, the last of them %q: %v", got.Len(), got.Bytes()[max(0, got.Len()-80):], err)
		}
		got.Write(one)
	}
	return got.String()
}

func typed(t *testing.T, l *control.Link, text string) {
	t.Helper()
	if err := l.Type(t.Context(), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestTerminal_IsOneAndSpeaks(t *testing.T) {
	s := newTerminal(t, "await", "say got it", "exit 7")
	s.start()
	l, h := s.dial()
	if h.Size == nil || *h.Size != (control.Size{Cols: 90, Rows: 30}) {
		t.Errorf("hello says the size is %v", h.Size)
	}
	term := s.look(0)
	typed(t, l, "ja ✓\r")
	all, err := io.ReadAll(term)
	if err != nil || string(all) != "ja ✓\r\ngot it\r\n" {
		t.Errorf("output %q, %v", all, err)
	}
	if e := s.end(); e.Exit == nil || e.Exit.Code != 7 {
		t.Errorf("ended %+v", e)
	}
	for _, f := range s.frames() {
		if f.Kind == spool.KindOut || f.Kind == spool.KindIn {
			t.Errorf("what a terminal shows or is typed into it is on disk: %q", f.Payload)
		}
	}
}

// TestTerminal_WhatIsSentAgainIsTypedOnce, over whichever connection it comes.
func TestTerminal_WhatIsSentAgainIsTypedOnce(t *testing.T) {
	s := newTerminal(t)
	s.spawn.Argv = []string{"/bin/sh", "-c", "stty raw -echo; echo up; exec cat"}
	s.start()
	first, _ := s.dial()
	term := s.look(0)
	until(t, term, "up\n")
	typed := func(l *control.Link, at uint64, text string) {
		t.Helper()
		if err := l.Typed(t.Context(), "who", at, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	typed(first, 0, "one ")
	second, _ := s.dial()
	typed(second, 0, "one two ")
	typed(first, 4, "two ")
	typed(second, 8, "three.")
	if got := until(t, term, "."); got != "one two three." {
		t.Errorf("typed was %q", got)
	}
	refused := &control.RefusedError{}
	if err := first.Typed(t.Context(), "", 0, []byte("x")); !errors.As(err, &refused) || refused.Class != control.RefusedBad {
		t.Errorf("without a key: %v", err)
	}
	if err := first.Stop(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s.end()
}

func TestTerminal_TheSizeIsToldAndForcesARepaint(t *testing.T) {
	s := newTerminal(t, "print size")
	s.start()
	l, _ := s.dial()
	term := s.look(0)
	until(t, term, "size 90 30 <nil>\r\n")
	for _, size := range []control.Size{{Cols: 90, Rows: 29}, {Cols: 200, Rows: 50}} {
		if err := l.Resize(t.Context(), size); err != nil {
			t.Fatal(err)
		}
		until(t, term, fmt.Sprintf("size %d %d <nil>\r\n", size.Cols, size.Rows))
	}
	refused := &control.RefusedError{}
	if err := l.Resize(t.Context(), control.Size{}); !errors.As(err, &refused) {
		t.Errorf("no size at all: %v", err)
	}
	if err := l.Stop(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if e := s.end(); e.Exit == nil || e.Exit.Signal != "SIGHUP" {
		t.Errorf("a terminal is hung up on first; it ended %+v", e.Exit)
	}
}

// TestTerminal_SurvivesItsDaemons: each daemon goes on where the last one stood, or with the screen that was left.
func TestTerminal_SurvivesItsDaemons(t *testing.T) {
	s := newTerminal(t, "await", "flood 600000", "say end", "await", "flood 3000000", "say over", "await")
	s.start()
	l, _ := s.dial()
	typed(t, l, "go\r")
	first := s.look(0)
	head := until(t, first, "go\r\n")
	_ = first.Close()
	all := until(t, s.look(uint64(len(head))), "end\r\n")
	want := uint64(len(head) + len(all))
	if err := l.Keep(t.Context(), want-10, []byte("a screen")); err != nil {
		t.Fatal(err)
	}
	if err := l.Keep(t.Context(), want-20, []byte("an older one")); err != nil {
		t.Fatal(err)
	}
	again := s.look(want - 10)
	if again.From != want-10 || string(again.Screen) != "a screen" || again.At != want-10 {
		t.Errorf("from %d with %q at %d", again.From, again.Screen, again.At)
	}
	if rest := until(t, again, "end\r\n"); !strings.HasSuffix(all, rest) || len(rest) != 10 {
		t.Errorf("the rest is %q", rest)
	}
	// Nobody reads while more is put out than the shim keeps.
	typed(t, l, "more\r")
	all = "more\r\n" + onTerminal(3000000) + "over\r\n"
	for h := (control.Hello{}); h.Output < want+uint64(len(all)); {
		var err error
		if h, err = l.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if old := s.look(5); old.From <= want {
		t.Errorf("what is gone was promised: from %d of %d", old.From, want)
	} else if rest := until(t, old, "over\r\n"); !strings.HasSuffix(all, rest) {
		t.Error("what is left is not the newest")
	}
	typed(t, l, "bye\r")
	s.end()
}

// onTerminal is what the fake agent's flood of so many bytes looks like on a terminal.
func onTerminal(total int) string {
	var b strings.Builder
	for n, i := 0, 0; n < total; i++ {
		line := strconv.Itoa(i)
		b.WriteString(line + "\r\n")
		n += len(line) + 1
	}
	return b.String()
}

// TestV14_AnAgentThatDoesNotRead: what it does not take is dropped with a note, and everything else goes on.
func TestV14_AnAgentThatDoesNotRead(t *testing.T) {
	s := newTerminal(t, "say up", "hang")
	s.spawn.Argv = []string{"/bin/sh", "-c", "stty raw -echo; echo up; exec sleep 1000"}
	s.start()
	l, _ := s.dial()
	until(t, s.look(0), "up\n")
	refused := &control.RefusedError{}
	var err error
	for range 100 {
		if err = l.Type(t.Context(), bytes.Repeat([]byte("x"), 16<<10)); err != nil {
			break
		}
	}
	if !errors.As(err, &refused) || refused.Class != control.RefusedFull {
		t.Errorf("a queue without an end: %v", err)
	}
	for dropped := 0; dropped == 0; {
		<-l.Nudges()
		for _, n := range s.notes() {
			if n.Undelivered != nil {
				dropped += n.Undelivered.Bytes
			}
		}
	}
	if err := l.Stop(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s.end()
}

// TestV15_AStopLeavesNothing of a shell with jobs in the background, with nohup and in sessions of their own.
func TestV15_AStopLeavesNothing(t *testing.T) {
	s := newTerminal(t)
	s.spawn.Argv = []string{"/bin/sh", "-c", "sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 & trap '' HUP TERM; echo up; cat"}
	s.start()
	l, _ := s.dial()
	until(t, s.look(0), "up\r\n")
	if err := l.Stop(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s.end()
	if left, err := proc.Marked(control.MarkerName, s.run); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestTerminal_OnlyWhereThereIsOne(t *testing.T) {
	s := newStage(t, "await")
	s.start()
	l, h := s.dial()
	refused := &control.RefusedError{}
	if err := l.Type(t.Context(), []byte("x")); h.Size != nil || !errors.As(err, &refused) {
		t.Errorf("a run with pipes takes keys: %v", err)
	}
	if _, err := control.DialTerminal(t.Context(), s.socket, 0); !errors.Is(err, control.ErrUnknownRequest) {
		t.Errorf("a run with pipes has a terminal: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := control.DialTerminal(ctx, s.socket, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a dial that was given up: %v", err)
	}
	if _, err := l.Write(t.Context(), 1, "end", nil, true); err != nil {
		t.Fatal(err)
	}
	s.end()
}
