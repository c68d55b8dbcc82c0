package fakemodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// responses is OpenAI's Responses interface, which codex uses.
type responses struct{ *stream }

func newResponses(s *stream, _ call) voice { return responses{s} }

func parseResponses(_ *http.Request, body []byte) (call, error) {
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Type  string `json:"type"`
			Name  string `json:"name"`
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"tools"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return call{}, err
	}
	c := call{api: "responses", model: in.Model, stream: in.Stream}
	for _, tool := range in.Tools {
		c.tools = append(c.tools, firstOf(tool.Name, tool.Type))
		for _, inner := range tool.Tools {
			c.tools = append(c.tools, inner.Name)
		}
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil {
		c.entries = append(c.entries, entry{text: text})
		return c, nil
	}
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Output  json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return call{}, err
	}
	for _, item := range items {
		switch {
		case strings.HasSuffix(item.Type, "_call_output"):
			c.entries = append(c.entries, entry{text: strings.Join(texts(item.Output), "\n"), result: true})
		case item.Role == "user":
			for _, text := range texts(item.Content) {
				c.entries = append(c.entries, entry{text: text})
			}
		}
	}
	return c, nil
}

func (v responses) created() {
	v.event("response.created", map[string]any{"type": "response.created", "response": map[string]any{"id": "resp_1"}})
}

func (v responses) item(kind string, item any) { v.itemAt(0, kind, item) }

func (v responses) itemAt(index int, kind string, item any) {
	v.event("response."+kind, map[string]any{"type": "response." + kind, "output_index": index, "item": item})
}

func (v responses) completed() {
	v.event("response.completed", map[string]any{"type": "response.completed", "response": map[string]any{
		"id": "resp_1", "usage": map[string]any{
			"input_tokens": 1000, "input_tokens_details": map[string]any{"cached_tokens": 100},
			"output_tokens": 10, "output_tokens_details": map[string]any{"reasoning_tokens": 2}, "total_tokens": 1010,
		},
	}})
}

func (v responses) message(text, status string) map[string]any {
	return map[string]any{
		"type": "message", "id": "msg_1", "role": "assistant", "status": status,
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}},
	}
}

func (v responses) speak(parts []string, pause time.Duration) {
	v.created()
	v.item("output_item.added", v.message("", "in_progress"))
	for _, part := range parts {
		v.event("response.output_text.delta", map[string]any{
			"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": part,
		})
		v.wait(pause)
	}
	v.item("output_item.done", v.message(strings.Join(parts, ""), "completed"))
}

func (v responses) say(parts []string, pause time.Duration) {
	v.speak(parts, pause)
	v.completed()
}

func (v responses) tool(name string, args json.RawMessage) {
	v.created()
	item := map[string]any{"type": "function_call", "id": "fc_1", "call_id": "call_" + token(), "name": name, "arguments": string(args)}
	if space, inner, ok := strings.Cut(name, "/"); ok {
		item["namespace"], item["name"] = space, inner
	}
	v.item("output_item.done", item)
	v.completed()
}

func (v responses) refuse() {
	v.speak([]string{"I cannot help with that."}, 0)
	v.event("response.incomplete", map[string]any{"type": "response.incomplete", "response": map[string]any{
		"id": "resp_1", "status": "incomplete", "incomplete_details": map[string]any{"reason": "content_filter"},
	}})
}

func (v responses) fail(_ int, text, word string) any {
	return map[string]any{"error": map[string]any{"message": text, "type": "fake_error", "code": word}}
}

func (v responses) wrong(word string) {
	v.event("error", map[string]any{"type": "error", "code": word, "message": "fake model: " + word, "param": nil})
}

func (v responses) think(text string) {
	v.created()
	v.event("response.reasoning_summary_text.delta", map[string]any{
		"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "delta": text,
	})
	v.item("output_item.done", map[string]any{
		"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed-" + text,
		"summary": []any{map[string]any{"type": "summary_text", "text": text}},
	})
	v.event("response.output_text.delta", map[string]any{
		"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "content_index": 0, "delta": "thought",
	})
	v.itemAt(1, "output_item.done", v.message("thought", "completed"))
	v.completed()
}

func (v responses) calls(n int, name string) {
	v.created()
	for i := range n {
		item := map[string]any{"type": "function_call", "id": "fc_" + token(), "call_id": "call_" + token(), "name": name, "arguments": ""}
		v.itemAt(i, "output_item.added", item)
		for _, part := range []string{"{", "}"} {
			v.event("response.function_call_arguments.delta", map[string]any{
				"type": "response.function_call_arguments.delta", "item_id": item["id"], "output_index": i, "delta": part,
			})
		}
		item["arguments"] = "{}"
		v.itemAt(i, "output_item.done", item)
	}
	v.completed()
}
