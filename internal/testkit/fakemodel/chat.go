package fakemodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// chat is the Chat Completions interface.
type chat struct {
	*stream
	model string
}

func newChat(s *stream, c call) voice { return chat{s, c.model} }

func parseChat(_ *http.Request, body []byte) (call, error) {
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return call{}, err
	}
	c := call{api: "chat", model: in.Model, stream: in.Stream}
	for _, tool := range in.Tools {
		c.tools = append(c.tools, tool.Function.Name)
	}
	for _, message := range in.Messages {
		switch message.Role {
		case "tool":
			c.entries = append(c.entries, entry{result: true})
		case "user":
			for _, text := range texts(message.Content) {
				c.entries = append(c.entries, entry{text: text})
			}
		}
	}
	return c, nil
}

func (v chat) usage() map[string]any {
	return map[string]any{"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
}

func (v chat) chunk(delta any, finish any) {
	value := map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": v.model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	}
	if finish != nil {
		value["usage"] = v.usage()
	}
	v.event("", value)
}

func (v chat) whole(message map[string]any, finish string) {
	message["role"] = "assistant"
	writeJSON(v.w, http.StatusOK, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": v.model, "usage": v.usage(),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
	})
}

func (v chat) speak(parts []string, pause time.Duration, finish string) {
	if v.plain {
		v.whole(map[string]any{"content": strings.Join(parts, "")}, finish)
		return
	}
	v.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, part := range parts {
		v.chunk(map[string]any{"content": part}, nil)
		v.wait(pause)
	}
	v.chunk(map[string]any{}, finish)
	v.raw("[DONE]")
}

func (v chat) say(parts []string, pause time.Duration) { v.speak(parts, pause, "stop") }

func (v chat) tool(name string, args json.RawMessage) {
	calls := []any{map[string]any{
		"index": 0, "id": "call_" + token(), "type": "function",
		"function": map[string]any{"name": name, "arguments": string(args)},
	}}
	if v.plain {
		v.whole(map[string]any{"content": nil, "tool_calls": calls}, "tool_calls")
		return
	}
	v.chunk(map[string]any{"role": "assistant", "tool_calls": calls}, nil)
	v.chunk(map[string]any{}, "tool_calls")
	v.raw("[DONE]")
}

func (v chat) refuse() { v.speak([]string{"I cannot help with that."}, 0, "content_filter") }

func (v chat) fail(_ int, text, word string) any {
	return map[string]any{"error": map[string]any{"message": text, "type": "fake_error", "code": word}}
}

func (v chat) wrong(word string) { v.event("", v.fail(0, "fake model: "+word, word)) }

func (v chat) think(text string) {
	v.chunk(map[string]any{"role": "assistant", "reasoning_content": text}, nil)
	v.speak([]string{"thought"}, 0, "stop")
}

func (v chat) calls(n int, name string) {
	for i := range n {
		for _, part := range []map[string]any{
			{"index": i, "id": "call_" + token(), "type": "function", "function": map[string]any{"name": name, "arguments": ""}},
			{"index": i, "function": map[string]any{"arguments": "{"}},
			{"index": i, "function": map[string]any{"arguments": "}"}},
		} {
			v.chunk(map[string]any{"tool_calls": []any{part}}, nil)
		}
	}
	v.chunk(map[string]any{}, "tool_calls")
	v.raw("[DONE]")
}
