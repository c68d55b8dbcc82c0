package service

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"scv/internal/session/provider"
)

// A Ready is a request whose messages are tidy and whose pictures are read, one list per message.
type Ready struct {
	provider.Request
	Pictures [][]Picture
}

// Prepare makes a request ready.
func (c *Client) Prepare(request provider.Request) Ready {
	request.Messages = Tidy(request.Messages)
	return Ready{request, c.pictures(request.Messages)}
}

// Stream runs attempts until one is through, has emitted something, or may not be sent again. name is the service's,
// for what it wants to see again. A run sends one request and tells the attempt what comes; its error counts only when
// the attempt knows no better.
func (c *Client) Stream(ctx context.Context, name string, request provider.Request, emit func(provider.Piece),
	run func(context.Context, *Attempt, Ready) error,
) (provider.Answer, error) {
	ready := c.Prepare(request)
	for attempt := 1; ; attempt++ {
		a, fault := c.once(ctx, emit, func(ctx context.Context, a *Attempt) error { return run(ctx, a, ready) })
		answer := a.answer(name)
		if fault == nil {
			return answer, nil
		}
		after, why := c.again(fault, a.emitted, attempt)
		if blind(fault, ready.Pictures) && !a.emitted {
			// The service refused a picture; which one it does not say.
			ready.Pictures = without(ready.Pictures, "the service refused it")
			after, why, attempt = 0, "the service refused an image", attempt-1
		} else if after < 0 {
			return answer, fault
		}
		emit(provider.Piece{Retry: &provider.Retry{Attempt: max(attempt, 1), After: after, Why: why}})
		if after > 0 {
			if err := c.profile.Wait(ctx, after); err != nil {
				return answer, lost(ctx, c.profile, err)
			}
		}
	}
}

// Ask runs one request that has no stream.
func (c *Client) Ask(ctx context.Context, run func(context.Context, *Attempt) error) error {
	_, fault := c.once(ctx, func(provider.Piece) {}, func(ctx context.Context, a *Attempt) error {
		err := run(ctx, a)
		if err == nil {
			a.End(provider.StopEnd)
		}
		return err
	})
	if fault != nil {
		return fault
	}
	return nil
}

// once runs one attempt within the profile's timeout.
func (c *Client) once(ctx context.Context, emit func(provider.Piece), run func(context.Context, *Attempt) error) (*Attempt, *provider.Fault) {
	a := &Attempt{emit: emit, bounds: c.profile.Bounds}
	within, cancel := context.WithTimeoutCause(ctx, c.profile.Timeout, errTimeout)
	defer cancel()
	err := run(a.within(within), a)
	fault := a.fault
	switch {
	case fault != nil:
	case within.Err() != nil && !a.ended:
		fault = lost(within, c.profile, within.Err())
	case err != nil:
		if known, ok := errors.AsType[*provider.Fault](err); ok {
			fault = known
		} else {
			fault = Garbled(err)
		}
	case !a.ended:
		fault = early()
	default:
		return a, nil
	}
	fault.Sentence = cut(masker(c.profile, a.key).Text(fault.Sentence), longestSentence)
	return a, fault
}

// again says how long to wait before the request is sent again, or less than nothing when it is not.
func (c *Client) again(f *provider.Fault, emitted bool, attempt int) (time.Duration, string) {
	if emitted || attempt > c.profile.Retries || f.RetryAfter > longestWait {
		return -1, ""
	}
	switch f.Class {
	case provider.Limit:
		if p, ok := errors.AsType[*Problem](f.Err); ok && p.hopeless() {
			return -1, ""
		}
	case provider.Server, provider.Network:
	default:
		return -1, ""
	}
	if f.RetryAfter > 0 {
		return f.RetryAfter, f.Sentence
	}
	// About a second, doubling, spread so that many sessions do not come back at once.
	base := min(time.Second<<(attempt-1), longestWait)
	return base*3/4 + rand.N(base/2), f.Sentence
}

// blind reports a request that was refused for a picture in it.
func blind(f *provider.Fault, pictures [][]Picture) bool {
	if f.Class != provider.Invalid || !strings.Contains(strings.ToLower(f.Sentence), "image") {
		return false
	}
	for _, list := range pictures {
		for _, p := range list {
			if p.Data != nil {
				return true
			}
		}
	}
	return false
}
