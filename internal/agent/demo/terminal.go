package demo

import "scv/internal/agent"

// terminal shows a session on a terminal.
func terminal(s agent.Settings, t agent.Turn) (agent.Launch, error) {
	if err := s.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	argv := append([]string{s.Program("scv"), Argument}, s.Args...)
	return agent.Launch{Argv: append(argv, "--resume", t.Session, TerminalFlag)}, nil
}
