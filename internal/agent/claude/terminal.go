package claude

import (
	"encoding/json"
	"strings"

	"scv/internal/agent"
)

// terminal goes on with a session in claude's own screen. The variable answers the question whether the directory is
// trusted, and the file those on the modes (terminal.md section 10).
func terminal(s agent.Settings, t agent.Turn) (agent.Launch, error) {
	s.OwnCommand = false
	if err := s.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	limits := limitsOf(t.Mode)
	argv := append([]string{s.Program("claude")}, s.Args...)
	argv = append(argv, "--resume", t.Session, "--permission-mode", limits.mode)
	if len(limits.deny) > 0 {
		argv = append(argv, "--disallowedTools="+strings.Join(limits.deny, ","))
	}
	if model := agent.Choose(t.Model, s.Model); model != "" {
		argv = append(argv, "--model="+model)
	}
	if effort := agent.Choose(t.Effort, s.Effort); effort != "" {
		argv = append(argv, "--effort="+effort)
	}
	type rules struct {
		Ask      []string `json:"ask,omitempty"`
		AutoMode string   `json:"disableAutoMode"`
	}
	file, err := json.Marshal(struct {
		AutoMemory   bool  `json:"autoMemoryEnabled"`
		SkipDanger   bool  `json:"skipDangerousModePermissionPrompt"`
		SkipAutoMode bool  `json:"skipAutoPermissionPrompt"`
		Permissions  rules `json:"permissions"`
	}{SkipDanger: true, SkipAutoMode: true, Permissions: rules{limits.ask, "disable"}})
	return agent.Launch{
		Argv:  append(argv, "--settings", t.RunDir+"/"+settingsFile),
		Env:   map[string]string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_SANDBOXED": "1"},
		Files: []agent.File{{Name: settingsFile, Data: file}},
	}, err
}
