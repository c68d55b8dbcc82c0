package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"scv/internal/agent"
)

// byeGrace bounds the farewell to a server that keeps a session for us.
const byeGrace = time.Second

// web is a server at an address: each message is a request of its own, answered by one message or by a stream of events
// that ends with the answer. Redirects are not followed, since they would carry the owner's headers away.
type web struct {
	server Server
	client *http.Client

	mu      sync.Mutex
	last    uint64
	session string // the server's own name for it
	version string
}

func newWeb(s Server) *web {
	return &web{server: s, client: &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (w *web) agreed(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = version
}

// do sends one message. Its answer has a status of success.
func (w *web) do(ctx context.Context, body []byte) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	w.dress(q)
	answer, err := w.client.Do(q)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		_ = answer.Body.Close() // what it says of the fault is of no use to the model
		return nil, fmt.Errorf("it answered with the status %s", answer.Status)
	}
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
		w.mu.Lock()
		w.session = id
		w.mu.Unlock()
	}
	return answer, nil
}

// dress gives a request the headers of the owner and of the protocol.
func (w *web) dress(q *http.Request) {
	for name, value := range w.server.Headers {
		q.Header.Set(name, value)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	w.mu.Lock()
	if w.version != "" {
		q.Header.Set("Mcp-Protocol-Version", w.version)
	}
	if w.session != "" {
		q.Header.Set("Mcp-Session-Id", w.session)
	}
	w.mu.Unlock()
}

func (w *web) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	w.mu.Lock()
	w.last++
	n := w.last
	w.mu.Unlock()
	answer, err := w.do(ctx, agent.RequestLine(true, n, method, params))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body := &io.LimitedReader{R: answer.Body, N: maxAnswer}
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil {
		return nil, errors.New("it answered without saying in what form")
	}
	var m agent.RPC
	if kind == "text/event-stream" {
		m, err = answerOf(body, n)
	} else {
		m, err = whole(body, n)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && body.N <= 0:
		return nil, fmt.Errorf("it answered with more than %d MiB", maxAnswer>>20)
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, &fault{*m.Error}
	}
	return m.Result, nil
}

var errNoAnswer = errors.New("it ended its answer before the result")

// whole is the answer when it is all that was sent.
func whole(body io.Reader, n uint64) (agent.RPC, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return agent.RPC{}, err
	}
	if m, ok := agent.ReadRPC(data); ok && answers(m, n) {
		return m, nil
	}
	return agent.RPC{}, errNoAnswer
}

// answerOf is the answer in a stream of events. What else a server tells on the way is not wanted.
func answerOf(body io.Reader, n uint64) (agent.RPC, error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxAnswer)
	var data []byte
	for lines.Scan() {
		if value, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok {
			data = append(append(data, value...), '\n')
			continue
		}
		if len(lines.Bytes()) > 0 {
			continue
		}
		if m, ok := agent.ReadRPC(data); ok && answers(m, n) {
			return m, nil
		}
		data = nil // the message before shares it
	}
	return agent.RPC{}, errors.Join(errNoAnswer, lines.Err())
}

func answers(m agent.RPC, n uint64) bool {
	got, ok := m.Number()
	return ok && got == n && m.Method == ""
}

func (w *web) notice(ctx context.Context, method string, params any) error {
	answer, err := w.do(ctx, agent.NoticeLine(true, method, params))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// close tells a server that keeps a session that it can forget it.
func (w *web) close() {
	defer w.client.CloseIdleConnections()
	w.mu.Lock()
	kept := w.session != ""
	w.mu.Unlock()
	if !kept {
		return
	}
	q, err := http.NewRequest(http.MethodDelete, w.server.URL, nil)
	if err != nil {
		return
	}
	w.dress(q)
	farewell := *w.client
	farewell.Timeout = byeGrace
	if answer, err := farewell.Do(q); err == nil {
		_ = answer.Body.Close() // a server that did not hear it forgets the session by itself
	}
}
