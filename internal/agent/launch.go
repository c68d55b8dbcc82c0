package agent

import (
	"encoding/json"
	"strings"

	"scv/internal/wire"
)

// maxArgument is the longest single argument that Linux takes, its closing zero byte left out.
const maxArgument = 128<<10 - 1

// Program returns the program that a run starts: the owner's command, else the kind's.
func (s Settings) Program(kind string) string {
	if s.Command != "" {
		return s.Command
	}
	return kind
}

// Choose returns the first that is set: the job's value, then the configuration's.
func Choose(job, configured string) string { return firstNonEmpty(job, configured) }

// ModelOptions is how the command line takes the turn's model: as the owner says of his own command, else as the dialect's
// options say. Without a model it is empty; options may be nil.
func (s Settings) ModelOptions(t Turn, options func(model string) []string) []string {
	return fill(s.ModelArgs, "{model}", Choose(t.Model, s.Model), options)
}

// EffortOptions is how the command line takes the turn's effort, as ModelOptions.
func (s Settings) EffortOptions(t Turn, options func(effort string) []string) []string {
	return fill(s.EffortArgs, "{effort}", Choose(t.Effort, s.Effort), options)
}

// WithPrompt is the command line of an owner's own command, which ends with the prompt.
func (s Settings) WithPrompt(argv []string, prompt string) []string {
	return append(append(argv, s.PromptArgs...), prompt)
}

// StdinPrompt is what a process that serves one turn reads as its prompt: nothing for an owner's own command, which has it
// as its last argument.
func (s Settings) StdinPrompt(t Turn) []byte {
	if s.OwnCommand {
		return nil
	}
	return []byte(t.Prompt)
}

func fill(own []string, mark, value string, options func(string) []string) []string {
	switch {
	case value == "":
		return nil
	case len(own) > 0:
		out := make([]string, 0, len(own))
		for _, arg := range own {
			out = append(out, strings.ReplaceAll(arg, mark, value))
		}
		return out
	case options == nil:
		return nil
	}
	return options(value)
}

// CheckTurn refuses a turn that no process could be started with: text that cannot be an argument, a session id that
// an agent would read as an option, and, for an owner's own command, a prompt that does not fit an argument.
func (s Settings) CheckTurn(t Turn) error {
	for _, value := range []struct{ name, text string }{
		{"model", Choose(t.Model, s.Model)}, {"effort", Choose(t.Effort, s.Effort)},
	} {
		if strings.ContainsAny(value.text, "\x00\n\r") || strings.HasPrefix(value.text, "-") {
			return wire.Refuse(wire.ReasonInvalid, "give the name as the agent's own list of models has it",
				"the %s %q cannot be passed to the agent", value.name, value.text)
		}
	}
	if !plainID(t.Session) {
		return wire.Refuse(wire.ReasonInvalid, "start a new job", "the agent's session id %q is not one", t.Session)
	}
	if !s.OwnCommand {
		return nil
	}
	if strings.ContainsRune(t.Prompt, 0) {
		return wire.Refuse(wire.ReasonInvalid, "remove the NUL byte from the prompt",
			"the prompt holds a NUL byte, which no command line can carry")
	}
	if len(t.Prompt) > maxArgument {
		return wire.Refuse(wire.ReasonTooLarge, "remove agents.NAME.command, so that the prompt goes by standard input",
			"the prompt has %d bytes; the owner's own command takes it as an argument of at most %d", len(t.Prompt), maxArgument)
	}
	return nil
}

// plainID reports whether id is empty or made of letters, digits, - and _ and no option.
func plainID(id string) bool {
	for _, r := range id {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
		default:
			return false
		}
	}
	return len(id) <= 128 && !strings.HasPrefix(id, "-")
}

// Mute is the dialect of a program that has a terminal: it serves no turns, nothing is read from it, and nothing is said
// to it but by whoever types. It holds no state.
type Mute struct{}

// Plan refuses.
func (Mute) Plan(Turn) (Launch, error) {
	return Launch{}, wire.Refuse(wire.ReasonRefused, "scv jobs attach ID", "a terminal takes no prompts of SCV's")
}

// Feed tells that the terminal is there.
func (Mute) Feed(in Input) []Fact {
	if in.Kind == InputStarted {
		return []Fact{{Kind: FactReady}}
	}
	return nil
}

// Next says nothing.
func (Mute) Next(Wishes, uint64) (Message, bool) { return Message{}, false }

// Checkpoint is empty.
func (Mute) Checkpoint() (json.RawMessage, error) { return json.RawMessage("{}"), nil }

// Restore restores nothing.
func (Mute) Restore(json.RawMessage) error { return nil }
