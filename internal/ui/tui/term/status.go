package term

import (
	"slices"
	"strings"

	"scv/internal/ui/tui/canvas"
)

// A status is what the terminal shows around the screen, on its tab or in the task bar: whether something works, or a person
// is needed. It is told only to terminals that take it: one that answered a question for program status (OSC 7501), and
// those whose names are known to show progress (OSC 9;4), which others would show as a notice.
type status struct {
	program  bool // OSC 7501
	progress bool // OSC 9;4
	told     canvas.State
}

// askProgram asks whether the terminal takes program status.
const askProgram = "\x1b]7501;?\x07"

func newStatus(env func(string) string) *status {
	inside := env("TMUX") != "" || env("STY") != "" // which pass nothing of it on
	known := env("WT_SESSION") != "" || env("ConEmuANSI") == "ON" || slices.Contains([]string{"ghostty", "WezTerm"}, env("TERM_PROGRAM"))
	return &status{progress: known && !inside}
}

// learn takes an answer of the terminal.
func (s *status) learn(a Answer) {
	if strings.HasPrefix(string(a), "7501;") {
		s.program, s.told = true, canvas.Idle
	}
}

// to is what to write so that the terminal shows a state; nothing when it does already.
func (s *status) to(state canvas.State) string {
	if state == s.told {
		return ""
	}
	s.told = state
	var out string
	if s.program {
		out += map[canvas.State]string{
			canvas.Idle: "\x1b]7501;state=idle:app=scv\x07", canvas.Working: "\x1b]7501;state=working:app=scv\x07",
			canvas.Blocked: "\x1b]7501;state=blocked:kind=permission:app=scv\x07",
		}[state]
	}
	if s.progress {
		out += map[canvas.State]string{canvas.Idle: "\x1b]9;4;0\x07", canvas.Working: "\x1b]9;4;3\x07", canvas.Blocked: "\x1b]9;4;4;100\x07"}[state]
	}
	return out
}

// clear is what to write when the screen is given back.
func (s *status) clear() string {
	if s.told == canvas.Idle && !s.program {
		return ""
	}
	s.told = canvas.Idle
	var out string
	if s.program {
		out += "\x1b]7501;state=clear\x07"
	}
	if s.progress {
		out += "\x1b]9;4;0\x07"
	}
	return out
}
