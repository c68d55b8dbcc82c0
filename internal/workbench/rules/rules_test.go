package rules

import (
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

func now() time.Time { return time.Unix(1_800_000_000, 0) }

func rule(r wire.ApprovalRule) row.Rule { return row.Rule{ApprovalRule: r} }

func allow(command string) row.Rule {
	return rule(wire.ApprovalRule{ID: "rule-1", Effect: wire.RuleAllow, Command: command})
}

func deny(command string) row.Rule {
	return rule(wire.ApprovalRule{ID: "rule-2", Effect: wire.RuleDeny, Command: command})
}

func process(command string) Ask {
	return Ask{Tool: "shell", Risk: "process", Command: command, Cwd: "/w/repo", Repo: "/w/repo"}
}

// TestModeTable is behaviour/approvals.md section 1.
func TestModeTable(t *testing.T) {
	for mode, want := range map[wire.PermissionMode]map[string]wire.RuleDecision{
		wire.ModeAuto:     {"read_only": "allow", "process": "allow", "network": "allow", "other": "allow"},
		wire.ModeOnRisk:   {"read_only": "allow", "process": "ask", "filesystem": "ask", "delegate": "ask", "network": "ask", "other": "ask", "": "ask"},
		wire.ModeAlways:   {"read_only": "ask", "process": "ask", "other": "ask"},
		wire.ModeReadOnly: {"read_only": "allow", "process": "deny", "network": "deny", "other": "deny"},
		"odd":             {"read_only": "ask", "process": "ask"},
	} {
		for risk, decision := range want {
			v := Decide(mode, nil, Ask{Risk: risk}, now())
			if v.Decision != decision || v.Why == "" {
				t.Errorf("%s, %s: %s (%s), want %s", mode, risk, v.Decision, v.Why, decision)
			}
		}
	}
}

// TestGates is behaviour/approvals.md section 2, in every mode, however the command is wrapped.
func TestGates(t *testing.T) {
	for command, want := range map[string]wire.RuleDecision{
		"git push --force origin main":                 "deny",
		"git push -f origin main":                      "deny",
		"git push -uf origin main":                     "deny",
		"git push --force-with-lease origin HEAD:main": "deny",
		"git push --force-with-lease=x origin main":    "deny",
		"git push origin +main":                        "deny",
		"git push origin +x:refs/heads/main":           "deny",
		"cd x && git push -f origin main":              "deny",
		"(git push -f origin main)":                    "deny",
		"sudo env A=1 git push -f origin main":         "deny",
		"A=1 git push -f origin main":                  "deny",
		"timeout -k 5 30s git push -f origin main":     "deny",
		"/usr/bin/git push -f origin main":             "deny",
		`g"it" pu\sh -f origin 'main'`:                 "deny",
		"/bin/bash -lc 'git push -f origin main'":      "deny",
		`bash -lc "bash -c 'git push -f origin main'"`: "deny",
		"echo $(git push -f origin main)":              "deny",
		"echo \"`git push -f origin main`\"":           "deny",
		"git -C x push -f origin main":                 "deny",
		"if true; then git push -f origin main; fi":    "deny",
		"git push origin main":                         "allow",
		"git push -f origin feature":                   "allow",
		"git push -f":                                  "allow",
		"echo git push -f origin main":                 "allow",
		"git commit -m 'git push -f origin main'":      "allow",
		"cargo publish":                                "ask",
		"cargo +nightly publish --dry-run":             "ask",
		"cargo build && cargo publish":                 "ask",
		"cargo test":                                   "allow",
		"git push -f origin main; cargo publish":       "deny",
		"":                                             "allow",
		"'":                                            "allow",
	} {
		if v := Decide(wire.ModeAuto, nil, process(command), now()); v.Decision != want {
			t.Errorf("%s: %s (%s), want %s", command, v.Decision, v.Why, want)
		}
	}
	if v := Decide(wire.ModeAuto, []row.Rule{allow("cargo publish")}, process("cargo publish"), now()); v.Decision != wire.DecideAsk {
		t.Errorf("a rule passes the owner's gate: %+v", v)
	}
	if v := Decide(wire.ModeReadOnly, nil, process("cargo publish"), now()); v.Decision != wire.DecideDeny {
		t.Errorf("a gate weakens a mode: %+v", v)
	}
}

// TestAllowedCommands: a rule allows a command only when every part of it is what it says and nothing is hidden in it.
func TestAllowedCommands(t *testing.T) {
	for command, allowed := range map[string]bool{
		"go test":                          true,
		"go test ./... -run 'X|Y'":         true,
		"go  test\t./...":                  true,
		"go test a && go test b":           true,
		"go test a; go test b | go test c": true,
		"bash -lc 'go test ./...'":         true,
		`go test "a b"`:                    true,
		"go test *":                        true,
		"go testing":                       false,
		"go":                               false,
		"go vet":                           false,
		"gofmt test":                       false,
		"/tmp/go test":                     false,
		"sudo go test":                     false,
		"env X=1 go test":                  false,
		"X=1 go test":                      false,
		"go test && rm -rf x":              false,
		"rm -rf x; go test":                false,
		"go test | sh":                     false,
		"go test\nrm x":                    false,
		"go test &":                        false,
		"go test & rm x":                   false,
		"go test $(rm x)":                  false,
		"go test `rm x`":                   false,
		`go test "$(rm x)"`:                false,
		"go test <(rm x)":                  false,
		"go test > /etc/passwd":            false,
		"go test $X":                       false,
		"(go test)":                        false,
		"go test 'open":                    false,
		`go test "open`:                    false,
		"go test \\":                       false,
		"go test # x":                      false,
		"! go test":                        false,
		"bash -lc 'go test' x":             false,
		"bash -lc 'go test && rm x'":       false,
		"bash go test":                     false,
		"eval go test":                     false,
		"":                                 false,
	} {
		v := Decide(wire.ModeOnRisk, []row.Rule{allow("go test")}, process(command), now())
		if got := v.Decision == wire.DecideAllow; got != allowed || got && v.Rule != "rule-1" {
			t.Errorf("%q: %s (%s), want allowed %v", command, v.Decision, v.Why, allowed)
		}
	}
}

// TestDeniedCommands: for a denial any corner of a command is enough, and it beats every permission.
func TestDeniedCommands(t *testing.T) {
	held := []row.Rule{allow("npm"), deny("npm publish")}
	for command, denied := range map[string]bool{
		"npm publish":                      true,
		"npm publish --tag x":              true,
		"npm test && npm publish":          true,
		"sudo /usr/bin/npm publish":        true,
		"echo $(npm publish)":              true,
		"echo \"$(npm publish)\"":          true,
		"bash -c 'npm publish'":            true,
		"while true; do npm publish; done": true,
		"npm run publish":                  false,
		"npm publisher":                    false,
	} {
		v := Decide(wire.ModeAuto, held, process(command), now())
		if got := v.Decision == wire.DecideDeny; got != denied || got && v.Rule != "rule-2" {
			t.Errorf("%q: %s (%s), want denied %v", command, v.Decision, v.Why, denied)
		}
	}
}

func TestRulesOfPathsToolsAndPlaces(t *testing.T) {
	edit := func(paths ...string) Ask {
		return Ask{Tool: "edit", Risk: "filesystem", Paths: paths, Cwd: "/w/repo", Repo: "/w/repo"}
	}
	in := func(r wire.ApprovalRule) []row.Rule { r.ID = "rule-1"; return []row.Rule{rule(r)} }
	for name, c := range map[string]struct {
		rules []row.Rule
		ask   Ask
		want  wire.RuleDecision
	}{
		"a file below":          {in(wire.ApprovalRule{Effect: "allow", Path: "docs"}), edit("docs/a.md"), "allow"},
		"the same by its name":  {in(wire.ApprovalRule{Effect: "allow", Path: "/w/repo/docs"}), edit("docs/x/../a.md"), "allow"},
		"beside it":             {in(wire.ApprovalRule{Effect: "allow", Path: "docs"}), edit("docs2/a.md"), "ask"},
		"out of it by dots":     {in(wire.ApprovalRule{Effect: "allow", Path: "docs"}), edit("docs/../go.mod"), "ask"},
		"one of two":            {in(wire.ApprovalRule{Effect: "allow", Path: "docs"}), edit("docs/a.md", "go.mod"), "ask"},
		"outside the directory": {in(wire.ApprovalRule{Effect: "allow", Path: "/etc"}), edit("/etc/passwd"), "ask"},
		"no path at all":        {in(wire.ApprovalRule{Effect: "allow", Path: "docs"}), edit(), "ask"},
		"a command beside":      {in(wire.ApprovalRule{Effect: "allow", Path: "docs"}), Ask{Risk: "process", Command: "rm x", Paths: []string{"docs/a"}, Cwd: "/w/repo"}, "ask"},
		"denied anywhere":       {in(wire.ApprovalRule{Effect: "deny", Path: "/w/repo/.git"}), edit("a", ".git/config"), "deny"},
		"the tool":              {in(wire.ApprovalRule{Effect: "allow", Tool: "edit"}), edit("x"), "allow"},
		"another tool":          {in(wire.ApprovalRule{Effect: "allow", Tool: "edi"}), edit("x"), "ask"},
		"tool and path":         {in(wire.ApprovalRule{Effect: "allow", Tool: "edit", Path: "docs"}), edit("x"), "ask"},
		"this repository":       {in(wire.ApprovalRule{Effect: "allow", Tool: "edit", Repo: "/w/repo"}), edit("x"), "allow"},
		"another repository":    {in(wire.ApprovalRule{Effect: "allow", Tool: "edit", Repo: "/w/rep"}), edit("x"), "ask"},
		"not expired":           {in(wire.ApprovalRule{Effect: "allow", Tool: "edit", Expires: new(uint64(now().Unix() + 1))}), edit("x"), "allow"},
		"expired":               {in(wire.ApprovalRule{Effect: "allow", Tool: "edit", Expires: new(uint64(now().Unix()))}), edit("x"), "ask"},
		"an expired denial":     {in(wire.ApprovalRule{Effect: "deny", Tool: "edit", Expires: new(uint64(1))}), edit("x"), "ask"},
		"denial beats": {[]row.Rule{
			rule(wire.ApprovalRule{ID: "rule-1", Effect: "allow", Tool: "edit"}), rule(wire.ApprovalRule{ID: "rule-2", Effect: "deny", Path: "x"}),
		}, edit("x"), "deny"},
		"removed": {[]row.Rule{{ApprovalRule: wire.ApprovalRule{Effect: "allow", Tool: "edit"}, Removed: true}}, edit("x"), "ask"},
		"hidden":  {in(wire.ApprovalRule{Effect: "allow", Tool: "edit"}), Ask{Tool: "edit", Risk: "filesystem", Hidden: true}, "ask"},
	} {
		if v := Decide(wire.ModeOnRisk, c.rules, c.ask, now()); v.Decision != c.want {
			t.Errorf("%s: %s (%s), want %s", name, v.Decision, v.Why, c.want)
		}
	}
	if v := Decide(wire.ModeReadOnly, in(wire.ApprovalRule{Effect: "allow", Tool: "edit"}), edit("x"), now()); v.Decision != wire.DecideDeny {
		t.Errorf("a rule widens read-only: %+v", v)
	}
}

func TestLearn(t *testing.T) {
	ask := process("go test ./...")
	r, err := Learn(ask, true, wire.Remember{Scope: wire.RuleCommand, Repo: true, Seconds: 60}, now())
	if err != nil || r.Command != "go test ./..." || r.Repo != "/w/repo" || *r.Expires != uint64(now().Unix()+60) || r.Effect != wire.RuleAllow {
		t.Errorf("learnt %+v, %v", r, err)
	}
	held := []row.Rule{rule(r)}
	if v := Decide(wire.ModeOnRisk, held, ask, now()); v.Decision != wire.DecideAllow {
		t.Errorf("what was learnt does not allow what it was learnt from: %+v", v)
	}
	r, err = Learn(process(`git commit -m "it's done"`), false, wire.Remember{Scope: wire.RuleCommand}, now())
	if err != nil || r.Effect != wire.RuleDeny {
		t.Errorf("learnt %+v, %v", r, err)
	}
	if v := Decide(wire.ModeAuto, []row.Rule{rule(r)}, process(`git commit -m "it's done" x`), now()); v.Decision != wire.DecideDeny {
		t.Errorf("%+v", v)
	}
	r, err = Learn(Ask{Risk: "filesystem", Paths: []string{"docs/a.md"}, Cwd: "/w"}, true, wire.Remember{Scope: wire.RulePath}, now())
	if err != nil || r.Path != "/w/docs/a.md" {
		t.Errorf("learnt %+v, %v", r, err)
	}
	for name, c := range map[string]struct {
		ask   Ask
		scope wire.RuleScope
	}{
		"two commands": {process("a && b"), "command"}, "a redirect": {process("a > b"), "command"}, "no command": {Ask{}, "command"},
		"no tool": {Ask{}, "tool"}, "two files": {Ask{Paths: []string{"a", "b"}, Cwd: "/w"}, "path"},
		"outside": {Ask{Paths: []string{"/etc/x"}, Cwd: "/w"}, "path"}, "hidden": {Ask{Tool: "x", Hidden: true}, "tool"},
	} {
		if r, err := Learn(c.ask, true, wire.Remember{Scope: c.scope}, now()); err == nil {
			t.Errorf("%s: learnt %+v", name, r)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []wire.ApprovalRule{
		{Effect: "allow"},
		{Effect: "deny", Repo: "/w"},
		{Effect: "allow", Command: "a; b"},
		{Effect: "allow", Command: "$X"},
		{Effect: "allow", Command: " "},
		{Effect: "deny", Tool: "a\nb"},
		{Effect: "deny", Tool: strings.Repeat("x", 5000)},
		{Effect: "allow", Tool: "x", Repo: "w"},
		{Effect: "allow", Path: "../x"},
	} {
		if err := Check(bad); err == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
	for _, good := range []wire.ApprovalRule{{Effect: "allow", Command: "go test"}, {Effect: "deny", Path: "/etc"}, {Effect: "allow", Tool: "x", Repo: "/w"}} {
		if err := Check(good); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

// FuzzAllow: whatever a command is, what a rule allows is one plain command after the other, each of which begins as the
// rule says; and what is quoted is read back.
func FuzzAllow(f *testing.F) {
	for _, seed := range []string{"go test", "go test; rm", `go test "$(x)"`, "bash -lc 'go test'", "go te\\\nst", "go\ttest '\x00'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		v := Decide(wire.ModeOnRisk, []row.Rule{allow("go test")}, process(command), now())
		l := parse(command)
		if v.Decision == wire.DecideAllow {
			for _, words := range l.commands {
				if !l.plain || len(words) < 2 || words[0] != "go" || words[1] != "test" {
					t.Fatalf("%q is allowed, and reads %q", command, l.commands)
				}
			}
			if strings.ContainsAny(strings.Map(outsideQuotes(), command), "`$<>(){}") {
				t.Fatalf("%q is allowed, and a shell would do more with it", command)
			}
		}
		for _, words := range l.commands {
			if again := parse(quoted(words)); l.plain && (len(again.commands) != 1 || !slices.Equal(again.commands[0], words)) {
				if _, script := inner(words); !script && !assigns(words[0]) {
					t.Fatalf("%q is quoted as %q and read back as %q", words, quoted(words), again.commands)
				}
			}
		}
	})
}

// outsideQuotes drops what stands in single quotes or behind a backslash: there a shell takes every character as it is.
func outsideQuotes() func(rune) rune {
	single, double, escaped := false, false, false
	return func(r rune) rune {
		switch {
		case escaped:
			escaped = false
			return -1
		case single:
			single = r != '\''
			return -1
		case r == '\\':
			escaped = true
			return -1
		case r == '\'' && !double:
			single = true
			return -1
		case r == '"':
			double = !double
		}
		if double && strings.ContainsRune("<>(){}", r) {
			return -1
		}
		return r
	}
}
