package fakemodel

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
)

// texts returns the texts of a content field, which is a string or a list of parts.
func texts(content json.RawMessage) []string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{text}
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return nil
	}
	var out []string
	for _, part := range parts {
		if part.Text != "" {
			out = append(out, part.Text)
		}
	}
	return out
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// token returns a short random name: ids of calls must differ within a conversation.
func token() string {
	var raw [6]byte
	_, _ = rand.Read(raw[:]) // never fails
	return fmt.Sprintf("%x", raw)
}

func failText(code int) string {
	return fmt.Sprintf("fake model: %d %s", code, http.StatusText(code))
}

func failCode(code int) string {
	switch code {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if code < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}
