// Package anthropic asks Anthropic, and services with its Messages interface.
package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"scv/internal/session/provider"
	"scv/internal/session/provider/service"
)

const (
	name = "anthropic"
	home = "https://api.anthropic.com/"
	// maxOutput is sent when the loop leaves the bound to the service, which insists on one.
	maxOutput = 8192
)

type client struct {
	client *service.Client
	api    sdk.MessageService
}

// New returns a provider that speaks the Messages interface. Reasoning goes back signed, in its places.
func New(p service.Profile) provider.Provider {
	c := service.New(p, service.Header("X-Api-Key"))
	// The library's own address ends before the version; owners write it either way.
	base := strings.TrimSuffix(strings.TrimRight(c.Base(home), "/"), "/v1") + "/"
	return &client{c, sdk.NewMessageService(option.WithBaseURL(base), option.WithHTTPClient(c.HTTP()), option.WithMaxRetries(0))}
}

// Stream implements provider.Provider.
func (c *client) Stream(ctx context.Context, request provider.Request, emit func(provider.Piece)) (provider.Answer, error) {
	return c.client.Stream(ctx, name, request, emit, c.run)
}

// Count implements provider.Provider.
func (c *client) Count(ctx context.Context, request provider.Request) (int, bool, error) {
	full := body(c.client.Prepare(request))
	p := sdk.MessageCountTokensParams{Model: full.Model, Messages: full.Messages, Thinking: full.Thinking}
	p.System.OfTextBlockArray = full.System
	for _, t := range full.Tools {
		p.Tools = append(p.Tools, sdk.MessageCountTokensToolUnionParam{OfTool: t.OfTool})
	}
	var tokens int
	err := c.client.Ask(ctx, func(ctx context.Context, _ *service.Attempt) error {
		answer, err := c.api.CountTokens(ctx, p)
		if err == nil {
			tokens = int(answer.InputTokens)
		}
		return err
	})
	return service.Counted(tokens, request, err)
}

func body(ready service.Ready) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: ready.Model, MaxTokens: maxOutput}
	if ready.MaxOutput > 0 {
		p.MaxTokens = int64(ready.MaxOutput)
	}
	if ready.System != "" {
		// Marks the end of what is the same in each request, so that the service reads it from its cache.
		p.System = []sdk.TextBlockParam{{Text: ready.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	if ready.Effort != "" {
		p.OutputConfig.Effort = sdk.OutputConfigEffort(ready.Effort)
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
	}
	if len(ready.Schema) > 0 {
		var schema map[string]any
		if json.Unmarshal(ready.Schema, &schema) == nil {
			p.OutputConfig.Format = sdk.JSONOutputFormatParam{Schema: schema}
		}
	}
	for _, t := range ready.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name: t.Name, Description: param.NewOpt(t.Description), InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema),
		}})
	}
	for i, m := range ready.Messages {
		p.Messages = append(p.Messages, message(m, ready.Pictures[i]))
	}
	if n := len(p.Messages); n > 0 {
		blocks := p.Messages[n-1].Content
		if mark := blocks[len(blocks)-1].GetCacheControl(); mark != nil {
			*mark = sdk.NewCacheControlEphemeralParam()
		}
	}
	return p
}

func message(m provider.Message, pictures []service.Picture) sdk.MessageParam {
	var blocks []sdk.ContentBlockParamUnion
	kept := service.Items(m, name)
	until := func(call int) {
		for len(kept) > 0 && kept[0].Before <= call {
			blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](kept[0].Item))
			kept = kept[1:]
		}
	}
	until(0)
	if m.Text != "" {
		blocks = append(blocks, sdk.NewTextBlock(m.Text))
	}
	for i, call := range m.Calls {
		until(i)
		blocks = append(blocks, sdk.NewToolUseBlock(call.ID, service.Object(call.Arguments), call.Name))
	}
	for _, p := range pictures {
		if p.Data == nil {
			blocks = append(blocks, sdk.NewTextBlock(p.Sentence))
			continue
		}
		blocks = append(blocks, sdk.NewImageBlockBase64(p.MIME, base64.StdEncoding.EncodeToString(p.Data)))
	}
	for _, result := range m.Results {
		text := result.Text
		if text == "" {
			text = "(no output)" // an empty text is refused
		}
		blocks = append(blocks, sdk.NewToolResultBlock(result.ID, text, result.Failed))
	}
	if m.Role == provider.Assistant {
		return sdk.NewAssistantMessage(blocks...)
	}
	return sdk.NewUserMessage(blocks...)
}

func (c *client) run(ctx context.Context, a *service.Attempt, ready service.Ready) error {
	stream := c.api.NewStreaming(ctx, body(ready))
	defer stream.Close()
	h := heard{a: a, blocks: map[int64]*block{}}
	for stream.Next() {
		if !h.event(stream.Current()) {
			break
		}
	}
	err := stream.Err()
	if event, ok := errors.AsType[*sdk.Error](err); ok {
		return a.Fail(c.client.Fault(service.Read([]byte(event.RawJSON()))))
	}
	return err
}

// heard follows one stream.
type heard struct {
	a      *service.Attempt
	blocks map[int64]*block
	stop   provider.Stop
}

// A block of thinking is kept whole.
type block struct {
	kind, thinking, signature, data string
}

// event takes one event; false ends the reading.
func (h *heard) event(e sdk.MessageStreamEventUnion) bool {
	key := strconv.FormatInt(e.Index, 10)
	switch e.Type {
	case "message_start":
		h.usage(e.Message.Usage.InputTokens, e.Message.Usage.CacheReadInputTokens, e.Message.Usage.CacheCreationInputTokens, 0, 0)
	case "content_block_start":
		b := e.ContentBlock
		h.blocks[e.Index] = &block{kind: b.Type, data: b.Data, thinking: b.Thinking, signature: b.Signature}
		if b.Type == "tool_use" {
			return h.a.Call(key, b.ID, b.Name)
		}
		return h.a.Text(b.Text)
	case "content_block_delta":
		return h.delta(key, e)
	case "content_block_stop":
		h.close(e.Index)
	case "message_delta":
		h.stop = stop(e.Delta.StopReason)
		u := e.Usage
		h.usage(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens)
	case "message_stop":
		h.a.End(h.stop)
		return false
	}
	return true
}

func (h *heard) delta(key string, e sdk.MessageStreamEventUnion) bool {
	switch e.Delta.Type {
	case "text_delta":
		return h.a.Text(e.Delta.Text)
	case "input_json_delta":
		return h.a.Arguments(key, e.Delta.PartialJSON)
	case "thinking_delta":
		if b := h.blocks[e.Index]; b != nil {
			b.thinking += e.Delta.Thinking
		}
		return h.a.Thinking(e.Delta.Thinking)
	case "signature_delta":
		if b := h.blocks[e.Index]; b != nil {
			b.signature += e.Delta.Signature
		}
	}
	return true
}

// close keeps a block of thinking as the service wants to see it again.
func (h *heard) close(index int64) {
	b := h.blocks[index]
	if b == nil {
		return
	}
	var item map[string]string
	switch {
	case b.kind == "thinking" && b.signature != "":
		item = map[string]string{"type": b.kind, "thinking": b.thinking, "signature": b.signature}
	case b.kind == "redacted_thinking":
		item = map[string]string{"type": b.kind, "data": b.data}
	default:
		return
	}
	raw, _ := json.Marshal(item) // strings always encode
	h.a.Keep(raw)
}

// usage adds what is read from and written to the cache, which the service leaves out of the input. The last event
// repeats the input only at some services.
func (h *heard) usage(input, read, written, output, thinking int64) {
	u := h.a.Counted()
	if total := int(input + read + written); total > 0 {
		u.Input, u.Cached = total, int(read)
	}
	u.Output, u.Thinking = int(output), int(thinking)
	h.a.Usage(u)
}

func stop(reason sdk.StopReason) provider.Stop {
	switch reason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return provider.StopLength
	case sdk.StopReasonRefusal:
		return provider.StopRefused
	}
	return provider.StopEnd
}
