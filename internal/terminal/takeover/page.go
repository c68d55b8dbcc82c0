package takeover

import (
	"time"

	"scv/internal/wire"
)

// pace decides when a screen is looked at for those who watch: not more often than frames come, and not in the middle
// of one that the program draws in pieces, for a while. It has no timer while nothing changed.
type pace struct {
	timer *time.Timer
	at    time.Time // when timer runs out
	next  time.Time // before which no look is due, so that frames come as often as they may on average
	keys  int       // looks that may come before that, since keys were typed whose echo is awaited
	sync  time.Time // since when a frame is being drawn in pieces; zero: none is
}

// What was typed has the looks at its echo and at the frame behind it come at once, also while something else moves on the
// screen. They are borrowed from the frames that follow, up to so many, so that there are no more pages in a second.
const (
	looksOfKey   = 2
	mostBorrowed = 3
)

func (p *pace) due() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C
}

func (p *pace) passed() { p.timer = nil }

// arm has a look come at a time; one that is to come before stays.
func (p *pace) arm(at, now time.Time) {
	if p.timer != nil {
		if !at.Before(p.at) {
			return
		}
		p.timer.Stop()
	}
	p.timer, p.at = time.NewTimer(max(at.Sub(now), 0)), at
}

// when is when the next look may come.
func (p *pace) when(now time.Time, frame time.Duration) time.Time {
	if p.keys > 0 && p.next.Sub(now) <= (mostBorrowed-1)*frame {
		return now
	}
	return p.next
}

// looked takes note of a look that saw something new.
func (p *pace) looked(now time.Time, frame time.Duration) {
	from := now
	if p.next.After(now) {
		from = p.next
	}
	p.next = from.Add(frame)
	if most := now.Add(mostBorrowed * frame); p.next.After(most) {
		p.next = most
	}
	p.keys = max(p.keys-1, 0)
}

func (p *pace) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// dirty has the screen looked at in time, if somebody watches.
func (t *Terminal) dirty() {
	now := time.Now()
	switch drawing := t.picture.screen.Modes().Synchronized; {
	case drawing && t.pace.sync.IsZero():
		t.pace.sync = now
	case !drawing:
		t.pace.sync = time.Time{}
	}
	if len(t.watchers) > 0 {
		t.pace.arm(t.pace.when(now, t.o.Timing.Frame), now)
	}
}

// held is how much longer a frame that is drawn in pieces is not shown. The first one is shown as it is.
func (t *Terminal) held(now time.Time) time.Duration {
	if t.pace.sync.IsZero() || t.picture.view.Generation() == 0 {
		return 0
	}
	return t.pace.sync.Add(t.o.Timing.Hold).Sub(now)
}

// look takes what the program has drawn. Whoever looks first, all who watch are told of a change.
func (t *Terminal) look() {
	now := time.Now()
	if t.held(now) > 0 {
		return
	}
	if t.picture.view.Refresh() { // a look that saw nothing new holds up no frame: the echo of a key comes right behind it
		t.pace.looked(now, t.o.Timing.Frame)
		t.wake()
	}
}

// refresh is look for those who watch.
func (t *Terminal) refresh() {
	now := time.Now()
	if wait := t.held(now); wait > 0 {
		t.pace.arm(now.Add(wait), now)
		return
	}
	t.look()
}

// page is what changed after a generation. What there is to note is told once, to the one who holds the terminal.
func (t *Terminal) page(after uint64, holder bool) wire.AttachPage {
	page := t.picture.view.Page(after)
	about := &t.o.About
	page.Session, page.Conversation, page.Agent, page.Run = about.Session, about.Conversation, about.Agent, about.Run
	page.Ended = t.ended
	if t.exit != "" {
		page.Exit = &t.exit
	}
	if !holder {
		return page
	}
	page.ID = t.hold.id
	if t.note != "" {
		note := t.note
		page.Note, t.note = &note, ""
	}
	return page
}

// A Watcher is told when there is something new to see. One goroutine uses it.
type Watcher struct {
	t    *Terminal
	hold wire.HoldID // empty: it only looks
	wake chan struct{}
}

// Watch looks on: with a hold as its holder, which then does not lapse while this is open, and without one as a viewer
// who can type nothing.
func (t *Terminal) Watch(id wire.HoldID) (w *Watcher, err error) {
	ok := t.do(func() {
		if id != "" {
			if err = t.check(id); err != nil {
				return
			}
			t.hold.watched++
		}
		t.refresh() // nobody may have looked for long; from now on that is done in time
		w = &Watcher{t: t, hold: id, wake: make(chan struct{}, 1)}
		t.watchers[w] = struct{}{}
		w.wake <- struct{}{}
	})
	if !ok {
		err = gone()
	}
	return w, err
}

// Wake has a value when Next may have something; it is closed when the terminal is not served any more.
func (w *Watcher) Wake() <-chan struct{} { return w.wake }

// Next returns what changed after a generation, and whether that is anything. A holder from whom the terminal was taken
// is told so by the error.
func (w *Watcher) Next(after uint64) (page wire.AttachPage, news bool, err error) {
	ok := w.t.do(func() {
		if w.hold != "" {
			if err = w.t.check(w.hold); err != nil {
				return
			}
		}
		news = after != w.t.picture.view.Generation() || w.t.ended || w.t.note != "" && w.hold != ""
		page = w.t.page(after, w.hold != "")
	})
	if !ok {
		err = gone()
	}
	return page, news, err
}

// Close ends the watching. The hold then lapses as any other.
func (w *Watcher) Close() {
	w.t.do(func() {
		delete(w.t.watchers, w)
		if w.hold != "" && w.hold == w.t.hold.id {
			w.t.hold.watched--
			w.t.hold.until = time.Now().Add(w.t.o.Timing.Lease)
		}
	})
}

func (t *Terminal) wake() {
	for w := range t.watchers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}
