package shim_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"scv/internal/run/control"
	"scv/internal/run/spool"
)

func ins(frames []spool.Frame) (list []string) {
	for _, f := range frames {
		if f.Kind == spool.KindIn {
			list = append(list, fmt.Sprintf("%d %s %q %d", f.N, f.Key, f.Payload, f.Flags))
		}
	}
	return list
}

func TestMessagesOnceAndInOrder(t *testing.T) {
	s := newStage(t, "echo")
	s.start()
	l, h := s.dial()
	if h.Last != 0 || h.Exited || h.Version != control.Protocol {
		t.Errorf("hello %+v", h)
	}
	f := s.follow(l)
	odd := "\xff\x00\n"
	for i, c := range []struct {
		n    uint64
		key  string
		data string
		want control.Result
	}{
		{1, "turn:1", "A\n", control.Result{Verdict: control.VerdictOK, N: 1}},
		{1, "turn:1", "A\n", control.Result{Verdict: control.VerdictDone, N: 1}},
		{5, "turn:1", "A\n", control.Result{Verdict: control.VerdictDone, N: 1}},
		{1, "turn:2", "B\n", control.Result{Verdict: control.VerdictStale, N: 1}},
		{3, "turn:2", "B\n", control.Result{Verdict: control.VerdictStale, N: 1}},
		{2, "turn:2", odd, control.Result{Verdict: control.VerdictOK, N: 2}},
	} {
		got, err := l.Write(t.Context(), c.n, c.key, []byte(c.data), false)
		if err != nil || got != c.want {
			t.Errorf("%d: %+v %v", i, got, err)
		}
	}
	f.untilOut("A\n" + odd)
	if r, err := l.Write(t.Context(), 3, "bye", []byte("last"), true); err != nil || r.Verdict != control.VerdictOK {
		t.Errorf("%+v %v", r, err)
	}
	var refused *control.RefusedError
	if _, err := l.Write(t.Context(), 4, "late", []byte("x"), false); !errors.As(err, &refused) && !errors.Is(err, control.ErrLinkClosed) {
		t.Errorf("after the end: %v", err)
	}
	if end := s.end(); end.Exit == nil || end.Exit.Code != 0 {
		t.Fatalf("%+v", end.Exit)
	}
	frames := s.frames()
	want := []string{`1 turn:1 "A\n" 0`, `2 turn:2 "\xff\x00\n" 0`, `3 bye "last" 1`}
	if got := ins(frames); strings.Join(got, ";") != strings.Join(want, ";") {
		t.Errorf("in %q", got)
	}
	if out := text(frames, spool.KindOut); out != "A\n"+odd+"lastend of input\n" {
		t.Errorf("out %q", out)
	}
}

func TestBadRequestsAreAnswered(t *testing.T) {
	s := newStage(t, "echo")
	s.start()
	l, _ := s.dial()
	var refused *control.RefusedError
	for _, c := range []struct {
		n    uint64
		key  string
		data []byte
	}{{1, "", []byte("x")}, {1, strings.Repeat("k", spool.MaxKey+1), []byte("x")}, {1, "k", nil}} {
		if _, err := l.Write(t.Context(), c.n, c.key, c.data, false); !errors.As(err, &refused) || refused.Class != control.RefusedBad {
			t.Errorf("%q: %v", c.key, err)
		}
	}
	if err := l.Stop(t.Context(), "sideways"); !errors.As(err, &refused) {
		t.Errorf("step: %v", err)
	}
	if _, err := l.Hello(t.Context(), "another"); err == nil {
		t.Error("another run's hello was answered")
	}
	raw, err := net.Dial("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	for request, want := range map[string]string{
		"{\"t\":\"resize\",\"rows\":3}\n": "{\"t\":\"unknown\",\"what\":\"resize\"}\n",
		"nonsense\n":                      "{\"t\":\"error\",",
	} {
		if _, err := raw.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 512)
		n, err := raw.Read(buf)
		if err != nil || !strings.HasPrefix(string(buf[:n]), want) {
			t.Errorf("%q: %q %v", request, buf[:n], err)
		}
	}
	if r, err := l.Write(t.Context(), 1, "still", []byte("here"), true); err != nil || r.Verdict != control.VerdictOK {
		t.Errorf("%+v %v", r, err)
	}
	s.end()
}

// Two daemons decide the same wish, or different ones, from the same fold: forty times each, exactly one message.
func TestOverlappingDaemons(t *testing.T) {
	s := newStage(t, "readall")
	s.start()
	a, _ := s.dial()
	b, _ := s.dial()
	const rounds = 40
	for i := range rounds {
		n := uint64(2*i + 1)
		race(t, a, b, n, fmt.Sprint("same", i), fmt.Sprint("same", i), control.VerdictDone)
		race(t, a, b, n+1, fmt.Sprint("one", i), fmt.Sprint("other", i), control.VerdictStale)
	}
	if r, err := a.Write(t.Context(), 2*rounds+1, "end", nil, true); err != nil || r.Verdict != control.VerdictOK {
		t.Errorf("%+v %v", r, err)
	}
	s.end()
	if got := ins(s.frames()); len(got) != 2*rounds+1 {
		t.Errorf("%d messages", len(got))
	}
}

func race(t *testing.T, a, b *control.Link, n uint64, keyA, keyB string, loser control.Verdict) {
	t.Helper()
	var wg sync.WaitGroup
	var results [2]control.Result
	var errs [2]error
	wg.Go(func() { results[0], errs[0] = a.Write(t.Context(), n, keyA, []byte("x"), false) })
	wg.Go(func() { results[1], errs[1] = b.Write(t.Context(), n, keyB, []byte("x"), false) })
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	won := 0
	for _, r := range results {
		if r.Verdict == control.VerdictOK {
			won++
		} else if r.Verdict != loser {
			t.Errorf("message %d: %+v", n, r)
		}
	}
	if won != 1 {
		t.Errorf("message %d was taken %d times: %+v", n, won, results)
	}
}

// A daemon dies with its message unread in the socket of a stopped shim; the next one says hello and writes the same
// wish. Whatever is read first, the message is delivered once.
func TestDeadDaemonsUnreadMessage(t *testing.T) {
	s := newStage(t, "readall")
	sp := s.start()
	s.dial()
	for i := range 40 {
		last, _ := s.dial()
		h, err := last.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, key := h.Last+1, fmt.Sprint("wish", i)
		if err := syscall.Kill(sp.PID(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		line, err := control.EncodeLine(control.WriteRequest(n, key, []byte("x"), false))
		if err != nil {
			t.Fatal(err)
		}
		dead, err := net.Dial("unix", s.socket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dead.Write(line); err != nil {
			t.Fatal(err)
		}
		if err := dead.Close(); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(sp.PID(), syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		l, h := s.dial()
		r, err := l.Write(t.Context(), h.Last+1, key, []byte("x"), false)
		if err != nil || r.Verdict == control.VerdictStale && r.N != n {
			t.Fatalf("%+v %v", r, err)
		}
		if r.Verdict == control.VerdictStale { // it came between hello and write: fold on and ask again
			t.Errorf("a key that was seen must answer done: %+v", r)
		}
		_ = l.Close()
		_ = last.Close()
	}
	l, h := s.dial()
	if _, err := l.Write(t.Context(), h.Last+1, "end", nil, true); err != nil {
		t.Error(err)
	}
	s.end()
	got := map[string]int{}
	for _, f := range s.frames() {
		if f.Kind == spool.KindIn {
			got[f.Key]++
		}
	}
	for i := range 40 {
		if got[fmt.Sprint("wish", i)] != 1 {
			t.Errorf("wish %d came %d times", i, got[fmt.Sprint("wish", i)])
		}
	}
}

func TestFullPipeBlocksNobody(t *testing.T) {
	s := newStage(t, "say up", "hang")
	s.start()
	l, _ := s.dial()
	s.follow(l).untilOut("up")
	big := bytes.Repeat([]byte("x"), 3<<20) // far more than a pipe holds
	n := uint64(1)
	for ; ; n++ {
		r, err := l.Write(t.Context(), n, fmt.Sprint("m", n), big, false)
		var refused *control.RefusedError
		if errors.As(err, &refused) {
			if refused.Class != control.RefusedFull {
				t.Error(err)
			}
			break
		}
		if err != nil || r.Verdict != control.VerdictOK {
			t.Fatalf("%+v %v", r, err)
		}
	}
	if h, err := l.Status(t.Context()); err != nil || h.Last != n-1 || n < 4 {
		t.Errorf("%+v %v", h, err)
	}
	if err := l.Stop(t.Context(), control.StepKill); err != nil {
		t.Error(err)
	}
	if end := s.end(); end.Exit == nil || end.Exit.Signal != "SIGKILL" || end.Exit.OOM {
		t.Errorf("%+v", end.Exit)
	}
}

func TestClosedInputIsToldAndNotFatal(t *testing.T) {
	s := newStage(t, "closein", "say closed", "hang")
	s.start()
	l, _ := s.dial()
	f := s.follow(l)
	f.untilOut("closed")
	if r, err := l.Write(t.Context(), 1, "k", []byte("x"), false); err != nil || r.Verdict != control.VerdictOK {
		t.Errorf("%+v %v", r, err)
	}
	f.until(func(seen []spool.Frame) bool {
		n, err := spool.DecodeNote(seen[len(seen)-1].Payload)
		return err == nil && n.Stdin != nil
	})
	var refused *control.RefusedError
	for refused == nil { // the note comes a moment before the input counts as closed
		_, err := l.Write(t.Context(), 2, "k2", []byte("x"), false)
		if err == nil {
			break
		}
		if !errors.As(err, &refused) || refused.Class != control.RefusedClosed {
			t.Fatal(err)
		}
	}
	if err := l.Stop(t.Context(), control.StepKill); err != nil {
		t.Error(err)
	}
	s.end()
}
