package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"scv/internal/agent"
)

// newest is the version of the protocol that is asked for, and oldest the first with the tools as they are now.
const (
	newest = "2025-06-18"
	oldest = "2024-11-05"
)

// object is the content of a message.
type object = map[string]any

// A link carries messages to a server and its answers back. Its methods may be called from any goroutine.
type link interface {
	// call sends a request and waits for its answer. An error of the server's is a *fault; any other means that the
	// server is of no use any more, unless ctx ended.
	call(ctx context.Context, method string, params any) (json.RawMessage, error)
	// notice sends what nobody answers.
	notice(ctx context.Context, method string, params any) error
	// agreed tells which version of the protocol is spoken from now on.
	agreed(version string)
	close()
}

// A fault is what a server answered in place of a result.
type fault struct{ agent.RPCError }

func (f *fault) Error() string { return f.Message }

// errClosed is what a call gets after the session has ended.
var errClosed = errors.New("the session has ended")

// A peer is one server as a session knows it: started when it is wanted, and again after it was lost.
type peer struct {
	server Server

	mu     sync.Mutex // held while the server starts
	link   link
	closed bool
}

// ready is the server's link, started when there is none.
func (p *peer) ready(ctx context.Context) (link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, errClosed
	case p.link != nil:
		return p.link, nil
	}
	made, err := p.open()
	if err != nil {
		return nil, err
	}
	if err := greet(ctx, made); err != nil {
		made.close()
		return nil, fmt.Errorf("it does not answer as an MCP server does: %w", err)
	}
	p.link = made
	return made, nil
}

func (p *peer) open() (link, error) {
	if p.server.URL != "" {
		return newWeb(p.server), nil
	}
	return start(p.server)
}

// greet is the handshake.
func greet(ctx context.Context, l link) error {
	answer, err := l.call(ctx, "initialize", object{
		"protocolVersion": newest, "capabilities": object{}, "clientInfo": object{"name": "scv", "title": "SCV", "version": "1"},
	})
	if err != nil {
		return err
	}
	var hello struct {
		Version string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(answer, &hello); err != nil {
		return errors.New("its greeting cannot be read")
	}
	if hello.Version < oldest || hello.Version > newest {
		return fmt.Errorf("it speaks version %.20q of the protocol, and SCV %s to %s", hello.Version, oldest, newest)
	}
	l.agreed(hello.Version)
	return l.notice(ctx, "notifications/initialized", nil)
}

// call asks the server. One that is lost meanwhile is forgotten, and the next call starts it again.
func (p *peer) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	l, err := p.ready(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := l.call(ctx, method, params)
	if err == nil || ctx.Err() != nil {
		return answer, err
	}
	if _, ok := errors.AsType[*fault](err); !ok {
		p.lost(l)
	}
	return nil, err
}

func (p *peer) lost(l link) {
	p.mu.Lock()
	if p.link == l {
		p.link = nil
	}
	p.mu.Unlock()
	l.close()
}

// list asks for all tools, page by page.
func (p *peer) list(ctx context.Context) ([]offer, error) {
	var out []offer
	params := object{}
	for range maxPages {
		answer, err := p.call(ctx, "tools/list", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools []offer `json:"tools"`
			Next  string  `json:"nextCursor"`
		}
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, errors.New("its list of tools cannot be read")
		}
		out = append(out, page.Tools...)
		if page.Next == "" || len(out) >= maxTools {
			break
		}
		params = object{"cursor": page.Next}
	}
	return out[:min(len(out), maxTools)], nil
}

func (p *peer) close() {
	p.mu.Lock()
	l := p.link
	p.link, p.closed = nil, true
	p.mu.Unlock()
	if l != nil {
		l.close()
	}
}
