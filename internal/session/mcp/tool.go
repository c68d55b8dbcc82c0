package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
)

// remote is one tool of a server.
type remote struct {
	peer   *peer
	origin string // its name at the server
	spec   provider.Tool
	risk   tool.Risk
}

// Spec implements tool.Tool.
func (r remote) Spec() provider.Tool { return r.spec }

// Parallel implements tool.Tool: what a server does to what another call could see is not known.
func (r remote) Parallel() bool { return false }

// Risk implements tool.Tool.
func (r remote) Risk(args json.RawMessage) (tool.Assessment, error) {
	_, err := arguments(args)
	words := fmt.Sprintf("%s of the MCP server %s: %s", plain.Line(r.origin), r.peer.server.Name, plain.Line(string(args)))
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords-4], "") + " …"
	}
	return tool.Assessment{Risk: r.risk, Summary: words}, err
}

// arguments reads the arguments of a call, which the server judges by its own schema.
func arguments(args json.RawMessage) (map[string]any, error) {
	var out map[string]any
	if len(strings.TrimSpace(string(args))) == 0 {
		return object{}, nil
	}
	if err := json.Unmarshal(args, &out); err != nil || out == nil {
		return nil, &tool.Failure{Kind: wire.ToolInvalidArguments, Sentence: "The arguments are no JSON object. Call again with one that follows the schema."}
	}
	return out, nil
}

// Run implements tool.Tool.
func (r remote) Run(ctx context.Context, args json.RawMessage, env tool.Env) tool.Result {
	if _, err := arguments(args); err != nil {
		return tool.Failed(err)
	}
	limit := r.peer.server.Timeout
	if limit <= 0 {
		limit = time.Minute
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	params := object{"name": r.origin, "arguments": object{}}
	if len(args) > 0 {
		params["arguments"] = args
	}
	answer, err := r.peer.call(within, "tools/call", params)
	if err == nil {
		return read(answer, env.Limit)
	}
	name := r.peer.server.Name
	if _, said := errors.AsType[*fault](err); said {
		return tool.Result{Error: wire.ToolErrorFailed, Text: fmt.Sprintf("The MCP server %s refused the call: %s", name, plain.Line(err.Error()))}
	}
	switch {
	case ctx.Err() != nil:
		return tool.Failed(ctx.Err())
	case within.Err() != nil:
		return tool.Result{Error: wire.ToolLimit, Text: fmt.Sprintf("The MCP server %s did not answer within %s (mcp.%s.timeout_seconds).", name, limit, name)}
	}
	return tool.Result{Error: wire.ToolUnavailable, Text: fmt.Sprintf("The MCP server %s cannot be used: %s. The next call starts it again.", name, plain.Line(err.Error()))}
}

// content is one part of an answer.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MIME     string `json:"mimeType"`
	Data     string `json:"data"`
	URI      string `json:"uri"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
		Blob string `json:"blob"`
	} `json:"resource"`
}

// words is a part as the model reads it. What is no text is only named.
func (c *content) words() string {
	switch {
	case c.Type == "text":
		return c.Text
	case c.Type == "resource" && c.Resource.Text != "":
		return c.Resource.Text
	case c.Type == "resource":
		return fmt.Sprintf("[%s, %d characters of base64, not shown]", c.Resource.URI, len(c.Resource.Blob))
	case c.Type == "resource_link":
		return "[" + c.URI + "]"
	}
	return fmt.Sprintf("[%s, %s, %d characters of base64, not shown]", c.Type, c.MIME, len(c.Data))
}

// read makes a result of an answer: its parts one below the other, or the structured one when there is no other.
func read(answer json.RawMessage, limit int) tool.Result {
	var from struct {
		Content    []content       `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		Failed     bool            `json:"isError"`
	}
	if err := json.Unmarshal(answer, &from); err != nil {
		return tool.Result{Error: wire.ToolErrorFailed, Text: "The answer of the MCP server cannot be read."}
	}
	var parts []string
	for i := range from.Content {
		parts = append(parts, from.Content[i].words())
	}
	r := tool.Result{Text: strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")}
	if r.Text == "" && len(from.Structured) > 0 {
		r.Text = string(from.Structured)
	}
	if limit > 0 && len(r.Text) > limit {
		r.Text, r.Truncated = strings.ToValidUTF8(r.Text[:limit], ""), true
	}
	if from.Failed {
		r.Error = wire.ToolErrorFailed
	}
	if r.Text == "" {
		r.Text = "[the server answered with nothing]"
	}
	return r
}
