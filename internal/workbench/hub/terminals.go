package hub

import (
	"context"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// maxTerminals bounds the terminals that are open at once (behaviour/takeover.md section 1).
const maxTerminals = 8

// A TakeRequest asks for the terminal of a conversation's agent, or for a shell where it works.
type TakeRequest struct {
	Principal    row.Principal
	Session      wire.SessionID
	Conversation wire.ConversationID
	Cols, Rows   uint16 // of a terminal that has to be opened; 0 for the default
	Shell        bool
	Interrupt    bool            // a running turn is asked to end
	Job          *wire.JobID     // whose turn Interrupt means; nil for whichever runs
	Run          *wire.RunHandle // takes this terminal, and opens none; nil for whatever there is
}

// A Taking is a takeover on its way. Until it has begun, its conversation is kept free for it.
type Taking struct {
	Stopped wire.JobID // whose turn was asked to end for it; empty for none

	request TakeRequest
	done    chan struct{}
	run     wire.RunHandle // set before done is closed, as are these
	ticket  *Ticket
	err     error
}

// Wait returns the run that has the terminal, once its row is on disk. When ctx ends first the conversation is kept
// free all the same: Abandon lets go of it.
func (t *Taking) Wait(ctx context.Context) (wire.RunHandle, error) {
	select {
	case <-t.done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.err != nil {
		return "", t.err
	}
	return t.run, t.ticket.Wait(ctx)
}

func (t *Taking) begun(r *run, ticket *Ticket) {
	t.run, t.ticket = r.row.Handle, ticket
	close(t.done)
}

// Terminals are the commands on takeovers.
type Terminals struct{ h *Hub }

// Terminals returns the commands on takeovers.
func (rs Runs) Terminals() Terminals { return Terminals(rs) }

// Take opens the terminal of a conversation, or finds the one that is open. While a turn runs it is wire.ReasonBusy; with
// Interrupt that turn is asked to end first, unless anything speaks against the takeover, in which case nothing is
// stopped. A live agent between turns is closed first: a conversation has one writer.
func (ts Terminals) Take(q TakeRequest) (t *Taking, err error) {
	if err := ts.h.bring(q.Session, q.Conversation); err != nil {
		return nil, err
	}
	err = ts.h.ask(func() error {
		c := ts.h.m.conversation(q.Session, q.Conversation)
		if c == nil {
			return noConversation(q.Session, q.Conversation)
		}
		t, err = holder{c}.take(q)
		return err
	})
	return t, err
}

// Abandon lets go of a conversation whose terminal nobody waits for any more. One that has begun stays.
func (ts Terminals) Abandon(t *Taking) {
	ts.h.do(func() {
		for _, c := range ts.h.m.takeovers.taking {
			if c.taking == t {
				holder{c}.release(wire.Refuse(wire.ReasonBusy, "try again", "Nobody waits for the terminal of %s any more.", c.row.ID))
			}
		}
	})
}

// End closes the terminal of a conversation, or the shell there; none is wire.ReasonNotFound.
func (ts Terminals) End(session wire.SessionID, id wire.ConversationID, shell bool, p row.Principal) (h wire.RunHandle, t *Ticket, err error) {
	err = ts.h.ask(func() error {
		m := ts.h.m
		c := m.conversation(session, id)
		if c == nil {
			return wire.Refuse(wire.ReasonNotFound, "scv jobs list", "%s is not taken over.", id)
		}
		r := holder{c}.open(shell)
		if r == nil {
			return wire.Refuse(wire.ReasonNotFound, "scv jobs list", "%s is not taken over.", id)
		}
		if err := m.readOnly(); err != nil {
			return err
		}
		r.kill(p)
		h, t = r.row.Handle, m.ticketOf(r.stop, nil)
		return nil
	})
	return h, t, err
}

// Known reports whether a run is a live one with a terminal.
func (ts Terminals) Known(h wire.RunHandle) (known bool) {
	ts.h.do(func() {
		r := ts.h.m.runs[h]
		known = r != nil && r.row.Terminal != nil && r.row.Live
	})
	return known
}
