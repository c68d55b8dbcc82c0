package takeover

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
)

// TestTheEchoOfAKeyComesAtOnce: the look that goes with the key, which saw nothing new, does not make the echo wait for the
// next frame.
func TestTheEchoOfAKeyComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		page := attach(t, term)
		w, err := term.Watch(page.ID)
		if err != nil {
			t.Fatal(err)
		}
		<-w.Wake()
		after := page.Generation
		for _, key := range []string{"a", "b", "c"} {
			<-time.After(100 * time.Millisecond) // between two keys
			begun := time.Now()
			if _, err := term.IO(wire.AttachIO{ID: page.ID, Input: key, After: after}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Millisecond) // for the program to echo it
			f.say(key)
			<-w.Wake()
			p, news, err := w.Next(after)
			if err != nil || !news || !strings.HasSuffix(rows(p), key) {
				t.Fatalf("page %+v, %v", p, err)
			}
			after = p.Generation
			if waited := time.Since(begun); waited > time.Millisecond {
				t.Errorf("the echo of %s came after %s", key, waited)
			}
		}
		w.Close()
	})
}

// TestAKeyIsSeenAtOnceBesideWhatMoves: its echo waits for no frame of a spinner, and a program that types without a pause gets no
// more pages than another.
func TestAKeyIsSeenAtOnceBesideWhatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		page := attach(t, term)
		w, err := term.Watch(page.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		keyed := func(n int) bool { return n%200 == 0 }
		count := func(ms int) (pages int, slowest time.Duration) {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			after, typed, seen := uint64(0), time.Time{}, ""
			for n := 1; n <= ms; {
				select {
				case <-tick.C:
					f.say(fmt.Sprintf("\x1b[H%d", n))
					if keyed(n) {
						typed = time.Now()
						if _, err := term.IO(wire.AttachIO{ID: page.ID, Input: "x"}); err != nil {
							t.Fatal(err)
						}
						seen = fmt.Sprintf("1:key %d", n)
						f.say("\x1b[2;1H" + seen[2:])
					}
					n++
				case <-w.Wake():
					pages++
					p, _, err := w.Next(after)
					if err != nil {
						t.Fatal(err)
					}
					if after = p.Generation; seen != "" && strings.Contains(rows(p), seen) {
						slowest, seen = max(slowest, time.Since(typed)), ""
					}
				}
			}
			return pages, slowest
		}
		if pages, slowest := count(5000); slowest > 2*time.Millisecond || pages > 160 {
			t.Errorf("the slowest echo after %s, %d pages in 5 s", slowest, pages)
		}
		keyed = func(int) bool { return true }
		if pages, _ := count(5000); pages > 160 {
			t.Errorf("a program that types a key each millisecond got %d pages in 5 s", pages)
		}
	})
}

// TestAFrameThatCameInTwoPiecesIsShownAtItsEnd, and not when the patience with it is over.
func TestAFrameThatCameInTwoPiecesIsShownAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		w, err := term.Watch("")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		<-w.Wake()
		first, _, err := w.Next(0)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		f.say("\x1b[?2026hone ")
		<-time.After(2 * time.Millisecond)
		f.say("two\x1b[?2026l")
		begun := time.Now()
		<-w.Wake()
		if p, _, err := w.Next(first.Generation); err != nil || rows(p) != "0:one two" || time.Since(begun) > 0 {
			t.Errorf("after %s: %s, %v", time.Since(begun), rows(p), err)
		}
	})
}

// TestP40_WhatWentOverTheTopIsRead, masked, and of the main screen alone.
func TestP40_WhatWentOverTheTopIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		first := attach(t, term)
		for i := range 100 {
			f.say(fmt.Sprintf("line %d\r\n", i))
		}
		synctest.Wait()
		page, err := term.History(10, 3)
		if err != nil || rows(page) != "10:line 10|11:line 11|12:line 12" || page.History != uint16(101-first.Rows) || page.ID != "" {
			t.Errorf("%d lines: %s, %v", page.History, rows(page), err)
		}
		if page, err = term.History(9000, 3); err != nil || len(page.Lines) != 0 {
			t.Errorf("beyond the end: %s, %v", rows(page), err)
		}
		f.say("\x1b[?1049h\x1b[?1002h\x1b[?1006h")
		synctest.Wait()
		if page = attach(t, term); page.History != 0 || page.Mouse != 1002 || page.MouseEncoding != 1006 {
			t.Errorf("of a program that draws on the whole screen: %+v", page)
		}
	})
}
