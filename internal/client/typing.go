package client

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"scv/internal/wire"
)

// Typing sends what an owner types into a terminal that he holds, over a connection of its own. Nothing is sent twice: what
// a lost connection may have taken is told as lost. Its functions may be called from the goroutine of Run.
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

// deliverPatience is how long what was typed waits for the daemon.
const deliverPatience = 20 * time.Second

// Run sends until the owner has let go, which it tells the daemon and reports, or ctx ends.
func (t *Typing) Run(ctx context.Context) (letGo bool) {
	var c *Conn
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return false
		case text := <-t.Input:
			t.deliver(ctx, &c, wire.AttachIO{Input: t.typed(text)})
		case <-t.Resized:
			cols, rows := t.Size()
			t.deliver(ctx, &c, wire.AttachIO{Cols: &cols, Rows: &rows})
		case <-t.Left:
			for text := t.typed(""); text != ""; text = t.typed("") {
				t.deliver(ctx, &c, wire.AttachIO{Input: text})
			}
			t.letGo(ctx, c)
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

func (t *Typing) letGo(ctx context.Context, c *Conn) {
	if c == nil {
		var err error
		if c, err = Dial(ctx, t.Target, t.Target.Client); err != nil {
			return // the hold lapses by itself
		}
		defer c.Close()
	}
	_, id := t.Hold()
	_, _ = c.Call(ctx, wire.AttachDetach{ID: id}) // likewise
}

// deliver sends what was typed, or the size of the window. While the daemon is away, and until the terminal is held again,
// it waits: nothing was sent then. What a lost connection may have taken is told as lost.
func (t *Typing) deliver(ctx context.Context, c **Conn, ask wire.AttachIO) {
	bounded, cancel := context.WithTimeout(ctx, deliverPatience)
	defer cancel()
	for {
		ask.After, ask.ID = t.Hold()
		err := t.dialled(bounded, c)
		sent := err == nil
		if sent {
			var st *wire.DaemonStatus
			if st, err = (*c).Call(bounded, ask); err == nil {
				if st.Attach != nil && st.Attach.Note != nil {
					t.Told(*st.Attach.Note)
				}
				return
			}
		}
		refused, answered := errors.AsType[*wire.Error](err)
		if !answered && *c != nil {
			_ = (*c).Close() // it is of no more use
			*c = nil
		}
		unsent := !sent || Unsent(err) || answered && refused.Reason == wire.ReasonNotFound // a new daemon does not know the old hold
		if !unsent || !sleep(bounded, attachPoll) {
			if ctx.Err() == nil {
				t.Told("what you typed may be lost: " + err.Error())
			}
			return
		}
	}
}

func (t *Typing) dialled(ctx context.Context, c **Conn) (err error) {
	if *c == nil {
		*c, err = Dial(ctx, t.Target, t.Target.Client)
	}
	return err
}
