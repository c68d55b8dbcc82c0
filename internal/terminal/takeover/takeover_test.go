package takeover

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/terminal/screen"
	"scv/internal/wire"
)

func TestWhatIsDrawnAndWhatIsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		f.say("one\r\ntwo")
		synctest.Wait()
		page := attach(t, term)
		if rows(page) != "0:one|1:two" || page.Agent != "demo" || page.Cols != 40 {
			t.Errorf("page %+v", page)
		}
		f.say("\r\nthree\x1b[c\x1b[6n")
		synctest.Wait()
		next, err := term.IO(wire.AttachIO{ID: page.ID, After: page.Generation, Input: "ja ✓\rno\r"})
		if err != nil || next.Full || rows(next) != "2:three" {
			t.Errorf("page %+v, %v", next, err)
		}
		synctest.Wait()
		if got := f.heard(); got != `"\x1b[?62;22c\x1b[3;6R" "ja ✓" "\r" "no" "\r"` {
			t.Errorf("the program got %s", got)
		}
		if quiet, err := term.IO(wire.AttachIO{ID: page.ID, After: next.Generation}); err != nil || len(quiet.Lines) > 0 || quiet.Generation != next.Generation {
			t.Errorf("nothing was drawn: %+v, %v", quiet, err)
		}
		f.end()
		synctest.Wait()
		term.End("exited 0")
		if last, ok := term.Look(); !ok || !last.Ended || *last.Exit != "exited 0" || rows(last) != "0:one|1:two|2:three" {
			t.Errorf("the last page is %+v", last)
		}
	})
}

// TestV8_NoSecretInAnyPage, wherever it wraps and however it arrives.
func TestV8_NoSecretInAnyPage(t *testing.T) {
	secret := "sk-ant-api03-" + strings.Repeat("Ab3dEf6hIj", 9) + "AA"
	for cut := 1; cut < len(secret); cut += 7 {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			term, stop := serve(t, f)
			defer stop()
			page := attach(t, term)
			w, err := term.Watch(page.ID)
			if err != nil {
				t.Fatal(err)
			}
			seen := strings.Builder{}
			look := func() {
				synctest.Wait()
				p, _, err := w.Next(0)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range p.Lines {
					for _, s := range l.Spans {
						seen.WriteString(s.Text)
					}
				}
			}
			f.say("key: " + secret[:cut])
			f.say("\x1b[31m" + secret[cut:] + "\x1b[m\r\n")
			look()
			for i := 0; i+12 <= len(secret)-13; i++ {
				if strings.Contains(seen.String(), secret[13+i:13+i+12]) {
					t.Fatalf("cut at %d shows %q", cut, secret[13+i:13+i+12])
				}
			}
			w.Close()
		})
	}
}

// TestANewDaemonShowsTheSameScreen: from the start of the output, or from the screen that the last one left; no question
// is answered twice.
func TestANewDaemonShowsTheSameScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		first, stop := serve(t, f)
		f.say("\x1b[2J\x1b[Hmenu\x1b[c")
		synctest.Wait()
		want := rows(attach(t, first))
		stop()
		f.heard()
		second, stop := serve(t, f, adopted)
		synctest.Wait()
		if got := rows(attach(t, second)); got != want || f.heard() != "" {
			t.Errorf("the second daemon shows %q, want %q", got, want)
		}
		f.say(strings.Repeat("\x1b[Hbusy \x1b[K", keepStep/8) + "\x1b[3;3Hdone\x1b[c")
		synctest.Wait()
		want = rows(attach(t, second))
		if f.heard() != `"\x1b[?62;22c"` || f.at == 0 {
			t.Errorf("a question was not answered, or no screen was kept (%d)", f.at)
		}
		stop()
		f.lose(f.at - 5) // what came before the kept screen is gone
		third, stop := serve(t, f, adopted)
		defer stop()
		page := attach(t, third)
		if rows(page) != want || page.Note != nil || f.heard() != "" {
			t.Errorf("the third daemon shows %q, want %q, note %v", rows(page), want, page.Note)
		}
	})
}

// TestAGapIsPaintedAnew: what nobody saw is not made up; the program is told of another size, and back.
func TestAGapIsPaintedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.say("old old old")
		f.lose(8)
		term, stop := serve(t, f, adopted)
		defer stop()
		synctest.Wait()
		page := attach(t, term)
		if page.Note == nil || !strings.Contains(*page.Note, "draw its screen again") {
			t.Errorf("note %v", page.Note)
		}
		if got := f.heard(); got != "40x5 40x6" {
			t.Errorf("the shim got %q", got)
		}
		f.say("\x1b[2J\x1b[Hnew\x1b[5n")
		synctest.Wait()
		if page := attach(t, term); rows(page) != "0:new" || page.Note != nil || f.heard() != `"\x1b[0n"` {
			t.Errorf("page %+v", page)
		}
	})
}

// TestOnlyNewQuestionsAreAnswered, though they come in one read with old ones.
func TestOnlyNewQuestionsAreAnswered(t *testing.T) {
	sent := newSender(nil, time.Second)
	p := picture{sender: sent, log: slog.New(slog.DiscardHandler), cols: 40, rows: 6}
	p.draw(screen.New(40, 6))
	p.open(Output{To: 3})
	p.take([]byte("\x1b[c\x1b[5n"))
	if m := <-sent.queue; string(m.typed.Bytes) != "\x1b[0n" {
		t.Errorf("answered %q", m.typed.Bytes)
	}
}

func TestWhoHoldsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		mine := attach(t, term).ID
		theirs := attach(t, term).ID
		if _, err := term.IO(wire.AttachIO{ID: mine, Input: "x"}); reasonOf(err) != wire.ReasonConflict {
			t.Errorf("a hold that was taken types: %v", err)
		}
		if err := term.Detach(mine); reasonOf(err) != wire.ReasonConflict {
			t.Errorf("a hold that was taken lets go: %v", err)
		}
		viewer, err := term.Watch("")
		if err != nil {
			t.Fatal(err)
		}
		if p, news, err := viewer.Next(0); err != nil || !news || p.ID != "" {
			t.Errorf("a viewer sees %+v, %v", p, err)
		}
		w, err := term.Watch(theirs)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if !term.Held() {
			t.Error("a hold lapsed while its holder watched")
		}
		w.Close()
		<-time.After(31 * time.Second)
		if _, err := term.IO(wire.AttachIO{ID: theirs}); term.Held() || reasonOf(err) != wire.ReasonExpired {
			t.Errorf("a hold that nobody uses goes on: %v", err)
		}
		last := attach(t, term).ID
		if err := term.Detach(last); err != nil || term.Held() {
			t.Errorf("detached: %v", err)
		}
		if got := f.heard(); got != "" {
			t.Errorf("something was typed: %s", got)
		}
	})
}

func TestTheSizeIsTheHoldersWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		page, err := term.Attach(9, 9999)
		if err != nil || page.Cols != MinCols || page.Rows != MaxRows {
			t.Errorf("%dx%d, %v", page.Cols, page.Rows, err)
		}
		again := attach(t, term)
		if again.Cols != MinCols || again.Rows != MaxRows {
			t.Errorf("a second window changed the size to %dx%d", again.Cols, again.Rows)
		}
		next, err := term.IO(wire.AttachIO{ID: again.ID, After: again.Generation, Cols: new(uint16(120)), Rows: new(uint16(40))})
		if err != nil || !next.Full || next.Cols != 120 {
			t.Errorf("page %+v, %v", next, err)
		}
		synctest.Wait()
		if got := f.heard(); got != "20x200 120x40" {
			t.Errorf("the shim got %s", got)
		}
	})
}

// TestV11_AFrameInPiecesIsHeldForAWhile, and no longer.
func TestV11_AFrameInPiecesIsHeldForAWhile(t *testing.T) {
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
		<-time.After(time.Second)
		begun := time.Now()
		f.say("\x1b[?2026hhalf")
		synctest.Wait()
		if _, news, _ := w.Next(page.Generation); news {
			t.Error("half a frame was shown")
		}
		<-w.Wake()
		if waited := time.Since(begun); waited != 150*time.Millisecond {
			t.Errorf("held for %s", waited)
		}
		p, news, err := w.Next(page.Generation)
		if err != nil || !news || rows(p) != "0:half" {
			t.Errorf("page %+v, %v", p, err)
		}
		w.Close()
	})
}

func TestPagesComeAtMostThirtyTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		w, err := term.Watch("")
		if err != nil {
			t.Fatal(err)
		}
		<-w.Wake()
		end := time.After(time.Second)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		wakes, n := 0, 0
		for over := false; !over; {
			select {
			case <-tick.C:
				n++
				f.say(fmt.Sprintf("\x1b[H%d", n))
			case <-w.Wake():
				wakes++
			case <-end:
				over = true
			}
		}
		if wakes < 25 || wakes > 31 {
			t.Errorf("%d pages in a second", wakes)
		}
		<-time.After(time.Second)
		armed := false
		term.do(func() { armed = term.pace.timer != nil })
		if armed {
			t.Error("nothing is drawn, and a timer runs")
		}
		w.Close()
	})
}

func TestWhatIsNotDeliveredIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.refuse = errors.New("it does not read its input")
		term, stop := serve(t, f)
		defer stop()
		page := attach(t, term)
		next, err := term.IO(wire.AttachIO{ID: page.ID, Input: "hello"})
		if err != nil || next.Note == nil || *next.Note != "5 typed bytes were not delivered: it does not read its input" {
			t.Errorf("page %+v, %v", next, err)
		}
		if _, err := term.IO(wire.AttachIO{ID: page.ID, Input: strings.Repeat("x", wire.MaxInputBytes+1)}); reasonOf(err) != wire.ReasonTooLarge {
			t.Errorf("too much was taken: %v", err)
		}
		term.Note("something else")
		if next, _ := term.IO(wire.AttachIO{ID: page.ID}); next.Note == nil || *next.Note != "something else" {
			t.Errorf("note %v", next.Note)
		}
	})
}

func TestNobodyIsThereAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, stop := serve(t, newFake())
		w, err := term.Watch("")
		if err != nil {
			t.Fatal(err)
		}
		<-w.Wake()
		stop()
		if _, open := <-w.Wake(); open {
			t.Error("a watcher was not let go")
		}
		_, err1 := term.Attach(0, 0)
		_, err2 := term.IO(wire.AttachIO{})
		_, _, err3 := w.Next(0)
		_, err4 := term.Watch("")
		for _, err := range slices.Concat([]error{err1, err2, err3, err4}, []error{term.Detach("x")}) {
			if reasonOf(err) != wire.ReasonNotFound {
				t.Errorf("got %v", err)
			}
		}
		w.Close()
	})
}

// TestOneWhoLooksTakesNothingFromTheOthers: all who watch are told of a change, whoever saw it first.
func TestOneWhoLooksTakesNothingFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		term, stop := serve(t, f)
		defer stop()
		w, err := term.Watch("")
		if err != nil {
			t.Fatal(err)
		}
		<-w.Wake()
		page, _, _ := w.Next(0)
		f.say("news")
		synctest.Wait()
		term.Look()
		<-w.Wake() // blocks for ever when it is not told
		if next, news, err := w.Next(page.Generation); err != nil || !news || rows(next) != "0:news" {
			t.Errorf("page %+v, %v", next, err)
		}
		w.Close()
	})
}

// TestAProgramThatDoesNotReadHoldsUpOnlyItsInput: what finds no room within two seconds is dropped with a note.
func TestAProgramThatDoesNotReadHoldsUpOnlyItsInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.stuck = make(chan struct{})
		term, stop := serve(t, f)
		defer stop()
		defer close(f.stuck)
		page := attach(t, term)
		full := strings.Repeat("x", wire.MaxInputBytes)
		if p, err := term.IO(wire.AttachIO{ID: page.ID, Input: full}); err != nil || p.Note != nil {
			t.Fatalf("%+v, %v", p, err)
		}
		begun := time.Now()
		p, err := term.IO(wire.AttachIO{ID: page.ID, Input: "more"})
		if err != nil || p.Note == nil || !strings.Contains(*p.Note, "does not read") || time.Since(begun) != 2*time.Second {
			t.Errorf("after %s: %+v, %v", time.Since(begun), p, err)
		}
		if p, err := term.IO(wire.AttachIO{ID: page.ID}); err != nil || p.Note != nil {
			t.Errorf("looking on: %+v, %v", p, err)
		}
	})
}
