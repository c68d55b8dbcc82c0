package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/safe/redact"
	"scv/internal/session/provider"
	"scv/internal/session/provider/catalog"
	"scv/internal/session/provider/service"
	"scv/internal/testkit/fakemodel"
)

// A route is one of the four interfaces, by the words of the configuration.
type route struct{ name, kind, wire, path string }

func routes() []route {
	return []route{
		{"responses", "openai", "responses", "/v1"},
		{"chat", "openai-compatible", "chat", "/v1"},
		{"messages", "anthropic", "", ""},
		{"gemini", "google", "", "/v1beta"},
	}
}

const key = "key-of-the-test-0123456789"

func profile(url string) service.Profile {
	return service.Profile{
		Name: "test", BaseURL: url, Retries: 2,
		Key:  func(context.Context) (redact.Secret, error) { return key, nil },
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

// An opener opens the route's provider with a changed profile.
type opener func(change func(*service.Profile)) provider.Provider

// each runs a test for each route against a server of its own.
func each(t *testing.T, run func(*testing.T, route, *fakemodel.Server, opener)) {
	for _, r := range routes() {
		t.Run(r.name, func(t *testing.T) {
			server := fakemodel.Start(t)
			run(t, r, server, func(change func(*service.Profile)) provider.Provider {
				p := profile(server.URL + r.path)
				change(&p)
				opened, err := catalog.Open(r.kind, r.wire, p)
				if err != nil {
					t.Fatal(err)
				}
				return opened
			})
		})
	}
}

func plain(*service.Profile) {}

func request(script string, history ...provider.Message) provider.Request {
	return provider.Request{
		Model: "m", System: "be brief", Messages: append(history, provider.Message{Role: provider.User, Text: script}),
		Tools: []provider.Tool{{
			Name: "bash", Description: "runs", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`),
		}},
	}
}

// heard gathers what was emitted.
type heard struct {
	text, thinking strings.Builder
	retries        []provider.Retry
}

func (h *heard) emit(p provider.Piece) {
	h.text.WriteString(p.Text)
	h.thinking.WriteString(p.Thinking)
	if p.Retry != nil {
		h.retries = append(h.retries, *p.Retry)
	}
}

func fault(t *testing.T, err error) *provider.Fault {
	t.Helper()
	f, ok := errors.AsType[*provider.Fault](err)
	if !ok {
		t.Fatalf("%v is no fault", err)
	}
	if n := len([]rune(f.Sentence)); n == 0 || n > 300 || strings.Contains(f.Sentence, "\n") || strings.Contains(f.Sentence, key) {
		t.Errorf("a sentence of %d characters: %q", n, f.Sentence)
	}
	return f
}

func TestProvider_SaysTextAndUsage(t *testing.T) {
	each(t, func(t *testing.T, _ route, server *fakemodel.Server, open opener) {
		var h heard
		answer, err := open(plain).Stream(t.Context(), request("@@long:12345"), h.emit)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Message.Text != h.text.String() || len(answer.Message.Text) != 12345 || answer.Stop != provider.StopEnd {
			t.Errorf("%d bytes answered, %d emitted, %s", len(answer.Message.Text), h.text.Len(), answer.Stop)
		}
		if answer.Usage.Input != 1000 || answer.Usage.Output != 10 {
			t.Errorf("usage %+v", answer.Usage)
		}
		if got := server.Requests(); len(got) != 1 || !got[0].Auth || !got[0].Stream || got[0].Model != "m" {
			t.Errorf("requests %+v", got)
		}
	})
}

func TestProvider_CallsToolsAndGoesOn(t *testing.T) {
	each(t, func(t *testing.T, _ route, _ *fakemodel.Server, open opener) {
		p, first := open(plain), request(`@@tool:bash:{"command":"ls"}|calls:3|say:end`)
		for _, want := range []int{1, 3, 0} {
			answer, err := p.Stream(t.Context(), first, func(provider.Piece) {})
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Message.Calls) != want {
				t.Fatalf("%d calls, want %d", len(answer.Message.Calls), want)
			}
			if want == 0 {
				if answer.Message.Text != "end" && answer.Message.Text != "done" || answer.Stop != provider.StopEnd {
					t.Errorf("ends with %q, %s", answer.Message.Text, answer.Stop)
				}
				return
			}
			result := provider.Message{Role: provider.ToolRole}
			ids := map[string]bool{}
			for _, c := range answer.Message.Calls {
				var object map[string]any
				if c.Name != "bash" || json.Unmarshal(c.Arguments, &object) != nil || ids[c.ID] || c.ID == "" {
					t.Errorf("call %+v", c)
				}
				ids[c.ID] = true
				result.Results = append(result.Results, provider.Result{ID: c.ID, Name: c.Name, Text: "x"})
			}
			if answer.Stop != provider.StopCalls {
				t.Errorf("stops with %s", answer.Stop)
			}
			first.Messages = append(first.Messages, answer.Message, result)
		}
	})
}

func TestProvider_KeepsArgumentsThatAreNoJSON(t *testing.T) {
	each(t, func(t *testing.T, r route, server *fakemodel.Server, open opener) {
		if r.name == "gemini" {
			t.Skip("its arguments are a JSON object on the wire")
		}
		p := open(plain)
		asked := request(`@@tool:bash:{"command":|say:end`)
		answer, err := p.Stream(t.Context(), asked, func(provider.Piece) {})
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Message.Calls) != 1 || string(answer.Message.Calls[0].Arguments) != `{"command":` {
			t.Fatalf("calls %+v", answer.Message.Calls)
		}
		raw, err := json.Marshal(answer.Message)
		if err != nil {
			t.Fatal(err)
		}
		var again provider.Message
		if err := json.Unmarshal(raw, &again); err != nil || string(again.Calls[0].Arguments) != `{"command":` {
			t.Fatalf("%s comes back as %+v, %v", raw, again, err)
		}
		// What goes back is an object, so that the service takes the conversation.
		asked.Messages = append(asked.Messages, again)
		if _, err := p.Stream(t.Context(), asked, func(provider.Piece) {}); err != nil {
			t.Fatal(err)
		}
		last := server.Requests()[1]
		if !bytes.Contains(last.Body, []byte("unreadable_arguments")) || !bytes.Contains(last.Body, []byte("cut off")) {
			t.Errorf("sent %s", last.Body)
		}
	})
}

func TestProvider_HandsThinkingBack(t *testing.T) {
	each(t, func(t *testing.T, r route, server *fakemodel.Server, open opener) {
		var h heard
		p, asked := open(plain), request("@@think:hmm")
		asked.Effort = "high"
		answer, err := p.Stream(t.Context(), asked, h.emit)
		if err != nil {
			t.Fatal(err)
		}
		if h.thinking.String() != "hmm" || answer.Message.Text != "thought" {
			t.Errorf("thought %q, said %q", h.thinking.String(), answer.Message.Text)
		}
		asked.Messages = append(asked.Messages, answer.Message, provider.Message{Role: provider.User, Text: "go on"})
		if _, err := p.Stream(t.Context(), asked, h.emit); err != nil {
			t.Fatal(err)
		}
		sent := server.Requests()
		want := map[string]string{"responses": `"sealed-hmm"`, "messages": `"signed-hmm"`, "gemini": `"thoughtSignature":"signed-hmm"`}[r.name]
		if !bytes.Contains(sent[1].Body, []byte(want)) || bytes.Contains(sent[1].Body, []byte("rs_1")) {
			t.Errorf("sent %s", sent[1].Body)
		}
		if !bytes.Contains(bytes.ToLower(sent[0].Body), []byte(`"high"`)) {
			t.Errorf("no effort in %s", sent[0].Body)
		}
		// Another service's items are left out.
		asked.Messages[1].Service = "another"
		if _, err := p.Stream(t.Context(), asked, h.emit); err != nil {
			t.Fatal(err)
		}
		if last := server.Requests()[2].Body; bytes.Contains(last, []byte("-hmm")) {
			t.Errorf("sent %s", last)
		}
	})
}

// TestProvider_StreamsCutAnywhere breaks and ends a stream after each byte: the answer is whole or a fault, never half
// an answer that passes for one.
// TestProvider_KeyNeverShows has a service that says the key back in its errors.
func TestProvider_Images(t *testing.T) {
	dir := t.TempDir()
	var good bytes.Buffer
	if err := png.Encode(&good, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) provider.Image {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return provider.Image{Path: path}
	}
	link := filepath.Join(dir, "link.png")
	if err := os.Symlink(write("a.png", good.Bytes()).Path, link); err != nil {
		t.Fatal(err)
	}
	message := provider.Message{Role: provider.User, Text: "@@say:seen", Images: []provider.Image{
		write("b.png", good.Bytes()), write("text.png", []byte("hello")), write("large.png", append(good.Bytes(), make([]byte, 9<<20)...)),
		{Path: filepath.Join(dir, "gone.png")},
		{Path: link},
		{Path: dir},
	}}
	older := provider.Message{Role: provider.User, Text: "old", Images: slices.Repeat(message.Images[:1], 9)}
	each(t, func(t *testing.T, r route, server *fakemodel.Server, open opener) {
		asked := request("", older, message)
		asked.Messages = asked.Messages[:2]
		if _, err := open(plain).Stream(t.Context(), asked, func(provider.Piece) {}); err != nil {
			t.Fatal(err)
		}
		body := server.Requests()[0].Body
		// The newest eight: six of this message, of which one is an image, and two of the older.
		if n := bytes.Count(body, []byte("iVBORw0KGgo")); n != 3 {
			t.Errorf("%d images sent", n)
		}
		for _, why := range []string{"the file is gone", "no PNG", "larger than", "only the newest", "cannot be read", "not a plain file"} {
			if !bytes.Contains(body, []byte(why)) {
				t.Errorf("nothing says %q", why)
			}
		}
		if _, err := open(func(p *service.Profile) { p.NoImages = true }).Stream(t.Context(), asked, func(provider.Piece) {}); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(server.Requests()[1].Body, []byte("iVBORw0KGgo")) {
			t.Error("an image was sent to a model that takes none")
		}
		// One that the service refuses is taken out, once.
		asked.Messages[1].Text = "@@err:400:image is not supported"
		_, err := open(plain).Stream(t.Context(), asked, func(provider.Piece) {})
		if f := fault(t, err); f.Class != provider.Invalid {
			t.Errorf("%+v", f)
		}
		all := server.Requests()
		if len(all) != 4 || bytes.Contains(all[3].Body, []byte("iVBORw0KGgo")) || !bytes.Contains(all[3].Body, []byte("refused it")) {
			t.Errorf("%s: %d requests", r.name, len(all))
		}
	})
}

func TestProvider_SchemaAndBound(t *testing.T) {
	each(t, func(t *testing.T, r route, server *fakemodel.Server, open opener) {
		asked := request("@@say:{}")
		asked.Schema = json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"],"additionalProperties":false}`)
		asked.MaxOutput = 321
		if _, err := open(plain).Stream(t.Context(), asked, func(provider.Piece) {}); err != nil {
			t.Fatal(err)
		}
		sent := string(server.Requests()[0].Body)
		for _, want := range []string{`"sum"`, "321", "be brief", `"runs"`} {
			if !strings.Contains(sent, want) {
				t.Errorf("%s sends no %s: %s", r.name, want, sent)
			}
		}
		if wants := r.name == "responses" || r.name == "chat"; strings.Contains(sent, `"strict":true`) != wants {
			t.Errorf("%s: strict in %s", r.name, sent)
		}
		asked.Schema = json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}}}`)
		if _, err := open(plain).Stream(t.Context(), asked, func(provider.Piece) {}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(server.Requests()[1].Body), `"strict":true`) {
			t.Error("a schema that is not closed is sent as strict")
		}
	})
}

func TestProvider_Counts(t *testing.T) {
	each(t, func(t *testing.T, r route, _ *fakemodel.Server, open opener) {
		n, exact, err := open(plain).Count(t.Context(), request(strings.Repeat("word ", 1000)))
		if err != nil || exact != (r.name != "chat") || n < 1000 || n > 3000 {
			t.Errorf("%s: %d, %v, %v", r.name, n, exact, err)
		}
		// A service without a way to count leaves the estimate.
		other := httptest.NewServer(http.NotFoundHandler())
		defer other.Close()
		n, exact, err = open(func(p *service.Profile) { p.BaseURL = other.URL }).Count(t.Context(), request(strings.Repeat("word ", 1000)))
		if err != nil || exact || n < 1000 {
			t.Errorf("%s: %d, %v, %v", r.name, n, exact, err)
		}
	})
}

// TestProvider_FollowsNoRedirect has a service that sends its client to another one, which must not see the key.
