package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"scv/internal/wire"
)

// Typing sends what an owner types into a terminal that he holds, over a connection of its own. Over daemons that die it
// reaches the terminal once, in order: what is not known to be there is sent again. A daemon or a terminal of an older
// release cannot tell what it had; to those nothing is sent twice, and what they may have lost is told. Its functions may
// be called from the goroutine of Run.
type Typing struct {
	Target  Target
	Input   <-chan string   // what is typed, each part at most half of wire.MaxInputBytes
	Resized <-chan struct{} // the window has another size
	Left    <-chan struct{} // closed when the owner lets go
	Size    func() (cols, rows uint16)
	Hold    func() (generation uint64, id wire.HoldID) // of the last page that was shown
	Told    func(note string)                          // gets sentences for the owner
}

// Boundary is where to cut a text so that at most so many bytes, and only whole characters, stand before it.
func Boundary(text string, most int) int {
	n := min(len(text), most)
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

const (
	deliverPatience = 20 * time.Second // for what was typed to find a daemon
	leavePatience   = 2 * time.Second  // likewise, once the owner goes
	askAgain        = time.Second      // after an answer that does not say whether what was typed is at the terminal
)

// Run sends until the owner has let go, which it tells the daemon and reports, or ctx ends.
func (t *Typing) Run(ctx context.Context) (letGo bool) {
	leaving, goes := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer goes()
	watch.Go(func() {
		defer goes()
		select {
		case <-t.Left:
		case <-leaving.Done():
		}
	})
	s := typing{Typing: t, typist: NewKey(), leaving: leaving}
	defer s.hangUp()
	for {
		select {
		case <-ctx.Done():
			return false
		case text := <-t.Input:
			s.types(ctx, t.typed(text))
		case <-t.Resized:
			cols, rows := t.Size()
			s.deliver(ctx, wire.AttachIO{Cols: &cols, Rows: &rows})
		case <-s.unsure():
			s.deliver(ctx, wire.AttachIO{Typist: s.typist, From: s.at})
		case <-t.Left:
			for text := t.typed(""); text != ""; text = t.typed("") {
				s.types(ctx, text)
			}
			if !s.over {
				s.letGo(ctx)
			}
			return true
		}
	}
}

// typed is a text with what was typed meanwhile, up to what one message takes. An Escape that was typed alone ends it: with
// the next key it would be another one, that key with Alt.
func (t *Typing) typed(text string) string {
	for len(text) < wire.MaxInputBytes/2 && !strings.HasSuffix(text, "\x1b") {
		select {
		case more := <-t.Input:
			text += more
		default:
			return text
		}
	}
	return text
}

// typing is what Run does. It belongs to its goroutine.
type typing struct {
	*Typing
	leaving context.Context // ends when the owner goes
	c       *Conn           // nil until it is needed
	typist  string
	at      uint64   // position of the next byte in all that is typed
	pending []*typed // is not known to be at the terminal, in order
	over    bool     // the owner goes, and there was nobody to take what he typed last
}

// typed is a part of what was typed.
type typed struct {
	wire.AttachIO
	sent bool // over the connection that there is
}

// unsure has a value when it is to be asked how far the terminal has come, since an answer left that open.
func (s *typing) unsure() <-chan time.Time {
	if len(s.pending) == 0 {
		return nil
	}
	return time.After(askAgain)
}

// hangUp drops a connection that is of no more use. What went over it may be where it was to go, or not.
func (s *typing) hangUp() {
	if s.c == nil {
		return
	}
	_ = s.c.Close()
	s.c = nil
	for _, p := range s.pending {
		p.Again, p.sent = p.Again || p.sent, false
	}
}

func (s *typing) letGo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	if err := s.dialled(ctx); err != nil {
		return // the hold lapses by itself
	}
	_, id := s.Hold()
	_, _ = s.c.Call(ctx, wire.AttachDetach{ID: id}) // likewise
}

func (s *typing) types(ctx context.Context, text string) {
	s.pending = append(s.pending, &typed{AttachIO: wire.AttachIO{Input: text, Typist: s.typist, From: s.at}})
	s.at += uint64(len(text))
	s.deliver(ctx, wire.AttachIO{})
}

// deliver sends what was typed, and then ask: the size of the window, a question for how far the terminal has come, or
// nothing. While the daemon is away, and until the terminal is held again, it waits, though not long for an owner who goes.
func (s *typing) deliver(ctx context.Context, ask wire.AttachIO) {
	if s.over {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, deliverPatience)
	defer cancel()
	defer context.AfterFunc(s.leaving, func() { time.AfterFunc(leavePatience, cancel) })()
	for {
		err := s.flush(bounded, ask)
		if err == nil {
			return
		}
		refused, answered := errors.AsType[*wire.Error](err)
		if !answered {
			s.hangUp()
		}
		// A new daemon does not know the old hold, and one that goes does not know what it passed on.
		again := !answered || refused.Reason == wire.ReasonNotFound || refused.Reason == wire.ReasonUnavailable
		if _, lost := errors.AsType[stop](err); lost || !again || !sleep(bounded, attachPoll) {
			s.pending, s.over = nil, s.leaving.Err() != nil
			if ctx.Err() == nil {
				s.Told("what you typed may be lost: " + err.Error())
			}
			return
		}
	}
}

// flush sends what was not sent over the connection that there is, and then ask.
func (s *typing) flush(ctx context.Context, ask wire.AttachIO) error {
	if err := s.dialled(ctx); err != nil {
		return err
	}
	send := s.blind
	if s.c.Has(wire.FeatureTyped) {
		send = s.number
	} else if ask.Cols == nil {
		ask = wire.AttachIO{}
	}
	for {
		i := slices.IndexFunc(s.pending, func(p *typed) bool { return !p.sent })
		if i < 0 {
			break
		}
		if err := send(ctx, s.pending[i]); err != nil {
			return err
		}
	}
	if ask == (wire.AttachIO{}) {
		return nil
	}
	return s.call(ctx, ask)
}

// number sends a part that the terminal takes once, however often it comes.
func (s *typing) number(ctx context.Context, p *typed) error {
	err := s.call(ctx, p.AttachIO)
	if refused, answered := errors.AsType[*wire.Error](err); err != nil {
		p.Again = p.Again || !Unsent(err) && (!answered || refused.Reason == wire.ReasonUnavailable)
		return err
	}
	p.sent = true
	return nil
}

// blind sends a part to a daemon that knows no numbers. Its error is a stop when the part may be at the terminal and may be
// lost.
func (s *typing) blind(ctx context.Context, p *typed) error {
	if p.Again {
		return stop{errors.New("the daemon went away, and the one that came is of an older release")}
	}
	err := s.call(ctx, wire.AttachIO{Input: p.Input})
	if refused, answered := errors.AsType[*wire.Error](err); err != nil && !Unsent(err) && (!answered || refused.Reason != wire.ReasonNotFound) {
		return stop{err}
	}
	if err == nil {
		s.pending = slices.DeleteFunc(s.pending, func(other *typed) bool { return other == p })
	}
	return err
}

// call sends to the terminal as it is held now, and takes the answer.
func (s *typing) call(ctx context.Context, ask wire.AttachIO) error {
	ask.After, ask.ID = s.Hold()
	st, err := s.c.Call(ctx, ask)
	if err != nil || st.Attach == nil {
		return err
	}
	if st.Attach.Note != nil {
		s.Told(*st.Attach.Note)
	}
	if known := st.Attach.Typed; known != nil {
		s.pending = slices.DeleteFunc(s.pending, func(p *typed) bool { return p.From+uint64(len(p.Input)) <= *known })
	}
	return nil
}

func (s *typing) dialled(ctx context.Context) (err error) {
	if s.c == nil {
		s.c, err = Dial(ctx, s.Target, s.Target.Client)
	}
	return err
}
