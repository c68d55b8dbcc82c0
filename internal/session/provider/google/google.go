// Package google asks Google's Gemini interface with a key. It is written by hand: the official library links Google's
// cloud stack, which costs every process of ours, shims included, 22 MB of code, 1.4 MB of memory and 30 ms at its
// start (docs/decisions/011-model-services.md).
package google

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"scv/internal/session/provider"
	"scv/internal/session/provider/service"
)

const (
	name = "google"
	home = "https://generativelanguage.googleapis.com/v1beta"
)

type client struct {
	client *service.Client
	base   string
}

// New returns a provider that speaks generateContent. Signatures of thoughts go back with the parts they came with.
func New(p service.Profile) provider.Provider {
	c := service.New(p, service.Header("X-Goog-Api-Key"))
	base := strings.TrimRight(c.Base(home), "/")
	// Owners write the address with its version or without.
	if last := base[strings.LastIndex(base, "/")+1:]; !strings.HasPrefix(last, "v1") {
		base += "/v1beta"
	}
	return &client{c, base}
}

// Stream implements provider.Provider.
func (c *client) Stream(ctx context.Context, request provider.Request, emit func(provider.Piece)) (provider.Answer, error) {
	return c.client.Stream(ctx, name, request, emit, c.run)
}

// Count implements provider.Provider.
func (c *client) Count(ctx context.Context, request provider.Request) (int, bool, error) {
	whole := body(c.client.Prepare(request))
	whole.Model = "models/" + strings.TrimPrefix(request.Model, "models/")
	var answer struct {
		Total int `json:"totalTokens"`
	}
	err := c.client.Ask(ctx, func(ctx context.Context, _ *service.Attempt) error {
		return c.client.Value(ctx, c.address(request.Model, "countTokens"), map[string]any{"generateContentRequest": whole}, &answer)
	})
	return service.Counted(answer.Total, request, err)
}

func (c *client) address(model, verb string) string {
	return c.base + "/models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":" + verb
}

type request struct {
	Model      string     `json:"model,omitempty"` // only inside a request to count
	Contents   []content  `json:"contents"`
	System     *content   `json:"systemInstruction,omitempty"`
	Tools      []tool     `json:"tools,omitempty"`
	Generation generation `json:"generationConfig,omitzero"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// A part has one of its fields set, and perhaps a signature.
type part struct {
	Text      string    `json:"text,omitempty"`
	Thought   bool      `json:"thought,omitzero"`
	Signature string    `json:"thoughtSignature,omitempty"` // base64, handed back as it came
	Image     *blob     `json:"inlineData,omitempty"`
	Call      *called   `json:"functionCall,omitempty"`
	Result    *returned `json:"functionResponse,omitempty"`
}

type blob struct {
	MIME string `json:"mimeType"`
	Data []byte `json:"data"`
}

type called struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"args,omitempty"`
}

type returned struct {
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type tool struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type generation struct {
	MaxOutput int             `json:"maxOutputTokens,omitzero"`
	MIME      string          `json:"responseMimeType,omitempty"`
	Schema    json.RawMessage `json:"responseJsonSchema,omitempty"`
	Thinking  *thinking       `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	Show  bool   `json:"includeThoughts"`
	Level string `json:"thinkingLevel"`
}

func body(ready service.Ready) request {
	r := request{Contents: contents(ready)}
	r.Generation.MaxOutput = ready.MaxOutput
	if ready.System != "" {
		r.System = &content{Parts: []part{{Text: ready.System}}}
	}
	if ready.Effort != "" {
		r.Generation.Thinking = &thinking{Show: true, Level: ready.Effort}
	}
	if len(ready.Schema) > 0 {
		r.Generation.MIME, r.Generation.Schema = "application/json", ready.Schema
	}
	if len(ready.Tools) > 0 {
		var t tool
		for _, one := range ready.Tools {
			t.Functions = append(t.Functions, function{one.Name, one.Description, one.Schema})
		}
		r.Tools = []tool{t}
	}
	return r
}

// contents are the messages. Neighbours of one role become one, since the interface wants the roles in turn.
func contents(ready service.Ready) []content {
	var list []content
	for i, m := range ready.Messages {
		role := "user"
		if m.Role == provider.Assistant {
			role = "model"
		}
		parts := parts(m, ready.Pictures[i])
		if n := len(list); n > 0 && list[n-1].Role == role {
			list[n-1].Parts = append(list[n-1].Parts, parts...)
			continue
		}
		list = append(list, content{role, parts})
	}
	return list
}

func parts(m provider.Message, pictures []service.Picture) []part {
	var list []part
	signed := map[int]string{} // by the call that the signature came with
	for _, k := range service.Items(m, name) {
		var s signature
		if json.Unmarshal(k.Item, &s) == nil {
			signed[s.Call] = s.Signature
		}
	}
	if m.Text != "" {
		list = append(list, part{Text: m.Text, Signature: signed[ofText]})
	}
	for i, call := range m.Calls {
		list = append(list, part{Call: &called{Name: call.Name, Arguments: service.Object(call.Arguments)}, Signature: signed[i]})
	}
	for _, p := range pictures {
		if p.Data == nil {
			list = append(list, part{Text: p.Sentence})
			continue
		}
		list = append(list, part{Image: &blob{p.MIME, p.Data}})
	}
	for _, result := range m.Results {
		field := "output"
		if result.Failed {
			field = "error"
		}
		list = append(list, part{Result: &returned{result.Name, map[string]string{field: result.Text}}})
	}
	return list
}

// A signature is what the service wants to see again with one part: that of a call, or the text.
type signature struct {
	Call      int    `json:"call"`
	Signature string `json:"signature"`
}

const ofText = -1

// An answer is one event of the stream.
type answer struct {
	Error      json.RawMessage `json:"error"`
	Candidates []struct {
		Content content `json:"content"`
		Finish  string  `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		Block string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int `json:"promptTokenCount"`
		ToolPrompt int `json:"toolUsePromptTokenCount"`
		Candidates int `json:"candidatesTokenCount"`
		Thoughts   int `json:"thoughtsTokenCount"`
		Cached     int `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
}

func (c *client) run(ctx context.Context, a *service.Attempt, ready service.Ready) error {
	return c.client.Events(ctx, c.address(ready.Model, "streamGenerateContent")+"?alt=sse", body(ready), func(data []byte) bool {
		var piece answer
		if err := json.Unmarshal(data, &piece); err != nil {
			_ = a.Fail(service.Garbled(err)) // kept by the attempt
			return false
		}
		if len(piece.Error) > 0 {
			_ = a.Fail(c.client.Fault(service.Read(data))) // kept by the attempt
			return false
		}
		return heard(a, piece)
	})
}

// heard takes one piece of the answer; false ends the reading.
func heard(a *service.Attempt, piece answer) bool {
	if u := piece.Usage; u != nil {
		a.Usage(provider.Usage{Input: u.Prompt + u.ToolPrompt, Output: u.Candidates + u.Thoughts, Cached: u.Cached, Thinking: u.Thoughts})
	}
	if piece.Feedback.Block != "" {
		a.End(provider.StopRefused)
		return a.Text("The service declined the prompt: " + piece.Feedback.Block + ".")
	}
	if len(piece.Candidates) == 0 {
		return true
	}
	first := piece.Candidates[0]
	for _, p := range first.Content.Parts {
		if !take(a, p) {
			return false
		}
	}
	if first.Finish != "" {
		a.End(stop(first.Finish))
	}
	return true
}

func take(a *service.Attempt, p part) bool {
	switch {
	case p.Call != nil:
		number := a.Started()
		sign(a, number, p.Signature)
		arguments := p.Call.Arguments
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		key := strconv.Itoa(number)
		return a.Call(key, p.Call.ID, p.Call.Name) && a.Arguments(key, string(arguments))
	case p.Thought:
		return a.Thinking(p.Text)
	}
	sign(a, ofText, p.Signature)
	return a.Text(p.Text)
}

func sign(a *service.Attempt, call int, s string) {
	if s != "" {
		raw, _ := json.Marshal(signature{call, s}) // always encodes
		a.Keep(raw)
	}
}

func stop(reason string) provider.Stop {
	switch reason {
	case "STOP", "OTHER", "FINISH_REASON_UNSPECIFIED":
		return provider.StopEnd
	case "MAX_TOKENS":
		return provider.StopLength
	}
	return provider.StopRefused
}
