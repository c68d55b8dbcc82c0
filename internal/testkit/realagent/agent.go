package realagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/agent/claude"
	"scv/internal/agent/codex"
	geminicli "scv/internal/agent/gemini"
	opencodecli "scv/internal/agent/opencode"
	"scv/internal/testkit/fakemodel"
	"scv/internal/testkit/need"
	"scv/internal/testkit/proxy"
)

// An Agent is a real agent in a home of its own.
type Agent struct {
	Path  string // its program
	Kind  agent.Kind
	Model *fakemodel.Server
	Proxy *proxy.Proxy
	Dir   string   // holds all that it may write
	Env   []string // as the daemon's environment would be
}

// Options change how an agent is set up.
type Options struct {
	Retries int // of a failed call to the model
	SignOut bool
	Hang    bool // the proxy never answers
}

// base makes the directories and what both agents share.
func base(t testing.TB, kind agent.Kind, o Options) *Agent {
	t.Helper()
	a := &Agent{Path: need.Agent(t, kind.Name), Kind: kind, Model: fakemodel.Start(t), Dir: t.TempDir()}
	if a.Proxy = proxy.Start(t); o.Hang {
		a.Proxy = proxy.StartHanging(t)
	}
	for _, dir := range []string{"home", "work", "tmp", "agent", "run"} {
		if err := os.Mkdir(filepath.Join(a.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + a.Dir + "/home", "TMPDIR=" + a.Dir + "/tmp", "LANG=C.UTF-8",
		"HTTP_PROXY=" + a.Proxy.URL, "HTTPS_PROXY=" + a.Proxy.URL, "NO_PROXY=127.0.0.1,localhost",
	}
	return a
}

// Codex is codex with a provider of the test; it needs no key.
func Codex(t testing.TB, o Options) *Agent {
	t.Helper()
	a := base(t, codex.Kind(), o)
	a.Env = append(a.Env, "CODEX_HOME="+a.Dir+"/agent")
	if o.SignOut {
		return a
	}
	a.codexConfig(t, o)
	return a
}

// codexConfig gives codex a provider of the test.
func (a *Agent) codexConfig(t testing.TB, o Options) {
	t.Helper()
	a.write(t, "agent/config.toml", CodexConfig(a.Model.URL, o.Retries))
}

// CodexConfig is a config.toml by which codex asks the fake model at a URL, and asks again so often, at most 9 times.
func CodexConfig(url string, retries int) string {
	n := string(rune('0' + min(retries, 9)))
	return strings.Join([]string{
		`model = "fake"`, `model_provider = "fake"`, `[model_providers.fake]`, `name = "fake"`,
		`base_url = "` + url + `/v1"`, `wire_api = "responses"`, `request_max_retries = ` + n,
		`stream_max_retries = ` + n, `stream_idle_timeout_ms = 60000`, ``,
	}, "\n")
}

// Claude is claude with a key that the fake model does not look at.
func Claude(t testing.TB, o Options) *Agent {
	t.Helper()
	a := base(t, claude.Kind(), o)
	// As root claude refuses mode auto, unless it is told that the machine is a throw-away one.
	a.Env = append(a.Env, "CLAUDE_CONFIG_DIR="+a.Dir+"/agent", "CLAUDE_CODE_MAX_RETRIES="+string(rune('0'+min(o.Retries, 9))), "IS_SANDBOX=1")
	if !o.SignOut {
		a.Env = append(a.Env, "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+a.Model.URL)
	}
	return a
}

// Scrub replaces what differs between machines in a recording of this agent.
func (a *Agent) Scrub() *strings.Replacer {
	dashed := strings.NewReplacer("/", "-", ".", "-", "_", "-").Replace(a.Dir)
	pairs := []string{a.Dir, "/w", dashed, "-w", a.Model.URL, "http://127.0.0.1:1", strings.TrimPrefix(a.Model.URL, "http://"), "127.0.0.1:1"}
	if host, err := os.Hostname(); err == nil {
		pairs = append(pairs, `"serverName":"`+host+`"`, `"serverName":"host"`)
	}
	return strings.NewReplacer(pairs...)
}

// NoDials fails the test when the agent wanted to reach anything beside the fake model.
func (a *Agent) NoDials(t testing.TB) {
	t.Helper()
	if dials := a.Proxy.Dials(); len(dials) > 0 {
		t.Errorf("%s dialled %q", a.Kind.Name, dials)
	}
}

// Gemini is gemini, live, with a key that the fake model does not look at.
func Gemini(t testing.TB, o Options) *Agent {
	t.Helper()
	return gemini(t, catalog.Gemini(), o)
}

// GeminiCLI is gemini with one process per turn.
func GeminiCLI(t testing.TB, o Options) *Agent {
	t.Helper()
	return gemini(t, geminicli.Kind(), o)
}

func gemini(t testing.TB, kind agent.Kind, o Options) *Agent {
	t.Helper()
	a := base(t, kind, o)
	settings := `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},
		"general":{"enableAutoUpdate":false,"sessionRetention":{"enabled":false}}}`
	if o.SignOut {
		settings = strings.Replace(settings, `"security":{"auth":{"selectedType":"gemini-api-key"}},`, "", 1)
	}
	a.write(t, "home/.gemini/settings.json", settings)
	if !o.SignOut {
		a.Env = append(a.Env, "GEMINI_API_KEY=any", "GOOGLE_GEMINI_BASE_URL="+a.Model.URL)
	}
	return a
}

// Opencode is opencode, live, with a provider of the test.
func Opencode(t testing.TB, o Options) *Agent {
	t.Helper()
	return opencode(t, catalog.Opencode(), o)
}

// OpencodeCLI is opencode with one process per turn.
func OpencodeCLI(t testing.TB, o Options) *Agent {
	t.Helper()
	return opencode(t, opencodecli.Kind(), o)
}

func opencode(t testing.TB, kind agent.Kind, o Options) *Agent {
	t.Helper()
	a := base(t, kind, o)
	a.write(t, "home/.config/opencode/opencode.json", `{"model":"fake/fake","small_model":"fake/fake","autoupdate":false,"provider":{"fake":{
		"npm":"@ai-sdk/openai-compatible","name":"fake","options":{"baseURL":"`+a.Model.URL+`/v1","apiKey":"any"},"models":{"fake":{"name":"fake"}}}}}`)
	a.Env = append(a.Env, "OPENCODE_DISABLE_DEFAULT_PLUGINS=1")
	return a
}

// CodexACP is codex by the adapter codex-acp.
func CodexACP(t testing.TB, o Options) *Agent {
	t.Helper()
	a := base(t, catalog.ACP("codex-acp", "codex-acp"), o)
	a.Env = append(a.Env, "CODEX_HOME="+a.Dir+"/agent")
	a.codexConfig(t, o)
	return a
}

// ClaudeACP is claude by the adapter claude-agent-acp. It needs a newer node than others: SCV_REAL_NODE names one.
func ClaudeACP(t testing.TB, o Options) *Agent {
	t.Helper()
	a := base(t, catalog.ACP("claude-agent-acp", "claude-agent-acp"), o)
	node := filepath.Dir(need.Agent(t, "node"))
	a.Env[0] = "PATH=" + node + ":" + os.Getenv("PATH")
	a.Env = append(a.Env, "CLAUDE_CONFIG_DIR="+a.Dir+"/agent", "CLAUDE_CODE_MAX_RETRIES="+string(rune('0'+min(o.Retries, 9))),
		"IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+a.Model.URL)
	return a
}

// write places a file below the agent's directory.
func (a *Agent) write(t testing.TB, name, text string) {
	t.Helper()
	file := filepath.Join(a.Dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
