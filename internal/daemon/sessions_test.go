package daemon

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"scv/internal/daemon/talk"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/redact"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/testkit/fakemodel"
	"scv/internal/workbench/row"
)

// TestSession_WorksOverARealServiceAndRealTools asks a model service for a command and runs it, with what the daemon
// itself builds for a session.
func TestSession_WorksOverARealServiceAndRealTools(t *testing.T) {
	server := fakemodel.Start(t)
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	opt := Options{Home: h, Environ: []string{"PATH=/usr/bin:/bin", "OPENAI_API_KEY=not-for-commands", "HOME=" + t.TempDir()}}
	loop := config.Loop{Output: 1 << 16, Skills: config.SkillsConfig{Most: 9, Bytes: 1 << 16}, Web: config.WebConfig{Enabled: true}}
	kit, err := toolsOf(opt)(t.Context(), talk.Site{Talk: row.Talk{ID: "s-1", Workspace: t.TempDir()}, Loop: loop})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := kit.Close(); err != nil {
			t.Error(err)
		}
	}()
	request := provider.Request{Model: "m", Messages: []provider.Message{{Role: provider.User, Text: "@@shell:env|say:end"}}}
	byName := map[string]tool.Tool{}
	var names []string
	for _, one := range kit.Tools {
		request.Tools = append(request.Tools, one.Spec())
		byName[one.Spec().Name] = one
		names = append(names, one.Spec().Name)
	}
	if want := []string{"read", "list", "search", "write", "edit", "read_skill", "bash", "web_fetch"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, parts %q", names, kit.Parts)
	}
	key := func(context.Context) (redact.Secret, error) { return "k", nil }
	for _, kind := range []string{"openai", "openai-compatible", "anthropic", "google"} {
		model, err := openService(t.Context(), config.Provider{Name: "p", Kind: kind, BaseURL: server.URL + "/v1"}, key, loop)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := model.Stream(t.Context(), request, func(provider.Piece) {})
		if err != nil || len(answer.Message.Calls) != 1 {
			t.Fatalf("%s: %+v, %v", kind, answer, err)
		}
		call := answer.Message.Calls[0]
		var args struct {
			Command string `json:"command"`
		}
		if err := json.Unmarshal(call.Arguments, &args); err != nil {
			t.Fatal(err)
		}
		got := byName[call.Name].Run(t.Context(), json.RawMessage(`{"command":"`+args.Command+`"}`), tool.Env{Dir: h.Path(), Limit: 1 << 16})
		for _, want := range []string{"SCV_RUN=s-1\n", "SCV_PARENT=s-1\n", "SCV_HOME=" + h.Path() + "\n"} {
			if !strings.Contains(got.Text, want) {
				t.Errorf("a command has no %q: %q", want, got.Text)
			}
		}
		if strings.Contains(got.Text, "not-for-commands") {
			t.Error("a command has the key of the service")
		}
	}
}
