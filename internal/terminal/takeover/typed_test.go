package takeover

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
)

// TestTypedIsAnsweredOnceTheShimHasIt: then it is safe whatever becomes of this side. Each byte has its position, and an Enter
// is a write of its own. What a shim leaves open for two seconds the answer leaves open, and a question finds out later.
func TestTypedIsAnsweredOnceTheShimHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.stuck = make(chan struct{})
		term, stop := serve(t, f)
		defer stop()
		page := attach(t, term)
		io := func(from uint64, input string) (typed string, after time.Duration) {
			t.Helper()
			begun := time.Now()
			p, err := term.IO(wire.AttachIO{ID: page.ID, Typist: "me", From: from, Input: input})
			if err != nil || p.Note != nil {
				t.Fatalf("page %+v, %v", p, err)
			}
			if p.Typed == nil {
				return "open", time.Since(begun)
			}
			return fmt.Sprint(*p.Typed), time.Since(begun)
		}
		if typed, after := io(0, "ab\rcd"); typed != "open" || after != 2*time.Second || f.heard() != "" {
			t.Errorf("a shim that hangs: %s after %s", typed, after)
		}
		if typed, after := io(5, ""); typed != "open" || after != 2*time.Second {
			t.Errorf("asked meanwhile: %s after %s", typed, after)
		}
		close(f.stuck)
		if typed, after := io(5, ""); typed != "5" || after != 0 {
			t.Errorf("asked afterwards: %s after %s", typed, after)
		}
		if typed, after := io(5, "\r"); typed != "6" || after != 0 {
			t.Errorf("typed: %s after %s", typed, after)
		}
		if got, want := f.heard(), `me@0:"ab" me@2:"\r" me@3:"cd" me@5:"\r"`; got != want {
			t.Errorf("the shim got %s, want %s", got, want)
		}
		if p, err := term.IO(wire.AttachIO{ID: page.ID, Input: "x"}); err != nil || p.Typed != nil || f.heard() != `"x"` {
			t.Errorf("without numbers: %+v, %v", p, err)
		}
		if _, err := term.IO(wire.AttachIO{ID: page.ID, Typist: strings.Repeat("k", wire.MaxKeyBytes+1)}); reasonOf(err) != wire.ReasonTooLarge {
			t.Errorf("a key without an end: %v", err)
		}
	})
}

// TestWhatIsTypedWhileThisSideGoesIsNotAcknowledged, nor is it while another takes the terminal, whose hold stays his.
func TestWhatIsTypedWhileThisSideGoesIsNotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.stuck = make(chan struct{})
		term, stop := serve(t, f)
		defer close(f.stuck)
		page := attach(t, term)
		type answer struct {
			page wire.AttachPage
			err  error
		}
		typed := func(id wire.HoldID) chan answer {
			done := make(chan answer, 1)
			go func() {
				p, err := term.IO(wire.AttachIO{ID: id, Typist: "me", Input: "x"})
				done <- answer{p, err}
			}()
			synctest.Wait()
			return done
		}
		mine := typed(page.ID)
		theirs := attach(t, term)
		if a := <-mine; a.err != nil || a.page.ID != page.ID || a.page.Typed != nil {
			t.Errorf("taken meanwhile: %+v, %v", a.page, a.err)
		}
		last := typed(theirs.ID)
		stop()
		if a := <-last; reasonOf(a.err) != wire.ReasonUnavailable {
			t.Errorf("while this side goes: %+v, %v", a.page, a.err)
		}
	})
}

// TestEveryEnterOfAPasteIsTyped, though each is a write of its own.
func TestEveryEnterOfAPasteIsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		page := attach(t, term)
		lines := strings.Repeat("a\r", 5*maxWaiting)
		if p, err := term.IO(wire.AttachIO{ID: page.ID, Input: lines}); err != nil || p.Note != nil {
			t.Fatalf("page %+v, %v", p, err)
		}
		if got, want := f.heard(), strings.TrimSpace(strings.Repeat(`"a" "\r" `, 5*maxWaiting)); got != want {
			t.Errorf("of %d bytes the shim got %d", len(want), len(got))
		}
	})
}
