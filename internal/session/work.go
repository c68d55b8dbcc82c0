package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"scv/internal/session/loop"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
)

// progressEvery is how often a running call may show something.
const progressEvery = 500 * time.Millisecond

// nearBound says from which part of the bound on an estimate is not trusted, in tenths.
const nearBound = 9

// A worker is what a session does beside its goroutine.
type worker struct{ *Session }

// ask puts a request to the model and hands its answer to the loop.
func (s worker) ask(ctx context.Context, e loop.Ask) {
	p := s.setup.Provider
	if e.Estimate*10 > e.Bound*nearBound {
		if n, exact, err := p.Count(ctx, e.Request); err == nil && exact && n > e.Bound {
			s.tell(loop.Answered{Turn: e.Turn, Full: true})
			return
		}
	}
	words := newProse(s.host.mask().m)
	show := func(text string) {
		if text != "" {
			s.tell(loop.Piece{Turn: e.Turn, Text: text})
		}
	}
	answer, err := p.Stream(ctx, e.Request, func(piece provider.Piece) {
		if r := piece.Retry; r != nil {
			s.log.Info("the model is asked again", "session", s.id, "attempt", r.Attempt, "after", r.After, "why", r.Why)
		}
		show(words.write(piece.Text))
	})
	show(words.flush())
	s.tell(loop.Answered{Turn: e.Turn, Answer: answer, Fault: faultOf(err), Calls: s.assess(answer.Message.Calls)})
}

// summarise asks for notes; nobody is shown how they come.
func (s worker) summarise(ctx context.Context, e loop.Summarise) {
	answer, err := s.setup.Provider.Stream(ctx, e.Request, func(provider.Piece) {})
	s.tell(loop.Summed{Turn: e.Turn, Text: answer.Message.Text, Usage: answer.Usage, Fault: faultOf(err)})
}

func faultOf(err error) *provider.Fault {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*provider.Fault](err); ok {
		return f
	}
	return &provider.Fault{Class: provider.Server, Sentence: "the model service failed", Err: err}
}

// assess asks the tools what the calls of an answer would do.
func (s worker) assess(calls []provider.Call) []loop.Proposed {
	var out []loop.Proposed
	for _, k := range calls {
		t := s.tools[k.Name]
		if t == nil {
			out = append(out, loop.Proposed{Refused: &tool.Failure{
				Kind: wire.ToolUnknownTool, Sentence: fmt.Sprintf("There is no tool %.80q. Use one of those that you were told of.", k.Name),
			}})
			continue
		}
		p := loop.Proposed{Parallel: t.Parallel()}
		var err error
		if p.Assessment, err = t.Risk(k.Arguments); err != nil {
			refused := tool.Failed(err)
			p.Refused = &tool.Failure{Kind: refused.Error, Sentence: refused.Text}
		}
		out = append(out, p)
	}
	return out
}

// call runs a tool and hands its result to the loop.
func (s worker) call(ctx context.Context, e loop.Run) {
	show := &shower{tell: func(text string) { s.tell(loop.Progress{Turn: e.Turn, Call: e.Call.ID, Text: text}) }}
	defer show.end()
	result := s.tools[e.Call.Name].Run(ctx, e.Call.Arguments, tool.Env{
		Session: s.id, Turn: e.ID, Call: wire.CallID(e.Call.ID), Dir: s.setup.Announced.Cwd, Limit: s.setup.Loop.Limits.Output, Progress: show.progress,
	})
	show.end()
	s.tell(loop.Ran{Turn: e.Turn, Call: e.Call.ID, Result: result})
}

// A shower passes on the newest of what a call shows, at most every progressEvery.
type shower struct {
	tell func(string)

	mu    sync.Mutex
	timer *time.Timer
	next  string
	over  bool
}

func (w *shower) progress(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = text
	if w.timer == nil && !w.over {
		w.timer = time.AfterFunc(progressEvery, w.pass)
	}
}

func (w *shower) pass() {
	w.mu.Lock()
	text, over := w.next, w.over
	w.timer = nil
	w.mu.Unlock()
	if !over {
		w.tell(text)
	}
}

func (w *shower) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
