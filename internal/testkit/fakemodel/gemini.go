package fakemodel

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"time"
)

// gemini is Google's generateContent interface.
type gemini struct{ *stream }

func newGemini(s *stream, _ call) voice { return gemini{s} }

func parseGemini(r *http.Request, body []byte) (call, error) {
	var in struct {
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string          `json:"text"`
				Response json.RawMessage `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return call{}, err
	}
	model, verb, _ := strings.Cut(path.Base(r.URL.Path), ":")
	c := call{api: "gemini", model: model, stream: verb == "streamGenerateContent"}
	for _, tool := range in.Tools {
		for _, function := range tool.Functions {
			c.tools = append(c.tools, function.Name)
		}
	}
	for _, content := range in.Contents {
		if content.Role == "model" {
			continue
		}
		for _, part := range content.Parts {
			c.entries = append(c.entries, entry{text: part.Text, result: len(part.Response) > 0})
		}
	}
	return c, nil
}

func (v gemini) candidate(parts []any, finish string) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	out := map[string]any{"candidates": []any{candidate}}
	if finish != "" {
		candidate["finishReason"] = finish
		out["usageMetadata"] = map[string]any{"promptTokenCount": 1000, "candidatesTokenCount": 10, "totalTokenCount": 1010}
	}
	return out
}

func (v gemini) speak(parts []string, pause time.Duration, finish string) {
	text := func(s string) []any { return []any{map[string]any{"text": s}} }
	if v.plain {
		writeJSON(v.w, http.StatusOK, v.candidate(text(strings.Join(parts, "")), finish))
		return
	}
	for i, part := range parts {
		last := ""
		if i == len(parts)-1 {
			last = finish
		}
		v.event("", v.candidate(text(part), last))
		v.wait(pause)
	}
}

func (v gemini) say(parts []string, pause time.Duration) { v.speak(parts, pause, "STOP") }

func (v gemini) tool(name string, args json.RawMessage) {
	value := v.candidate([]any{map[string]any{"functionCall": map[string]any{"name": name, "args": args}}}, "STOP")
	if v.plain {
		writeJSON(v.w, http.StatusOK, value)
		return
	}
	v.event("", value)
}

func (v gemini) refuse() { v.speak([]string{"I cannot help with that."}, 0, "SAFETY") }

func (v gemini) fail(code int, text, word string) any {
	return map[string]any{"error": map[string]any{"code": code, "message": text, "status": strings.ToUpper(word)}}
}

func (v gemini) wrong(word string) { v.event("", v.fail(0, "fake model: "+word, word)) }

func (v gemini) think(text string) {
	v.event("", v.candidate([]any{map[string]any{"text": text, "thought": true}}, ""))
	v.event("", v.candidate([]any{map[string]any{"text": "thought", "thoughtSignature": "signed-" + text}}, "STOP"))
}

func (v gemini) calls(n int, name string) {
	for range n {
		v.event("", v.candidate([]any{map[string]any{"functionCall": map[string]any{"name": name, "args": map[string]any{}}}}, ""))
	}
	v.event("", v.candidate([]any{}, "STOP"))
}
