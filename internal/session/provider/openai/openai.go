// Package openai asks OpenAI and every service with one of its two interfaces (gateways, ollama, vLLM): Responses, and
// Chat Completions for those that have nothing newer.
package openai

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"scv/internal/session/provider/service"
)

const home = "https://api.openai.com/v1"

// options are what both interfaces of the library are set up with. The library reads nothing from the environment this
// way, its retries are off, and the transport below it sends the key.
func options(c *service.Client) []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(strings.TrimRight(c.Base(home), "/") + "/"), option.WithHTTPClient(c.HTTP()), option.WithMaxRetries(0),
	}
}

// dataURL is how both interfaces take a picture.
func dataURL(p service.Picture) string {
	return "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// object decodes a schema for the library, which wants a map; what is no object was refused before it came here.
func object(schema json.RawMessage) map[string]any {
	var m map[string]any
	if json.Unmarshal(schema, &m) != nil || m == nil {
		return map[string]any{"type": "object"}
	}
	return m
}

// strict reports whether a schema is one that the service can hold an answer to exactly: every object closed, with all
// of its properties required. It refuses other schemas when asked to be strict.
func strict(schema any) bool {
	switch s := schema.(type) {
	case []any:
		for _, one := range s {
			if !strict(one) {
				return false
			}
		}
	case map[string]any:
		if properties, ok := s["properties"].(map[string]any); ok || s["type"] == "object" {
			required, _ := s["required"].([]any)
			if s["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
		}
		for _, one := range s {
			if !strict(one) {
				return false
			}
		}
	}
	return true
}

// told gives the attempt the error that a stream ended by, when the service sent it as an event.
func told(c *service.Client, a *service.Attempt, err error) error {
	if event, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return a.Fail(c.Fault(service.Read(event.Event.Data)))
	}
	return err
}
