package gemini

import "scv/internal/agent"

// terminal goes on with a session in gemini's own screen, with what every gemini needs beside. It asks its owner there,
// so a job's mode is that of its own which asks as much.
func terminal(s agent.Settings, t agent.Turn) (agent.Launch, error) {
	s.OwnCommand = false
	if err := s.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	mode := "default"
	switch t.Mode {
	case agent.ModeAuto:
		mode = "yolo"
	case agent.ModeReadOnly:
		mode = "plan"
	case agent.ModeOnRisk, agent.ModeAlways:
	}
	launch := Start(t)
	launch.Argv = append([]string{s.Program("gemini")}, s.Args...)
	launch.Argv = append(launch.Argv, "--approval-mode", mode, "--resume", t.Session)
	if model := agent.Choose(t.Model, s.Model); model != "" {
		launch.Argv = append(launch.Argv, ModelArgs(model)...)
	}
	return launch, nil
}
