// Package session runs sessions of SCV's own model loop: it does what package loop decides. A Host holds the sessions of
// a daemon, or the one of a process that speaks the protocol on standard input; each Session is a goroutine that owns a
// loop.Core, with the clients that are attached to it.
//
// Delivery: every event is encoded once and put into the mailbox of each client. A full mailbox holds the session up
// until its client reads or is closed; nothing is dropped. What is durable is on disk before the event that tells of it.
package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"scv/internal/session/loop"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Setup is what a session works with. Its parts are the session's own until Close.
type Setup struct {
	Loop     loop.Config
	Provider provider.Provider
	Tools    []tool.Tool
	Close    func() error // lets go of what the tools hold; may be nil
	Images   bool         // the model can see images
	// Announced is what session.started says of bounds and keys; its ids are filled in.
	Announced wire.SessionStarted
}

// letGo lets go of what the tools hold.
func (s Setup) letGo() error {
	if s.Close == nil {
		return nil
	}
	return s.Close()
}

// errGone is what a request gets from a session that has ended.
var errGone = errors.New("the session has ended")

// A Session is one conversation with the model. Its methods may be called from any goroutine.
type Session struct {
	id    wire.SessionID
	host  *Host
	setup Setup
	tools map[string]tool.Tool
	log   *slog.Logger
	keep  bool
	name  string

	inbox chan func()
	gone  chan struct{} // closed when the goroutine has ended
	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup // questions and tools under way

	// Below belongs to the session's goroutine.
	core    *loop.Core
	clients []*Client
	last    loop.ClientID
	turns   map[uint64]context.CancelFunc
	ctxs    map[uint64]context.Context
	timers  map[*time.Timer]struct{}
	unsaved []row.TalkChange // that the ledger did not take
	ending  bool
}

// ID is the session's id.
func (s *Session) ID() wire.SessionID { return s.id }

// do runs something in the session's goroutine and waits for it. It is the only way in.
func (s *Session) do(run func()) error {
	done := make(chan struct{})
	if err := s.post(func() { defer close(done); run() }); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-s.gone:
		return errGone
	}
}

// post hands something to the session's goroutine without waiting for it to be done.
func (s *Session) post(run func()) error {
	select {
	case s.inbox <- run:
		return nil
	case <-s.gone:
		return errGone
	}
}

// tell hands an input to the loop.
func (s *Session) tell(in loop.Input) {
	_ = s.post(func() { s.step(in) }) // a session that has ended needs none
}

func (s *Session) run() {
	defer close(s.gone)
	for !s.ending {
		run := <-s.inbox
		run()
	}
	for t := range s.timers {
		t.Stop()
	}
	for _, c := range s.clients {
		c.Close()
	}
	s.stop()
	go func() { // those that still run find the session gone
		s.work.Wait()
		if err := s.setup.letGo(); err != nil {
			s.log.Warn("the tools of a session did not end well", "session", s.id, "error", err)
		}
		s.host.open.Done()
	}()
}

func (s *Session) step(in loop.Input) { s.perform(s.core.Step(s.host.o.Now(), in)) }

// perform does what the loop wants, in its order.
func (s *Session) perform(all []loop.Effect) {
	for _, e := range all {
		switch e := e.(type) {
		case loop.Say:
			s.say(e.Event)
		case loop.Answer:
			s.answer(e.To, e.Event)
		case loop.Save:
			s.save(e.Change)
		case loop.Ask:
			ctx := s.turn(e.Turn)
			s.work.Go(func() { worker{s}.ask(ctx, e) })
		case loop.Summarise:
			ctx := s.turn(e.Turn)
			s.work.Go(func() { worker{s}.summarise(ctx, e) })
		case loop.Run:
			ctx := s.turn(e.Turn)
			s.work.Go(func() { worker{s}.call(ctx, e) })
		case loop.Stop:
			if cancel := s.turns[e.Turn]; cancel != nil {
				cancel()
				delete(s.turns, e.Turn)
				delete(s.ctxs, e.Turn)
			}
		case loop.Alarm:
			s.alarm(e)
		case loop.Show:
			s.show(e.State, e.Detail)
		}
	}
}

func (s *Session) show(state wire.AgentState, detail string) {
	if s.host.o.Bench != nil {
		s.host.o.Bench.Show(s.row(state, detail))
	}
}

// row is the session as the workbench lists it.
func (s *Session) row(state wire.AgentState, detail string) wire.Session {
	t := s.core.Talk()
	return wire.Session{
		ID: s.id, Label: t.Label, Workspace: t.Workspace, Live: true, State: state, Kept: s.keep, Name: optional(t.Name),
		Detail: optional(s.host.mask().text(detail)),
	}
}

// turn is the context of what a turn does.
func (s *Session) turn(num uint64) context.Context {
	if ctx := s.ctxs[num]; ctx != nil {
		return ctx
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.ctxs[num], s.turns[num] = ctx, cancel
	return ctx
}

func (s *Session) alarm(e loop.Alarm) {
	var t *time.Timer
	t = time.AfterFunc(e.After, func() {
		_ = s.post(func() {
			delete(s.timers, t)
			s.step(e.Input)
		})
	})
	s.timers[t] = struct{}{}
}

// say tells all clients.
func (s *Session) say(e wire.ServerEvent) {
	if len(s.clients) == 0 {
		return
	}
	frame := s.encode(e)
	for _, c := range s.clients {
		c.put(frame)
	}
}

func (s *Session) answer(to loop.ClientID, e wire.ServerEvent) {
	for _, c := range s.clients {
		if c.id == to {
			c.put(s.encode(e))
		}
	}
}

// encode writes an event as a frame. Everything that the loop makes can be encoded.
func (s *Session) encode(e wire.ServerEvent) []byte {
	data, err := wire.Encode(s.host.mask().event(e))
	if err != nil {
		s.log.Error("an event of a session was not sent", "session", s.id, "event", e.EventType(), "error", err)
		return nil
	}
	return append(data, '\n')
}

// save makes a change durable. One that the ledger does not take is kept and goes with the next one.
func (s *Session) save(c loop.Change) {
	if s.host.o.Journal == nil {
		return
	}
	change, err := s.host.mask().change(c)
	if err != nil {
		s.log.Error("a session cannot be kept", "session", s.id, "error", err)
		return
	}
	s.unsaved = append(s.unsaved, change)
	s.flush()
}

func (s *Session) flush() {
	for len(s.unsaved) > 0 {
		if err := s.host.o.Journal.SaveTalk(context.WithoutCancel(s.ctx), s.unsaved[0]); err != nil {
			s.log.Error("a session is not on disk", "session", s.id, "waiting", len(s.unsaved), "error", err)
			return
		}
		s.unsaved = s.unsaved[1:]
	}
}

// Send hands a client's request in. The answers come through the client's mailbox, in the order of the requests.
func (s *Session) Send(c *Client, m wire.ClientMessage) error {
	in, err := s.intake(c, m)
	if err != nil {
		return s.post(func() { s.answer(c.id, refusalOf(err).Event(m.Request())) })
	}
	return s.post(func() { s.step(in) })
}

// refusalOf is an error as the client is told of it.
func refusalOf(err error) *wire.Error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	return &wire.Error{Code: wire.CodeInvalidRequest, Reason: wire.ReasonInternal, Message: err.Error(), Hint: "try again"}
}
