// Package mcp is the server's side of the Model Context Protocol on two streams: it tells a client which tools there are
// and runs those that it calls. It knows nothing of the workbench; the tools are given to it.
package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"scv/internal/agent"
)

// Bounds of a client.
const (
	maxLine  = 4 << 20 // bytes of a message
	maxCalls = 8       // that run at once; more are refused
)

// versions are those of the protocol that are spoken, the newest first.
func versions() []string { return []string{"2025-06-18", "2025-03-26", "2024-11-05"} }

// A Tool is what a client may call.
type Tool struct {
	Name, Title, Description string
	Schema                   json.RawMessage // of the arguments: an object
	ReadOnly                 bool            // it changes nothing
	// Run does the work; its text is for the client's model. It returns when ctx ends. An error is told to the model as
	// the failure of the call.
	Run func(ctx context.Context, args json.RawMessage) (string, error)
}

// A Server is what a client is told of us.
type Server struct {
	Name, Version, Instructions string
	Tools                       []Tool
}

// Serve answers one client until its input or ctx ends; then what runs is cancelled and waited for. Only a stream that is
// broken is an error.
func (s Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &talk{Server: s, out: out, running: map[string]context.CancelFunc{}}
	lines := make(chan []byte)
	read := make(chan error, 1)
	go func() { // a reader of standard input cannot be called back; the process ends with us
		defer close(lines)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, maxLine)
		for scan.Scan() {
			select {
			case lines <- slices.Clone(scan.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		read <- scan.Err()
	}()
	defer t.calls.Wait()
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				return readFault(read)
			}
			if err := t.take(ctx, line); err != nil {
				return err
			}
		}
	}
}

func readFault(read <-chan error) error {
	if err := <-read; errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a message of more than %d MiB came", maxLine>>20)
	} else if err != nil {
		return fmt.Errorf("read the client: %w", err)
	}
	return nil
}

// A talk is one client being served.
type talk struct {
	Server
	calls sync.WaitGroup

	write sync.Mutex
	out   io.Writer

	mu      sync.Mutex
	running map[string]context.CancelFunc // by the client's id of the call
}

func (t *talk) send(line []byte) error {
	t.write.Lock()
	defer t.write.Unlock()
	if _, err := t.out.Write(line); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

// take answers one message. Notices that are not known, and answers, are left out.
func (t *talk) take(ctx context.Context, line []byte) error {
	m, ok := agent.ReadRPC(line)
	switch {
	case !ok:
		return t.send(agent.ErrorLine(true, json.RawMessage("null"), agent.RPCUnreadable, "this is no message of JSON-RPC"))
	case m.ID == nil && m.Method == "notifications/cancelled":
		t.cancelled(m.Params)
		return nil
	case m.ID == nil || m.Method == "":
		return nil
	}
	switch m.Method {
	case "initialize":
		return t.send(agent.ResultLine(true, m.ID, t.hello(m.Params)))
	case "ping":
		return t.send(agent.ResultLine(true, m.ID, struct{}{}))
	case "tools/list":
		return t.send(agent.ResultLine(true, m.ID, t.list()))
	case "tools/call":
		return t.call(ctx, m)
	}
	return t.send(agent.ErrorLine(true, m.ID, agent.RPCNoMethod, "SCV offers tools and nothing else"))
}

func (t *talk) hello(params json.RawMessage) any {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p) // one that says nothing gets the newest
	version := versions()[0]
	if slices.Contains(versions(), p.Version) {
		version = p.Version
	}
	return map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{"tools": struct{}{}},
		"serverInfo": map[string]string{"name": t.Name, "version": t.Version}, "instructions": t.Instructions,
	}
}

func (t *talk) list() any {
	out := []any{}
	for _, one := range t.Tools {
		out = append(out, map[string]any{
			"name": one.Name, "title": one.Title, "description": one.Description, "inputSchema": one.Schema,
			"annotations": map[string]bool{"readOnlyHint": one.ReadOnly, "destructiveHint": false},
		})
	}
	return map[string]any{"tools": out}
}

// call runs a tool beside the reading of further messages.
func (t *talk) call(ctx context.Context, m agent.RPC) error {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	i := -1
	if json.Unmarshal(m.Params, &p) == nil {
		i = slices.IndexFunc(t.Tools, func(one Tool) bool { return one.Name == p.Name })
	}
	if i < 0 {
		return t.send(agent.ErrorLine(true, m.ID, agent.RPCBadParams, "there is no tool of that name"))
	}
	ctx, cancel := context.WithCancel(ctx)
	id := string(m.ID)
	t.mu.Lock()
	busy := len(t.running) >= maxCalls || t.running[id] != nil
	if !busy {
		t.running[id] = cancel
	}
	t.mu.Unlock()
	if busy {
		cancel()
		return t.send(agent.ErrorLine(true, m.ID, agent.RPCFailed, fmt.Sprintf("%d calls run already, or one of this id; wait for one to end", maxCalls)))
	}
	t.calls.Go(func() {
		defer cancel()
		text, err := t.Tools[i].Run(ctx, p.Arguments)
		t.mu.Lock()
		delete(t.running, id)
		t.mu.Unlock()
		if ctx.Err() != nil {
			return // nobody waits for it
		}
		if err != nil {
			text = err.Error()
		}
		_ = t.send(agent.ResultLine(true, m.ID, map[string]any{ // a client that does not read ends its input
			"content": []any{map[string]string{"type": "text", "text": text}}, "isError": err != nil,
		}))
	})
	return nil
}

func (t *talk) cancelled(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.running[string(p.ID)]; cancel != nil {
		cancel()
	}
}
