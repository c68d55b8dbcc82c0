package agent

import (
	"strings"
)

// ClassForStatus returns the class of a failed call to the model's service by its HTTP status.
func ClassForStatus(status int) Class {
	switch {
	case status == 401 || status == 403:
		return ClassAuth
	case status == 402 || status == 429:
		return ClassQuota
	case status >= 400:
		return ClassModel
	}
	return ClassNone
}

// ClassifyText finds a class in a text that a person was meant to read. It is the last resort, for agents that give
// no field that says it, and it decides nothing but the class of what has failed already.
func ClassifyText(text string) Class {
	text = strings.ToLower(text)
	if status := statusIn(text); status != 0 {
		return ClassForStatus(status)
	}
	for _, known := range []struct {
		class Class
		words []string
	}{
		{ClassSession, []string{
			"no conversation found", "no conversation to continue", "no rollout found", "already has an active writer",
			"conversation not found", "is already in use",
		}},
		{ClassAuth, []string{
			"/login", "not logged in", "not signed in", "unauthorized", "authentication", "invalid api key",
			"missing bearer", "please sign in", "please log in", "codex login",
		}},
		{ClassQuota, []string{
			"rate limit", "usage limit", "quota", "too many requests", "credit balance", "billing", "you've hit your", "you've reached your",
		}},
		{ClassNetwork, []string{
			"connection refused", "connection failed", "connection reset", "network", "could not resolve", "enotfound",
			"econnrefused", "etimedout", "timed out", "error sending request", "stream disconnected",
		}},
		{ClassModel, []string{"high demand", "overloaded", "internal server error", "model not found", "unknown model"}},
	} {
		for _, word := range known.words {
			if strings.Contains(text, word) {
				return known.class
			}
		}
	}
	return ClassNone
}

// Explain returns a sentence on a failed turn: what the class means, then what the agent said. signIn is the command
// that signs in.
func Explain(class Class, name, signIn, said string) string {
	lead := ""
	switch class {
	case ClassAuth:
		lead = name + " is not signed in, or its key was refused"
		if signIn != "" {
			lead += " (sign in with: " + signIn + ")"
		}
	case ClassQuota:
		lead = "a usage or rate limit was reached"
	case ClassModel:
		lead = "the model's service failed or does not know the model"
	case ClassNetwork:
		lead = "the model's service could not be reached"
	case ClassRefusal:
		lead = "the model refused the request"
	case ClassSession:
		lead = "the conversation to go on with was not found or is in use"
	}
	switch {
	case lead == "":
		return firstNonEmpty(said, name+" failed without saying why")
	case said == "":
		return lead
	}
	return lead + ": " + said
}

// statusIn finds an HTTP status behind the words that agents put before one.
func statusIn(text string) int {
	for _, before := range []string{"status ", "status: ", "api error: ", "http "} {
		_, rest, ok := strings.Cut(text, before)
		if !ok || len(rest) < 3 {
			continue
		}
		status := 0
		for _, digit := range rest[:3] {
			if digit < '0' || digit > '9' {
				status = 0
				break
			}
			status = status*10 + int(digit-'0')
		}
		if status >= 400 && status < 600 && (len(rest) == 3 || rest[3] < '0' || rest[3] > '9') {
			return status
		}
	}
	return 0
}
