package client

import (
	"context"
	"errors"
	"time"

	"scv/internal/wire"
)

// An Attachment is what one wants of a terminal: to hold that of a conversation, or with Run, to look at one.
type Attachment struct {
	Session      wire.SessionID
	Conversation wire.ConversationID
	Shell        bool
	Interrupt    bool            // a running turn is stopped for it, the first time
	Run          *wire.RunHandle // only look at this run's terminal
	// Size is that of the window in cells, which the terminal takes whenever it is attached to.
	Size func() (cols, rows uint16)
	// Show gets the screen, and then what changed of it; its error ends the attachment.
	Show func(page wire.AttachPage) error
	// Told gets a sentence for the owner; nil for nobody.
	Told func(note string)
}

// attachPoll is how often a daemon that does not push is asked for the screen.
const attachPoll = 50 * time.Millisecond

// Attach shows a terminal until it is over, Show's error, or ctx's end. A lost connection is made again, and the terminal
// held again: it outlives the daemon. That another client took it is a *wire.Error.
func Attach(ctx context.Context, target Target, a Attachment) error {
	at := attaching{Attachment: a}
	return resume(ctx, target, at.once)
}

type attaching struct {
	Attachment
	held *wire.RunHandle // whose terminal was held before; nil at first, and of a daemon that does not tell
	seen bool
}

func (a *attaching) once(ctx context.Context, c *Conn) error {
	page, err := a.begin(ctx, c)
	if err != nil {
		if _, refused := errors.AsType[*wire.Error](err); refused && !a.seen {
			return stop{err}
		}
		return err
	}
	a.held, a.seen = page.Run, true
	for !page.Ended {
		if err := a.Show(page); err != nil {
			return stop{err}
		}
		if page, err = a.next(ctx, c, page); err != nil {
			return err
		}
	}
	if err := a.Show(page); err != nil {
		return stop{err}
	}
	return nil
}

// begin takes the terminal, or begins to look at it.
func (a *attaching) begin(ctx context.Context, c *Conn) (wire.AttachPage, error) {
	if a.Run != nil {
		return attached(c.Call(ctx, wire.AttachWatch{Run: a.Run}))
	}
	cols, rows := a.Size()
	cmd := wire.AttachCommand{
		Session: a.Session, Conversation: a.Conversation, Shell: a.Shell, Cols: &cols, Rows: &rows, Interrupt: a.Interrupt && !a.seen, Key: NewKey(),
	}
	if c.Has(wire.FeatureTerminal) {
		cmd.Run = a.held
	}
	st, err := c.Call(ctx, cmd)
	page, err := attached(st, err)
	if err != nil {
		return page, err
	}
	if st.WorkbenchNote != nil && a.Told != nil {
		a.Told(*st.WorkbenchNote)
	}
	if !c.Has(wire.FeatureTerminal) {
		return page, nil
	}
	if err := a.Show(page); err != nil {
		return page, stop{err}
	}
	return attached(c.Call(ctx, wire.AttachWatch{ID: page.ID, After: page.Generation}))
}

func (a *attaching) next(ctx context.Context, c *Conn, seen wire.AttachPage) (wire.AttachPage, error) {
	if c.Has(wire.FeatureTerminal) {
		p, err := c.page(ctx)
		if err == nil && p.Attach == nil {
			err = errors.New("the daemon sent a page without a screen")
		}
		if err != nil {
			return wire.AttachPage{}, err
		}
		return *p.Attach, nil
	}
	if !sleep(ctx, attachPoll) {
		return wire.AttachPage{}, ctx.Err()
	}
	return attached(c.Call(ctx, wire.AttachIO{ID: seen.ID, After: seen.Generation}))
}

func attached(st *wire.DaemonStatus, err error) (wire.AttachPage, error) {
	if err == nil && st.Attach == nil {
		err = errors.New("the daemon answered without a screen")
	}
	if err != nil {
		return wire.AttachPage{}, err
	}
	return *st.Attach, nil
}
