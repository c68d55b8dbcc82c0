package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/home"
	"scv/internal/home/config"
)

func newHome(t *testing.T, text string) *home.Home {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	if text != "" {
		write(t, h.ConfigPath(), text, 0o600)
	}
	return h
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, h *home.Home, environ ...string) *config.Config {
	t.Helper()
	c, err := config.Load(h, environ, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lines(err error) []string {
	var out []string
	for _, p := range config.Problems(err) {
		out = append(out, p.Error())
	}
	return out
}

func TestDefaultsOfAnEmptyHome(t *testing.T) {
	c := load(t, newHome(t, ""))
	if c.Policy.Mode != "on-risk" || c.Limits != (config.Limits{Running: 16, Unfinished: 1000, MemoryFloorMB: 256, IdleMinutes: 15, Depth: 2}) {
		t.Errorf("defaults: %+v", c)
	}
	if got := c.Agent("codex").Mode; got != "on-risk" {
		t.Errorf("mode of codex is %q", got)
	}
}

func TestValuesAndOrigins(t *testing.T) {
	c := load(t, newHome(t, `# a comment
[policy]
mode = "always"   # strict

[limits]
running = 3

[agents.codex]
command = "/opt/codex"
args = [
  "exec", # the verb
  "--json",
]
model = 'gpt-9'
permissions = "full"
env_pass = ["SSH_AUTH_SOCK", "CARGO_*"]
prompt_args = ["--"]
model_args = ["-m", "{model}"]
`))
	want := config.AgentConfig{
		Command: "/opt/codex", Args: []string{"exec", "--json"}, Model: "gpt-9", Mode: "auto",
		EnvPass: []string{"SSH_AUTH_SOCK", "CARGO_*"}, PromptArgs: []string{"--"}, ModelArgs: []string{"-m", "{model}"},
	}
	if diff := cmp.Diff(want, c.Agent("codex")); diff != "" {
		t.Error(diff)
	}
	if c.Limits.Running != 3 || c.Agent("claude").Mode != "always" {
		t.Errorf("%+v", c)
	}
	for key, want := range map[string]string{
		"policy.mode": "config.toml:3", "limits.running": "config.toml:6", "agents.codex.args": "config.toml:10",
		"agents.codex.model": "config.toml:14", "agents.codex.mode": "config.toml:15",
	} {
		if c.Origins[key] != want {
			t.Errorf("origin of %s is %q, want %q", key, c.Origins[key], want)
		}
	}
}

func TestU19_AllProblemsAtOnceWithLineAndFix(t *testing.T) {
	_, err := config.Load(newHome(t, `[policy]
mode = "on-rsik"
speling = 1

[agents.codex]
modle = "x"
model = "Bearer hunter2"
effort = 3
args = ["a", 7]

[agents.clod]
command = "x"

[limits]
running = 0

[provider]
headers = "Bearer hunter2"
`), nil, config.Overrides{})
	got := lines(err)
	want := []string{
		`config.toml:2: policy.mode: is not a value that it can have. Did you mean "on-risk"? It is one of auto, on-risk, always, read-only`,
		`config.toml:3: policy.speling: no such key. Use one of mode, check_models, publish_crate_versions_per_day`,
		`config.toml:6: agents.codex.modle: no such key. Did you mean "model"?`,
		`config.toml:7: agents.codex.model: is not a model's name. Use 1 to 128 of letters, digits and ._:/@[]-, not beginning with - or @`,
		`config.toml:8: agents.codex.effort: must be text in quotes, and it is a whole number. Write it as: effort = "..."`,
		`config.toml:9: agents.codex.args: must be a list of texts, and it is a list. Write it as: args = ["..."]`,
		`config.toml:11: agents.clod: no such agent. Use one of claude, claude-ai, codex, grok, dsh, pi, gemini, qwen, opencode, copilot, cursor, amp, kimi, scv, demo, demo-live. For an agent of your own, give it a transport ("acp" or "cli") and a command`,
		`config.toml:15: limits.running: is out of its bounds. Use a number from 1 to 256`,
		`config.toml:18: provider.headers: must be a table of texts, and it is text. Write it as: [provider.headers], and below it one line for each entry`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(strings.Join(got, "\n"), "hunter2") {
		t.Error("a value was shown")
	}
}

func TestU19_SyntaxErrorsNameTheLineAndNotTheText(t *testing.T) {
	for text, want := range map[string]string{
		"[policy]\nmode = hunter2\n":                   "config.toml:2",
		"[policy]\nmode = \"auto\"\nmode = \"auto\"\n": "config.toml:3: policy.mode: this key or table is there twice",
		"[policy\n":                     "config.toml:1",
		"api_key = \"hunter2\n":         "config.toml:1",
		"x = 1\n[policy]\nmode = 'hunt": "config.toml:3",
	} {
		_, err := config.Load(newHome(t, text), nil, config.Overrides{})
		got := strings.Join(lines(err), "\n")
		if !strings.HasPrefix(got, want) || strings.Contains(got, "hunt") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestKeysOfPartsThatAreNotHereAreKept(t *testing.T) {
	c := load(t, newHome(t, `
surprise = true
[channels.telegram]
token = "x"
[history]
keep = 3
[agent]
max_conversations = 5
[notify]
owner = ["chat:me"]
[web]
newer = true
`))
	var got []string
	for _, p := range c.Warnings {
		got = append(got, p.Key)
	}
	want := []string{"agent.max_conversations", "channels", "history", "notify.owner", "surprise", "web.newer"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s, ok := c.Setting("agent.max_conversations"); !ok || !s.Inert || s.Value != "5" {
		t.Errorf("%+v", s)
	}
}

func TestAMistypedPolicyTableIsAnError(t *testing.T) {
	_, err := config.Load(newHome(t, "[polcy]\nmode = \"read-only\"\n"), nil, config.Overrides{})
	if got := lines(err); len(got) != 1 || !strings.Contains(got[0], `Did you mean "policy"?`) {
		t.Errorf("%q", got)
	}
}

func TestT51_KeyInAFileThatOthersMayReadIsRefused(t *testing.T) {
	h := newHome(t, "")
	write(t, h.ConfigPath(), "[provider]\napi_key = \"hunter2\"\n[policy]\nmode = \"auto\"\n", 0o644)
	_, err := config.Load(h, nil, config.Overrides{})
	got := lines(err)
	if len(got) != 1 || !strings.HasPrefix(got[0], "config.toml:2: provider.api_key:") || !strings.Contains(got[0], "chmod 600 ") ||
		strings.Contains(got[0], "hunter2") {
		t.Errorf("%q", got)
	}
	write(t, h.ConfigPath(), "[policy]\nmode = \"auto\"\n", 0o644)
	if c := load(t, h); c.Policy.Mode != "auto" {
		t.Error("a readable file without a key was refused")
	}
	write(t, h.ConfigPath(), "[policy]\nmode = \"auto\"\n", 0o620)
	if _, err := config.Load(h, nil, config.Overrides{}); len(lines(err)) != 1 {
		t.Errorf("a file that the group may change: %v", err)
	}
}

func TestLayers(t *testing.T) {
	h := newHome(t, "[policy]\nmode = \"on-risk\"\n[limits]\nrunning = 4\n")
	extra := filepath.Join(t.TempDir(), "extra.toml")
	write(t, extra, "[policy]\nmode = \"auto\"\n", 0o600)
	if c := load(t, h, "SCV_CONFIG="+extra); c.Policy.Mode != "auto" || c.Limits.Running != 4 || c.Origins["policy.mode"] != "SCV_CONFIG:2" {
		t.Errorf("%+v", c)
	}
	c, err := config.Load(h, []string{"SCV_CONFIG=" + extra}, config.Overrides{Mode: "never"})
	if err != nil || c.Policy.Mode != "read-only" || c.Origins["policy.mode"] != "--policy flag" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := config.Load(h, []string{"SCV_CONFIG=/nowhere"}, config.Overrides{}); err == nil {
		t.Error("a missing SCV_CONFIG was accepted")
	}
	if _, err := config.Load(h, nil, config.Overrides{Mode: "loose"}); err == nil {
		t.Error("a wrong --policy was accepted")
	}
}

func TestProjectMayOnlyTighten(t *testing.T) {
	h := newHome(t, "[policy]\nmode = \"on-risk\"\n")
	c := load(t, h)
	for text, want := range map[string]string{
		"":                                         "",
		"[policy]\nmode = \"read-only\"\n":         "",
		"[policy]\nmode = \"auto\"\n":              "config.toml:2: policy.mode",
		"[agents.codex]\ncommand = \"./evil\"\n":   "config.toml:2: agents.codex.command",
		"[tools]\ncommand_timeout_seconds = 5\n":   "",
		"[tools]\ncommand_timeout_seconds = 700\n": "config.toml:2: tools.command_timeout_seconds",
		"[context]\nsafety_margin_tokens = 1\n":    "config.toml:2: context.safety_margin_tokens",
		"[tools]\nallow_no_timeout = true\n":       "config.toml:2: tools.allow_no_timeout",
		"[limits]\nrunning = 1\n":                  "config.toml:2: limits.running",
	} {
		dir := t.TempDir()
		if text != "" {
			write(t, filepath.Join(dir, ".scv", "config.toml"), text, 0o644)
		}
		got, err := c.ForWorkspace(h, dir)
		if s := strings.Join(lines(err), "\n"); (want == "") != (s == "") || !strings.Contains(s, want) {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
		if strings.Contains(text, "read-only") && got.Policy.Mode != "read-only" {
			t.Errorf("mode %q", got.Policy.Mode)
		}
	}
	if c.Policy.Mode != "on-risk" {
		t.Error("the owner's own settings changed")
	}
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "x.toml")
	write(t, outside, "[policy]\nmode = \"read-only\"\n", 0o644)
	os.Mkdir(filepath.Join(dir, ".scv"), 0o700)
	os.Symlink(outside, filepath.Join(dir, ".scv", "config.toml"))
	if _, err := c.ForWorkspace(h, dir); err == nil {
		t.Error("a link out of the workspace was followed")
	}
}

func TestSetKeepsCommentsAndLayout(t *testing.T) {
	tests := []struct{ before, key, value, after string }{
		{"", "policy.mode", "auto", "[policy]\nmode = \"auto\"\n"},
		{"# top\n[policy]\nmode = \"auto\"   # why\n", "policy.mode", "always", "# top\n[policy]\nmode = \"always\"   # why\n"},
		{"[policy]\n# end", "policy.mode", "auto", "[policy]\nmode = \"auto\"\n# end"},
		{"[policy]", "policy.mode", "auto", "[policy]\nmode = \"auto\"\n"},
		{
			"[agents.codex]\nargs = [\n  \"a\", # x ]\n]\n\n[limits]\n", "agents.codex.model", "gpt",
			"[agents.codex]\nargs = [\n  \"a\", # x ]\n]\nmodel = \"gpt\"\n\n[limits]\n",
		},
		{"[agents.codex]\nargs = [\n  \"a\",\n]\n", "agents.codex.args", "b, c", "[agents.codex]\nargs = [\"b\", \"c\"]\n"},
		{"agents.codex.model = 'x'\n", "agents.codex.model", "y", "agents.codex.model = \"y\"\n"},
		{"[limits]\nrunning=3#c\n", "limits.running", "5", "[limits]\nrunning=5#c\n"},
		{"[x]\ns = \"\"\"\n[limits]\n\"\"\"\n", "limits.running", "5", "[x]\ns = \"\"\"\n[limits]\n\"\"\"\n\n[limits]\nrunning = 5\n"},
	}
	for _, tt := range tests {
		h := newHome(t, tt.before)
		if err := config.Set(h, tt.key, tt.value); err != nil {
			t.Errorf("%q: %v", tt.before, err)
			continue
		}
		got, _ := os.ReadFile(h.ConfigPath())
		if string(got) != tt.after {
			t.Errorf("%q set %s: %q, want %q", tt.before, tt.key, got, tt.after)
		}
		if info, _ := os.Stat(h.ConfigPath()); info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tt := range []struct{ before, key, value, want string }{
		{"", "policy.mod", "auto", `Did you mean "policy.mode"?`},
		{"", "agents.codx.model", "m", `Did you mean "agents.codex.model"?`},
		{"", "policy.mode", "loose", "one of auto"},
		{"", "limits.running", "many", "whole number"},
		{"", "limits.running", "0", "from 1 to 256"},
		{"[agents]\ncodex = { model = \"x\" }\n", "agents.codex.effort", "high", "by hand"},
		{"[broken\n", "policy.mode", "auto", "config.toml:1"},
	} {
		h := newHome(t, tt.before)
		err := config.Set(h, tt.key, tt.value)
		if s := strings.Join(lines(err), "\n"); !strings.Contains(s, tt.want) {
			t.Errorf("set %s %s on %q: %q, want %q", tt.key, tt.value, tt.before, s, tt.want)
		}
		if got, _ := os.ReadFile(h.ConfigPath()); string(got) != tt.before {
			t.Errorf("set %s %s changed the file to %q", tt.key, tt.value, got)
		}
	}
}

func TestSettingHidesSecrets(t *testing.T) {
	c := load(t, newHome(t, "[provider]\napi_key = \"hunter2\"\n[provider.headers]\nx = \"hunter2\"\n"))
	for _, s := range c.Settings(true) {
		if strings.Contains(s.Value, "hunter2") {
			t.Errorf("%s shows its value", s.Key)
		}
	}
}

func TestEnsure(t *testing.T) {
	h := newHome(t, "")
	path, made, err := config.Ensure(h)
	if err != nil || !made || path != h.ConfigPath() {
		t.Fatalf("%q %v %v", path, made, err)
	}
	if _, err := config.Load(h, nil, config.Overrides{}); err != nil {
		t.Errorf("the starter: %v", err)
	}
	if _, made, err := config.Ensure(h); err != nil || made {
		t.Errorf("a second time: %v %v", made, err)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"list", "start", "log", "result"}
	for in, want := range map[string]string{"lsit": "list", "strat": "start", "lgo": "log", "xyz": "", "results": "result", "": ""} {
		if got := config.Nearest(in, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzSet(f *testing.F) {
	f.Add("[policy]\nmode = \"auto\"\n")
	f.Add("a.b = [ { x = '''\n]''' } ] # c\n[limits]\r\nrunning = 3")
	f.Add("[a.\"b.c\"]\nx = \"\"\"\"q\"\"\"\"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		h := newHome(t, text)
		if err := config.Set(h, "limits.running", "7"); err != nil {
			if got, _ := os.ReadFile(h.ConfigPath()); string(got) != text {
				t.Fatalf("refused (%v), and %q became %q", err, text, got)
			}
			return
		}
		c, err := config.Load(h, nil, config.Overrides{})
		if err == nil && c.Limits.Running != 7 {
			t.Fatalf("set, and it is %d", c.Limits.Running)
		}
	})
}
