package opencode

import "scv/internal/agent"

// terminal goes on with a session in opencode's own screen, which asks its owner what the job's mode would put to him.
func terminal(s agent.Settings, t agent.Turn) (agent.Launch, error) {
	s.OwnCommand = false
	if err := s.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	launch := Start(t)
	launch.Argv = append([]string{s.Program("opencode")}, s.Args...)
	launch.Argv = append(launch.Argv, "-s", t.Session)
	if model := agent.Choose(t.Model, s.Model); model != "" {
		launch.Argv = append(launch.Argv, "-m", model)
	}
	return launch, nil
}
