package agent_test

import (
	"strings"
	"testing"

	"scv/internal/agent"
)

func TestDiff_ShowsEveryByteThatChanges(t *testing.T) {
	for _, c := range []struct{ name, old, text, want string }{
		{"nothing", "a\n", "a\n", ""},
		{"a new file", "", "a\nb", "--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"},
		{"a file emptied", "a\n", "", "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"},
		{
			"in the middle", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
			"--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
		},
		{"an end of line", "a", "a\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"lines that repeat", "a\na\n", "a\na\na\n", "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n a\n+a\n"},
	} {
		if got := agent.Diff("f", c.old, c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestRiskOf_ByKindAndByFile(t *testing.T) {
	for _, c := range []struct {
		kind string
		path string
		want agent.Risk
	}{
		{"read", "main.go", agent.RiskReadOnly},
		{"search", "", agent.RiskReadOnly},
		{"think", "", agent.RiskReadOnly},
		{"edit", "main.go", agent.RiskFilesystem},
		{"delete", "x", agent.RiskFilesystem},
		{"move", "x", agent.RiskFilesystem},
		{"execute", "", agent.RiskProcess},
		{"fetch", "", agent.RiskNetwork},
		{"switch_mode", "", agent.RiskDelegate},
		{"other", "", agent.RiskDelegate},
		{"", "", agent.RiskDelegate},
		{"read", "/w/.env", agent.RiskFilesystem},
		{"read", `C:\w\.ENV.local`, agent.RiskFilesystem},
		{"read", "/h/.aws/credentials", agent.RiskFilesystem},
		{"search", "/h/.ssh/id_ed25519", agent.RiskFilesystem},
		{"read", "/h/.ssh/id_ed25519.pub", agent.RiskReadOnly},
		{"read", "/w/server.pem", agent.RiskFilesystem},
		{"read", "/w/environment.go", agent.RiskReadOnly},
	} {
		if got := agent.RiskOf(c.kind, strings.Fields(c.path)); got != c.want {
			t.Errorf("%s of %q is %s, want %s", c.kind, c.path, got, c.want)
		}
	}
}
