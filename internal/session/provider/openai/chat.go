package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"scv/internal/session/provider"
	"scv/internal/session/provider/service"
)

// chatName marks nothing yet: this interface has nothing that it wants to see again.
const chatName = "openai-chat"

type chatClient struct {
	client  *service.Client
	address string
}

// Chat returns a provider that speaks the Chat Completions interface. The library's package for it links every other
// service of OpenAI, twelve megabytes in each process, so the few shapes of this one stand here
// (docs/decisions/011-model-services.md).
func Chat(p service.Profile) provider.Provider {
	c := service.New(p, service.Bearer)
	return &chatClient{c, strings.TrimRight(c.Base(home), "/") + "/chat/completions"}
}

// Stream implements provider.Provider.
func (c *chatClient) Stream(ctx context.Context, request provider.Request, emit func(provider.Piece)) (provider.Answer, error) {
	return c.client.Stream(ctx, chatName, request, emit, c.run)
}

// Count implements provider.Provider: this interface cannot count.
func (c *chatClient) Count(_ context.Context, request provider.Request) (int, bool, error) {
	return service.Estimate(request), false, nil
}

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Tools         []chatTool    `json:"tools,omitempty"`
	Stream        bool          `json:"stream"`
	StreamOptions chatOptions   `json:"stream_options"`
	Effort        string        `json:"reasoning_effort,omitempty"`
	// The newer name of this bound is not known to every service that has the interface; this one is taken by all but
	// OpenAI's reasoning models, which are better asked by Responses.
	MaxTokens int         `json:"max_tokens,omitzero"`
	Format    *chatFormat `json:"response_format,omitempty"`
}

type chatOptions struct {
	Usage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content"` // a string, or parts where there are images; null beside calls
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type chatPart struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *chatLink `json:"image_url,omitempty"`
}

type chatLink struct {
	URL string `json:"url"`
}

type chatCall struct {
	Index    int          `json:"index,omitzero"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

type chatFormat struct {
	Type   string `json:"type"`
	Schema struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

func chatBody(ready service.Ready) chatRequest {
	r := chatRequest{
		Model: ready.Model, Stream: true, StreamOptions: chatOptions{Usage: true}, Effort: ready.Effort, MaxTokens: ready.MaxOutput,
	}
	if ready.System != "" {
		r.Messages = append(r.Messages, chatMessage{Role: "system", Content: ready.System})
	}
	for i, m := range ready.Messages {
		r.Messages = append(r.Messages, chatMessages(m, ready.Pictures[i])...)
	}
	for _, t := range ready.Tools {
		tool := chatTool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, t.Schema
		r.Tools = append(r.Tools, tool)
	}
	if len(ready.Schema) > 0 {
		r.Format = &chatFormat{Type: "json_schema"}
		r.Format.Schema.Name, r.Format.Schema.Schema, r.Format.Schema.Strict = "answer", ready.Schema, strict(object(ready.Schema))
	}
	return r
}

func chatMessages(m provider.Message, pictures []service.Picture) []chatMessage {
	switch m.Role {
	case provider.ToolRole:
		var list []chatMessage
		for _, result := range m.Results {
			list = append(list, chatMessage{Role: "tool", Content: result.Text, CallID: result.ID})
		}
		return list
	case provider.Assistant:
		said := chatMessage{Role: "assistant"}
		if m.Text != "" {
			said.Content = m.Text
		}
		for _, call := range m.Calls {
			said.Calls = append(said.Calls, chatCall{
				ID: call.ID, Type: "function", Function: chatFunction{Name: call.Name, Arguments: string(service.Object(call.Arguments))},
			})
		}
		return []chatMessage{said}
	}
	if len(pictures) == 0 {
		// A plain string is what the simplest of these services understand.
		return []chatMessage{{Role: "user", Content: m.Text}}
	}
	parts := []chatPart{{Type: "text", Text: m.Text}}
	for _, p := range pictures {
		if p.Data == nil {
			parts = append(parts, chatPart{Type: "text", Text: p.Sentence})
			continue
		}
		parts = append(parts, chatPart{Type: "image_url", Image: &chatLink{URL: dataURL(p)}})
	}
	return []chatMessage{{Role: "user", Content: parts}}
}

// A chatChunk is one event of the stream.
type chatChunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
			// Two names for a model's thinking, which the interface itself does not have.
			ReasoningContent string     `json:"reasoning_content"`
			Reasoning        string     `json:"reasoning"`
			Calls            []chatCall `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		In         struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
}

func (c *chatClient) run(ctx context.Context, a *service.Attempt, ready service.Ready) error {
	return c.client.Events(ctx, c.address, chatBody(ready), func(data []byte) bool {
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return false
		}
		var chunk chatChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			_ = a.Fail(service.Garbled(err)) // kept by the attempt
			return false
		}
		if len(chunk.Error) > 0 && !bytes.Equal(chunk.Error, []byte("null")) {
			_ = a.Fail(c.client.Fault(service.Read(data))) // kept by the attempt
			return false
		}
		return chatHeard(a, chunk)
	})
}

// chatHeard takes one chunk; false ends the reading.
func chatHeard(a *service.Attempt, chunk chatChunk) bool {
	if u := chunk.Usage; u != nil {
		a.Usage(provider.Usage{Input: u.Prompt, Output: u.Completion, Cached: u.In.Cached, Thinking: u.Out.Reasoning})
	}
	if len(chunk.Choices) == 0 {
		return true
	}
	first := chunk.Choices[0]
	thoughts := first.Delta.ReasoningContent
	if thoughts == "" {
		thoughts = first.Delta.Reasoning
	}
	if !a.Thinking(thoughts) || !a.Text(first.Delta.Content) || !a.Text(first.Delta.Refusal) {
		return false
	}
	for _, call := range first.Delta.Calls {
		key := strconv.Itoa(call.Index)
		if !a.Call(key, call.ID, call.Function.Name) || !a.Arguments(key, call.Function.Arguments) {
			return false
		}
	}
	// The stream goes on after the reason, with the usage.
	switch first.Finish {
	case "":
	case "length":
		a.End(provider.StopLength)
	case "content_filter":
		a.End(provider.StopRefused)
	default:
		a.End(provider.StopEnd)
	}
	return true
}
