// Package service is what the clients of all model services share: the profile of a service, the HTTP transport that
// sends the key and bounds the answer, the retries, the classes of faults, the gathering of an answer from its pieces,
// and the pictures of a request.
//
// A client asks its service through its own library, whose retries are off; whatever the library makes of an error,
// the fault that counts is the one that the transport saw or that the client told its Attempt. Nothing here outlives a
// call but idle connections, which are dropped after 30 s.
package service

import (
	"context"
	"net/http"
	"time"

	"scv/internal/safe/redact"
)

// What a profile holds when its owner has set nothing else, and the limits of what he may set.
const (
	DefaultTimeout = 600 * time.Second
	DefaultRetries = 2
	MaxRetries     = 10
	// longestWait is how long a service may ask us to wait before a request is sent again.
	longestWait = 60 * time.Second
)

// A Profile is one configured model service. It is read only, and may be shared.
type Profile struct {
	Name    string // as the owner calls it, for sentences
	BaseURL string // empty for the service's own address
	// Key is asked for each request, so that a key from a file or a command may change. nil or an empty key sends none.
	Key     func(context.Context) (redact.Secret, error)
	Headers map[string]string // sent with each request; they may hold credentials
	Timeout time.Duration     // of one request with its stream; 0 is DefaultTimeout
	Retries int               // 0 to MaxRetries
	// NoImages says that the model cannot see: images are named in the text.
	NoImages bool
	Bounds   Bounds
	// Transport sends the requests; nil is one with the system's proxies and certificates.
	Transport http.RoundTripper
	// Wait passes the time before a request is sent again; nil waits for real.
	Wait func(context.Context, time.Duration) error
}

// Bounds are the largest sizes of an answer, in bytes but for Calls. A zero is the default.
type Bounds struct {
	Event     int // one event of the stream; 1 MiB
	Response  int // all of the stream; 4 MiB
	Text      int // the answer's text, and as much of thinking; 1 MiB
	Arguments int // of one call; 256 KiB
	Calls     int // in one answer; 32
}

func (b Bounds) filled() Bounds {
	fill := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	fill(&b.Event, 1<<20)
	fill(&b.Response, 4<<20)
	fill(&b.Text, 1<<20)
	fill(&b.Arguments, 256<<10)
	fill(&b.Calls, 32)
	return b
}

// A Client asks one service. It is safe for concurrent use.
type Client struct {
	profile Profile
	auth    Auth
	http    *http.Client
}

// An Auth puts a key on a request, in the header that the service wants.
type Auth func(header http.Header, key string)

// Bearer sends the key as OpenAI and those like it want it.
func Bearer(header http.Header, key string) { header.Set("Authorization", "Bearer "+key) }

// Header sends the key in a header of its own.
func Header(name string) Auth {
	return func(header http.Header, key string) { header.Set(name, key) }
}

// New returns the client of a profile. It opens nothing.
func New(p Profile, auth Auth) *Client {
	p.Bounds = p.Bounds.filled()
	if p.Timeout <= 0 {
		p.Timeout = DefaultTimeout
	}
	p.Retries = min(max(p.Retries, 0), MaxRetries)
	if p.Wait == nil {
		p.Wait = wait
	}
	next := p.Transport
	if next == nil {
		next = plainTransport()
	}
	c := &Client{profile: p, auth: auth}
	c.http = &http.Client{
		Transport: &transport{client: c, next: next},
		// A redirect would carry the key to an address that the owner did not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// HTTP is what the service's library sends its requests with. It works only inside Stream and Ask.
func (c *Client) HTTP() *http.Client { return c.http }

// Base is the profile's address, or the given one when it names none.
func (c *Client) Base(fallback string) string {
	if c.profile.BaseURL != "" {
		return c.profile.BaseURL
	}
	return fallback
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func plainTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.IdleConnTimeout = 30 * time.Second
	t.MaxIdleConnsPerHost = 4
	return t
}
