package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
)

// longestSentence is in characters (sessions behaviour: errors are one line of 300).
const longestSentence = 300

// A Problem is what a service says of an error, in the words that all of them share more or less.
type Problem struct {
	Status  int    // of HTTP; 0 inside a stream
	Kind    string // type or status: rate_limit_error, RESOURCE_EXHAUSTED
	Code    string // a finer word: context_length_exceeded
	Message string
	After   time.Duration // how long the service wants us to wait
}

// Fault gives the problem its class and its sentence.
func (c *Client) Fault(p Problem) *provider.Fault { return fault(c.profile, p) }

func fault(profile Profile, p Problem) *provider.Fault {
	f := &provider.Fault{Class: classOf(p), Status: p.Status, RetryAfter: p.After}
	f.Err = &p
	what, next := "", ""
	switch f.Class {
	case provider.SignIn:
		what, next = "The model service refused the key of profile "+profile.Name, "Check its api_key settings and what the key may do."
	case provider.Limit:
		what, next = "The model service's limit is reached", "Try again later or raise the limit with the service."
		if p.After > 0 {
			next = fmt.Sprintf("Try again in %s.", p.After.Round(time.Second))
		}
	case provider.Context:
		what, next = "The conversation does not fit the model's window", "Clear it, or use a model with a larger one."
	case provider.Server:
		what, next = "The model service failed", "Try again."
	default:
		what, next = "The model service refused the request", "Check the profile's model, base_url and reasoning_effort."
	}
	if p.Status > 0 {
		what += fmt.Sprintf(" (%d)", p.Status)
	}
	f.Sentence = join(what, p.Message, next)
	return f
}

// join makes one sentence of three parts; the middle one, which is the service's, gives way.
func join(what, message, next string) string {
	message = strings.TrimRight(plain.Line(strings.TrimSpace(message)), ". ")
	if room := longestSentence - len(what) - len(next) - 5; message != "" && room > 10 {
		return what + ": " + cut(message, room) + ". " + next
	}
	return what + ". " + next
}

func cut(s string, characters int) string {
	runes := []rune(s)
	if len(runes) <= characters {
		return s
	}
	return string(runes[:characters-1]) + "…"
}

// classOf decides by the finest word there is: code, then type, then the text where services have no word, then status.
func classOf(p Problem) provider.Class {
	words := strings.ToLower(p.Code + " " + p.Kind)
	text := strings.ToLower(p.Message)
	has := func(in string, any ...string) bool {
		for _, word := range any {
			if strings.Contains(in, word) {
				return true
			}
		}
		return false
	}
	switch {
	case has(words, "context_length", "request_too_large", "string_above_max") || p.Status == http.StatusRequestEntityTooLarge,
		has(text, "maximum context length", "prompt is too long", "exceeds the maximum number of tokens", "context window", "exceed context"):
		return provider.Context
	case has(words, "authentication", "invalid_api_key", "permission", "unauthenticated", "account_deactivated"),
		p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden, has(text, "api key not valid", "invalid api key", "incorrect api key"):
		return provider.SignIn
	case has(words, "quota", "rate_limit", "resource_exhausted", "billing", "slow_down"),
		p.Status == http.StatusTooManyRequests || p.Status == http.StatusPaymentRequired:
		return provider.Limit
	case has(words, "overloaded", "server_error", "api_error", "timeout", "unavailable", "internal") && p.Status < 400,
		p.Status >= 500 || p.Status == http.StatusRequestTimeout || p.Status == http.StatusTooEarly:
		return provider.Server
	}
	return provider.Invalid
}

// Error tells the words that the class came from.
func (p *Problem) Error() string {
	return fmt.Sprintf("status %d, type %q, code %q: %s", p.Status, strings.TrimSpace(p.Kind), p.Code, p.Message)
}

// hopeless is a limit that waiting does not lift.
func (p *Problem) hopeless() bool {
	words := strings.ToLower(p.Code + " " + p.Kind)
	return strings.Contains(words, "insufficient_quota") || strings.Contains(words, "billing")
}

// refused reads an answer that reports an error.
func refused(profile Profile, status int, header http.Header, body []byte) *provider.Fault {
	p := Read(body)
	p.Status = status
	if after := retryAfter(header); after > 0 {
		p.After = after
	}
	if status >= 300 && status <= 399 {
		p.Message = "it answers with a redirect to another address, which would get the key"
	}
	return fault(profile, p)
}

// Read finds the problem in a body or an event. Services and gateways put it at error, at the top, in a list of one,
// or write plain text.
func Read(body []byte) Problem {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
		problem
	}
	if json.Unmarshal(body, &outer) != nil {
		return Problem{Message: cut(string(body), longestSentence)}
	}
	inner := outer.problem
	if len(outer.Error) > 0 && json.Unmarshal(outer.Error, &inner) != nil {
		var text string
		_ = json.Unmarshal(outer.Error, &text) // when it is no text either, there is none
		inner.Message = text
	}
	p := Problem{Kind: inner.Type + " " + inner.Status, Code: word(inner.Code), Message: inner.Message}
	if p.Message == "" {
		p.Message = word(inner.Detail)
	}
	for _, d := range inner.Details {
		if d.Reason != "" {
			p.Code += " " + d.Reason
		}
		if after, err := time.ParseDuration(d.RetryDelay); err == nil && after > 0 {
			p.After = after
		}
	}
	return p
}

type problem struct {
	Type    string          `json:"type"`
	Status  string          `json:"status"`
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Details []struct {
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

// word is a JSON string or whatever else stands there as it is written.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// retryAfter reads the header in its three forms: milliseconds, seconds, a date.
func retryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := header.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// lost is a request that was not sent, not answered or cut off.
func lost(ctx context.Context, p Profile, err error) *provider.Fault {
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return &provider.Fault{Class: provider.Timeout, Err: err, Sentence: fmt.Sprintf(
			"The model service did not finish within %s. Ask for less at once, or raise timeout_seconds of profile %s.", p.Timeout, p.Name)}
	case ctx.Err() != nil:
		return &provider.Fault{Class: provider.Cancelled, Err: err, Sentence: "The request was cancelled."}
	}
	return &provider.Fault{
		Class: provider.Network, Err: err,
		Sentence: join("The model service was not reached or the connection broke", err.Error(), "Check the network and base_url of profile "+p.Name+"."),
	}
}

func early() *provider.Fault {
	return &provider.Fault{Class: provider.Network, Sentence: "The model service's answer ended early. Try again."}
}

// Garbled is an event that is not what the interface says.
func Garbled(err error) *provider.Fault {
	return &provider.Fault{
		Class: provider.Server, Err: err,
		Sentence: "The model service sent what is not its protocol. Check that base_url and wire_api of the profile belong together.",
	}
}

func oversized(what string, bound int) *provider.Fault {
	return &provider.Fault{
		Class: provider.Size, Sentence: fmt.Sprintf("%s is larger than %s and was cut off. Ask for less at once.", what, plain.Size(uint64(bound))),
	}
}
