// Package catalog is the list of agents: what each is over either transport, and what an agent of the owner's
// configuration is. The daemon and the tests choose from it; it is the one package that knows every dialect.
package catalog

import (
	"path"

	"scv/internal/agent"
	"scv/internal/agent/acp"
	"scv/internal/agent/claude"
	"scv/internal/agent/codex"
	"scv/internal/agent/demo"
	"scv/internal/agent/gemini"
	"scv/internal/agent/nested"
	"scv/internal/agent/opencode"
	"scv/internal/agent/plain"
)

// An Entry is one agent, by at most two transports. At least one is there.
type Entry struct {
	Live *agent.Kind // one process for several turns
	CLI  *agent.Kind // one process per turn
}

// Name is what the agent is called.
func (e Entry) Name() string {
	if e.Live != nil {
		return e.Live.Name
	}
	return e.CLI.Name
}

// Builtin lists the agents of this release, by name.
func Builtin() []Entry {
	return []Entry{
		{Live: new(claude.LiveKind()), CLI: new(claude.Kind())},
		{Live: new(codex.LiveKind()), CLI: new(codex.Kind())},
		{CLI: new(demo.Kind())},
		{Live: new(demo.LiveKind())},
		{Live: new(Gemini()), CLI: new(gemini.Kind())},
		{Live: new(Opencode()), CLI: new(opencode.Kind())},
		{Live: new(nested.Kind())},
	}
}

// Gemini is the live gemini.
func Gemini() agent.Kind {
	return acp.Kind(gemini.Kind(), acp.Profile{
		Args: []string{"--acp"}, Model: gemini.ModelArgs, Start: gemini.Start, Noise: gemini.Noise(),
	})
}

// Opencode is the live opencode.
func Opencode() agent.Kind {
	return acp.Kind(opencode.Kind(), acp.Profile{Args: []string{"acp"}, Start: opencode.Start})
}

// ACP is an agent of the owner's that speaks the protocol. Of two known adapters it is known what they inherit and which
// of their words are not the model's.
func ACP(name, command string) agent.Kind {
	kind, profile := agent.Kind{Name: name, Command: command}, acp.Profile{}
	switch path.Base(command) {
	case "codex-acp":
		kind.Pass, kind.Private, kind.SignIn, kind.Install = codex.Kind().Pass, codex.Kind().Private, codex.Kind().SignIn, "npm install -g @agentclientprotocol/codex-acp"
		profile.Noise = []string{"Warning: Model metadata for "}
	case "claude-agent-acp":
		kind.Pass, kind.Private, kind.SignIn, kind.Install = claude.Kind().Pass, claude.Kind().Private, claude.Kind().SignIn, "npm install -g @agentclientprotocol/claude-agent-acp"
	}
	return acp.Kind(kind, profile)
}

// Plain is a program of the owner's that serves one turn per process.
func Plain(name, command string, stdin bool) agent.Kind { return plain.Kind(name, command, stdin) }
