package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"scv/internal/safe/redact"
)

// Kinds of model services.
const (
	KindCompatible = "openai-compatible"
	KindOpenAI     = "openai"
	KindAnthropic  = "anthropic"
	KindGoogle     = "google"
)

// A Provider is one configured model service. Where the key is, is said by one of four; the first that is set counts.
type Provider struct {
	Name       string // of the profile; "provider" for the one table
	Kind       string
	WireAPI    string // responses or chat, of the first two kinds
	Model      string // empty: none was named, and the kind has no default
	BaseURL    string // empty for the service's own
	APIKey     redact.Secret
	APIKeyCmd  []string // prints the key; run without a shell
	APIKeyFile string
	APIKeyEnv  string
	Timeout    time.Duration
	Headers    map[string]string
	Images     bool
	Effort     string
	Retries    int
}

// A Loop is what the owner says of sessions of SCV's own model loop. Numbers are within the bounds of their keys.
type Loop struct {
	Steps                                       int
	SystemPrompt                                string // the first part of it; empty for ours
	Background                                  int    // running jobs of one session; 0: none
	Depth                                       int    // of delegation; 0: off
	Prefer                                      []string
	CommandTimeout, AgentTimeout, MaxTimeout    time.Duration
	Output, Read, Write                         int // bytes
	HistoryBytes, HistoryMessages               int
	Window, Reserve, Safety, PerToken, Summary  int
	ClientFrame, ServerFrame                    int
	Response, Assistant, Event, Arguments, Call int // of an answer
	Skills                                      SkillsConfig
	Web                                         WebConfig
	Servers                                     []MCPServer
	Transcript, TranscriptItems                 int
	Prompts, PromptItems                        int
	Keys                                        map[string]string
}

// SkillsConfig says where skills are looked for.
type SkillsConfig struct {
	UserDir, ProjectDir string
	Trusted             []string // texts of projects: "DIGEST PATH"
	Scan                bool
	Most, Bytes         int
}

// WebConfig bounds what is fetched.
type WebConfig struct {
	Enabled, Private bool
	Bytes            int
	Timeout          time.Duration
	Redirects        int
	Unasked          []string // hosts that need no question
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// Loop returns the settings of the model loop.
func (c *Config) Loop() Loop {
	l := Loop{
		Steps: c.number("agent.max_steps"), SystemPrompt: c.text("agent.system_prompt"), Background: c.number("agent.max_background"),
		Depth: c.number("agent.max_delegation_depth"), Prefer: c.list("agent.prefer"),
		CommandTimeout: seconds(c.number("tools.command_timeout_seconds")), AgentTimeout: seconds(c.number("tools.agent_timeout_seconds")),
		MaxTimeout: seconds(c.number("tools.max_timeout_seconds")),
		Output:     c.number("tools.output_limit_bytes"), Read: c.number("tools.max_read_bytes"), Write: c.number("tools.max_write_bytes"),
		HistoryBytes: c.number("session.max_history_bytes"), HistoryMessages: c.number("session.max_messages"),
		Window: c.number("context.max_tokens"), Reserve: c.number("context.reserve_output_tokens"), Safety: c.number("context.safety_margin_tokens"),
		PerToken: c.number("context.bytes_per_token"), Summary: c.number("context.summary_max_chars"),
		ClientFrame: c.number("protocol.max_client_frame_bytes"), ServerFrame: c.number("protocol.max_server_frame_bytes"),
		Response: c.number("provider_limits.max_response_bytes"), Assistant: c.number("provider_limits.max_assistant_bytes"),
		Event: c.number("provider_limits.max_sse_event_bytes"), Arguments: c.number("provider_limits.max_tool_arguments_bytes"),
		Call:       c.number("provider_limits.max_tool_calls"),
		Transcript: c.number("tui.max_transcript_bytes"), TranscriptItems: c.number("tui.max_transcript_items"),
		Prompts: c.number("tui.max_prompt_history_bytes"), PromptItems: c.number("tui.max_prompt_history_items"),
		Keys: c.table("tui.keys"), Servers: c.mcpServers(),
	}
	l.Skills = SkillsConfig{
		UserDir: c.text("skills.user_dir"), ProjectDir: c.text("skills.project_dir"), Trusted: c.list("skills.trusted"), Scan: c.on("skills.scan_projects"),
		Most: c.number("skills.max_skills"), Bytes: c.number("skills.max_skill_bytes"),
	}
	l.Web = WebConfig{
		Enabled: c.on("web.enabled"), Private: c.on("web.allow_private_addresses"), Bytes: c.number("web.fetch_max_bytes"),
		Timeout: seconds(c.number("web.fetch_timeout_seconds")), Redirects: c.number("web.max_redirects"), Unasked: c.list("web.auto_approve_domains"),
	}
	return l
}

// ActiveProvider is the profile that a session uses which names none; empty for the one table [provider].
func (c *Config) ActiveProvider() string {
	if name := c.text("provider_active"); name != "" {
		return name
	}
	return c.text("provider.active")
}

// ProviderNames lists the profiles, by name.
func (c *Config) ProviderNames() []string {
	return namesBelow(c.values, "providers.")
}

// Provider returns a profile; the empty name is the active one. SCV_MODEL, SCV_BASE_URL and SCV_API_KEY_ENV of environ
// replace its fields. A name that no profile has is an error.
func (c *Config) Provider(name string, environ []string) (Provider, error) {
	if name == "" {
		name = c.ActiveProvider()
	}
	at := "provider."
	p := Provider{Name: "provider"}
	if name != "" && name != "provider" {
		if !slices.Contains(c.ProviderNames(), name) {
			known := "there are no profiles; write one: [providers." + name + "]"
			if all := c.ProviderNames(); len(all) > 0 {
				known = "there are " + strings.Join(all, ", ")
			}
			return p, fmt.Errorf("no profile is named %.40q: %s", name, known)
		}
		at, p.Name = "providers."+name+".", name
	}
	p.Kind, p.WireAPI, p.Effort = c.text(at+"kind"), c.text(at+"wire_api"), c.text(at+"reasoning_effort")
	p.APIKey, p.APIKeyFile, p.APIKeyCmd = redact.Secret(c.text(at+"api_key")), c.text(at+"api_key_file"), c.list(at+"api_key_command")
	p.Timeout, p.Headers, p.Images = seconds(c.number(at+"timeout_seconds")), c.table(at+"headers"), c.on(at+"image_input")
	p.Retries = c.number("provider_limits.max_retries")
	p.Model, p.BaseURL, p.APIKeyEnv = c.said(at+"model"), c.said(at+"base_url"), c.said(at+"api_key_env")
	for variable, field := range map[string]*string{"SCV_MODEL": &p.Model, "SCV_BASE_URL": &p.BaseURL, "SCV_API_KEY_ENV": &p.APIKeyEnv} {
		if text := lookup(environ, variable); text != "" {
			*field = text
		}
	}
	p.fill()
	return p, nil
}

// said is what a layer says, without the default of the key.
func (c *Config) said(key string) string {
	text, _ := c.values[key].v.(string)
	return text
}

// fill puts in what the kind has for what was not said.
func (p *Provider) fill() {
	model, base, env := "gpt-4.1-mini", "", "OPENAI_API_KEY"
	switch p.Kind {
	case KindAnthropic:
		model, env = "", "ANTHROPIC_API_KEY"
	case KindGoogle:
		model, env = "", "GEMINI_API_KEY"
	}
	for field, deflt := range map[*string]string{&p.Model: model, &p.BaseURL: base, &p.APIKeyEnv: env} {
		if *field == "" {
			*field = deflt
		}
	}
}

// An MCPServer is a server of the Model Context Protocol that the owner lets sessions use: a program of his, or an
// address. A project's file can name none.
type MCPServer struct {
	Name    string
	Command []string // the program and its arguments; empty for a server at URL
	Env     map[string]string
	URL     string
	Headers map[string]string
	Timeout time.Duration // of one call
}

// mcpFields are the keys of one server of the owner's.
func mcpFields() []field {
	const at = "mcp.*."
	return []field{
		{name: at + "command", kind: kindText, project: projectNever, used: true, check: checkCommand},
		{name: at + "args", kind: kindList, project: projectNever, used: true, check: checkArgs},
		{name: at + "env", kind: kindMap, project: projectNever, used: true, secret: true, check: checkEnv},
		{name: at + "url", kind: kindText, project: projectNever, used: true, check: checkAddress},
		{name: at + "headers", kind: kindMap, project: projectNever, used: true, secret: true},
		used(number(at+"timeout_seconds", 60, 1, 3600)),
		{name: at + "enabled", kind: kindSwitch, deflt: "true", project: projectNever, used: true},
	}
}

func checkAddress(v any) (string, string) {
	if s := v.(string); !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return "is no address of a server", "Write it as: url = \"https://host/path\""
	}
	return "", ""
}

// mcpServers faults what is no server: a bad name, nothing to start, or two ways to reach it.
func (l *layer) mcpServers() {
	for _, name := range namesBelow(l.values, "mcp.") {
		at := "mcp." + name
		line := 0
		for key, v := range l.values {
			if strings.HasPrefix(key, at+".") && (line == 0 || v.line < line) {
				line = v.line
			}
		}
		_, program := l.values[at+".command"]
		_, address := l.values[at+".url"]
		switch {
		case !serverName(name):
			l.fault(line, at, "is no name for a server", "Use lower-case letters, digits and -, beginning with a letter, at most 24")
		case program == address:
			l.fault(line, at, "must name either a program or an address", "Write below ["+at+"] either command = \"program\" or url = \"https://...\"")
		}
	}
}

// serverName reports whether a name fits before the names of tools, which services bound at 64 characters.
func serverName(s string) bool {
	bad := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }
	return len(s) >= 1 && len(s) <= 24 && s[0] >= 'a' && s[0] <= 'z' && !strings.ContainsFunc(s, bad)
}

func namesBelow(values map[string]value, table string) []string {
	names := map[string]struct{}{}
	for key := range values {
		if rest, ok := strings.CutPrefix(key, table); ok {
			name, _, _ := strings.Cut(rest, ".")
			names[name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// mcpServers lists the servers that sessions may use, by name.
func (c *Config) mcpServers() []MCPServer {
	var out []MCPServer
	for _, name := range namesBelow(c.values, "mcp.") {
		at := "mcp." + name + "."
		if !c.on(at + "enabled") {
			continue
		}
		s := MCPServer{
			Name: name, Env: c.table(at + "env"), URL: c.text(at + "url"), Headers: c.table(at + "headers"), Timeout: seconds(c.number(at + "timeout_seconds")),
		}
		if program := c.text(at + "command"); program != "" {
			s.Command = append([]string{program}, c.list(at+"args")...)
		}
		out = append(out, s)
	}
	return out
}
