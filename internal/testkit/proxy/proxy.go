// Package proxy is an HTTP proxy for tests that records every address a program wants to reach and lets nothing
// through: the check that an agent dials nobody. Tests start it with Start and put its URL into HTTPS_PROXY and
// HTTP_PROXY; only the loopback belongs into NO_PROXY.
package proxy

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// A Proxy refuses what it is asked, or leaves it hanging.
type Proxy struct {
	URL string // such as http://127.0.0.1:1234

	hang  bool
	stop  chan struct{}
	mu    sync.Mutex
	dials []string
}

// Start serves a proxy that refuses until the test ends.
func Start(t testing.TB) *Proxy { return start(t, false) }

// StartHanging serves a proxy that never answers until the test ends.
func StartHanging(t testing.TB) *Proxy { return start(t, true) }

func start(t testing.TB, hang bool) *Proxy {
	t.Helper()
	p := &Proxy{hang: hang, stop: make(chan struct{})}
	server := httptest.NewServer(p)
	p.URL = server.URL
	t.Cleanup(func() {
		close(p.stop)
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

// ServeHTTP records whom the request is for and refuses it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.dials = append(p.dials, r.Method+" "+r.Host)
	p.mu.Unlock()
	if p.hang {
		select {
		case <-p.stop:
		case <-r.Context().Done():
		}
	}
	http.Error(w, "the test's proxy lets nothing through", http.StatusForbidden)
}

// Dials returns what was asked for, as "CONNECT host:port".
func (p *Proxy) Dials() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.dials)
}
