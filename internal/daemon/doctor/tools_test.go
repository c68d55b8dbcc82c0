package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestE30_AgentsAndTheirSignIns(t *testing.T) {
	gone, demo := Agent{Name: "codex", Problem: "it was not found", Install: "get codex"}, Agent{Name: "demo", Path: "/bin/scv", Aside: true}
	in := func(name string, yes bool) Agent {
		return Agent{Name: name, Path: "/bin/" + name, SignedIn: &yes, Said: "as " + name}
	}
	silent := Agent{Name: "own", Path: "/bin/own"}
	for _, tc := range []struct {
		what   string
		agents []Agent
		want   []string // verdict, check and fix of each line that is not ok
	}{
		{"none is installed", []Agent{gone, demo}, []string{"warn agent codex: get codex", "problem agents: install one: scv agents"}},
		{"nobody is signed in", []Agent{gone, in("claude", false), demo}, []string{"warn agent codex: get codex", "warn agent claude: scv agents login claude", "problem agents: scv agents login claude"}},
		{"one of two is signed in", []Agent{in("claude", false), in("gemini", true)}, []string{"warn agent claude: scv agents login claude"}},
		{"it does not tell", []Agent{in("claude", false), silent}, []string{"warn agent claude: scv agents login claude"}},
		{"all is well", []Agent{in("gemini", true), demo}, nil},
	} {
		var got []string
		findings := agents(t.Context(), Patient{Agents: tc.agents})
		for _, f := range findings {
			if f.Verdict != OK {
				got = append(got, string(f.Verdict)+" "+f.Check+": "+f.Fix)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.what, got, tc.want)
		}
		if Sick(findings) != slices.ContainsFunc(tc.want, func(line string) bool { return strings.HasPrefix(line, "problem") }) {
			t.Errorf("%s: sick is %t", tc.what, Sick(findings))
		}
	}
}

func TestE30_GitOfEachAge(t *testing.T) {
	for said, want := range map[string]string{
		"git version 2.37.9":                 "problem install a newer git",
		"git version 1.99.0":                 "problem install a newer git",
		"git version 2.38.0":                 "ok ",
		"git version 2.50.1 (Apple Git-155)": "ok ",
		"git version 3.0.0":                  "ok ",
		"git: I am a fish":                   "problem GIT version",
	} {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho '"+said+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin)
		f := git(t.Context(), Patient{})[0]
		if got := strings.Replace(string(f.Verdict)+" "+f.Fix, filepath.Join(bin, "git"), "GIT", 1); got != want {
			t.Errorf("%s: %q, want %q (%s)", said, got, want, f.Text)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if f := git(t.Context(), Patient{})[0]; f.Verdict != Warn || f.Fix == "" {
		t.Errorf("no git: %+v", f)
	}
}
