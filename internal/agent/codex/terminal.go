package codex

import (
	"strconv"

	"scv/internal/agent"
)

// terminal goes on with a thread in codex's own screen. The directory counts as trusted, since the owner had a job run in
// it. Without --no-daemon codex would leave a server of its own behind (terminal.md section 10).
func terminal(s agent.Settings, t agent.Turn) (agent.Launch, error) {
	s.OwnCommand = false
	if err := s.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	argv := append([]string{s.Program("codex")}, s.Args...)
	argv = append(argv, "resume", t.Session, "--no-daemon")
	if p := policyOf(t.Mode); t.Mode == agent.ModeAuto {
		argv = append(argv, "--dangerously-bypass-approvals-and-sandbox")
	} else {
		argv = append(argv, "-s", p.Sandbox, "-a", p.Approval)
	}
	argv = append(argv, quiet()...)
	argv = append(argv, "-c", "projects={"+strconv.Quote(t.Cwd)+`={trust_level="trusted"}}`)
	if model := agent.Choose(t.Model, s.Model); model != "" {
		argv = append(argv, "--model="+model)
	}
	if effort := agent.Choose(t.Effort, s.Effort); effort != "" {
		argv = append(argv, "-c", "model_reasoning_effort="+strconv.Quote(effort))
	}
	return agent.Launch{Argv: argv}, nil
}
