package rules

import (
	"path"
	"strings"
	"time"

	"scv/internal/wire"
)

// maxText bounds each part of a rule in bytes.
const maxText = 4 << 10

const hint = "scv approvals rules add --help"

// Check refuses a rule that says nothing, or something that could not be meant.
func Check(r wire.ApprovalRule) error {
	if r.Tool == "" && r.Command == "" && r.Path == "" {
		return wire.Refuse(wire.ReasonInvalid, hint, "A rule names a tool, the beginning of a command, or a path; this one names nothing.")
	}
	for _, text := range []string{r.Tool, r.Command, r.Path, r.Repo} {
		if len(text) > maxText || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return wire.Refuse(wire.ReasonInvalid, hint, "A part of the rule is longer than %d bytes, or holds control characters.", maxText)
		}
	}
	if l := parse(r.Command); r.Command != "" && (!l.plain || len(l.commands) != 1) {
		return wire.Refuse(wire.ReasonInvalid, hint, "The command of a rule is the beginning of one plain command, without a shell's own characters: %.100s", r.Command)
	}
	if r.Repo != "" && !path.IsAbs(r.Repo) {
		return wire.Refuse(wire.ReasonInvalid, hint, "The workspace of a rule is an absolute path, and %.100s is none.", r.Repo)
	}
	if r.Path != "" && r.Effect == wire.RuleAllow && strings.HasPrefix(path.Clean(r.Path), "..") {
		return wire.Refuse(wire.ReasonInvalid, hint, "A path that is allowed lies inside the directory of the work, and %.100s leaves it.", r.Path)
	}
	return nil
}

// Learn makes a rule of an answer: of the same tool, of the same whole command, or of the same files. What was not shown
// whole, or a command that a shell would do more with, teaches nothing that could be allowed.
func Learn(a Ask, approved bool, m wire.Remember, now time.Time) (wire.ApprovalRule, error) {
	r := wire.ApprovalRule{Effect: wire.RuleDeny}
	if approved {
		r.Effect = wire.RuleAllow
	}
	if m.Repo {
		r.Repo = a.Repo
	}
	if m.Seconds > 0 {
		r.Expires = new(uint64(max(now.Unix(), 0)) + m.Seconds)
	}
	no := func(why string) (wire.ApprovalRule, error) {
		return r, wire.Refuse(wire.ReasonInvalid, "answer without --remember", "No rule can be made of this answer: %s.", why)
	}
	if a.Hidden {
		return no("a part of what is asked is not shown")
	}
	switch m.Scope {
	case wire.RuleTool:
		if r.Tool = a.Tool; r.Tool == "" {
			return no("the agent names no tool")
		}
	case wire.RuleCommand:
		l := parse(a.Command)
		if !l.plain || len(l.commands) != 1 {
			return no("it is not about one plain command")
		}
		r.Command = quoted(l.commands[0])
	case wire.RulePath:
		if len(a.Paths) != 1 || a.Command != "" {
			return no("it is not about one file")
		}
		r.Path = place(a, a.Paths[0])
		if approved && !under(r.Path, a.Cwd) {
			return no("the file lies outside the directory of the work")
		}
	}
	return r, Check(r)
}

// quoted writes words so that parse reads them back.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "" || strings.ContainsFunc(w, special) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

func special(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+,=", r))
}
