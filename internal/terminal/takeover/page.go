package takeover

import (
	"time"

	"scv/internal/wire"
)

// pace decides when a screen is looked at for those who watch: not more often than frames come, and not in the middle
// of one that the program draws in pieces, for a while. It has no timer while nothing changed.
type pace struct {
	timer *time.Timer
	last  time.Time // of the last look
	sync  time.Time // since when a frame is being drawn in pieces; zero: none is
}

func (p *pace) due() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C
}

func (p *pace) passed() { p.timer = nil }

func (p *pace) arm(wait time.Duration) {
	if p.timer == nil {
		p.timer = time.NewTimer(max(wait, 0))
	}
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
		t.pace.arm(t.pace.last.Add(t.o.Timing.Frame).Sub(now))
	}
}

// held is how much longer a frame that is drawn in pieces is not shown.
func (t *Terminal) held(now time.Time) time.Duration {
	if t.pace.sync.IsZero() {
		return 0
	}
	return t.pace.sync.Add(t.o.Timing.Hold).Sub(now)
}

// look takes what the program has drawn. Whoever looks first, all who watch are told of a change.
func (t *Terminal) look() {
	now := time.Now()
	if t.held(now) > 0 && t.picture.view.Generation() > 0 {
		return
	}
	t.pace.last = now
	if t.picture.view.Refresh() {
		t.wake()
	}
}

// refresh is look for those who watch.
func (t *Terminal) refresh() {
	if wait := t.held(time.Now()); wait > 0 {
		t.pace.arm(wait)
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
		w.t.look()
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
