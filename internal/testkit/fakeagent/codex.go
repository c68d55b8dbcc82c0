package fakeagent

import (
	"encoding/json"
	"fmt"
	"io"
)

// codex speaks as codex exec --json does.
type codex struct {
	out   *json.Encoder
	err   io.Writer
	begun bool
	items int
}

type object = map[string]any

// emit writes one event; a reader that is gone ends the process by its signal.
func (c *codex) emit(event object) { _ = c.out.Encode(event) }

func (c *codex) begin(p *player) {
	c.begun = true
	c.emit(object{"type": "thread.started", "thread_id": p.session})
	c.emit(object{"type": "turn.started"})
}

func (c *codex) item(event string, item object) {
	if event == "item.started" || item["type"] == "agent_message" {
		c.items++
	}
	item["id"] = fmt.Sprintf("item_%d", c.items)
	c.emit(object{"type": event, "item": item})
}

func (c *codex) say(text string) {
	c.item("item.completed", object{"type": "agent_message", "text": text})
}

func (c *codex) tool(command string, exit int) {
	command = "/bin/bash -lc '" + command + "'"
	status := "completed"
	if exit != 0 {
		status = "failed"
	}
	c.item("item.started", object{"type": "command_execution", "command": command, "exit_code": nil, "status": "in_progress"})
	c.item("item.completed", object{"type": "command_execution", "command": command, "exit_code": exit, "status": status})
}

func (c *codex) deny(command string) {
	c.item("item.completed", object{"type": "command_execution", "command": command, "exit_code": nil, "status": "declined"})
}

func (c *codex) retry(text string) {
	c.emit(object{"type": "error", "message": "Reconnecting... 1/5 (" + text + ")"})
}

func (c *codex) end(*player) {
	c.emit(object{"type": "turn.completed", "usage": object{"input_tokens": 1000, "output_tokens": 10}})
}

func (c *codex) fail(class, text string) {
	switch class {
	case "session":
		fmt.Fprintln(c.err, "Error: thread/resume failed: no rollout found for thread id:", text)
		return
	case "auth":
		text = "unexpected status 401 Unauthorized: " + text
	case "quota":
		text = "exceeded retry limit, last status: 429 Too Many Requests: " + text
	case "model":
		text = "unexpected status 404 Not Found: " + text
	case "network":
		text = "stream disconnected before completion: error sending request: " + text
	case "refuse":
		text = "stream disconnected before completion: Incomplete response returned, reason: content_filter"
	}
	c.emit(object{"type": "error", "message": text})
	c.emit(object{"type": "turn.failed", "error": object{"message": text}})
}
