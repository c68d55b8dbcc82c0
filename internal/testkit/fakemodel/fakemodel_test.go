package fakemodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// api is how a test speaks one of the four interfaces.
type api struct {
	name, path string
	body       func(texts []string, results int, tools bool) any
	text       func(data []byte) string // of one event, the words in it
	call       func(data []byte) string // of one event, the tool it calls
	refusal    string                   // stands in the stream of a refusal
}

type m = map[string]any

func apis() []api { return []api{responsesAPI(), chatAPI(), messagesAPI(), geminiAPI()} }

// conversation is texts of the user, then tool results.
func conversation(texts []string, results int, user func(string) any, result any) []any {
	var out []any
	for _, text := range texts {
		out = append(out, user(text))
	}
	for range results {
		out = append(out, result)
	}
	return out
}

// body is a request whose conversation stands in a field, with a tool when wanted.
func body(name string, list []any, tools bool, tool any) any {
	b := m{"model": "m", "stream": true, name: list}
	if tools {
		b["tools"] = []any{tool}
	}
	return b
}

func responsesAPI() api {
	return api{
		name: "responses", path: "/v1/responses", refusal: "content_filter",
		body: func(texts []string, results int, tools bool) any {
			return body("input", conversation(texts, results, func(s string) any {
				return m{"type": "message", "role": "user", "content": []any{m{"type": "input_text", "text": s}}}
			}, m{"type": "function_call_output", "call_id": "c", "output": "x"}), tools, m{"type": "function", "name": "exec_command"})
		},
		text: func(d []byte) string { return field(d, "delta") },
		call: func(d []byte) string { return field(d, "item", "name") },
	}
}

func chatAPI() api {
	return api{
		name: "chat", path: "/v1/chat/completions", refusal: "content_filter",
		body: func(texts []string, results int, tools bool) any {
			return body("messages", conversation(texts, results, func(s string) any {
				return m{"role": "user", "content": s}
			}, m{"role": "tool", "tool_call_id": "c", "content": "x"}), tools, m{"type": "function", "function": m{"name": "bash"}})
		},
		text: func(d []byte) string { return field(d, "choices", "delta", "content") },
		call: func(d []byte) string { return field(d, "choices", "delta", "tool_calls", "function", "name") },
	}
}

func messagesAPI() api {
	return api{
		name: "messages", path: "/v1/messages", refusal: "refusal",
		body: func(texts []string, results int, tools bool) any {
			return body("messages", conversation(texts, results, func(s string) any {
				return m{"role": "user", "content": []any{m{"type": "text", "text": s}}}
			}, m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": "c", "content": "x"}}}), tools, m{"name": "Bash"})
		},
		text: func(d []byte) string { return field(d, "delta", "text") },
		call: func(d []byte) string { return field(d, "content_block", "name") },
	}
}

func geminiAPI() api {
	return api{
		name: "gemini", path: "/v1beta/models/m:streamGenerateContent", refusal: "SAFETY",
		body: func(texts []string, results int, tools bool) any {
			return body("contents", conversation(texts, results, func(s string) any {
				return m{"role": "user", "parts": []any{m{"text": s}}}
			}, m{"role": "user", "parts": []any{m{"functionResponse": m{"name": "x"}}}}), tools,
				m{"functionDeclarations": []any{m{"name": "run_shell_command"}}})
		},
		text: func(d []byte) string { return field(d, "candidates", "content", "parts", "text") },
		call: func(d []byte) string {
			return field(d, "candidates", "content", "parts", "functionCall", "name")
		},
	}
}

// field walks a JSON value along names; of a list it takes the first.
func field(data []byte, names ...string) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return ""
	}
	for _, name := range names {
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		object, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = object[name]
	}
	text, _ := v.(string)
	return text
}

// ask posts a script and returns status, spoken text, called tool and the raw answer.
func (a api) ask(t *testing.T, s *Server, texts []string, results int, tools bool) (int, string, string, string) {
	t.Helper()
	body, err := json.Marshal(a.body(texts, results, tools))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+a.path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, _ := io.ReadAll(answer.Body) // a dropped answer ends with an error, which is what its test wants
	var text, tool strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			text.WriteString(a.text(data))
			tool.WriteString(a.call(data))
		}
	}
	return answer.StatusCode, text.String(), tool.String(), string(raw)
}

func TestC21_EachStepOnEachInterface(t *testing.T) {
	for _, a := range apis() {
		t.Run(a.name, func(t *testing.T) {
			s := Start(t)
			expect := func(texts []string, results int, text, tool string) {
				t.Helper()
				status, gotText, gotTool, raw := a.ask(t, s, texts, results, true)
				if status != 200 || gotText != text || gotTool != tool {
					t.Errorf("%q after %d results: %d %q %q, want %q %q\n%.600s", texts, results, status, gotText, gotTool, text, tool, raw)
				}
			}
			shell := map[string]string{"responses": "exec_command", "chat": "bash", "messages": "Bash", "gemini": "run_shell_command"}[a.name]
			expect([]string{"please @@say:hello"}, 0, "hello", "")
			expect([]string{"@@shell:ls|say:end"}, 0, "", shell)
			expect([]string{"@@shell:ls|say:end"}, 1, "end", "")
			expect([]string{"@@shell:ls|say:end"}, 2, "done", "")
			expect([]string{`@@tool:Read:{"file_path":"a"}`}, 0, "", "Read")
			expect([]string{`@@say:a\|b`}, 0, "a|b", "")
			expect([]string{"@@say:one", "@@hist"}, 0, "2: say:one ; hist", "")
			expect([]string{"@@say:one\nmore", "no script here"}, 0, "one", "")
			expect([]string{"@@long:12345"}, 0, strings.Repeat("0123456789", 1235)[:12345], "")
			expect([]string{"@@hang:0"}, 0, "late", "")
			expect([]string{"@@slow:2"}, 0, "word0 word1 ", "")
			if _, text, _, _ := a.ask(t, s, []string{"title for @@err:500"}, 0, false); text != "ok" {
				t.Errorf("a request without tools was answered %q", text)
			}
			for _, code := range []int{400, 401, 429, 500} {
				if status, _, _, _ := a.ask(t, s, []string{fmt.Sprintf("@@err:%d", code)}, 0, true); status != code {
					t.Errorf("err:%d gave %d", code, status)
				}
			}
			if _, _, _, raw := a.ask(t, s, []string{"@@refuse"}, 0, true); !strings.Contains(raw, a.refusal) {
				t.Errorf("the refusal is no refusal: %s", raw)
			}
			if _, text, _, _ := a.ask(t, s, []string{"@@drop"}, 0, true); text != "" {
				t.Errorf("a dropped answer said %q", text)
			}
			if got := s.Requests(); got[0].Step != "say:hello" || got[0].API != a.name {
				t.Errorf("the first request is recorded as %+v", got[0])
			}
		})
	}
}

func TestC21_FiftyScriptsInParallelShareNothing(t *testing.T) {
	s := Start(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			a := apis()[i%4]
			want := fmt.Sprintf("answer %d", i)
			for range 5 {
				if _, text, _, _ := a.ask(t, s, []string{"@@say:" + want}, 0, true); text != want {
					t.Errorf("%s: got %q, want %q", a.name, text, want)
				}
			}
		})
	}
	all.Wait()
	if n := len(s.Requests()); n != 250 {
		t.Errorf("%d requests are recorded, want 250", n)
	}
}
