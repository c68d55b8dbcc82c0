package realagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
	"scv/internal/agent/codex"
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
	retries := string(rune('0' + min(o.Retries, 9)))
	config := strings.Join([]string{
		`model = "fake"`, `model_provider = "fake"`, `[model_providers.fake]`, `name = "fake"`,
		`base_url = "` + a.Model.URL + `/v1"`, `wire_api = "responses"`, `request_max_retries = ` + retries,
		`stream_max_retries = ` + retries, `stream_idle_timeout_ms = 60000`, ``,
	}, "\n")
	if err := os.WriteFile(a.Dir+"/agent/config.toml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
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
