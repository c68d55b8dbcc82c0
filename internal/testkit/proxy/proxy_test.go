package proxy

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"testing"
)

// through asks for an address by way of the proxy.
func through(t *testing.T, ctx context.Context, p *Proxy, address string) error {
	t.Helper()
	way, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(way)}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err == nil {
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s was answered %d", address, answer.StatusCode)
		}
		err = answer.Body.Close()
	}
	return err
}

func TestProxy_RecordsAndRefuses(t *testing.T) {
	p := Start(t)
	if err := through(t, t.Context(), p, "https://example.invalid/x"); err == nil {
		t.Error("a tunnel was opened")
	}
	if err := through(t, t.Context(), p, "http://other.invalid/x"); err != nil {
		t.Error(err)
	}
	if got := p.Dials(); !slices.Equal(got, []string{"CONNECT example.invalid:443", "GET other.invalid"}) {
		t.Errorf("recorded %q", got)
	}
}

func TestProxy_HangsUntilTheClientLeaves(t *testing.T) {
	p := StartHanging(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- through(t, ctx, p, "https://example.invalid/x") }()
	for len(p.Dials()) == 0 {
		select {
		case err := <-done:
			t.Fatalf("it answered: %v", err)
		default:
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a tunnel was opened")
	}
}
