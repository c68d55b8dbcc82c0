package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"scv/internal/wire"
)

// Words of agents.NAME.transport. Upstream's acp and resume stand for live and cli with the agents of this release.
const (
	TransportAuto = "auto"
	TransportLive = "live"
	TransportCLI  = "cli"
	TransportACP  = "acp"
	upstreamCLI   = "resume"
)

// Words of agents.NAME.home.
const (
	HomeOwn     = "own"
	HomePrivate = "private"
)

// PromptStdin is the word of agents.NAME.prompt for a prompt on standard input.
const PromptStdin = "stdin"

const ownAgentFix = `. For an agent of your own, give it a transport ("acp" or "cli") and a command`

// own reports whether a table describes an agent of the owner's: a transport makes it one. What it lacks is a fault.
func (w *walk) own(key, name string, table map[string]any) bool {
	transport, ok := table["transport"]
	if !ok || table == nil {
		return false
	}
	fault := func(at, message, fix string) {
		line := w.places.lineOf(at)
		if line == 0 {
			line = w.places.lineOf(key + ".transport")
		}
		w.layer.fault(line, at, message, fix)
	}
	if !wire.ValidAgentName(name) {
		fault(key, "is no name for an agent", "Use lower-case letters, digits and -, beginning with a letter, at most 32")
	}
	if transport != TransportACP && transport != TransportCLI {
		if _, isText := transport.(string); isText {
			delete(table, "transport") // one fault is enough
			fault(key+".transport", "is not a transport of an agent of your own", `Write it as: transport = "acp", or "cli" for one process per turn`)
		}
	}
	if command, _ := table["command"].(string); strings.TrimSpace(command) == "" && table["command"] == nil {
		fault(key, "names no program", fmt.Sprintf("Write below [%s]: command = \"program\"", key))
	}
	if table["prompt"] != nil && transport == TransportACP {
		fault(key+".prompt", "is for the transport cli only; ACP carries the prompt itself", "Take it out")
	}
	return true
}

// ownOnly faults keys that only an agent of the owner's can have.
func (l *layer) ownOnly() {
	for _, key := range slices.Sorted(maps.Keys(l.values)) {
		v := l.values[key]
		name, field, ok := agentKey(key)
		if ok && field == "prompt" && slices.Contains(agentNames(), name) {
			l.fault(v.line, key, "is for agents of your own only", "Take it out: SCV knows how this agent takes its prompt")
			delete(l.values, key)
		}
	}
}

// OwnAgents lists the agents of the owner's, by name.
func (c *Config) OwnAgents() []string {
	var out []string
	for name, a := range c.Agents {
		if a.Own {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Served lists the agents that this version can run with these settings, by name.
func (c *Config) Served() []string {
	out := slices.Concat(Served(), c.OwnAgents())
	slices.Sort(out)
	return out
}

// settable reports whether a key's agent, if it names one, is known in these settings.
func (c *Config) settable(key string) bool {
	name, _, agent := agentKey(key)
	return !agent || slices.Contains(agentNames(), name) || c.Agents[name].Own
}

func checkEnv(v any) (string, string) {
	for name := range v.(map[string]any) {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !alnum(r) && r != '_' }) {
			return "holds something that is no variable's name", "Use names such as MY_TOOL_HOME"
		}
		if strings.HasPrefix(name, "SCV_") {
			return "sets a variable of SCV's own", "Take the names that begin with SCV_ out"
		}
	}
	return "", ""
}
