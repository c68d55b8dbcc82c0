package fakeagent

import (
	"encoding/json"
	"fmt"
)

// claude speaks as claude -p --output-format stream-json does.
type claude struct {
	out     *json.Encoder
	session func() string
	tools   int
	last    string
	denied  []any
}

// emit writes one event of the session; a reader that is gone ends the process by its signal.
func (c *claude) emit(event object) {
	event["session_id"] = c.session()
	_ = c.out.Encode(event)
}

func (c *claude) begin(*player) {
	c.emit(object{"type": "system", "subtype": "init", "model": "fake", "permissionMode": "default"})
}

func (c *claude) assistant(content ...any) {
	c.emit(object{"type": "assistant", "message": object{"role": "assistant", "content": content}, "parent_tool_use_id": nil})
}

func (c *claude) say(text string) {
	c.last = text
	c.assistant(object{"type": "text", "text": text})
}

func (c *claude) call(command string) string {
	c.tools++
	id := fmt.Sprintf("toolu_%d", c.tools)
	c.assistant(object{"type": "tool_use", "id": id, "name": "Bash", "input": object{"command": command}})
	return id
}

func (c *claude) answer(id string, failed bool) {
	c.emit(object{"type": "user", "message": object{"role": "user", "content": []any{
		object{"type": "tool_result", "tool_use_id": id, "is_error": failed, "content": "output"},
	}}})
}

func (c *claude) tool(command string, exit int) { c.answer(c.call(command), exit != 0) }

func (c *claude) deny(command string) {
	id := c.call(command)
	c.emit(object{"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": id})
	c.answer(id, true)
	c.denied = append(c.denied, object{"tool_name": "Bash", "tool_use_id": id, "tool_input": object{"command": command}})
}

func (c *claude) retry(text string) {
	c.emit(object{"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "error_status": 500, "error": text})
}

func (c *claude) result(event object) {
	event["type"] = "result"
	event["total_cost_usd"] = 0.0042
	event["usage"] = object{"input_tokens": 1000, "output_tokens": 10}
	event["permission_denials"] = append([]any{}, c.denied...)
	c.emit(event)
}

func (c *claude) end(*player) {
	c.result(object{"subtype": "success", "is_error": false, "stop_reason": "end_turn", "terminal_reason": "completed", "result": c.last})
}

func (c *claude) fail(class, text string) {
	status := map[string]int{"auth": 401, "quota": 429, "model": 404}[class]
	failed := object{"subtype": "success", "is_error": true, "stop_reason": "stop_sequence", "terminal_reason": "api_error", "result": text}
	switch class {
	case "session":
		failed = object{"subtype": "error_during_execution", "is_error": true, "errors": []any{"No conversation found with session ID: " + text}}
	case "refuse":
		failed["stop_reason"] = "refusal"
	case "network":
		failed["result"] = "API Error: Connection refused: " + text
	default:
		if status != 0 {
			failed["api_error_status"] = status
		}
	}
	c.result(failed)
}
