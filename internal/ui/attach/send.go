package attach

import (
	"context"
	"errors"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
)

// send sends what is typed, over a connection of its own. Nothing is sent twice: what a lost connection may have taken is
// told as lost.
func (s *showing) send(ctx context.Context, cancel context.CancelCauseFunc) {
	var c *client.Conn
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-s.input:
			s.deliver(ctx, &c, wire.AttachIO{Input: text + s.typed()})
		case <-s.resized:
			cols, rows := s.size()
			s.deliver(ctx, &c, wire.AttachIO{Cols: &cols, Rows: &rows})
		case <-s.left:
			if text := s.typed(); text != "" {
				s.deliver(ctx, &c, wire.AttachIO{Input: text})
			}
			s.letGo(ctx, c)
			cancel(errDetached)
			return
		}
	}
}

// typed is what was typed meanwhile, up to what one message takes.
func (s *showing) typed() (text string) {
	for len(text) < wire.MaxInputBytes/2 {
		select {
		case more := <-s.input:
			text += more
		default:
			return text
		}
	}
	return text
}

func (s *showing) letGo(ctx context.Context, c *client.Conn) {
	if c == nil {
		var err error
		if c, err = client.Dial(ctx, s.o.Target, s.o.Target.Client); err != nil {
			return // the hold lapses by itself
		}
		defer c.Close()
	}
	_, id := s.hold()
	_, _ = c.Call(ctx, wire.AttachDetach{ID: id}) // likewise
}

func (s *showing) hold() (generation uint64, id wire.HoldID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Generation, s.last.ID
}

// deliver sends what was typed, or the size of the window. While the daemon is away, and until the terminal is held again,
// it waits: nothing was sent then. What a lost connection may have taken is told as lost.
func (s *showing) deliver(ctx context.Context, c **client.Conn, ask wire.AttachIO) {
	bounded, cancel := context.WithTimeout(ctx, deliverPatience)
	defer cancel()
	for {
		ask.After, ask.ID = s.hold()
		err := s.dialled(bounded, c)
		sent := err == nil
		if sent {
			var st *wire.DaemonStatus
			if st, err = (*c).Call(bounded, ask); err == nil {
				if st.Attach != nil && st.Attach.Note != nil {
					s.tell(*st.Attach.Note)
				}
				return
			}
		}
		refused, answered := errors.AsType[*wire.Error](err)
		if !answered && *c != nil {
			_ = (*c).Close() // it is of no more use
			*c = nil
		}
		unsent := !sent || client.Unsent(err) || answered && refused.Reason == wire.ReasonNotFound // a new daemon does not know the old hold
		if !unsent || !pause(bounded) {
			if ctx.Err() == nil {
				s.tell("what you typed may be lost: " + err.Error())
			}
			return
		}
	}
}

// deliverPatience is how long what was typed waits for the daemon.
const deliverPatience = 20 * time.Second

// pause waits a moment; false when ctx ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *showing) dialled(ctx context.Context, c **client.Conn) (err error) {
	if *c == nil {
		*c, err = client.Dial(ctx, s.o.Target, s.o.Target.Client)
	}
	return err
}
