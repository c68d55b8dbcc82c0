package fakemodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// messages is Anthropic's Messages interface, which claude uses.
type messages struct {
	*stream
	model string
}

func newMessages(s *stream, c call) voice { return messages{s, c.model} }

func parseMessages(_ *http.Request, body []byte) (call, error) {
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return call{}, err
	}
	c := call{api: "messages", model: in.Model, stream: in.Stream}
	for _, tool := range in.Tools {
		c.tools = append(c.tools, tool.Name)
	}
	for _, message := range in.Messages {
		if message.Role != "user" {
			continue
		}
		var text string
		if json.Unmarshal(message.Content, &text) == nil {
			c.entries = append(c.entries, entry{text: text})
			continue
		}
		var blocks []struct {
			Type    string          `json:"type"`
			Text    string          `json:"text"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(message.Content, &blocks); err != nil {
			return call{}, err
		}
		for _, block := range blocks {
			switch block.Type {
			case "text":
				c.entries = append(c.entries, entry{text: block.Text})
			case "tool_result":
				c.entries = append(c.entries, entry{text: strings.Join(texts(block.Content), "\n"), result: true})
			}
		}
	}
	return c, nil
}

func (v messages) usage() map[string]any {
	return map[string]any{"input_tokens": 1000, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}

func (v messages) whole(content []any, stop string) map[string]any {
	return map[string]any{
		"id": "msg_" + token(), "type": "message", "role": "assistant", "model": v.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": v.usage(),
	}
}

func (v messages) start() {
	message := v.whole([]any{}, "")
	message["stop_reason"] = nil
	v.event("message_start", map[string]any{"type": "message_start", "message": message})
}

func (v messages) block(block, delta any, more ...any) {
	v.blockAt(0, block, append([]any{delta}, more...))
}

func (v messages) blockAt(index int, block any, deltas []any) {
	v.event("content_block_start", map[string]any{"type": "content_block_start", "index": index, "content_block": block})
	for _, d := range deltas {
		v.event("content_block_delta", map[string]any{"type": "content_block_delta", "index": index, "delta": d})
	}
	v.event("content_block_stop", map[string]any{"type": "content_block_stop", "index": index})
}

func (v messages) end(stop string) {
	v.event("message_delta", map[string]any{
		"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 10},
	})
	v.event("message_stop", map[string]any{"type": "message_stop"})
}

func (v messages) speak(parts []string, pause time.Duration, stop string) {
	if v.plain {
		writeJSON(v.w, http.StatusOK, v.whole([]any{map[string]any{"type": "text", "text": strings.Join(parts, "")}}, stop))
		return
	}
	v.start()
	v.event("content_block_start", map[string]any{"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
	for _, part := range parts {
		v.event("content_block_delta", map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": part}})
		v.wait(pause)
	}
	v.event("content_block_stop", map[string]any{"type": "content_block_stop", "index": 0})
	v.end(stop)
}

func (v messages) say(parts []string, pause time.Duration) { v.speak(parts, pause, "end_turn") }

func (v messages) tool(name string, args json.RawMessage) {
	id := "toolu_" + token()
	if v.plain {
		writeJSON(v.w, http.StatusOK, v.whole([]any{map[string]any{"type": "tool_use", "id": id, "name": name, "input": args}}, "tool_use"))
		return
	}
	v.start()
	v.block(map[string]any{"type": "tool_use", "id": id, "name": name, "input": map[string]any{}},
		map[string]any{"type": "input_json_delta", "partial_json": string(args)})
	v.end("tool_use")
}

func (v messages) refuse() { v.speak([]string{"I cannot help with that."}, 0, "refusal") }

func (v messages) fail(_ int, text, word string) any {
	return map[string]any{"type": "error", "error": map[string]any{"type": word, "message": text}}
}

func (v messages) wrong(word string) { v.event("error", v.fail(0, "fake model: "+word, word)) }

func (v messages) think(text string) {
	v.start()
	v.block(map[string]any{"type": "thinking", "thinking": "", "signature": ""},
		map[string]any{"type": "thinking_delta", "thinking": text}, map[string]any{"type": "signature_delta", "signature": "signed-" + text})
	v.blockAt(1, map[string]any{"type": "text", "text": ""}, []any{map[string]any{"type": "text_delta", "text": "thought"}})
	v.end("end_turn")
}

func (v messages) calls(n int, name string) {
	v.start()
	for i := range n {
		v.blockAt(i, map[string]any{"type": "tool_use", "id": "toolu_" + token(), "name": name, "input": map[string]any{}}, []any{
			map[string]any{"type": "input_json_delta", "partial_json": "{"}, map[string]any{"type": "input_json_delta", "partial_json": "}"},
		})
	}
	v.end("tool_use")
}
