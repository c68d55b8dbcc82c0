package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"scv/internal/safe/redact"
	"scv/internal/session/provider"
)

// errTimeout is the cause of a context that ended by the profile's timeout.
var errTimeout = errors.New("the profile's timeout passed")

// longestProblem bounds what is read of an answer that reports an error.
const longestProblem = 64 << 10

// attemptKey finds the Attempt of a request in its context: the libraries between us and the transport pass a context
// on, and nothing else of ours.
type attemptKey struct{}

// transport sends the key, turns an answer that reports an error into a Fault, and bounds and watches the body of any
// other. The library above sees a broken stream as a plain end, since one of them prints read errors to standard error.
type transport struct {
	client *Client
	next   http.RoundTripper
}

// RoundTrip does one request. Its error is a *provider.Fault, also told to the Attempt.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	a, _ := request.Context().Value(attemptKey{}).(*Attempt)
	if a == nil {
		return nil, errors.New("a request outside of an attempt")
	}
	p := t.client.profile
	request = request.Clone(request.Context())
	if p.Key != nil {
		key, err := p.Key(request.Context())
		if err != nil {
			return nil, a.Fail(&provider.Fault{
				Class: provider.SignIn, Err: err,
				Sentence: fmt.Sprintf("The key of profile %s cannot be had: %v. Check its api_key settings.", p.Name, err),
			})
		}
		a.key = key
		if key != "" {
			t.client.auth(request.Header, key.Reveal())
		}
	}
	for name, value := range p.Headers {
		request.Header.Set(name, value)
	}
	answer, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, a.Fail(lost(request.Context(), p, err))
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, longestProblem)) // what came is all there is to tell
		_ = answer.Body.Close()
		return nil, a.Fail(refused(p, answer.StatusCode, answer.Header, text))
	}
	answer.Body = &body{in: answer.Body, a: a, ctx: request.Context(), profile: p}
	return answer, nil
}

// A body counts what passes. Once it has failed it is at its end.
type body struct {
	in      io.ReadCloser
	a       *Attempt
	ctx     context.Context
	profile Profile
	total   int
	event   int
	blank   bool // the line so far is empty
	done    bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.done {
		return 0, io.EOF
	}
	n, err := b.in.Read(p)
	b.total += n
	for _, c := range p[:n] {
		b.event++
		switch {
		case c == '\n' && b.blank:
			b.event, b.blank = 0, false
		case c == '\n':
			b.blank = true
		case c != '\r':
			b.blank = false
		}
		if b.event > b.profile.Bounds.Event {
			return b.over("One event of the answer", b.profile.Bounds.Event)
		}
	}
	if b.total > b.profile.Bounds.Response {
		return b.over("The answer", b.profile.Bounds.Response)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		_ = b.a.Fail(lost(b.ctx, b.profile, err)) // kept by the attempt
		b.done = true
		return n, io.EOF
	}
	return n, err
}

func (b *body) over(what string, bound int) (int, error) {
	b.done = true
	_ = b.a.Fail(oversized(what, bound)) // kept by the attempt
	return 0, io.EOF
}

func (b *body) Close() error {
	b.done = true
	_ = b.in.Close() // the answer was read or is not wanted; there is nothing to do about it
	return nil
}

// masker masks the profile's own credentials as well as what looks like one.
func masker(p Profile, key redact.Secret) *redact.Masker {
	known := []redact.Secret{key}
	for _, value := range p.Headers {
		known = append(known, redact.Secret(value))
	}
	return redact.New(known...)
}
