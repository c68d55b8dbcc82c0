// Package catalog opens the provider of a configured profile.
package catalog

import (
	"fmt"

	"scv/internal/session/provider"
	"scv/internal/session/provider/anthropic"
	"scv/internal/session/provider/google"
	"scv/internal/session/provider/openai"
	"scv/internal/session/provider/service"
)

// Open returns the provider for a profile's kind (openai, openai-compatible, anthropic, google) and, for the first two,
// its wire_api (responses or chat; empty is responses). It connects to nothing. Any other word is an error that names
// the known ones.
func Open(kind, wireAPI string, p service.Profile) (provider.Provider, error) {
	switch kind {
	case "anthropic":
		return anthropic.New(p), nil
	case "google":
		return google.New(p), nil
	case "openai", "openai-compatible":
	default:
		return nil, fmt.Errorf("profile %s has the unknown kind %q; known are openai, openai-compatible, anthropic and google", p.Name, kind)
	}
	switch wireAPI {
	case "", "responses":
		return openai.Responses(p), nil
	case "chat":
		return openai.Chat(p), nil
	}
	return nil, fmt.Errorf("profile %s has the unknown wire_api %q; known are responses and chat", p.Name, wireAPI)
}
