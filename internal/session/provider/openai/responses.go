package openai

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"scv/internal/session/provider"
	"scv/internal/session/provider/service"
)

// responsesName marks what a message keeps for this interface.
const responsesName = "openai-responses"

type responsesClient struct {
	client *service.Client
	api    responses.ResponseService
}

// Responses returns a provider that speaks the Responses interface. Nothing is stored at the service: the whole
// conversation goes with each request, and reasoning comes back encrypted, to be handed in again.
func Responses(p service.Profile) provider.Provider {
	c := service.New(p, service.Bearer)
	return &responsesClient{c, responses.NewResponseService(options(c)...)}
}

// Stream implements provider.Provider.
func (r *responsesClient) Stream(ctx context.Context, request provider.Request, emit func(provider.Piece)) (provider.Answer, error) {
	return r.client.Stream(ctx, responsesName, request, emit, r.run)
}

// Count implements provider.Provider. A compatible service that has no way to count is told apart by its refusal.
func (r *responsesClient) Count(ctx context.Context, request provider.Request) (int, bool, error) {
	ready := r.client.Prepare(request)
	full := r.request(ready)
	var tokens int
	err := r.client.Ask(ctx, func(ctx context.Context, _ *service.Attempt) error {
		answer, err := r.api.InputTokens.Count(ctx, responses.InputTokenCountParams{
			Model: param.NewOpt(request.Model), Instructions: full.Instructions, Tools: full.Tools,
			Reasoning: shared.ReasoningParam{Effort: full.Reasoning.Effort},
			Input:     responses.InputTokenCountParamsInputUnion{OfResponseInputItemArray: full.Input.OfInputItemList},
		})
		if err == nil {
			tokens = int(answer.InputTokens)
		}
		return err
	})
	return service.Counted(tokens, request, err)
}

func (r *responsesClient) request(ready service.Ready) responses.ResponseNewParams {
	p := responses.ResponseNewParams{
		Model: ready.Model, Store: param.NewOpt(false),
		Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: input(ready)},
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	if ready.System != "" {
		p.Instructions = param.NewOpt(ready.System)
	}
	if ready.MaxOutput > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(ready.MaxOutput))
	}
	if ready.Effort != "" {
		p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffort(ready.Effort), Summary: shared.ReasoningSummaryAuto}
	}
	for _, t := range ready.Tools {
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: t.Name, Description: param.NewOpt(t.Description), Parameters: object(t.Schema), Strict: param.NewOpt(false),
		}})
	}
	if len(ready.Schema) > 0 {
		schema := object(ready.Schema)
		p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{
			Name: "answer", Schema: schema, Strict: param.NewOpt(strict(schema)),
		}
	}
	return p
}

func input(ready service.Ready) responses.ResponseInputParam {
	var list responses.ResponseInputParam
	for i, m := range ready.Messages {
		switch m.Role {
		case provider.User:
			list = append(list, responses.ResponseInputItemParamOfMessage(content(m, ready.Pictures[i]), responses.EasyInputMessageRoleUser))
		case provider.ToolRole:
			for _, result := range m.Results {
				output := responses.ResponseInputItemParamOfFunctionCallOutput(result.Text)
				output.OfFunctionCallOutput.CallID = param.NewOpt(result.ID)
				list = append(list, output)
			}
		case provider.Assistant:
			list = append(list, said(m)...)
		}
	}
	return list
}

// said is an answer of the model: its reasoning goes back in the places that it came in.
func said(m provider.Message) responses.ResponseInputParam {
	var list responses.ResponseInputParam
	kept := service.Items(m, responsesName)
	until := func(call int) {
		for len(kept) > 0 && kept[0].Before <= call {
			list = append(list, param.Override[responses.ResponseInputItemUnionParam](kept[0].Item))
			kept = kept[1:]
		}
	}
	until(0)
	if m.Text != "" {
		list = append(list, responses.ResponseInputItemParamOfMessage(m.Text, responses.EasyInputMessageRoleAssistant))
	}
	for i, call := range m.Calls {
		until(i)
		list = append(list, responses.ResponseInputItemParamOfFunctionCall(string(service.Object(call.Arguments)), call.ID, call.Name))
	}
	return list
}

func content(m provider.Message, pictures []service.Picture) responses.ResponseInputMessageContentListParam {
	var parts responses.ResponseInputMessageContentListParam
	if m.Text != "" {
		parts = append(parts, responses.ResponseInputContentParamOfInputText(m.Text))
	}
	for _, p := range pictures {
		if p.Data == nil {
			parts = append(parts, responses.ResponseInputContentParamOfInputText(p.Sentence))
			continue
		}
		image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
		image.OfInputImage.ImageURL = param.NewOpt(dataURL(p))
		parts = append(parts, image)
	}
	return parts
}

func (r *responsesClient) run(ctx context.Context, a *service.Attempt, ready service.Ready) error {
	stream := r.api.NewStreaming(ctx, r.request(ready))
	defer stream.Close()
	h := heard{client: r.client, a: a, spoken: map[int64]bool{}}
	for stream.Next() {
		if !h.event(stream.Current()) {
			break
		}
	}
	return told(r.client, a, stream.Err())
}

// heard follows one stream. spoken are the items whose text came in pieces; some services only send it whole.
type heard struct {
	client *service.Client
	a      *service.Attempt
	spoken map[int64]bool
}

// event takes one event; false ends the reading.
func (h *heard) event(e responses.ResponseStreamEventUnion) bool {
	key := strconv.FormatInt(e.OutputIndex, 10)
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		h.spoken[e.OutputIndex] = true
		return h.a.Text(e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return h.a.Thinking(e.Delta)
	case "response.reasoning_summary_part.added":
		return e.SummaryIndex == 0 || h.a.Thinking("\n\n")
	case "response.output_item.added":
		if e.Item.Type == "function_call" {
			return h.a.Call(key, e.Item.CallID, e.Item.Name)
		}
	case "response.function_call_arguments.delta":
		return h.a.Arguments(key, e.Delta)
	case "response.output_item.done":
		return h.item(key, e)
	case "response.completed", "response.incomplete", "response.failed":
		h.end(e)
		return false
	case "error":
		_ = h.a.Fail(h.client.Fault(service.Problem{Code: e.Code, Message: e.Message})) // kept by the attempt
		return false
	}
	return true
}

func (h *heard) item(key string, e responses.ResponseStreamEventUnion) bool {
	switch e.Item.Type {
	case "function_call":
		return h.a.Call(key, e.Item.CallID, e.Item.Name) && h.a.Whole(key, e.Item.Arguments.OfString)
	case "reasoning":
		// The id names an item at the service, which stored none.
		var item map[string]json.RawMessage
		if e.Item.EncryptedContent != "" && json.Unmarshal([]byte(e.Item.RawJSON()), &item) == nil {
			delete(item, "id")
			delete(item, "status")
			raw, _ := json.Marshal(item) // was decoded just now
			h.a.Keep(raw)
		}
	case "message":
		for _, part := range e.Item.Content {
			if !h.spoken[e.OutputIndex] && !h.a.Text(part.Text+part.Refusal) {
				return false
			}
		}
	}
	return true
}

func (h *heard) end(e responses.ResponseStreamEventUnion) {
	usage := e.Response.Usage
	h.a.Usage(provider.Usage{
		Input: int(usage.InputTokens), Output: int(usage.OutputTokens),
		Cached: int(usage.InputTokensDetails.CachedTokens), Thinking: int(usage.OutputTokensDetails.ReasoningTokens),
	})
	switch reason := e.Response.IncompleteDetails.Reason; {
	case e.Type == "response.failed":
		// Kept by the attempt.
		_ = h.a.Fail(h.client.Fault(service.Problem{Code: string(e.Response.Error.Code), Message: e.Response.Error.Message}))
	case reason == "content_filter":
		h.a.End(provider.StopRefused)
	case e.Type == "response.incomplete":
		h.a.End(provider.StopLength)
	default:
		h.a.End(provider.StopEnd)
	}
}
