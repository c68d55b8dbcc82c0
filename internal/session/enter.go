package session

import (
	"context"
	"errors"
	"fmt"

	"scv/internal/session/loop"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// claim keeps a name for a session that is being started, until release; by then the session has it. The empty name is
// none. Of two that ask for one name at once, the first gets it.
func (h *Host) claim(name string) (release func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	refuse := func(hint string) (func(), error) {
		return nil, &wire.Error{
			Code: wire.CodeInvalidRequest, Reason: wire.ReasonConflict, Message: fmt.Sprintf("a session named %s goes on already", name), Hint: hint,
		}
	}
	for id, s := range h.live {
		if s.name == name {
			return refuse("attach to it: scv sessions attach " + string(id))
		}
	}
	for id, t := range h.left {
		if t.Keep && t.Name == name {
			return refuse("attach to it: scv sessions attach " + string(id))
		}
	}
	if _, taken := h.names[name]; taken {
		return refuse("attach to it: scv sessions attach " + name)
	}
	h.names[name] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.names, name)
	}, nil
}

// find is the session of that id, live again if it was left. While one client takes it up, others wait for that session
// only: what its tools need may take a while to start.
func (h *Host) find(ctx context.Context, id wire.SessionID) (*Session, *wire.RestoredQueue, error) {
	for {
		s, wait, err := h.seek(id)
		switch {
		case err != nil || s != nil:
			return s, nil, err
		case wait == nil:
			return h.takeUp(ctx, id)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// seek finds a live session. Of one that was left it returns nothing, and the caller then takes it up; while another does,
// wait is closed when that is over.
func (h *Host) seek(id wire.SessionID) (s *Session, wait <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.live[id]; s != nil {
		if !s.keep {
			return nil, nil, &wire.Error{
				Code: wire.CodeUnsupported, Reason: wire.ReasonRefused,
				Message: "that session belongs to one client: it was not started with keep", Hint: "start one of your own",
			}
		}
		return s, nil, nil
	}
	if over := h.taken[id]; over != nil {
		return nil, over, nil
	}
	if t, ok := h.left[id]; !ok || !t.Keep {
		return nil, nil, noSession(id)
	}
	h.taken[id] = make(chan struct{})
	return nil, nil, nil
}

// takeUp goes on with a session that was left.
func (h *Host) takeUp(ctx context.Context, id wire.SessionID) (*Session, *wire.RestoredQueue, error) {
	kept, s, err := h.rebuild(ctx, id)
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.taken[id])
	delete(h.taken, id)
	switch {
	case err != nil:
		return nil, nil, err
	case h.closed:
		s.stop()
		return nil, nil, errors.Join(errGone, s.setup.letGo())
	}
	var restored *wire.RestoredQueue
	if restorable(kept.Talk) {
		restored = &wire.RestoredQueue{From: id, Queued: uint32(len(kept.Queue)), Interrupted: optional(cutOff(kept.Talk))}
	}
	delete(h.left, id)
	h.started(s)
	h.showLeft()
	return s, restored, nil
}

// rebuild makes a session of what the journal has of it.
func (h *Host) rebuild(ctx context.Context, id wire.SessionID) (row.LoadedTalk, *Session, error) {
	kept, found, err := h.o.Journal.Talk(ctx, id)
	if err != nil {
		return kept, nil, fmt.Errorf("read the session: %w", err)
	}
	if !found {
		return kept, nil, noSession(id)
	}
	setup, err := h.o.Build(ctx, kept.Talk)
	if err != nil {
		return kept, nil, err
	}
	setup.Loop.NewID = NewID
	core, err := loop.Load(setup.Loop, kept)
	if err != nil {
		return kept, nil, errors.Join(err, setup.letGo())
	}
	return kept, h.newSession(core, kept.Talk, setup), nil
}
