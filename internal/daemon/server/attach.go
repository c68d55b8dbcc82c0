package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"scv/internal/terminal/takeover"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// Waits of takeovers: an upstream client gives attach 90 s and the others 20.
const (
	attachPatience = 80 * time.Second
	endPatience    = 15 * time.Second
)

// Screens finds terminals that were taken over.
type Screens interface {
	// Await returns the terminal of a run once it is served.
	Await(ctx context.Context, h wire.RunHandle) (*takeover.Terminal, error)
	// Held returns the terminal of a hold.
	Held(id wire.HoldID) (*takeover.Terminal, error)
}

// A taker is a request that concerns a terminal.
type taker struct{ *request }

// do runs the action of a command on terminals.
func (r taker) do(cmd wire.Command) (answer, error) {
	if err := r.ownerOnly("use an agent's terminal"); err != nil {
		return answer{}, err
	}
	switch cmd := cmd.(type) {
	case wire.AttachCommand:
		return r.attach(cmd)
	case wire.AttachIO:
		return r.attachIO(cmd)
	case wire.AttachDetach:
		return r.attachDetach(cmd)
	case wire.AttachEnd:
		return r.attachEnd(cmd)
	case wire.AttachHistory:
		return r.attachHistory(cmd)
	default:
		return answer{}, notOffered(cmd)
	}
}

// attach takes a conversation over, or takes its terminal from whoever holds it.
func (r taker) attach(cmd wire.AttachCommand) (answer, error) {
	if err := conversationName(cmd.Session, cmd.Conversation); err != nil {
		return answer{}, err
	}
	cols, rows := number(cmd.Cols), number(cmd.Rows)
	first := hub.TakeRequest{
		Principal: r.principal(), Session: cmd.Session, Conversation: cmd.Conversation,
		Shell: cmd.Shell, Interrupt: cmd.Interrupt, Job: cmd.InterruptJob,
		Run: cmd.Run,
	}
	first.Cols, first.Rows = takeover.Clamp(cols, rows) // right from the program's first moment on
	taking, err := r.Hub.Runs().Terminals().Take(first)
	if err != nil {
		return answer{}, err
	}
	bounded, cancel := context.WithTimeout(r.ctx, attachPatience)
	defer cancel()
	page, err := r.opened(bounded, taking, cols, rows)
	if err != nil {
		if bounded.Err() != nil {
			r.Hub.Runs().Terminals().Abandon(taking)
			err = wire.Refuse(wire.ReasonBusy, "try again", "%s was not free within %s%s.", cmd.Conversation, attachPatience, stoppedFor(taking))
		}
		return answer{}, err
	}
	st := r.light()
	st.Attach = &page
	if taking.Stopped != "" {
		note := fmt.Sprintf("%s was stopped for it. To go on with it later: scv jobs resume %s", taking.Stopped, taking.Stopped)
		st.WorkbenchNote = &note
	}
	return answer{status: st}, nil
}

func stoppedFor(t *hub.Taking) string {
	if t.Stopped == "" {
		return ""
	}
	return fmt.Sprintf(", and %s was asked to stop", t.Stopped)
}

// opened waits until a takeover has begun and holds its terminal.
func (r taker) opened(ctx context.Context, t *hub.Taking, cols, rows uint16) (wire.AttachPage, error) {
	h, err := t.Wait(ctx)
	if err != nil {
		return wire.AttachPage{}, err
	}
	term, err := r.Screens.Await(ctx, h)
	if err != nil {
		return wire.AttachPage{}, err
	}
	return term.Attach(cols, rows)
}

func number(p *uint16) uint16 {
	if p == nil {
		return 0
	}
	return *p
}

// attachIO types, resizes and reads.
func (r taker) attachIO(cmd wire.AttachIO) (answer, error) {
	term, err := r.Screens.Held(cmd.ID)
	if err != nil {
		return answer{}, err
	}
	page, err := term.IO(cmd)
	if err != nil {
		return answer{}, err
	}
	st := r.light()
	st.Attach = &page
	return answer{status: st}, nil
}

// attachDetach lets go of a terminal, which goes on.
func (r taker) attachDetach(cmd wire.AttachDetach) (answer, error) {
	term, err := r.Screens.Held(cmd.ID)
	if err == nil {
		err = term.Detach(cmd.ID)
	}
	if err != nil {
		return answer{}, err
	}
	st := r.light()
	note := "You let go of the terminal; its agent goes on."
	st.WorkbenchNote = &note
	return answer{status: st}, nil
}

// attachEnd closes a terminal and waits for its end, so that the page is the last one.
func (r taker) attachEnd(cmd wire.AttachEnd) (answer, error) {
	if err := conversationName(cmd.Session, cmd.Conversation); err != nil {
		return answer{}, err
	}
	h, ticket, err := r.Hub.Runs().Terminals().End(cmd.Session, cmd.Conversation, cmd.Shell, r.principal())
	if err != nil {
		return answer{}, err
	}
	if err := ticket.Wait(r.ctx); err != nil {
		return answer{}, err
	}
	bounded, cancel := context.WithTimeout(r.ctx, endPatience)
	defer cancel()
	st := r.light()
	term, err := r.Screens.Await(bounded, h)
	if err == nil {
		page, ended := last(bounded, term)
		st.Attach = &page
		if !ended {
			err = wire.Refuse(wire.ReasonBusy, "look again: scv agents ps", "The terminal of %s was told to close and has not closed within %s.", cmd.Conversation, endPatience)
		}
	}
	if err != nil && st.Attach == nil {
		return answer{}, err
	}
	note := fmt.Sprintf("The terminal of %s was closed.", cmd.Conversation)
	st.WorkbenchNote = &note
	return answer{status: st, snapshot: r.Hub.Snapshot()}, nil
}

// last waits for a terminal's end and returns its last page.
func last(ctx context.Context, term *takeover.Terminal) (page wire.AttachPage, ended bool) {
	w, err := term.Watch("")
	if err != nil {
		page, _ = term.Look()
		return page, true
	}
	defer w.Close()
	for {
		page, ok := term.Look()
		if !ok || page.Ended {
			return page, true
		}
		select {
		case <-w.Wake():
		case <-ctx.Done():
			return page, false
		}
	}
}

// attachWatch gives the screen of a hold, or of a run that is only looked at, and then what changes, until the client
// leaves or the terminal is over.
func (r taker) attachWatch(cmd wire.AttachWatch) error {
	w, err := r.viewer(cmd)
	if err != nil {
		return r.conn.refuse(r.id, r.refusal(cmd, err))
	}
	defer w.Close()
	page, _, err := w.Next(cmd.After)
	if err != nil {
		return r.conn.refuse(r.id, r.refusal(cmd, err))
	}
	st := r.light()
	st.Attach = &page
	if err := r.reply(answer{status: st}); err != nil {
		return err
	}
	watched := r.watching()
	for after := page.Generation; !page.Ended; {
		if err := watched.wait(r.ctx, w.Wake()); err != nil {
			return err
		}
		var news bool
		if page, news, err = w.Next(after); err != nil {
			return joinClosed(r.conn.refuse(r.id, r.refusal(cmd, err)))
		}
		if !news {
			continue
		}
		after = page.Generation
		if err := watched.page(wire.WatchPage{Epoch: r.Hub.Epoch(), Generation: after, Attach: &page}); err != nil {
			return err
		}
	}
	return errDone
}

func (r taker) viewer(cmd wire.AttachWatch) (*takeover.Watcher, error) {
	if err := r.ownerOnly("use an agent's terminal"); err != nil {
		return nil, err
	}
	if cmd.ID != "" {
		term, err := r.Screens.Held(cmd.ID)
		if err != nil {
			return nil, err
		}
		return term.Watch(cmd.ID)
	}
	if cmd.Run == nil {
		return nil, wire.Refuse(wire.ReasonInvalid, "give id or run", "attach_watch needs a hold, or a run to look at")
	}
	term, err := r.terminal(*cmd.Run)
	if err != nil {
		return nil, err
	}
	return term.Watch("")
}

// terminal finds that of a run.
func (r taker) terminal(h wire.RunHandle) (*takeover.Terminal, error) {
	if !r.Hub.Runs().Terminals().Known(h) {
		return nil, wire.Refuse(wire.ReasonNotFound, "scv agents ps", "There is no terminal of a run %.80q.", string(h))
	}
	bounded, cancel := context.WithTimeout(r.ctx, endPatience)
	defer cancel()
	term, err := r.Screens.Await(bounded, h)
	if errors.Is(err, context.DeadlineExceeded) {
		err = wire.Refuse(wire.ReasonBusy, "try again", "The terminal of %s is not served yet.", h)
	}
	return term, err
}

// attachHistory reads what went up over the top of a terminal.
func (r taker) attachHistory(cmd wire.AttachHistory) (answer, error) {
	term, err := r.terminal(cmd.Run)
	if err != nil {
		return answer{}, err
	}
	page, err := term.History(int(cmd.First), min(int(cmd.Lines), wire.MaxHistoryLines))
	if err != nil {
		return answer{}, err
	}
	st := r.light()
	st.Attach = &page
	return answer{status: st}, nil
}
