package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// fields is every key that a file may hold: ours, and upstream's (behaviour/config.md section 5). What is not marked
// used is accepted, and said to do nothing here.
var fields = sync.OnceValue(func() []field {
	return slices.Concat(ours(), agentFields("agents.*."), providerFields("provider."), providerFields("providers.*."),
		mcpFields(), loopFields(), limitFields(), screenFields())
})

// open reports whether a whole table is upstream's own and is kept unread.
func open(table string) bool {
	return table == "channels" || table == "update" || table == "history"
}

// strict reports whether an unknown key under a top-level table is an error rather than a warning.
func strict(table string) bool {
	return table == "policy" || table == "agents" || table == "limits" || table == "retention" || table == "worktrees" || table == "mcp"
}

// Served lists the agents that this version can run without any settings.
func Served() []string {
	return []string{"claude", "codex", "demo", "demo-live", "gemini", "opencode", "scv"}
}

// agentNames are the agents that a file may speak of: upstream's and ours.
func agentNames() []string {
	return []string{"claude", "claude-ai", "codex", "grok", "dsh", "pi", "gemini", "qwen", "opencode", "copilot", "cursor", "amp", "kimi", "scv", "demo", "demo-live"}
}

func ours() []field {
	return []field{
		{name: "policy.mode", kind: kindText, deflt: "on-risk", words: modes(), project: projectMode, used: true},
		{name: "tools.approval_policy", kind: kindText, words: []string{"on-risk", "always", "never"}, project: projectMode, used: true, old: "policy.mode"},
		{name: "policy.check_models", kind: kindSwitch, deflt: "true", project: projectNever, used: true},
		used(number("limits.running", 16, 1, 256)),
		used(number("limits.unfinished", 1000, 1, 1000)),
		used(number("limits.memory_floor_mb", 256, 0, 1<<20)),
		used(field{name: "approvals.wait", kind: kindText, check: checkWait}),
		used(number("limits.idle_minutes", 15, 1, 1<<20)),
		amount("limits.daily_usd"),
		used(number("retention.days", 30, 0, 36500)),
		used(number("worktrees.floor_mb", 1024, 0, 1<<30)),
		used(number("worktrees.max_mb", 0, 0, 1<<30)),
		{name: "worktrees.caches", kind: kindList, project: projectNever, used: true, check: checkCaches},
	}
}

func agentFields(at string) []field {
	texts := func(name string, check func(any) (string, string)) field {
		return field{name: at + name, kind: kindList, project: projectNever, used: true, check: check}
	}
	text := func(name string, check func(any) (string, string)) field {
		return field{name: at + name, kind: kindText, project: projectNever, used: true, check: check}
	}
	word := func(name string, words ...string) field {
		return field{name: at + name, kind: kindText, words: words, project: projectNever}
	}
	transport := word("transport", TransportAuto, TransportLive, TransportCLI, TransportACP, upstreamCLI)
	prompt := word("prompt", PromptStdin, "argument")
	home := word("home", HomeOwn, HomePrivate)
	transport.used, prompt.used, home.used = true, true, true
	mode := word("mode", modes()...)
	mode.used = true
	old := word("permissions", "full", "default")
	old.used, old.old = true, at+"mode"
	return []field{
		text("command", checkCommand), texts("args", checkArgs), texts("prompt_args", checkArgs),
		texts("model_args", checkHolds("{model}")), texts("effort_args", checkHolds("{effort}")),
		text("model", checkModel), text("effort", checkEffort), mode, old, texts("env_pass", checkNames),
		home, transport, prompt, amount(at + "daily_usd"),
		{name: at + "resume_after_limit", kind: kindSwitch, deflt: "false", project: projectNever, used: true},
		text("quiet", checkQuiet),
		{name: at + "env", kind: kindMap, project: projectNever, used: true, secret: true, check: checkEnv},
		{name: at + "hard_task_effort", kind: kindText, project: projectNever, check: checkEffort},
		{name: at + "use_for", kind: kindText, project: projectNever},
		word("on_busy", "queue", "wait", "steer", "fail"), word("steer_fallback", "queue", "wait", "fail"),
		never(number(at+"max_queued_turns", 4, 0, 32)),
	}
}

func providerFields(at string) []field {
	text := func(name, deflt string, words ...string) field {
		return field{name: at + name, kind: kindText, deflt: deflt, project: projectNever, used: true, words: words}
	}
	secret := func(f field) field { f.secret = true; return f }
	effort := text("reasoning_effort", "")
	effort.check = checkEffort
	out := []field{
		text("kind", KindCompatible, KindCompatible, KindOpenAI, KindAnthropic, KindGoogle), text("wire_api", "responses", "responses", "chat"),
		text("model", "gpt-4.1-mini"), text("base_url", "https://api.openai.com/v1"),
		secret(text("api_key", "")), text("api_key_env", "OPENAI_API_KEY"), text("api_key_file", ""),
		{name: at + "api_key_command", kind: kindList, project: projectNever, used: true, check: checkArgs},
		used(number(at+"timeout_seconds", 600, 1, 0)),
		{name: at + "headers", kind: kindMap, project: projectNever, secret: true, used: true},
		{name: at + "image_input", kind: kindSwitch, deflt: "true", project: projectNever, used: true},
		effort,
	}
	if at == "provider." {
		out = append(out, text("active", ""))
	}
	return out
}

// serve marks the keys that this release uses.
func serve(all []field, names ...string) []field {
	for i := range all {
		all[i].used = all[i].used || slices.Contains(names, all[i].name)
	}
	return all
}

// loopFields belong to the model loop, its tools and its skills.
func loopFields() []field {
	off := func(name, deflt string) field {
		return field{name: name, kind: kindSwitch, deflt: deflt, project: projectOff}
	}
	text := func(name, deflt string, p project, words ...string) field {
		return field{name: name, kind: kindText, deflt: deflt, project: p, words: words}
	}
	nesting := number("agent.max_delegation_depth", 2, 0, 16)
	nesting.used = true
	hidden := text("web.brave_api_key", "", projectNever)
	hidden.secret = true
	return serve([]field{
		text("provider_active", "", projectNever),
		number("agent.max_steps", 128, 1, 0), text("agent.system_prompt", "", projectNever),
		nesting, number("agent.max_conversations", 8, 1, 0),
		number("agent.conversation_idle_seconds", 86400, 1, 0), number("agent.max_background", 4, 0, 16),
		text("agent.on_busy", "queue", projectFree, "queue", "wait", "steer", "fail"),
		text("agent.steer_fallback", "queue", projectFree, "queue", "wait", "fail"),
		number("agent.max_queued_turns", 4, 0, 32),
		{name: "agent.prefer", kind: kindList, project: projectNever},
		number("policy.publish_crate_versions_per_day", 20, 0, 0), off("tools.allow_no_timeout", "false"),
		number("tools.command_timeout_seconds", 600, 1, 86400), number("tools.agent_timeout_seconds", 3600, 1, 86400),
		number("tools.max_timeout_seconds", 14400, 1, 86400), number("tools.output_limit_bytes", 65536, 1, 0),
		number("tools.max_read_bytes", 262144, 1, 0), number("tools.max_write_bytes", 1048576, 1, 0),
		text("skills.user_dir", "~/.scv/skills", projectNever), text("skills.project_dir", ".scv/skills", projectFree),
		{name: "skills.trusted", kind: kindList, project: projectNever},
		off("skills.scan_projects", "true"), number("skills.max_skills", 128, 1, 0), number("skills.max_skill_bytes", 262144, 1, 0),
		off("web.enabled", "true"),
		{name: "web.allow_private_addresses", kind: kindSwitch, deflt: "false", project: projectNever},
		number("web.fetch_max_bytes", 2097152, 1, 67108864), number("web.fetch_timeout_seconds", 30, 1, 86400),
		number("web.max_redirects", 5, 0, 10), number("web.max_search_results", 8, 1, 20),
		{name: "web.auto_approve_domains", kind: kindList, project: projectNever},
		text("web.search", "off", projectNever, "off", "provider", "searxng", "brave"),
		text("web.searxng_url", "", projectNever), text("web.brave_url", "", projectNever),
		text("web.brave_api_key_env", "", projectNever), hidden,
	}, "provider_active", "agent.max_steps", "agent.system_prompt", "agent.max_background", "agent.prefer",
		"tools.command_timeout_seconds", "tools.agent_timeout_seconds", "tools.max_timeout_seconds", "tools.output_limit_bytes",
		"tools.max_read_bytes", "tools.max_write_bytes", "skills.user_dir", "skills.project_dir", "skills.trusted", "skills.scan_projects",
		"skills.max_skills", "skills.max_skill_bytes", "web.enabled", "web.allow_private_addresses", "web.fetch_max_bytes",
		"web.fetch_timeout_seconds", "web.max_redirects", "web.auto_approve_domains")
}

// limitFields bound sessions, frames and answers of the model's provider.
func limitFields() []field {
	raise := func(f field) field { f.project = projectRaise; return f }
	all := []field{
		number("session.max_history_bytes", 16777216, 1, 0), number("session.max_messages", 10000, 1, 0),
		number("context.max_tokens", 128000, 1, 0), number("context.bytes_per_token", 3, 1, 0),
		number("context.summary_max_chars", 6000, 1, 0), raise(number("context.reserve_output_tokens", 8192, 0, 0)),
		raise(number("context.safety_margin_tokens", 2048, 0, 0)),
		number("protocol.max_client_frame_bytes", 1048576, 4096, 0), number("protocol.max_server_frame_bytes", 8388608, 65536, 0),
		number("provider_limits.max_response_bytes", 4194304, 1, 0), number("provider_limits.max_assistant_bytes", 1048576, 1, 0),
		number("provider_limits.max_sse_event_bytes", 1048576, 1, 0), number("provider_limits.max_tool_arguments_bytes", 262144, 1, 0),
		number("provider_limits.max_tool_calls", 32, 1, 0), number("provider_limits.max_retries", 2, 0, 10),
	}
	for i := range all {
		all[i].used = true
	}
	return all
}

func screenFields() []field {
	return serve([]field{
		number("tui.max_transcript_bytes", 8388608, 1, 0), number("tui.max_transcript_items", 10000, 1, 0),
		number("tui.max_prompt_history_bytes", 1048576, 1, 0), number("tui.max_prompt_history_items", 200, 1, 0),
		{name: "tui.keys", kind: kindMap, project: projectNever},
		{name: "notify.owner", kind: kindList, project: projectNever},
	}, "tui.max_transcript_bytes", "tui.max_transcript_items", "tui.max_prompt_history_bytes", "tui.max_prompt_history_items", "tui.keys")
}

func number(name string, deflt, low, high int64) field {
	return field{name: name, kind: kindNumber, deflt: fmt.Sprint(deflt), number: deflt, min: low, max: high, project: projectLower}
}

// amount is a sum of US dollars above 0; without it there is no budget.
func amount(name string) field {
	return field{name: name, kind: kindAmount, deflt: "0", project: projectNever, used: true}
}

func used(f field) field { f.used = true; return never(f) }

func never(f field) field { f.project = projectNever; return f }

func checkCommand(v any) (string, string) {
	if s := v.(string); strings.TrimSpace(s) == "" || strings.ContainsRune(s, 0) {
		return "must name a program", "Give a name in PATH or an absolute path, or take the line out"
	}
	return "", ""
}

// maxWait is the longest deadline that can be set for approvals.
const maxWait = 30 * 24 * time.Hour

func checkWait(v any) (string, string) {
	if d, err := time.ParseDuration(v.(string)); err != nil || d < time.Second || d > maxWait {
		return "is not a time from 1s to 720h", "Write it as \"30m\" or \"2h\", or take the line out: a request then waits as long as its turn"
	}
	return "", ""
}

// Bounds of the quiet time of an agent.
const (
	minQuiet = time.Second
	maxQuiet = 24 * time.Hour
)

func checkQuiet(v any) (string, string) {
	if d, err := time.ParseDuration(v.(string)); err != nil || d < minQuiet || d > maxQuiet {
		return "is not a time from 1s to 24h", "Write it as \"5m\" or \"1h\", or take the line out"
	}
	return "", ""
}

func checkArgs(v any) (string, string) {
	size := 0
	for _, arg := range v.([]string) {
		size += len(arg)
		if strings.ContainsRune(arg, 0) {
			return "holds a NUL byte", "Take it out"
		}
	}
	if size > 16<<10 {
		return "is longer than 16 KiB in all", "Put long texts into a file that the agent reads"
	}
	return "", ""
}

func checkHolds(mark string) func(any) (string, string) {
	return func(v any) (string, string) {
		list := v.([]string)
		if len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, mark) }) {
			return "must hold " + mark + " in one of its parts", "Write it as: [\"--flag\", \"" + mark + "\"]"
		}
		return checkArgs(v)
	}
}

func checkModel(v any) (string, string) {
	s := v.(string)
	legal := s != "" && len(s) <= 128 && s[0] != '-' && s[0] != '@' && !strings.ContainsFunc(s, func(r rune) bool {
		return !alnum(r) && !strings.ContainsRune("._:/@[]-", r)
	})
	if !legal {
		return "is not a model's name", "Use 1 to 128 of letters, digits and ._:/@[]-, not beginning with - or @"
	}
	return "", ""
}

func checkEffort(v any) (string, string) {
	s := v.(string)
	legal := s != "" && len(s) <= 32 && alnum(rune(s[0])) && !strings.ContainsFunc(s, func(r rune) bool {
		return !alnum(r) && r != '_' && r != '-'
	})
	if !legal {
		return "is not an effort's name", "Use a word such as low, medium or high"
	}
	return "", ""
}

func checkNames(v any) (string, string) {
	for _, name := range v.([]string) {
		stem := strings.TrimSuffix(name, "*")
		if stem == "" || strings.ContainsFunc(stem, func(r rune) bool { return !alnum(r) && r != '_' }) {
			return "holds something that is no variable's name", "Use names such as SSH_AUTH_SOCK, or a prefix such as CARGO_*"
		}
	}
	return "", ""
}

// checkCaches takes names of variables that can name a folder, and none by which other programs would be found or trusted.
func checkCaches(v any) (string, string) {
	for _, name := range v.([]string) {
		word := name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !alnum(r) && r != '_' })
		upper := strings.ToUpper(name)
		taken := slices.ContainsFunc([]string{"SCV_", "GIT_", "LD_", "DYLD_"}, func(lead string) bool { return strings.HasPrefix(upper, lead) })
		hidden := slices.ContainsFunc([]string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"}, func(end string) bool { return strings.HasSuffix(upper, end) })
		if !word || taken || hidden || !strings.Contains(upper, "CACHE") && !strings.Contains(upper, "TARGET") && !strings.Contains(upper, "STORE") && !strings.HasSuffix(upper, "_DIR") {
			return "holds something that is no variable of a cache folder", "Use names such as CARGO_TARGET_DIR, CCACHE_DIR or npm_config_cache"
		}
	}
	return "", ""
}

func alnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
