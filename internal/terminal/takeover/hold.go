package takeover

import (
	"fmt"
	"time"

	"scv/internal/wire"
)

// A hold is who types. Whoever attaches takes it; one that is not used for a while is nobody's.
type hold struct {
	id      wire.HoldID
	until   time.Time
	watched int // watchers of the holder's, while which it does not run out
}

func (h *hold) valid(now time.Time) bool { return h.id != "" && (h.watched > 0 || now.Before(h.until)) }

// Attach takes the terminal from whoever holds it and returns the whole screen with the new hold. A size of 0 leaves
// it as it is. The error is wire.ReasonGone once the terminal is not served any more.
func (t *Terminal) Attach(cols, rows uint16) (page wire.AttachPage, err error) {
	ok := t.do(func() {
		t.hold = hold{id: t.o.NewHold(), until: time.Now().Add(t.o.Timing.Lease)}
		t.resize(cols, rows)
		t.look()
		page = t.page(0, true)
		t.wake()
	})
	if !ok {
		err = gone()
	}
	return page, err
}

// IO types, then resizes, then reads, as attach_io says. It waits for room for the input as long as the program may take
// to read; what finds none is dropped with a note. It returns when the shim has the input, which then survives this side,
// or after as long again. An unknown, taken or lapsed hold is refused with its reason.
func (t *Terminal) IO(q wire.AttachIO) (page wire.AttachPage, err error) {
	if err := bounded(&q); err != nil {
		return page, err
	}
	room := t.sender.reserve(len(q.Input), t.o.Timing.Deliver, t.gone)
	var settled <-chan struct{}
	ok := t.do(func() {
		if err = t.check(q.ID); err != nil {
			if room {
				t.sender.release(len(q.Input))
			}
			return
		}
		switch {
		case !room:
			t.tell(fmt.Sprintf("%d typed bytes were not delivered: the program does not read its input", len(q.Input)))
		case q.Input != "", q.Typist != "": // without input it is asked what became of that before
			settled = t.sender.typed(Input{Bytes: []byte(q.Input), Typist: q.Typist, From: q.From, Again: q.Again})
		}
		if q.Input != "" {
			t.pace.keys = looksOfKey
		}
		t.resize(value(q.Cols), value(q.Rows))
		if settled == nil {
			page = t.answer(&q, true)
		}
	})
	switch {
	case !ok:
		return page, gone()
	case err != nil, settled == nil:
		return page, err
	}
	known := t.settles(settled)
	if !t.do(func() { page = t.answer(&q, known) }) {
		return page, wire.Refuse(wire.ReasonUnavailable, "attach again", "this terminal is not served any more, and what was typed last may be lost")
	}
	return page, nil
}

func bounded(q *wire.AttachIO) error {
	switch {
	case len(q.Input) > wire.MaxInputBytes:
		return wire.Refuse(wire.ReasonTooLarge, "send it in parts", "at most %d bytes may be typed at once", wire.MaxInputBytes)
	case len(q.Typist) > wire.MaxKeyBytes:
		return wire.Refuse(wire.ReasonTooLarge, "make a shorter one", "the key of who types is longer than %d bytes", wire.MaxKeyBytes)
	}
	return nil
}

// settles waits until it is known what became of input, not longer than a program may take to read it.
func (t *Terminal) settles(settled <-chan struct{}) (known bool) {
	timer := time.NewTimer(t.o.Timing.Deliver)
	defer timer.Stop()
	select {
	case <-settled:
		return true
	case <-timer.C:
	case <-t.gone:
	}
	return false
}

// answer is the page that IO returns; known says what became of the input. Somebody else may have taken the terminal since
// it was typed, which the next request is told.
func (t *Terminal) answer(q *wire.AttachIO, known bool) wire.AttachPage {
	select {
	case why := <-t.sender.failed:
		t.tell(why)
	default:
	}
	if t.hold.watched == 0 { // who watches is sent what changes when it is time
		t.look()
	}
	page := t.page(q.After, q.ID == t.hold.id)
	page.ID = q.ID
	if known && q.Typist != "" {
		page.Typed = new(q.From + uint64(len(q.Input)))
	}
	return page
}

// Detach lets go of the terminal, which goes on.
func (t *Terminal) Detach(id wire.HoldID) (err error) {
	ok := t.do(func() {
		if err = t.check(id); err == nil {
			t.hold = hold{}
			t.wake()
		}
	})
	if !ok {
		err = gone()
	}
	return err
}

// Look returns the whole screen, for the hold that is current, without taking anything; false when the terminal is not served any more.
func (t *Terminal) Look() (page wire.AttachPage, ok bool) {
	ok = t.do(func() {
		t.look()
		page = t.page(0, false)
		page.ID = t.hold.id
	})
	return page, ok
}

// History returns up to n lines that went up over the top, from line first on, the oldest being 0. They are masked.
func (t *Terminal) History(first, n int) (page wire.AttachPage, err error) {
	ok := t.do(func() {
		t.look()
		page = t.page(t.picture.view.Generation(), false)
		page.Lines, _ = t.picture.view.History(first, n)
	})
	if !ok {
		err = gone()
	}
	return page, err
}

// Held reports whether somebody holds the terminal.
func (t *Terminal) Held() (held bool) {
	t.do(func() { held = t.hold.valid(time.Now()) })
	return held
}

// Note tells the owner, with the next page, of something that happened beside the screen.
func (t *Terminal) Note(text string) {
	t.do(func() { t.tell(text) })
}

// End tells how the program ended, for the last pages.
func (t *Terminal) End(exit string) {
	t.do(func() {
		t.exit = exit
		t.over()
	})
}

func (t *Terminal) check(id wire.HoldID) error {
	now := time.Now()
	switch {
	case id == "" || id != t.hold.id:
		return wire.Refuse(wire.ReasonConflict, "attach again to take it back", "this terminal was taken by another client, or let go")
	case !t.hold.valid(now):
		t.hold = hold{}
		return wire.Refuse(wire.ReasonExpired, "attach again", "this hold of the terminal was not used for %s and has lapsed", t.o.Timing.Lease)
	}
	t.hold.until = now.Add(t.o.Timing.Lease)
	return nil
}

func (t *Terminal) resize(cols, rows uint16) {
	if t.picture.resize(cols, rows) {
		t.dirty()
	}
}

func value(p *uint16) uint16 {
	if p == nil {
		return 0
	}
	return *p
}

func gone() error {
	return wire.Refuse(wire.ReasonNotFound, "scv jobs attach ID", "this terminal is not served any more")
}
