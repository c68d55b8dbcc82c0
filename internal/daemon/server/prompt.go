package server

import (
	"strings"
	"unicode/utf8"

	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// prompt checks a prompt and masks it: what is kept and shown is the masked text, and the original goes with it only
// when masking changed something. The task is its first line, for lists.
func (r intake) prompt(text string) (row.Prompt, string, error) {
	switch {
	case !utf8.ValidString(text):
		return row.Prompt{}, "", wire.Refuse(wire.ReasonInvalid, "save it as UTF-8", "the prompt is not valid UTF-8")
	case len(text) > wire.MaxPromptBytes:
		return row.Prompt{}, "", wire.Refuse(wire.ReasonTooLarge, "put the text into a file and let the prompt name it",
			"the prompt has %d bytes, and at most %d are taken; nothing is cut", len(text), wire.MaxPromptBytes)
	case strings.TrimSpace(text) == "":
		return row.Prompt{}, "", wire.Refuse(wire.ReasonInvalid, "say what is to be done", "the prompt is empty")
	case strings.ContainsRune(text, 0):
		return row.Prompt{}, "", wire.Refuse(wire.ReasonInvalid, "take it out", "the prompt holds a NUL byte, which no agent can be given")
	}
	out := r.masked(text)
	return out, plain.FirstLine(out.Text, wire.MaxTaskRunes), nil
}

// masked is a prompt with its original beside it when masking changed something.
func (r intake) masked(text string) row.Prompt {
	masked, changed := r.Mask().Changed(text)
	out := row.Prompt{Text: masked}
	if changed {
		out.Original = text
	}
	return out
}
