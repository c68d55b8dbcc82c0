package agent_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"scv/internal/agent"
)

func TestToolLines(t *testing.T) {
	long := strings.Repeat("word ", 60)
	for _, c := range []struct{ got, want string }{
		{agent.CommandLine("ls -l"), "$ ls -l"},
		{agent.CommandLine("/bin/bash -lc 'ls -l'"), "$ ls -l"},
		{agent.CommandLine(`bash -c "echo \"a\" \$x"`), `$ echo "a" $x`},
		{agent.CommandLine(`sh -c 'it'\''s'`), "$ it's"},
		{agent.CommandLine("/bin/bash -lc true"), "$ true"},
		{agent.CommandLine("bash script.sh"), "$ bash script.sh"},
		{agent.CommandLine("a\n\tb  c\x1b[31m"), "$ a b c"},
		{agent.FailedLine("3", "zsh -lc 'make test'"), "exit 3: make test"},
		{agent.PathLine("Read", "/a/b/c.go"), "Read …/b/c.go"},
		{agent.PathLine("add", "b/c.go"), "add b/c.go"},
		{agent.PathLine("add", "/etc/passwd"), "add /etc/passwd"},
		{agent.PathLine("Edit", ""), "Edit"},
		{agent.Shorten(long, agent.MaxSubject), strings.TrimSpace(strings.Repeat("word ", 23)) + " word…"},
		{agent.Shorten(strings.Repeat("x", 200), 10), "xxxxxxxxx…"},
		{agent.Shorten("äöü äöü", 5), "äöü…"},
		{agent.Shorten("", 5), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestShorten_CutsNoWordInTwo: a masker would not know half a credential.
func TestShorten_CutsNoWordInTwo(t *testing.T) {
	const secret = "ghp_0123456789abcdefghij0123456789abcdef"
	for n := range 130 {
		got := agent.Shorten(strings.Repeat("a", n)+" "+secret, agent.MaxSubject)
		if strings.Contains(got, "ghp_") && !strings.Contains(got, secret) {
			t.Fatalf("after %d characters: %q", n, got)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("bash -lc 'x'", 10)
	f.Add("\xff \x00'", 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(1, min(limit, 500))
		for _, got := range []string{agent.Shorten(text, limit), agent.CommandLine(text), agent.PathLine("x", text), agent.OneLine(text)} {
			if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x00\x1b") {
				t.Errorf("%q gives %q", text, got)
			}
		}
		if n := utf8.RuneCountInString(agent.Shorten(text, limit)); n > limit {
			t.Errorf("%d characters instead of %d", n, limit)
		}
		if got, cut := agent.Bound(text, limit); len(got) > limit || cut != (len(text) > limit) {
			t.Errorf("Bound(%q, %d) = %q, %v", text, limit, got, cut)
		}
	})
}

func TestP5_ClassOfAText(t *testing.T) {
	for text, want := range map[string]agent.Class{
		"API Error: 401 / please run /login":                                agent.ClassAuth,
		"unexpected status 401 Unauthorized: x":                             agent.ClassAuth,
		"unexpected status 404 Not Found: fake":                             agent.ClassModel,
		"exceeded retry limit, last status: 429 Too Many Requests":          agent.ClassQuota,
		"You have hit your usage limit":                                     agent.ClassQuota,
		"unexpected status 503 Service Unavailable":                         agent.ClassModel,
		"Connection failed: error sending request":                          agent.ClassNetwork,
		"Error: no rollout found for thread id x":                           agent.ClassSession,
		"no conversation to continue":                                       agent.ClassSession,
		"the test at line 401 prints a wrong status 1234":                   agent.ClassNone,
		"stream disconnected before completion: Incomplete response":        agent.ClassNetwork,
		"We’re currently experiencing high demand, which may cause errors.": agent.ClassModel,
		"": agent.ClassNone,
	} {
		if got := agent.ClassifyText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for status, want := range map[int]agent.Class{401: agent.ClassAuth, 403: agent.ClassAuth, 429: agent.ClassQuota, 402: agent.ClassQuota, 400: agent.ClassModel, 529: agent.ClassModel, 200: agent.ClassNone} {
		if got := agent.ClassForStatus(status); got != want {
			t.Errorf("%d is %q, want %q", status, got, want)
		}
	}
}

func TestUnwrap_OnlyAShellWithOneScript(t *testing.T) {
	for command, want := range map[string]string{
		`/bin/bash -lc 'ls -l'`:             "ls -l",
		`bash -c ls`:                        "ls",
		`/bin/bash -lc "apply_patch <<'E'"`: "apply_patch <<'E'",
		`/bin/zsh -lc 'it'"'"'s'`:           "it's",
		`sh -c 'it'\''s'`:                   "it's",
		`bash -lc "say \"a\\b\" \$HOME"`:    `say "a\b" $HOME`,
		`bash -lc 'rm -rf /' 'x'`:           `bash -lc 'rm -rf /' 'x'`,
		`bash -lc ls -l`:                    `bash -lc ls -l`,
		`bash -lc ls; rm x`:                 `bash -lc ls; rm x`,
		`bash -lc "$(rm x)"`:                `bash -lc "$(rm x)"`,
		`bash -lc 'open`:                    `bash -lc 'open`,
		`bash -lc "open`:                    `bash -lc "open`,
		"bash -lc ls\\\n":                   "bash -lc ls\\\n",
		`bash -x -lc 'ls'`:                  `bash -x -lc 'ls'`,
		`env bash -lc 'ls'`:                 `env bash -lc 'ls'`,
		`git push`:                          `git push`,
		`bash`:                              `bash`,
		``:                                  ``,
	} {
		if got := agent.Unwrap(command); got != want {
			t.Errorf("%q without its shell is %q, want %q", command, got, want)
		}
	}
}
