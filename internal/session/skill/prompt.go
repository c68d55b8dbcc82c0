package skill

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
)

// delegating is the skill that comes with the program.
func delegating() Skill {
	return Skill{
		Name:        "delegating",
		Description: "How to hand work to another agent so that it comes back right.",
		Text: `Hand work over when it is large, lies in another project, or can go on beside yours.
Say in the prompt what the agent cannot know: the goal, the folder, what is decided already, what it must not touch, and
how to tell that it is done (a command that must pass). One job, one outcome. It does not see this conversation.
Do not do the same work yourself meanwhile. When it reports, check the result by a command or by reading the change before
you pass it on, and say what you checked. When it failed, say why in the next prompt instead of repeating the first.`,
	}
}

// Prompt is the part of the system prompt that tells of instructions and skills; empty parts are left out.
func (s Set) Prompt() []string {
	var parts []string
	if s.Instructions != "" {
		parts = append(parts, fmt.Sprintf("The project's own instructions (%s), which its owner trusts:\n\n%s", s.From, s.Instructions))
	}
	if len(s.Skills) > 0 {
		var b strings.Builder
		b.WriteString("Skills. Read one with read_skill before you do what it describes:")
		for _, one := range s.Skills {
			fmt.Fprintf(&b, "\n- %s", one.Name)
			if one.Description != "" {
				b.WriteString(": " + one.Description)
			}
			if one.Project != "" {
				fmt.Fprintf(&b, " (for agents that work in %s: delegate there)", plain.Line(one.Project))
			}
		}
		parts = append(parts, b.String())
	}
	if len(s.Untrusted) > 0 {
		var b strings.Builder
		b.WriteString("These texts of the project were left out, since your owner has not said that he trusts them as they are now. " +
			"Tell him once, with the lines for skills.trusted in his config.toml:")
		for _, u := range s.Untrusted {
			fmt.Fprintf(&b, "\n%q", u.Entry())
		}
		parts = append(parts, b.String())
	}
	return parts
}

// Entry is what the owner writes into his settings to trust a text: its digest and its path.
func (u Untrusted) Entry() string { return u.Digest + " " + u.Path }

// Trusts returns a check against such entries.
func Trusts(entries []string) func(path, digest string) bool {
	known := make(map[string]bool, len(entries))
	for _, e := range entries {
		known[strings.TrimSpace(e)] = true
	}
	return func(path, digest string) bool { return known[Untrusted{path, digest}.Entry()] }
}

// Tool returns read_skill, which knows the skills of this set and nothing else.
func (s Set) Tool() tool.Tool { return reader{s} }

type reader struct{ set Set }

// Spec implements tool.Tool.
func (reader) Spec() provider.Tool {
	return provider.Tool{
		Name: "read_skill", Description: "Read a skill by its name.",
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (reader) Parallel() bool { return true }

// Risk implements tool.Tool.
func (r reader) Risk(args json.RawMessage) (tool.Assessment, error) {
	s, err := r.find(args)
	return tool.Assessment{Risk: tool.ReadOnly, Summary: "read the skill " + s.Name}, err
}

func (r reader) find(args json.RawMessage) (Skill, error) {
	var a struct {
		Name string `json:"name"`
	}
	if err := tool.Decode(args, &a); err != nil {
		return Skill{}, err
	}
	var names []string
	for _, s := range r.set.Skills {
		if s.Name == a.Name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Skill{}, &tool.Failure{
		Kind:     wire.ToolInvalidArguments,
		Sentence: fmt.Sprintf("There is no skill %q. There are: %s.", plain.Line(a.Name), strings.Join(names, ", ")),
	}
}

// Run implements tool.Tool.
func (r reader) Run(_ context.Context, args json.RawMessage, _ tool.Env) tool.Result {
	s, err := r.find(args)
	if err != nil {
		return tool.Failed(err)
	}
	if s.Project != "" {
		return tool.Result{
			Text:  fmt.Sprintf("This skill is for agents that work in %s. Start one there with the task, and name the skill to it.", s.Project),
			Error: wire.ToolUnavailable,
		}
	}
	return tool.Result{Text: s.Text}
}
