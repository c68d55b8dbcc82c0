package feed

import (
	"context"
	"errors"
	"sync"

	"scv/internal/client"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

// typedAhead is how much of what is typed waits for the daemon, in keys and pastes.
const typedAhead = 256

// A holding is the terminal that is taken over. Its lock guards size and hold; the channels belong to the owner's
// goroutine, which writes, and to that of client.Typing, which reads.
type holding struct {
	f       *Feed
	what    model.Attach
	input   chan string
	resized chan struct{} // one slot
	left    chan struct{}

	mu         sync.Mutex
	cols, rows int
	generation uint64
	id         wire.HoldID
}

// Attach takes a terminal over, in place of the one before.
func (f *Feed) Attach(what model.Attach) {
	f.LetGo()
	h := &holding{f: f, what: what, input: make(chan string, typedAhead), resized: make(chan struct{}, 1), left: make(chan struct{}), cols: what.Cols, rows: what.Rows}
	f.held = h
	ctx, cancel := context.WithCancel(f.ctx)
	f.spawn(func() {
		defer cancel()
		h.watch(ctx)
	})
	f.spawn(func() {
		if what.Run != nil { // who only looks on types nothing
			select {
			case <-h.left:
				cancel()
			case <-ctx.Done():
			}
			return
		}
		typing := client.Typing{Target: f.opts.Target, Input: h.input, Resized: h.resized, Left: h.left, Size: h.size, Hold: h.hold, Told: h.tell}
		if typing.Run(ctx) {
			cancel()
		}
	})
}

// watch sends what the terminal shows until it is over.
func (h *holding) watch(ctx context.Context) {
	target := h.f.opts.Target
	target.Lost = func(error) error {
		h.tell("the daemon is away; the agent goes on")
		return nil
	}
	err := client.Attach(ctx, target, client.Attachment{
		Session: h.what.Session, Conversation: h.what.Conversation, Shell: h.what.Shell, Interrupt: h.what.Interrupt, Run: h.what.Run,
		Size: h.size, Told: h.tell,
		Show: func(page wire.AttachPage) error {
			h.mu.Lock()
			h.generation, h.id = page.Generation, page.ID
			h.mu.Unlock()
			if !h.f.send(ctx, model.Screened{Source: h.what.Source, Page: page}) {
				return ctx.Err()
			}
			return nil
		},
	})
	if err != nil && ctx.Err() == nil {
		h.f.send(ctx, model.Released{Source: h.what.Source, Err: err})
	}
}

func (h *holding) size() (cols, rows uint16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return uint16(h.cols), uint16(h.rows)
}

func (h *holding) hold() (generation uint64, id wire.HoldID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.generation, h.id
}

func (h *holding) tell(note string) {
	h.f.send(h.f.ctx, model.Noted{Source: h.what.Source, Text: note})
}

// Type sends what is typed on. It never waits: what does not fit, while the daemon takes nothing, is told as lost.
func (f *Feed) Type(text string) error {
	if f.held == nil {
		return nil
	}
	for _, part := range parts(text) {
		select {
		case f.held.input <- part:
		default:
			return errors.New("the daemon takes nothing at the moment; what you typed last is lost")
		}
	}
	return nil
}

// parts are a text in pieces that one message takes, whole characters each.
func parts(text string) []string {
	const most = wire.MaxInputBytes / 2
	var out []string
	for len(text) > most {
		cut := client.Boundary(text, most)
		out, text = append(out, text[:cut]), text[cut:]
	}
	return append(out, text)
}

// Window gives the terminal another size.
func (f *Feed) Window(cols, rows int) {
	if f.held == nil {
		return
	}
	f.held.mu.Lock()
	f.held.cols, f.held.rows = cols, rows
	f.held.mu.Unlock()
	select {
	case f.held.resized <- struct{}{}:
	default:
	}
}

// LetGo lets go of the terminal that is held, which goes on.
func (f *Feed) LetGo() {
	if f.held != nil {
		close(f.held.left)
		f.held = nil
	}
}
