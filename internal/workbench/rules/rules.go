// Package rules decides what happens with a request of an agent before anybody is asked: by the owner's rules, by gates
// on a few commands, and by the job's permission mode. It is pure: it runs nothing, reads no file and no clock. The hub
// asks it when a question comes in and when a rule is added, and whoever wants to know beforehand may.
//
// A rule speaks of names and words, as the agent gave them. Where a path leads through links, and what a script that is
// named does, is not known here; what cannot be read in full is never allowed by a rule.
package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// An Ask is what an agent wants to do.
type Ask struct {
	Tool    string
	Risk    string
	Command string // the literal command; empty for none
	Paths   []string
	Cwd     string // absolute
	Repo    string // absolute workspace of the job
	Hidden  bool   // a text is masked or cut, so it is not the whole
}

// A Verdict is what is decided, the sentence why, and the rule that did, if one did.
type Verdict struct {
	Decision wire.RuleDecision
	Why      string
	Rule     string
}

// Decide looks at the rules that deny, then at the gates, then at the mode, and last, where the mode would ask, at the
// rules that allow. So a denial beats everything, and no rule widens a mode that denies.
func Decide(mode wire.PermissionMode, held []row.Rule, a Ask, now time.Time) Verdict {
	command := parse(a.Command)
	for i := range held {
		if r := &held[i]; r.Effect == wire.RuleDeny && holds(r, a, now) && denies(r, a, command) {
			return Verdict{wire.DecideDeny, "rule " + r.ID + " denies " + what(&r.ApprovalRule), r.ID}
		}
	}
	gated, stopped := gate(command)
	if stopped && gated.Decision == wire.DecideDeny {
		return gated
	}
	v := byMode(mode, a.Risk)
	if v.Decision == wire.DecideDeny {
		return v
	}
	if stopped {
		return gated
	}
	if v.Decision == wire.DecideAllow {
		return v
	}
	for i := range held {
		if r := &held[i]; r.Effect == wire.RuleAllow && holds(r, a, now) && allows(r, a, command) {
			return Verdict{wire.DecideAllow, "rule " + r.ID + " allows " + what(&r.ApprovalRule), r.ID}
		}
	}
	return v
}

// byMode is the table of upstream's modes. A risk that is not known counts as the highest.
func byMode(mode wire.PermissionMode, risk string) Verdict {
	harmless := risk == "read_only"
	v := Verdict{Decision: wire.DecideAsk, Why: fmt.Sprintf("mode %s asks before anything of risk %s", mode, orDelegate(risk))}
	switch mode {
	case wire.ModeAuto:
		v.Decision, v.Why = wire.DecideAllow, "mode auto allows everything"
	case wire.ModeReadOnly:
		v.Decision, v.Why = wire.DecideDeny, "mode read-only denies everything that could change something"
		if harmless {
			v.Decision, v.Why = wire.DecideAllow, "mode read-only allows what only reads"
		}
	case wire.ModeOnRisk:
		if harmless {
			v.Decision, v.Why = wire.DecideAllow, "mode on-risk allows what only reads"
		}
	}
	return v
}

func orDelegate(risk string) string {
	if slices.Contains([]string{"read_only", "filesystem", "process", "delegate", "network"}, risk) {
		return risk
	}
	return "delegate"
}

// gate stops two kinds of command whatever the mode is: a forced push to main, and the publishing of a crate, which
// only the owner may allow.
func gate(l line) (Verdict, bool) {
	for _, words := range l.commands {
		words = unwrapped(words)
		if len(words) == 0 {
			continue
		}
		switch program, args := path.Base(words[0]), words[1:]; {
		case program == "git" && forcesMain(args):
			return Verdict{Decision: wire.DecideDeny, Why: "a forced push to main is never allowed"}, true
		case program == "cargo" && slices.Contains(args, "publish"):
			return Verdict{Decision: wire.DecideAsk, Why: "only the owner may allow cargo publish"}, true
		}
	}
	return Verdict{}, false
}

func forcesMain(args []string) bool {
	i := slices.Index(args, "push")
	if i < 0 {
		return false
	}
	forced, toMain, named := false, false, 0
	for _, arg := range args[i+1:] {
		switch {
		case strings.HasPrefix(arg, "--force"):
			forced = true
		case strings.HasPrefix(arg, "--"):
		case strings.HasPrefix(arg, "-"):
			forced = forced || strings.Contains(arg, "f")
		default:
			named++
			plus := strings.HasPrefix(arg, "+")
			_, to, ok := strings.Cut(arg, ":")
			if !ok {
				to = strings.TrimPrefix(arg, "+")
			}
			if named > 1 && (to == "main" || to == "refs/heads/main") {
				toMain = true
				forced = forced || plus
			}
		}
	}
	return forced && toMain
}

// holds reports whether a rule is in force where it is asked.
func holds(r *row.Rule, a Ask, now time.Time) bool {
	if r.Removed || r.Expires != nil && uint64(max(now.Unix(), 0)) >= *r.Expires {
		return false
	}
	return r.Repo == "" || r.Repo == a.Repo
}

// denies reports whether any part of a request is what a rule denies: a hidden corner of it is enough.
func denies(r *row.Rule, a Ask, l line) bool {
	if r.Tool != "" && r.Tool != a.Tool {
		return false
	}
	if r.Command != "" {
		prefix := prefixOf(r.Command)
		if !slices.ContainsFunc(l.commands, func(words []string) bool {
			return begins(unwrapped(words), prefix, true) || begins(words, prefix, true)
		}) {
			return false
		}
	}
	return r.Path == "" || slices.ContainsFunc(a.Paths, func(p string) bool { return under(place(a, p), place(a, r.Path)) })
}

// allows reports whether the whole of a request is what a rule allows.
func allows(r *row.Rule, a Ask, l line) bool {
	if a.Hidden || r.Tool != "" && r.Tool != a.Tool {
		return false
	}
	if r.Command != "" {
		prefix := prefixOf(r.Command)
		if !l.plain || slices.ContainsFunc(l.commands, func(words []string) bool { return !begins(words, prefix, false) }) {
			return false
		}
	}
	if r.Path == "" {
		return true
	}
	// A path says nothing of a command beside it, and nothing outside the directory of the work is allowed by one.
	return a.Command == "" && len(a.Paths) > 0 && !slices.ContainsFunc(a.Paths, func(p string) bool {
		at := place(a, p)
		return !under(at, place(a, r.Path)) || !under(at, a.Cwd)
	})
}

// prefixOf is the beginning that a rule names, as words.
func prefixOf(command string) []string {
	if l := parse(command); len(l.commands) == 1 {
		return l.commands[0]
	}
	return nil
}

// begins reports whether words begin with all of the prefix. Loosely, a program matches by its last name.
func begins(words, prefix []string, loosely bool) bool {
	if len(prefix) == 0 || len(words) < len(prefix) {
		return false
	}
	first := words[0] == prefix[0] || loosely && path.Base(words[0]) == path.Base(prefix[0])
	return first && slices.Equal(words[1:len(prefix)], prefix[1:])
}

func place(a Ask, p string) string {
	if !path.IsAbs(p) {
		p = path.Join(a.Cwd, p)
	}
	return path.Clean(p)
}

func under(p, folder string) bool {
	if folder == "" {
		return false
	}
	return p == folder || strings.HasPrefix(p, strings.TrimSuffix(folder, "/")+"/")
}

// what says in words what a rule matches.
func what(r *wire.ApprovalRule) string {
	var parts []string
	for _, p := range []struct{ before, text string }{
		{"the tool ", r.Tool}, {"commands that begin with ", r.Command}, {"", r.Path},
	} {
		if p.text != "" {
			parts = append(parts, p.before+p.text)
		}
	}
	text := strings.Join(parts, " and ")
	if r.Repo != "" {
		text += " in " + r.Repo
	}
	return text
}
