// Package shell is the owner's shell as an agent that only has a terminal: it opens where a conversation works, and takes
// no prompts. Only internal/run starts it.
package shell

import (
	"scv/internal/agent"
	"scv/internal/wire"
)

// Kind returns what is known of the shell, whose command the caller names by Settings.Command. It is the owner's own
// program, so it inherits the whole environment.
func Kind() agent.Kind {
	return agent.Kind{
		Name: wire.ShellAgent, Command: "/bin/sh", Transport: wire.TransportTerminal, Version: 1, Pass: []string{"*"},
		New: func(agent.Settings) agent.Dialect { return agent.Mute{} },
		Terminal: func(s agent.Settings, _ agent.Turn) (agent.Launch, error) {
			return agent.Launch{Argv: []string{s.Program("/bin/sh")}}, nil
		},
	}
}
